//! Working memory of eight fits at once.
//!
//! An array holds eight numbers for every element, side by side, one for each lane. The number of element `i` in lane
//! `l` is at the index `8 i + l`.

use super::WIDTH;
use super::correlated;
use super::derivatives::Derivatives;
use super::own_norms;
use crate::factors::LaneFactors;
use crate::plan::Plan;

/// Intermediate results of one evaluation in all lanes.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Value of the interpolation function `f` of the histosys code, per parameter.
    pub(super) curved: Vec<f64>,
    /// First derivative of the interpolation function `f`, per parameter.
    pub(super) curved_first: Vec<f64>,
    /// Second derivative of the interpolation function `f`, per parameter. Empty unless the metric uses
    /// [`Derivatives`].
    pub(super) curved_second: Vec<f64>,
    /// Derivative of each normsys factor divided by the factor, per term.
    pub(super) ratio: Vec<f64>,
    /// Second derivative of each normsys factor divided by the factor, per term. Empty unless the metric uses
    /// [`Derivatives`] and [`own_norms`] does not apply.
    pub(super) relative_second: Vec<f64>,
    /// Product of the normsys factors, per block (one sample in one channel).
    pub(super) norm: Vec<f64>,
    /// Sum of the exponents of those normsys factors that are exponential functions at the current parameters, per
    /// block (one sample in one channel).
    pub(super) exponent: Vec<f64>,
    /// Product of all normsys factors and scale factors, per block (one sample in one channel).
    pub(super) block_scale: Vec<f64>,
    /// Nominal yield plus additive variations, per cell. A cell is one bin of one sample.
    pub(super) additive: Vec<f64>,
    /// Product of the per-bin factors, per cell.
    pub(super) binwise: Vec<f64>,
    /// Expected yield, per bin.
    pub(super) lambda: Vec<f64>,
    /// Poisson term of `-ln L`, per bin.
    pub(super) term: Vec<f64>,
    /// Derivative of the Poisson term with respect to the expected yield, per bin.
    pub(super) slope: Vec<f64>,
    /// Weight in the metric, per bin.
    pub(super) weight: Vec<f64>,
    /// Expected auxiliary count, per Poisson constraint.
    pub(super) rate: Vec<f64>,
    /// Auxiliary count, per Poisson constraint.
    pub(super) count: Vec<f64>,
    /// Term of `-ln L`, per Poisson constraint.
    pub(super) rate_term: Vec<f64>,
    /// Pulls of the parameters of a term of correlations, with one number per parameter and lane.
    pub(super) pulls: Vec<f64>,
    /// `-ln L` relative to the saturated model.
    pub(super) value: [f64; WIDTH],
    /// Scale of the rounding errors of `value`.
    pub(super) noise: [f64; WIDTH],
    /// Gradient of `-ln L`, per parameter.
    pub(super) gradient: Vec<f64>,
    /// Derivative of a bin's expected yield with respect to a per-bin factor of this bin, per parameter.
    pub(super) reaction: Vec<f64>,
    /// Smallest absolute value of the product of normsys factors over all blocks. If it is zero, relative derivatives
    /// cannot be used.
    pub(super) least: [f64; WIDTH],
    /// Derivatives of the expected yields. `None` in models whose metric does not use [`Derivatives`].
    pub(super) derivatives: Option<Derivatives>,
    /// Values and derivatives of functions that are factors of samples.
    pub(super) factors: LaneFactors,
}

impl Scratch {
    /// Allocates working memory that suffices for any points of `plan`.
    pub(super) fn new(plan: &Plan, derivatives: Option<Derivatives>) -> Self {
        let (n, bins) = (plan.n_parameters() * WIDTH, plan.n_bins() * WIDTH);
        let terms = plan.structure.norm_block.len() * WIDTH;
        let rates = plan.poisson().len() * WIDTH;
        Self {
            curved: vec![0.0; n],
            curved_first: vec![0.0; n],
            curved_second: if derivatives.is_some() { vec![0.0; n] } else { Vec::new() },
            ratio: vec![0.0; terms],
            relative_second: if derivatives.is_some() && !own_norms::applies(plan) {
                vec![0.0; terms]
            } else {
                Vec::new()
            },
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
            pulls: vec![0.0; correlated::n_pulls(plan)],
            value: [0.0; WIDTH],
            noise: [0.0; WIDTH],
            gradient: vec![0.0; n],
            reaction: vec![0.0; n],
            least: [1.0; WIDTH],
            factors: plan.factors.lane_memory(WIDTH, derivatives.is_some()),
            derivatives,
        }
    }
}
