//! Runs of toys of any kind. A run is prepared once, or continued from its header; then it runs ranges of
//! toys.

use std::ops::Range;
use std::sync::Arc;

use ns_core::{Control, FitTask, Model, Session};

use super::options::{check_number, fit_options};
use super::row::{Row, RowSink};
use super::stream::{Reader, ToySequence, Toys, stream};
use super::{FitToyRow, ToyRow, ToyRun};
use crate::InferenceError;
use crate::analysis::{Analysis, of_single_fits};

/// Derives from a header how the toys of one kind are drawn, fitted and read.
pub(super) trait Prepare: Sized {
    /// Type that makes rows from the fits of the toys of one series.
    type Reader: Reader<Row = Self> + Clone + Send + Sync;
    /// The type of [`Row::Header`].
    type Head;

    /// Returns the toys and the reader of every series, in the order of [`Row::SERIES`]. `analysis` has the
    /// options of the header and a session for single fits; `session` runs the toys.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] if the header belongs to another model; also if toys cannot be drawn,
    /// the device fails, or the caller stopped the work.
    fn prepared(
        analysis: &mut Analysis<'_>,
        session: &dyn Session,
        header: &Self::Head,
    ) -> Result<Vec<(Toys, Self::Reader)>, InferenceError>;
}

/// A run of toys whose generating points are known, because its first fits are done.
pub struct PreparedToys<'a, R: Row> {
    model: &'a Model,
    session: &'a dyn Session,
    plan: ToyPlan<R>,
    batch: Option<u64>,
}

/// A hypothesis test whose observed fits are done.
pub type ToyTest<'a> = PreparedToys<'a, ToyRow>;

/// A study of parameters whose generating point is known.
pub type FitToysTest<'a> = PreparedToys<'a, FitToyRow>;

/// A prepared run without its model and session, for callers that own these.
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

    /// Returns the prepared run with a model and a session. These may be the model and session of the preparation, or
    /// others for the same model.
    #[must_use]
    pub fn attach<'a>(&self, model: &'a Model, session: &'a dyn Session) -> PreparedToys<'a, R> {
        PreparedToys { model, session, plan: self.clone(), batch: None }
    }
}

impl<'a, R: Row> PreparedToys<'a, R> {
    /// Prepares a run from its header. The first fits are not repeated; they may have been made on another
    /// machine. The rows are bit for bit the same as in the run from which the header comes.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] if the header belongs to another model; also if toys cannot be drawn,
    /// the device fails, or the caller stopped the work.
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
    /// Returns the header of the toys, to be stored with their rows.
    #[must_use]
    pub fn header(&self) -> &R::Header {
        &self.plan.header
    }

    /// Returns the prepared run without its model and session.
    #[must_use]
    pub fn plan(&self) -> ToyPlan<R> {
        self.plan.clone()
    }

    /// Returns the ranges of toys of the header's shard: the same range for every series.
    #[must_use]
    pub fn ranges(&self) -> Vec<(R::Series, Range<u64>)> {
        let origin = R::origin(self.header());
        let range = origin.shard.range(origin.n_toys);
        R::SERIES.iter().map(|series| (*series, range.clone())).collect()
    }

    /// Returns the fit task with which a run begins a range of toys, for studies of single toys. In a test,
    /// the task has the free fit (index 0) and the conditional fit (index 1). The run itself also repeats
    /// fits that did not converge. Returns `None` if there is no such series.
    #[must_use]
    pub fn task(&self, series: R::Series, range: Range<u64>) -> Option<FitTask> {
        let (toys, _) = self.of(series)?;
        Some(FitTask { data: toys.drawn(range), fits: toys.fits.clone(), cancel: None })
    }

    fn of(&self, series: R::Series) -> Option<&(Toys, R::Reader)> {
        self.plan.series.get(R::SERIES.iter().position(|one| *one == series)?)
    }

    /// Sets the number of toys handed to the device at a time. Results do not depend on it.
    #[must_use]
    pub fn batch(self, batch: Option<u64>) -> Self {
        Self { batch, ..self }
    }

    /// Runs toys and hands their rows to `sink` as they get ready, in the order of the ranges. The memory does not
    /// depend on the number of toys. If the caller stops the work, all finished rows have been handed over.
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

    /// Runs all toys of the shard.
    ///
    /// # Errors
    /// The errors of [`Self::run`]; [`InferenceError::Cancelled`] if the caller stopped the work before the
    /// first toy.
    pub(super) fn run_all(
        &self,
        control: Control<'_>,
        sink: &mut dyn RowSink<R>,
    ) -> Result<ToyRun, InferenceError> {
        let run = self.run(&self.ranges(), control, sink)?;
        if run.interrupted && run.n_rows == 0 { Err(InferenceError::Cancelled) } else { Ok(run) }
    }
}
