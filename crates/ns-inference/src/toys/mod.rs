//! Pseudo-experiments: hypothesis tests without asymptotic formulae, and studies of fits.
//!
//! A run has three stages, and a fresh run, a resumed one and merged shards all end in the same code:
//! *prepare* fits the observed data and writes the header, *run* streams one row per toy, a *summary*
//! takes the rows one by one. A toy is a pure function of model, data, tested value, statistic, seed and
//! index: neither threads, batches, shards nor devices change a bit of it.

mod header;
mod row;
mod shard;

pub use header::{FitToysHeader, SAME_POINT, SAME_STATISTIC, ToyHeader, ToyOrigin};
pub use row::{FitRowSink, FitToyRow, Hypothesis, RowSink, ToyRow, ToyStatus};
pub use shard::Shard;

/// How a run of toys ended.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct ToyRun {
    /// Rows handed over.
    pub n_rows: u64,
    /// True if the caller stopped the work: the rows handed over are complete up to there.
    pub interrupted: bool,
    /// Wall time, in seconds.
    pub wall_s: f64,
}
