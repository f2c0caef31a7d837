//! Working memory of eight fits at once.
//!
//! Every array holds eight numbers side by side per element, one of each lane: element `i` of lane `l` is at
//! `8 i + l`.

use super::WIDTH;
use crate::plan::Plan;

/// Intermediate results of one evaluation of all lanes.
#[derive(Debug)]
pub(super) struct Scratch {
    /// `f` and `f'` of the histosys code, per parameter.
    pub(super) curved: Vec<f64>,
    pub(super) curved_first: Vec<f64>,
    /// Relative derivative of each normsys factor, per term.
    pub(super) ratio: Vec<f64>,
    /// Product of the normsys factors of each block.
    pub(super) norm: Vec<f64>,
    /// Nominal plus additive variations, and product of the per-bin factors, per cell.
    pub(super) additive: Vec<f64>,
    pub(super) binwise: Vec<f64>,
    /// Expected yields, their Poisson terms, the terms' slopes and their weights in the metric, per bin.
    pub(super) lambda: Vec<f64>,
    pub(super) term: Vec<f64>,
    pub(super) slope: Vec<f64>,
    pub(super) weight: Vec<f64>,
    /// The same for the Poisson constraints.
    pub(super) rate: Vec<f64>,
    pub(super) count: Vec<f64>,
    pub(super) rate_term: Vec<f64>,
    /// `-ln L` from the saturated value, the level of its rounding, and its gradient.
    pub(super) value: [f64; WIDTH],
    pub(super) noise: [f64; WIDTH],
    pub(super) gradient: Vec<f64>,
    /// Derivative of the expectation by each per-bin factor, in its bin.
    pub(super) reaction: Vec<f64>,
    /// Smallest normsys product met: relative derivatives need one that is not zero.
    pub(super) least: [f64; WIDTH],
}

impl Scratch {
    /// Memory for any point of `plan`.
    pub(super) fn new(plan: &Plan) -> Self {
        let (n, bins) = (plan.n_parameters() * WIDTH, plan.n_bins() * WIDTH);
        let rates = plan.poisson().len() * WIDTH;
        Self {
            curved: vec![0.0; n],
            curved_first: vec![0.0; n],
            ratio: vec![0.0; plan.structure.norm_block.len() * WIDTH],
            norm: vec![1.0; plan.structure.blocks.len() * WIDTH],
            additive: vec![0.0; plan.structure.n_cells * WIDTH],
            binwise: vec![1.0; plan.structure.n_cells * WIDTH],
            lambda: vec![0.0; bins],
            term: vec![0.0; bins],
            slope: vec![0.0; bins],
            weight: vec![0.0; bins],
            rate: vec![0.0; rates],
            count: vec![0.0; rates],
            rate_term: vec![0.0; rates],
            value: [0.0; WIDTH],
            noise: [0.0; WIDTH],
            gradient: vec![0.0; n],
            reaction: vec![0.0; n],
            least: [1.0; WIDTH],
        }
    }
}
