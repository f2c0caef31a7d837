//! Working memory of eight fits at once.
//!
//! For every element, an array holds eight numbers side by side, one for each lane: element `i` of lane `l`
//! is at `8 i + l`.

use super::WIDTH;
use super::derivatives::Derivatives;
use crate::plan::Plan;

/// Intermediate results of one evaluation of all lanes.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Interpolation function `f` of the histosys code at each parameter.
    pub(super) curved: Vec<f64>,
    /// First derivative of `f` at each parameter.
    pub(super) curved_first: Vec<f64>,
    /// Second derivative of the interpolation function `f` at each parameter; empty unless the metric uses
    /// [`Derivatives`].
    pub(super) curved_second: Vec<f64>,
    /// Relative derivative of each normsys factor, per term.
    pub(super) ratio: Vec<f64>,
    /// Second derivative of each normsys factor, divided by the factor; empty unless the metric uses
    /// [`Derivatives`].
    pub(super) relative_second: Vec<f64>,
    /// Product of the normsys factors of each block.
    pub(super) norm: Vec<f64>,
    /// For each block, the sum of the exponents of those normsys factors that are exponential functions at
    /// the current parameters.
    pub(super) exponent: Vec<f64>,
    /// For each block, the product of all its normsys and scale factors.
    pub(super) block_scale: Vec<f64>,
    /// Nominal yield plus additive variations of each cell.
    pub(super) additive: Vec<f64>,
    /// Product of the per-bin factors of each cell, which is one bin of one sample.
    pub(super) binwise: Vec<f64>,
    /// Expected yield of each bin.
    pub(super) lambda: Vec<f64>,
    /// Poisson term of each bin.
    pub(super) term: Vec<f64>,
    /// Derivative of each Poisson term with respect to the expected yield.
    pub(super) slope: Vec<f64>,
    /// Weight of each bin in the metric.
    pub(super) weight: Vec<f64>,
    /// Expected auxiliary count of each Poisson constraint.
    pub(super) rate: Vec<f64>,
    /// Auxiliary count of each Poisson constraint.
    pub(super) count: Vec<f64>,
    /// Term of each Poisson constraint.
    pub(super) rate_term: Vec<f64>,
    /// `-ln L` relative to the saturated model.
    pub(super) value: [f64; WIDTH],
    /// Scale of the rounding errors of `value`.
    pub(super) noise: [f64; WIDTH],
    /// Gradient of `-ln L`.
    pub(super) gradient: Vec<f64>,
    /// Derivative of a bin's expected yield with respect to each per-bin factor of this bin.
    pub(super) reaction: Vec<f64>,
    /// Smallest absolute value, over all blocks, of the product of the normsys factors. If it is zero,
    /// relative derivatives cannot be used.
    pub(super) least: [f64; WIDTH],
    /// Derivatives of the expected yields, in models whose metric uses [`Derivatives`].
    pub(super) derivatives: Option<Derivatives>,
}

impl Scratch {
    /// Allocates scratch for any points of `plan`.
    pub(super) fn new(plan: &Plan, derivatives: Option<Derivatives>) -> Self {
        let (n, bins) = (plan.n_parameters() * WIDTH, plan.n_bins() * WIDTH);
        let terms = plan.structure.norm_block.len() * WIDTH;
        let rates = plan.poisson().len() * WIDTH;
        Self {
            curved: vec![0.0; n],
            curved_first: vec![0.0; n],
            curved_second: if derivatives.is_some() { vec![0.0; n] } else { Vec::new() },
            ratio: vec![0.0; terms],
            relative_second: if derivatives.is_some() { vec![0.0; terms] } else { Vec::new() },
            norm: vec![1.0; plan.structure.blocks.len() * WIDTH],
            exponent: vec![0.0; plan.structure.blocks.len() * WIDTH],
            block_scale: vec![1.0; plan.structure.blocks.len() * WIDTH],
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
            derivatives,
        }
    }
}
