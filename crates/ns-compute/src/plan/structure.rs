//! Describes which parameter acts on which sample and bin: indices, blocks, and the order of elimination.
//!
//! A *block* is one sample in one channel. Its per-bin arrays are padded to a multiple of
//! [`LANES`](super::LANES) with zeros, so that kernels never need a remainder loop; the padding contributes
//! exactly zero.

use ns_core::{HistosysCode, ParameterTable};

use super::Layout;
use crate::terms::normsys::Normsys;

/// One sample in one channel. Pairs are ranges (start, end) in arrays of the plan.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Index of the first cell in padded per-cell arrays (nominal yields and scratch).
    pub(crate) cell: usize,
    /// First bin of the channel among all main bins.
    pub(crate) bin: usize,
    /// Number of bins of the channel.
    pub(crate) n_bins: usize,
    /// Number of bins divided by `LANES`, rounded up.
    pub(crate) n_lanes: usize,
    /// Range of the histosys terms; those before `hist_curved` have an asymmetric part.
    pub(crate) hist: (usize, usize),
    /// End of the asymmetric histosys terms.
    pub(crate) hist_curved: usize,
    /// Offset of the first template in `Numbers::hist_slope`.
    pub(crate) slope: usize,
    /// Offset of the first asymmetric part in `Numbers::hist_curve`.
    pub(crate) curve: usize,
    /// Range of the normsys terms in `Structure::norm_of_block`.
    pub(crate) norm: (usize, usize),
    /// Range of the scalar factors (normfactor, lumi) in `Structure::factor_param`.
    pub(crate) factor: (usize, usize),
    /// Range of the per-bin factors (shapesys, staterror, shapefactor) in `Structure::binwise_first`.
    pub(crate) binwise: (usize, usize),
    /// Range of the distinct scalar parameters in `Structure::block_params`.
    pub(crate) params: (usize, usize),
}

/// Range of the normsys terms of one parameter, which are consecutive and padded to a multiple of
/// [`TERM_LANES`](super::TERM_LANES).
#[derive(Debug, Clone, Copy)]
pub(crate) struct NormRun {
    pub(crate) param: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Constraint terms of one kind (Gaussian or Poisson): the parameter and the auxiliary datum of each term.
#[derive(Debug, Clone, Default)]
pub(crate) struct Constraints {
    pub(crate) param: Vec<usize>,
    pub(crate) aux: Vec<usize>,
}

impl Constraints {
    /// Iterates over the terms: parameter, auxiliary datum, and the term's element of `numbers`.
    pub(super) fn with(&self, numbers: &[f64]) -> impl ExactSizeIterator<Item = (usize, usize, f64)> {
        self.param.iter().zip(&self.aux).zip(numbers).map(|((&p, &a), &x)| (p, a, x))
    }
}

/// The part of a compiled model that does not change when its numbers are replaced.
#[derive(Debug, Clone)]
pub(crate) struct Structure {
    pub(crate) table: ParameterTable,
    pub(crate) n_bins: usize,
    pub(crate) n_aux: usize,
    pub(crate) normsys: &'static Normsys,
    pub(crate) histosys: HistosysCode,
    pub(crate) blocks: Vec<Block>,
    /// Number of cells of all blocks, with padding.
    pub(crate) n_cells: usize,
    pub(crate) hist_param: Vec<u32>,
    /// Position of each histosys term's parameter in the parameter list of its block.
    pub(crate) hist_slot: Vec<u32>,
    /// Parameters that have a histosys, sorted, each once.
    pub(crate) hist_params: Vec<usize>,
    pub(crate) norm_runs: Vec<NormRun>,
    /// Block of each normsys term; padding belongs to a dummy block after the last one.
    pub(crate) norm_block: Vec<u32>,
    /// Indices of the normsys terms, grouped by block.
    pub(crate) norm_of_block: Vec<u32>,
    /// Position of the parameter in the parameter list of its block, for each element of `norm_of_block`.
    pub(crate) norm_slot: Vec<u32>,
    pub(crate) factor_param: Vec<u32>,
    pub(crate) factor_slot: Vec<u32>,
    /// Parameter in the channel's first bin, for each per-bin factor of each block.
    pub(crate) binwise_first: Vec<u32>,
    pub(crate) block_params: Vec<u32>,
    pub(crate) gaussian: Constraints,
    pub(crate) poisson: Constraints,
    /// Parameters on which each event channel and penalty depends.
    pub(crate) event_terms: Vec<Vec<usize>>,
    /// Whether each parameter has an auxiliary measurement.
    pub(crate) constrained: Vec<bool>,
    /// Whether the likelihood has a kink where the parameter is 0, for each parameter.
    pub(crate) kinked: Vec<bool>,
    /// Whether any parameter has a kink.
    pub(crate) has_kinks: bool,
    /// Nested order of elimination with a border (see `layout`), which the optimiser uses.
    pub(crate) layout: Layout,
    /// Order of elimination with local parameters first and no border, for covariances.
    pub(crate) wide: Layout,
    /// Layout in which the Hessian is one dense matrix with its columns in parameter order. Evaluations of the
    /// Hessian, flat directions and saddle points use it.
    pub(crate) flat: Layout,
}
