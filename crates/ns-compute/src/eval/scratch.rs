//! Working memory of one evaluation; made once per thread, reused for every point.

use crate::plan::{LANES, Plan};

/// A sum that is kept in parts, bins in turn going to the lanes of a vector. Aligned to a cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Unsummed(pub(crate) [f64; 2 * LANES]);

/// All intermediate arrays of an evaluation. After [`super::forward`] they describe
/// one point; the gradient and the curvature read them.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    /// `f`, `f'`, `f''` of the histosys code, per parameter.
    pub(crate) curved: Vec<f64>,
    pub(crate) curved_first: Vec<f64>,
    pub(crate) curved_second: Vec<f64>,
    /// normsys factor, its derivative where it is a polynomial, and its relative derivatives `k'/k`,
    /// `k''/k`, per padded term.
    pub(crate) kappa: Vec<f64>,
    pub(crate) kappa_first: Vec<f64>,
    pub(crate) ratio: Vec<f64>,
    pub(crate) ratio_second: Vec<f64>,
    /// Product of the normsys factors of each block, plus one dummy block for padding.
    pub(crate) norm: Vec<f64>,
    /// Product of all scalar factors of each block.
    pub(crate) scale: Vec<f64>,
    /// Nominal plus additive variations, per padded cell.
    pub(crate) additive: Vec<f64>,
    /// Product of the per-bin factors, per padded cell; zero in the padding.
    pub(crate) binwise: Vec<f64>,
    /// `r_b g_b` per padded cell, `r` the derivative of the likelihood by the expectation.
    pub(crate) weight: Vec<f64>,
    /// Expected yields; padded at the end so that whole lanes can be written.
    pub(crate) lambda: Vec<f64>,
    /// Poisson terms of the likelihood.
    pub(crate) terms: Vec<f64>,
    /// First and second derivative of the Poisson terms by the expectation.
    pub(crate) slope: Vec<f64>,
    pub(crate) curvature: Vec<f64>,
    /// Block sums with the derivatives left out, for the normsys gradient.
    pub(crate) block_sum: Vec<f64>,
    /// Gradient elements of the parameters of histosys, not yet summed over bins.
    pub(crate) unsummed: Vec<Unsummed>,
    /// Per-slot scratch of one block.
    pub(crate) slot: [Vec<f64>; 4],
    /// Per-cell scratch of one block.
    pub(crate) cells: [Vec<f64>; 2],
    /// Some normsys factor or product is too close to zero to be divided by.
    pub(crate) degenerate: bool,
    /// Gradient of the last point.
    pub(crate) gradient: Vec<f64>,
    /// Half the height of the kink in each gradient element, where a parameter sits on one.
    pub(crate) jump: Vec<f64>,
}

impl Scratch {
    /// Memory for any point of `plan`.
    pub(crate) fn new(plan: &Plan) -> Self {
        let n = plan.n_parameters();
        let terms = plan.structure.norm_block.len();
        let blocks = plan.structure.blocks.len() + 1;
        let bins = plan.n_bins() + LANES;
        let slots = plan.structure.blocks.iter().map(|b| b.params.1 - b.params.0).max().unwrap_or(0);
        let lanes = plan.structure.blocks.iter().map(|b| b.n_lanes * LANES).max().unwrap_or(0);
        let mut scratch = Self {
            curved: vec![0.0; n],
            curved_first: vec![0.0; n],
            curved_second: vec![0.0; n],
            kappa: vec![1.0; terms],
            kappa_first: vec![0.0; terms],
            ratio: vec![0.0; terms],
            ratio_second: vec![0.0; terms],
            norm: vec![1.0; blocks],
            scale: vec![1.0; blocks],
            additive: vec![0.0; plan.structure.n_cells],
            binwise: vec![0.0; plan.structure.n_cells],
            weight: vec![0.0; plan.structure.n_cells],
            lambda: vec![0.0; bins],
            terms: vec![0.0; bins],
            slope: vec![0.0; bins],
            curvature: vec![0.0; bins],
            block_sum: vec![0.0; blocks],
            unsummed: vec![Unsummed::default(); n],
            slot: std::array::from_fn(|_| vec![0.0; slots]),
            cells: std::array::from_fn(|_| vec![0.0; lanes]),
            degenerate: false,
            gradient: vec![0.0; n],
            jump: vec![0.0; n],
        };
        // Blocks without per-bin factors keep these ones for good.
        for block in &plan.structure.blocks {
            scratch.binwise[block.cell..block.cell + block.n_bins].fill(1.0);
        }
        scratch
    }
}
