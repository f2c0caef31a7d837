//! Describes which parameter acts on which sample and bin: indices, blocks, and the order of elimination.
//!
//! A *block* is one sample in one channel. Its per-bin arrays are padded with zeros to a multiple of
//! [`LANES`](super::LANES). Therefore loops over bins have no remainder. The padding contributes exactly zero.

use ns_core::{HistosysCode, ParameterTable};

use super::Layout;
use crate::terms::normsys::Normsys;

/// One sample in one channel. A pair of numbers is a range (start, end) in an array of the plan.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Index of the block's first cell in arrays with one element per cell (nominal yields and scratch). The arrays
    /// are padded.
    pub(crate) cell: usize,
    /// First bin of the channel among all main bins.
    pub(crate) bin: usize,
    /// Number of bins of the block, which is that of the channel.
    pub(crate) n_bins: usize,
    /// Number of bins divided by `LANES`, rounded up.
    pub(crate) n_lanes: usize,
    /// Range of the histosys terms in `Structure::hist_param`. The terms before `hist_curved` have an asymmetric
    /// part.
    pub(crate) hist: (usize, usize),
    /// Index after the last histosys term with an asymmetric part.
    pub(crate) hist_curved: usize,
    /// Index of the first template of the block in `Numbers::hist_slope`.
    pub(crate) slope: usize,
    /// Index of the first asymmetric part of the block in `Numbers::hist_curve`.
    pub(crate) curve: usize,
    /// Range of the normsys terms in `Structure::norm_of_block`.
    pub(crate) norm: (usize, usize),
    /// Range of the scalar factors (normfactor, lumi) in `Structure::factor_param`.
    pub(crate) factor: (usize, usize),
    /// Range of the per-bin factors (shapesys, staterror, shapefactor) in `Structure::binwise_first`.
    pub(crate) binwise: (usize, usize),
    /// Range of the block's scalar parameters in `Structure::block_params`. Each parameter is listed once.
    pub(crate) params: (usize, usize),
}

/// Range of the normsys terms of one parameter. The terms are consecutive, and their number is padded to a multiple
/// of [`TERM_LANES`](super::TERM_LANES).
#[derive(Debug, Clone, Copy)]
pub(crate) struct NormRun {
    pub(crate) param: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Constraint terms of one kind (Gaussian or Poisson). Each term has a parameter and an auxiliary datum.
#[derive(Debug, Clone, Default)]
pub(crate) struct Constraints {
    pub(crate) param: Vec<usize>,
    pub(crate) aux: Vec<usize>,
}

impl Constraints {
    /// Iterates over the terms. Each element contains the parameter, the auxiliary datum, and the term's element of
    /// `numbers`.
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
    /// Number of cells (bins of blocks) of all blocks, with padding.
    pub(crate) n_cells: usize,
    pub(crate) hist_param: Vec<u32>,
    /// For each histosys term, the position of its parameter in the parameter list of its block.
    pub(crate) hist_slot: Vec<u32>,
    /// Parameters that have a histosys effect, in ascending order. Each is listed once.
    pub(crate) hist_params: Vec<usize>,
    pub(crate) norm_runs: Vec<NormRun>,
    /// For each normsys term, the index of its block. Padding terms belong to a dummy block, which comes after the
    /// last block.
    pub(crate) norm_block: Vec<u32>,
    /// Indices of the normsys terms, grouped by block.
    pub(crate) norm_of_block: Vec<u32>,
    /// For each element of `norm_of_block`, the position of its parameter in the parameter list of its block.
    pub(crate) norm_slot: Vec<u32>,
    pub(crate) factor_param: Vec<u32>,
    pub(crate) factor_slot: Vec<u32>,
    /// For each per-bin factor of each block, its parameter in the first bin of the channel.
    pub(crate) binwise_first: Vec<u32>,
    pub(crate) block_params: Vec<u32>,
    pub(crate) gaussian: Constraints,
    pub(crate) poisson: Constraints,
    /// For each event channel and penalty term, the parameters on which it depends.
    pub(crate) event_terms: Vec<Vec<usize>>,
    /// For each parameter, whether it has an auxiliary measurement (a constraint).
    pub(crate) constrained: Vec<bool>,
    /// For each parameter, whether the likelihood has a kink where the parameter is 0.
    pub(crate) kinked: Vec<bool>,
    /// Whether the likelihood has a kink for at least one parameter.
    pub(crate) has_kinks: bool,
    /// Nested order of elimination with a border (see `layout`). The optimiser uses it.
    pub(crate) layout: Layout,
    /// Order of elimination with local parameters first and without a border. Covariances are computed with it.
    pub(crate) wide: Layout,
    /// Layout in which the Hessian is one dense matrix, with columns in the order of the parameters. Evaluations of
    /// the Hessian, flat directions and saddle points use it.
    pub(crate) flat: Layout,
}
