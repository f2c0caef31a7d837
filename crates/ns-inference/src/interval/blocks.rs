//! Counts of toys at tested points, block by block.
//!
//! A block is a range of toys at one point. The counts of a block depend on model, data, point, seed and range alone, so
//! a saved block replaces the work.

use serde::{Deserialize, Serialize};

use crate::InferenceError;
use crate::analysis::Analysis;
use crate::toy_nuisance::ToyNuisance;

/// The toys of one range at one tested point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Tested values of the parameters.
    pub values: Vec<f64>,
    /// Observed statistic, with which the statistics of the toys were compared.
    pub t: f64,
    /// Index of the first toy.
    pub first: u64,
    /// Number of toys that were run.
    pub n_toys: u64,
    /// Number of converged toys with a statistic of at least `t`.
    pub n_above: u64,
    /// Number of toys that are left out because a fit did not converge.
    pub n_nonconverged: u64,
    /// Number of toys that are left out because a fit failed.
    pub n_error: u64,
    /// Why the toys may not be drawn where they should be; `None` if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

/// Where toys are drawn, and the seed of their random numbers.
pub(super) type Drawn = (ToyNuisance, u64);

/// Where finished blocks are kept, so that an interrupted search can be continued.
pub(super) trait Store {
    /// Begins to keep the toys of the parameters `names`. It is called once, before the other functions.
    fn begin(&mut self, analysis: &Analysis<'_>, names: &[&str], drawn: Drawn) -> Result<(), InferenceError>;

    /// Returns a block of an earlier run at the point `values` that begins with toy `first` and has at most `most` toys.
    fn known(&self, values: &[f64], t: f64, first: u64, most: u64) -> Option<Block>;

    /// Keeps a finished block.
    fn add(&mut self, block: &Block) -> Result<(), InferenceError>;
}

/// Keeps no block.
pub(super) struct NoStore;

impl Store for NoStore {
    fn begin(&mut self, _: &Analysis<'_>, _: &[&str], _: Drawn) -> Result<(), InferenceError> {
        Ok(())
    }

    fn known(&self, _values: &[f64], _t: f64, _first: u64, _most: u64) -> Option<Block> {
        None
    }

    fn add(&mut self, _block: &Block) -> Result<(), InferenceError> {
        Ok(())
    }
}

/// The toys of one tested point so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) run: u64,
    pub(super) above: u64,
    pub(super) nonconverged: u64,
    pub(super) error: u64,
}

impl Counts {
    pub(super) fn add(&mut self, block: &Block) {
        self.run += block.n_toys;
        self.above += block.n_above;
        self.nonconverged += block.n_nonconverged;
        self.error += block.n_error;
    }

    /// Number of toys that count.
    pub(super) fn good(&self) -> u64 {
        self.run.saturating_sub(self.nonconverged + self.error)
    }

    /// Fraction of toys that were left out.
    pub(super) fn left_out(&self) -> f64 {
        if self.run == 0 { 0.0 } else { (self.nonconverged + self.error) as f64 / self.run as f64 }
    }

    pub(super) fn p_value(&self) -> Option<f64> {
        (self.good() > 0).then(|| self.above as f64 / self.good() as f64)
    }
}
