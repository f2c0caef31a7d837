//! Pseudo-experiments (toys): hypothesis tests that do not need asymptotic formulae, and studies of fits.
//!
//! A run has three stages. The stage *prepare* fits the observed data and writes the header. The stage *run* produces
//! one row of results per toy. A *summary* takes the rows one by one. The same code serves new runs, resumed runs, and
//! runs merged from several parts (shards). A toy depends only on model, data, tested value, statistic, seed and index.
//! It does not depend on threads, batches, shards or devices.

mod distribution;
mod expectation;
pub(crate) mod goodness;
mod header;
mod limit;
pub(crate) mod options;
pub(crate) mod origin;
pub(crate) mod places;
pub(crate) mod point;
mod prepare;
mod result;
mod row;
mod run;
mod shard;
mod statistic;
#[cfg(feature = "toy-files")]
pub mod store;
mod stream;
mod study;
mod summary;
mod turns;
pub(crate) mod unfold;

use ns_core::{Control, Model, Session};

pub(crate) use distribution::binned;
pub use distribution::{BinnedStatistic, StatisticHistogram};
pub use expectation::source_of_expectation;
pub use header::{FitToysHeader, SAME_POINT, SAME_STATISTIC, ToyHeader, ToyOrigin};
pub use limit::{ToyLimitOptions, ToyLimitPoint, ToyLimitResult, upper_limit_toys};
pub use options::{HypotestToysOptions, MOST_TOYS};
pub use result::{HypotestToysResult, PerHypothesis};
pub use row::{FitToyRow, Hypothesis, Row, RowSink, ToyRow, ToyStatus};
pub use run::{FitToysTest, PreparedToys, ToyPlan, ToyTest};
pub use shard::Shard;
pub use study::{
    FitToysOptions, FitToysResult, FitToysSummary, GeneratingPoint, ParameterStudy, STUDY_HYPOTHESIS,
    fit_toys,
};
pub use summary::Summary;

use crate::InferenceError;

/// Warning in the result of a run that the caller stopped.
pub(crate) const INTERRUPTED: &str = "interrupted: only the toys done by then are counted";

/// Information about a run of toys that has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct ToyRun {
    /// Number of rows, i.e. of finished toys, that the sink received.
    pub n_rows: u64,
    /// Whether the caller stopped the work. Even then, no toy is missing before the last toy that the sink received.
    pub interrupted: bool,
    /// Wall time, in seconds.
    pub wall_s: f64,
}

/// Tests the hypothesis that the parameter of interest is `mu`. Toys are drawn from this hypothesis and from the
/// alternative hypothesis.
///
/// The generating points, i.e. the parameters at which toys are drawn, are conditional best fits of the observed data,
/// with the parameter of interest fixed at `mu` and at 0 (for q0: at 0 and at 1). Each toy has a free fit and a
/// conditional fit at the tested value. A p-value is the fraction of toys whose statistic is at least the observed
/// statistic. A toy whose fits fail is left out and counted as failed. The run then continues.
///
/// # Errors
/// The errors of [`ToyTest::prepare`] and [`ToyTest::run`]. Also [`InferenceError::Cancelled`] if the caller stopped
/// the work before the first toy. If the caller stops the work later, the result contains the toys finished so far,
/// and `interrupted` is true.
pub fn hypotest_toys(
    model: &Model,
    session: &dyn Session,
    mu: f64,
    options: &HypotestToysOptions,
    control: Control<'_>,
) -> Result<HypotestToysResult, InferenceError> {
    let test = ToyTest::prepare(model, session, mu, options, control)?;
    let mut summary = Summary::new(test.header()).expected_set(options.expected_set);
    let run = test.run_all(control, &mut summary)?;
    summary.ended(run);
    Ok(summary.finish())
}
