//! Runs of toys of any kind: prepared once, continued from their header, run in ranges.

use std::ops::Range;
use std::sync::Arc;

use ns_core::{Control, FitTask, Model, Session};

use super::options::{check_number, fit_options};
use super::row::{Row, RowSink};
use super::stream::{Reader, ToySequence, Toys, stream};
use super::{FitToyRow, ToyRow, ToyRun};
use crate::InferenceError;
use crate::analysis::Analysis;

/// Finds out from a header how toys of a kind are drawn, fitted and read.
pub(super) trait Prepare: Sized {
    /// Reads the outcomes of one series.
    type Reader: Reader<Row = Self> + Clone + Send + Sync;
    /// The type of [`Row::Header`].
    type Head;

    /// The toys of every series, in the order of [`Row::SERIES`]. `analysis` has the options of the header and a session for
    /// single fits, `session` is that of the toys.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] if the header is that of another model; if toys cannot be drawn; if the device fails or
    /// the caller stopped the work.
    fn prepared(
        analysis: &mut Analysis<'_>,
        session: &dyn Session,
        header: &Self::Head,
    ) -> Result<Vec<(Toys, Self::Reader)>, InferenceError>;
}

/// A run whose first fits are done: it knows its generating points and runs toys.
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

/// A prepared run without its model and session, for callers that hold these themselves.
#[derive(Clone)]
pub struct ToyPlan<R: Row = ToyRow> {
    header: R::Header,
    series: Arc<[(Toys, R::Reader)]>,
}

impl<R: Row> ToyPlan<R> {
    /// The header of the toys.
    #[must_use]
    pub fn header(&self) -> &R::Header {
        &self.header
    }

    /// The run again, on the model and session (or others of the same model) that it was prepared with.
    #[must_use]
    pub fn attach<'a>(&self, model: &'a Model, session: &'a dyn Session) -> PreparedToys<'a, R> {
        PreparedToys { model, session, plan: self.clone(), batch: None }
    }
}

impl<'a, R: Row> PreparedToys<'a, R> {
    /// Continues a run whose first fits were done before or on another machine. Its rows are the same, bit by bit.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] if the header is that of another model; if toys cannot be drawn; if
    /// the device fails or the caller stopped the work.
    pub fn from_header(
        model: &'a Model,
        session: &'a dyn Session,
        header: R::Header,
        control: Control<'_>,
    ) -> Result<Self, InferenceError> {
        let options = fit_options(model, R::origin(&header))?;
        check_number(R::origin(&header).n_toys)?;
        let silent = Control { observer: None, cancel: control.cancel };
        let mut analysis = Analysis::new(model, of_single_fits(session), &options, silent)?;
        let series = R::prepared(&mut analysis, session, &header)?.into();
        Ok(Self { model, session, plan: ToyPlan { header, series }, batch: None })
    }
}

impl<R: Row> PreparedToys<'_, R> {
    /// The header of the toys, to be stored with their rows.
    #[must_use]
    pub fn header(&self) -> &R::Header {
        &self.plan.header
    }

    /// The prepared run, without model and session.
    #[must_use]
    pub fn plan(&self) -> ToyPlan<R> {
        self.plan.clone()
    }

    /// The toys of this header's shard: the same range of every series.
    #[must_use]
    pub fn ranges(&self) -> Vec<(R::Series, Range<u64>)> {
        let origin = R::origin(self.header());
        let range = origin.shard.range(origin.n_toys);
        R::SERIES.iter().map(|series| (*series, range.clone())).collect()
    }

    /// What the session is first asked for to make rows of these toys, in a test the free fit (0) and the conditional
    /// one (1). For the study of single toys. Fits without a certificate are repeated before a row is made.
    #[must_use]
    pub fn task(&self, series: R::Series, range: Range<u64>) -> Option<FitTask> {
        let (toys, _) = self.of(series)?;
        Some(FitTask { data: toys.drawn(range), fits: toys.fits.clone() })
    }

    fn of(&self, series: R::Series) -> Option<&(Toys, R::Reader)> {
        self.plan.series.get(R::SERIES.iter().position(|one| *one == series)?)
    }

    /// Sets how many toys go to the device at a time; results do not depend on it.
    #[must_use]
    pub fn batch(self, batch: Option<u64>) -> Self {
        Self { batch, ..self }
    }

    /// Runs toys and hands their rows on as they get ready, in the order of the ranges; takes the same memory
    /// however many they are. Where the caller stops the work, the rows up to there have been handed on.
    ///
    /// # Errors
    /// If the device fails or the sink refuses rows.
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
    /// As [`Self::run`]; [`InferenceError::Cancelled`] if the caller stopped the work before the first toy.
    pub(super) fn run_all(
        &self,
        control: Control<'_>,
        sink: &mut dyn RowSink<R>,
    ) -> Result<ToyRun, InferenceError> {
        let run = self.run(&self.ranges(), control, sink)?;
        if run.interrupted && run.n_rows == 0 { Err(InferenceError::Cancelled) } else { Ok(run) }
    }
}

/// The session for the few fits before the toys, which wait for each other. The header is then the same, bit by bit,
/// whichever device the toys run on.
pub(crate) fn of_single_fits(session: &dyn Session) -> &dyn Session {
    session.cpu().unwrap_or(session)
}
