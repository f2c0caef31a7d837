//! Runs toys of hypothesis tests and toys of studies. A run is prepared from the options, or from the header of an
//! earlier run. The prepared run then fits ranges of toys.

use std::ops::Range;
use std::sync::Arc;

use ns_core::{Control, FitTask, Model, Session};

use super::options::{check_number, fit_options};
use super::row::{Row, RowSink};
use super::stream::{Reader, ToySequence, Toys, stream};
use super::turns::in_turns;
use super::{FitToyRow, ToyRow, ToyRun};
use crate::InferenceError;
use crate::analysis::Analysis;
use crate::single_fits::of_single_fits;

/// Preparation of toys. Derives from a header how toys are drawn, how they are fitted, and how rows are made from their
/// fits.
pub(super) trait Prepare: Sized {
    /// Type that makes rows (results of toys) from the fits of the toys in one series.
    type Reader: Reader<Row = Self> + Clone + Send + Sync;
    /// Type of the header, equal to [`Row::Header`].
    type Head;

    /// Returns the toys and the reader of every series (for example, hypothesis), in the order of [`Row::SERIES`].
    /// `analysis` has the options of the header and a session for single fits. The session `session` runs the toys.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] if the header belongs to another model. Also if toys cannot be drawn, the
    /// device fails, or the caller stopped the work.
    fn prepared(
        analysis: &mut Analysis<'_>,
        session: &dyn Session,
        header: &Self::Head,
    ) -> Result<Vec<(Toys, Self::Reader)>, InferenceError>;
}

/// A prepared run of toys. The fits that give the generating points, i.e. the parameters at which toys are drawn, have
/// been made.
pub struct PreparedToys<'a, R: Row> {
    model: &'a Model,
    session: &'a dyn Session,
    plan: ToyPlan<R>,
    batch: Option<u64>,
}

/// A prepared hypothesis test with toys. The fits to the observed data have been made.
pub type ToyTest<'a> = PreparedToys<'a, ToyRow>;

/// A prepared study of fits to toys. The parameters at which its toys are drawn are known.
pub type FitToysTest<'a> = PreparedToys<'a, FitToyRow>;

/// A prepared run without its model and session. This struct is for callers that own the model and the session.
#[derive(Clone)]
pub struct ToyPlan<R: Row = ToyRow> {
    header: R::Header,
    series: Arc<[(Toys, R::Reader)]>,
}

impl<R: Row> ToyPlan<R> {
    /// Returns the header of the toys.
    #[must_use]
    pub fn header(&self) -> &R::Header {
        &self.header
    }

    /// Returns the prepared run with a model and a session. Both may be the objects with which the run was prepared, or
    /// other objects for the same model.
    #[must_use]
    pub fn attach<'a>(&self, model: &'a Model, session: &'a dyn Session) -> PreparedToys<'a, R> {
        PreparedToys { model, session, plan: self.clone(), batch: None }
    }
}

impl<'a, R: Row> PreparedToys<'a, R> {
    /// Prepares a run from its header. The fits to the observed data are not repeated. These fits may have been made on
    /// another machine. The rows are bit for bit the same as in the run from which the header comes.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] if the header belongs to another model. Also if toys cannot be drawn, the
    /// device fails, or the caller stopped the work.
    pub fn from_header(
        model: &'a Model,
        session: &'a dyn Session,
        header: R::Header,
        control: Control<'_>,
    ) -> Result<Self, InferenceError> {
        let options = fit_options(model, R::origin(&header))?;
        check_number(R::origin(&header).n_toys)?;
        let silent = Control { observer: None, cancel: control.cancel, task: None };
        let mut analysis = Analysis::new(model, of_single_fits(session), &options, silent)?;
        let series = R::prepared(&mut analysis, session, &header)?.into();
        Ok(Self { model, session, plan: ToyPlan { header, series }, batch: None })
    }
}

impl<R: Row> PreparedToys<'_, R> {
    /// Returns the header of the toys, which must be stored with the rows.
    #[must_use]
    pub fn header(&self) -> &R::Header {
        &self.plan.header
    }

    /// Returns the prepared run without its model and session.
    #[must_use]
    pub fn plan(&self) -> ToyPlan<R> {
        self.plan.clone()
    }

    /// Returns one pair for every series of toys: the series, and the range of its toys that belong to the shard in the
    /// header.
    #[must_use]
    pub fn ranges(&self) -> Vec<(R::Series, Range<u64>)> {
        let origin = R::origin(self.header());
        let range = origin.shard.range(origin.n_toys);
        R::SERIES.iter().map(|series| (*series, range.clone())).collect()
    }

    /// Returns the fit task for a range of toys, for studies of single toys. In a hypothesis test, the task has the
    /// free fit (index 0) and the conditional fit (index 1). A run makes the fits of such tasks, but afterwards also
    /// repeats fits that did not converge. Returns `None` if the series does not exist.
    #[must_use]
    pub fn task(&self, series: R::Series, range: Range<u64>) -> Option<FitTask> {
        let (toys, _) = self.of(series)?;
        Some(FitTask { data: toys.drawn(range), fits: toys.fits.clone(), cancel: None })
    }

    fn of(&self, series: R::Series) -> Option<&(Toys, R::Reader)> {
        self.plan.series.get(R::SERIES.iter().position(|one| *one == series)?)
    }

    /// Sets the number of toys that the device gets at a time. Results do not depend on this number.
    #[must_use]
    pub fn batch(self, batch: Option<u64>) -> Self {
        Self { batch, ..self }
    }

    /// Runs the toys in `ranges` and passes their rows to `sink` as they are finished, in the order of the ranges. The
    /// required memory does not depend on the number of toys. If the caller stops the work, `sink` has received the
    /// rows of all finished toys.
    ///
    /// # Errors
    /// If the device fails or the sink returns an error.
    pub fn run(
        &self,
        ranges: &[(R::Series, Range<u64>)],
        control: Control<'_>,
        sink: &mut dyn RowSink<R>,
    ) -> Result<ToyRun, InferenceError> {
        let sequence = |(series, range): &(R::Series, Range<u64>)| {
            self.of(*series).map(|(toys, reader)| ToySequence { toys, range: range.clone(), reader })
        };
        let sequences: Vec<_> = ranges.iter().filter_map(sequence).collect();
        stream((self.model, self.session), &sequences, self.batch, control, sink)
    }

    /// Runs all toys of the shard, the series in turns, and passes their rows to `sink`.
    ///
    /// # Errors
    /// The errors of [`Self::run`]. Also [`InferenceError::Cancelled`] if the caller stopped the work before the
    /// first toy.
    pub(super) fn run_all(
        &self,
        control: Control<'_>,
        sink: &mut dyn RowSink<R>,
    ) -> Result<ToyRun, InferenceError> {
        let run = self.run(&in_turns(self.ranges()), control, sink)?;
        if run.interrupted && run.n_rows == 0 { Err(InferenceError::Cancelled) } else { Ok(run) }
    }
}
