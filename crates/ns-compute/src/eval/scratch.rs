//! Working memory of an evaluation. It is allocated once per thread and used again for every point.

use crate::events::EventScratch;
use crate::factors::FactorMemory;
use crate::plan::{LANES, Plan};

/// Partial sums of one gradient element, one for each lane of a SIMD vector of bins. The lanes are added up later. The
/// sums are aligned to a cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Unsummed(pub(crate) [f64; 2 * LANES]);

/// All intermediate arrays of an evaluation at one point. The function `forward` computes the first of them. The
/// likelihood, the gradient and the curvature at the same point are computed from these, and fill the others.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    /// For each parameter, the value of the histosys interpolation function `f` at the value of the parameter.
    pub(crate) curved: Vec<f64>,
    /// For each parameter, the first derivative of the histosys interpolation function `f` at the value of the
    /// parameter.
    pub(crate) curved_first: Vec<f64>,
    /// For each parameter, the second derivative of the histosys interpolation function `f` at the value of the
    /// parameter.
    pub(crate) curved_second: Vec<f64>,
    /// Factor `k` of each normsys term (the effect of one normsys modifier on one sample), including terms that are
    /// padding.
    pub(crate) kappa: Vec<f64>,
    /// Derivative `k'` of the factor `k` of each normsys term with respect to its parameter. It is set only for terms
    /// whose factor is a polynomial at the point.
    pub(crate) kappa_first: Vec<f64>,
    /// Relative derivative `k'/k` of the factor `k` of each normsys term with respect to its parameter.
    pub(crate) ratio: Vec<f64>,
    /// Relative second derivative `k''/k` of the factor `k` of each normsys term with respect to its parameter.
    pub(crate) ratio_second: Vec<f64>,
    /// Product of the normsys factors of each block (one sample in one channel). There is one more element for a dummy
    /// block, to which padding terms belong.
    pub(crate) norm: Vec<f64>,
    /// Product of all scalar factors (normsys, normfactor, lumi) of each block (one sample in one channel).
    pub(crate) scale: Vec<f64>,
    /// Nominal yield plus additive variations in each cell. A cell is one bin of one sample.
    pub(crate) additive: Vec<f64>,
    /// Product of the per-bin factors in each cell (one bin of one sample); zero in padding cells.
    pub(crate) binwise: Vec<f64>,
    /// The product `e r_b g_b` of each cell (one bin of one sample). `e` is [`Point::exactness`], `r_b` is the derivative
    /// of `-ln L` with respect to the expected yield of the bin, and `g_b` is the product of the per-bin factors.
    ///
    /// [`Point::exactness`]: crate::curvature::Point::exactness
    pub(crate) weight: Vec<f64>,
    /// Expected yield of each bin. There is padding at the end, so whole SIMD vectors can be written.
    pub(crate) lambda: Vec<f64>,
    /// Poisson term of `-ln L` of each bin.
    pub(crate) terms: Vec<f64>,
    /// First derivative of each Poisson term with respect to the expected yield.
    pub(crate) slope: Vec<f64>,
    /// Second derivative of each Poisson term with respect to the expected yield.
    pub(crate) curvature: Vec<f64>,
    /// For each block (one sample in one channel), the sum `sum_b r_b g_b D_b` over its bins `b`, times the product of
    /// its scalar factors (normsys, normfactor, lumi). `weight` contains `r_b g_b`, and `additive` contains `D_b`. The
    /// derivatives with respect to normsys parameters are computed from this sum.
    pub(crate) block_sum: Vec<f64>,
    /// Partial sums of the gradient elements of the histosys parameters. There is one element per parameter of the
    /// model.
    pub(crate) unsummed: Vec<Unsummed>,
    /// Four working arrays with one element per parameter of a block (one sample in one channel).
    pub(crate) slot: [Vec<f64>; 4],
    /// Two working arrays with one element per bin of a block (one sample in one channel).
    pub(crate) cells: [Vec<f64>; 2],
    /// Whether the product of the normsys factors of at least one block (one sample in one channel) is too close to
    /// zero for a division.
    pub(crate) degenerate: bool,
    /// Gradient of `-ln L` at the last point, one element per parameter.
    pub(crate) gradient: Vec<f64>,
    /// For each parameter at a kink, half of the difference between its two one-sided derivatives of `-ln L`.
    pub(crate) jump: Vec<f64>,
    /// Functions of parameters that are factors of samples.
    pub(crate) factors: FactorMemory,
    /// Working memory of event channels and penalties.
    pub(crate) events: EventScratch,
}

impl Scratch {
    /// Allocates working memory that suffices for any point of `plan`.
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
            factors: plan.factors.memory(slots),
            events: EventScratch::new(&plan.events),
        };
        // For blocks without per-bin factors, no evaluation changes the 1 that is written here.
        for block in &plan.structure.blocks {
            scratch.binwise[block.cell..block.cell + block.n_bins].fill(1.0);
        }
        scratch
    }
}
