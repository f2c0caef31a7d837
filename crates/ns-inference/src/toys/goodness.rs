//! Goodness of fit with toys. A statistic is computed for each toy, for example chi2 relative to the saturated model
//! (one free expected yield per bin).

use std::sync::Arc;

use ns_core::{
    Control, Data, FitOutcome, FitRequest, Model, OutcomeParts, Search, Session, TaskOutcome, ToySource,
};
use serde::{Deserialize, Serialize};

pub(crate) use super::options::check_number;
pub(crate) use super::summary::binomial_error;

use super::prepare::free_request;
use super::stream::{Reader, Reading, ToySequence, Toys, stream, worth_repeating};
use super::{BinnedStatistic, RowSink, SAME_STATISTIC, StatisticHistogram, ToyRun, ToyStatus, binned};
use crate::InferenceError;
use crate::analysis::Analysis;
use crate::diagnosis;

/// Number of the toys of goodness-of-fit tests in the key of the random numbers. Toys of hypothesis tests and of
/// studies have other numbers there. Toys with different numbers have different random numbers.
const HYPOTHESIS: u8 = 3;

/// Number of toys of a goodness-of-fit test that were run, and numbers of toys that were left out of its p-value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct GoodnessToys {
    /// Number of toys that were drawn and fitted.
    pub n_toys: u64,
    /// Number of toys that are left out because their fit did not converge.
    pub n_nonconverged: u64,
    /// Number of toys that are left out because their fit failed.
    pub n_error: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of toys per second of wall time.
    pub toys_per_s: Option<f64>,
    /// Whether the caller stopped the work. Only finished toys are counted.
    #[serde(skip)]
    pub interrupted: bool,
    /// Distribution of the statistic in the converged toys.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub distribution: BinnedStatistic,
}

/// A goodness-of-fit statistic of a toy, computed after the fit of the toy.
pub(crate) trait Measure: Sync {
    /// Returns the statistic of toy `index` of `source`. `fit` is the fit of this toy. Returns `None` if the
    /// statistic cannot be computed.
    fn of_toy(&self, fit: &FitOutcome, source: &ToySource, index: u64) -> Option<f64>;
}

/// Computes chi2 of a toy relative to the saturated model, which has one free expected yield per bin.
pub(crate) struct Saturated<'a> {
    pub(crate) session: &'a dyn Session,
    /// Data of the analysis. For each toy, the counts in these data are replaced by the counts of the toy.
    pub(crate) of: Data,
}

impl Measure for Saturated<'_> {
    fn of_toy(&self, fit: &FitOutcome, source: &ToySource, index: u64) -> Option<f64> {
        let saturated = self.session.saturated_nll(&self.of.with(source.draw(index))).ok()??;
        Some((2.0 * (fit.nll - saturated)).max(0.0))
    }
}

/// Draws toys at the parameters `point` and fits them with `session`. Returns the number of toys that were run and the
/// numbers of toys that were left out. Also returns the number of converged toys whose statistic `measure` is at least
/// `value`.
pub(crate) fn count(
    analysis: &mut Analysis<'_>,
    session: &dyn Session,
    point: &[f64],
    (value, measure): (f64, &dyn Measure),
    (n_toys, seed): (u64, u64),
    control: Control<'_>,
) -> Result<(GoodnessToys, u64), InferenceError> {
    let model = analysis.model;
    let refused = |error| diagnosis::expectation(model, "toys cannot be drawn", error);
    let source = session.toy_source(point, &analysis.data, seed, HYPOTHESIS).map_err(refused)?;
    let asimov = session.asimov(point, &analysis.data).map_err(refused)?;
    let (free, _) = free_request(analysis, &asimov, point)?;
    let base = FitRequest { metric: None, ..free.clone() };
    let of = analysis.data.clone();
    let reader = StatisticReader { measure, source: Arc::clone(&source), base };
    let toys = Toys { of, source, fits: vec![free], wanted: OutcomeParts::default() };
    let sequence = ToySequence { toys: &toys, range: 0..n_toys, reader: &reader };
    counted(value, seed, |take| stream((model, session), &[sequence], None, control, take))
}

/// Counts toys whose rows are statistics. `run` runs them and passes their rows on. Returns the number of toys that were run
/// and the numbers of toys that were left out. Also returns the number of converged toys whose statistic is at least `value`.
pub(super) fn counted(
    value: f64,
    seed: u64,
    run: impl FnOnce(&mut dyn RowSink<(ToyStatus, f64)>) -> Result<ToyRun, InferenceError>,
) -> Result<(GoodnessToys, u64), InferenceError> {
    let mut above = 0;
    let mut distribution = StatisticHistogram::default();
    let mut counts = GoodnessToys {
        n_toys: 0,
        n_nonconverged: 0,
        n_error: 0,
        seed,
        toys_per_s: None,
        interrupted: false,
        distribution: BinnedStatistic::default(),
    };
    let mut take = |rows: &[(ToyStatus, f64)]| {
        for (status, toy) in rows {
            match status {
                ToyStatus::Converged => {
                    above += u64::from(*toy >= value - SAME_STATISTIC);
                    distribution.add(*toy);
                }
                ToyStatus::NotConverged => counts.n_nonconverged += 1,
                ToyStatus::Failed => counts.n_error += 1,
            }
        }
        Ok(())
    };
    let run = run(&mut take)?;
    if run.n_rows == 0 {
        return Err(InferenceError::Cancelled);
    }
    [counts.distribution] = binned([&distribution], false);
    (counts.n_toys, counts.interrupted) = (run.n_rows, run.interrupted);
    counts.toys_per_s = (run.wall_s > 0.0).then(|| run.n_rows as f64 / run.wall_s);
    Ok((counts, above))
}

/// Reads the only fit of every toy and computes the goodness-of-fit statistic of the toy. The data of the toy are drawn
/// a second time, which takes a fraction of the time of a fit.
struct StatisticReader<'a> {
    measure: &'a dyn Measure,
    source: Arc<ToySource>,
    base: FitRequest,
}

impl Reader for StatisticReader<'_> {
    type Row = (ToyStatus, f64);

    fn read(&self, _model: &Model, index: u64, outcome: &TaskOutcome, round: usize) -> Reading<Self::Row> {
        let fit = match outcome.fits.first() {
            Some(Ok(fit)) if fit.converged() => fit,
            Some(Ok(fit)) if round > 0 || !worth_repeating(fit) => {
                return Reading::Row((ToyStatus::NotConverged, f64::NAN));
            }
            _ if round > 0 => return Reading::Row((ToyStatus::Failed, f64::NAN)),
            _ => {
                let again = FitRequest { search: Search::Standard, ..self.base.clone() };
                return Reading::Again(vec![(0, again)]);
            }
        };
        match self.measure.of_toy(fit, &self.source, index) {
            Some(value) => Reading::Row((ToyStatus::Converged, value)),
            None => Reading::Row((ToyStatus::Failed, f64::NAN)),
        }
    }
}
