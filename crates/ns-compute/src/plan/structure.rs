//! Describes which parameter acts on which sample and bin, by lists of indices and blocks, and contains the orders in
//! which parameters can be eliminated.
//!
//! A *block* is one sample in one channel. Its per-bin arrays are padded with zeros to a multiple of
//! [`LANES`](super::LANES). Therefore loops over bins have no remainder. The padding contributes exactly zero.

use ns_core::{HistosysCode, ParameterTable};

use super::Layout;
use crate::factors::BlockFunction;
use crate::terms::normsys::Normsys;

/// A block: one sample in one channel. Each field that is a pair of numbers is a range (first index, index after the
/// last) in an array of the plan.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Index of the block's first cell (bin of the block) in the padded arrays with one element per cell (nominal
    /// yields and scratch).
    pub(crate) cell: usize,
    /// Index of the first bin of the channel among all main bins.
    pub(crate) bin: usize,
    /// Number of bins of the block (one sample in one channel), which is the number of bins of the channel.
    pub(crate) n_bins: usize,
    /// Number of SIMD vectors of `LANES` bins that the block (one sample in one channel) takes: the number of bins
    /// divided by `LANES`, rounded up.
    pub(crate) n_lanes: usize,
    /// Range in `Structure::hist_param` of the histosys terms of the block (one sample in one channel). The terms
    /// before `hist_curved` have an asymmetric part.
    pub(crate) hist: (usize, usize),
    /// Index in `Structure::hist_param` after the last asymmetric histosys term of the block (one sample in one
    /// channel).
    pub(crate) hist_curved: usize,
    /// Index in `Numbers::hist_slope` of the first histosys slope of the block (one sample in one channel).
    pub(crate) slope: usize,
    /// Index in `Numbers::hist_curve` of the first asymmetric part of the histosys terms of the block (one sample in
    /// one channel).
    pub(crate) curve: usize,
    /// Range in `Structure::norm_of_block` of the normsys terms of the block (one sample in one channel).
    pub(crate) norm: (usize, usize),
    /// Range in `Structure::factor_param` of the scale factors (normfactor, lumi) of the block (one sample in one
    /// channel).
    pub(crate) factor: (usize, usize),
    /// The factor of the block that is a function of parameters, if it has one.
    pub(crate) function: Option<BlockFunction>,
    /// Range in `Structure::bin_function` of the functions of single bins, one per bin of the block. Empty if the block has
    /// none.
    pub(crate) bin_functions: (usize, usize),
    /// Range in `Structure::binwise_first` of the per-bin factors (shapesys, staterror, shapefactor) of the block (one
    /// sample in one channel).
    pub(crate) binwise: (usize, usize),
    /// Range in `Structure::block_params` of the parameters of the block (one sample in one channel), except those of
    /// per-bin factors. Each parameter is listed once.
    pub(crate) params: (usize, usize),
}

/// Range of the normsys terms (one for each normsys modifier of a sample) of one parameter. These terms are
/// consecutive, and their number is padded to a multiple of [`TERM_LANES`](super::TERM_LANES).
#[derive(Debug, Clone, Copy)]
pub(crate) struct NormRun {
    pub(crate) param: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// All constraint terms of one type (Gaussian or Poisson). Each term has a parameter and an auxiliary datum.
#[derive(Debug, Clone, Default)]
pub(crate) struct Constraints {
    pub(crate) param: Vec<usize>,
    pub(crate) aux: Vec<usize>,
}

impl Constraints {
    /// Iterates over the constraint terms. Each element contains the index of the parameter, the index of the auxiliary
    /// datum, and the element of `numbers` that belongs to the term.
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
    /// Number of cells of all blocks (a cell is one bin of one sample), with padding.
    pub(crate) n_cells: usize,
    pub(crate) hist_param: Vec<u32>,
    /// For each histosys term, the position of its parameter in the parameter list of its block (one sample in one
    /// channel).
    pub(crate) hist_slot: Vec<u32>,
    /// Indices of the parameters that have a histosys effect, in ascending order. Each parameter is listed once.
    pub(crate) hist_params: Vec<usize>,
    pub(crate) norm_runs: Vec<NormRun>,
    /// For each normsys term, the index of its block (one sample in one channel). Terms that are padding belong to a
    /// dummy block, which comes after the last block.
    pub(crate) norm_block: Vec<u32>,
    /// Indices of the normsys terms, grouped by block (one sample in one channel).
    pub(crate) norm_of_block: Vec<u32>,
    /// For each element of `norm_of_block`, the position of the term's parameter in the parameter list of its block
    /// (one sample in one channel).
    pub(crate) norm_slot: Vec<u32>,
    pub(crate) factor_param: Vec<u32>,
    pub(crate) factor_slot: Vec<u32>,
    /// For each parameter of the function of each block (one sample in one channel), the position of the parameter in the
    /// parameter list of the block.
    pub(crate) function_slot: Vec<u32>,
    /// For each bin of each block with functions of single bins, the index of its function in
    /// [`FactorFunctions`](crate::factors::FactorFunctions).
    pub(crate) bin_function: Vec<u32>,
    /// For each per-bin factor of each block (one sample in one channel), the index of its parameter in the first bin
    /// of the channel.
    pub(crate) binwise_first: Vec<u32>,
    pub(crate) block_params: Vec<u32>,
    pub(crate) gaussian: Constraints,
    pub(crate) poisson: Constraints,
    /// For each event channel and penalty term, the indices of the parameters on which it depends.
    pub(crate) event_terms: Vec<Vec<usize>>,
    /// For each parameter, whether it has an auxiliary measurement (a constraint).
    pub(crate) constrained: Vec<bool>,
    /// For each parameter, whether the likelihood has a kink where the parameter is 0.
    pub(crate) kinked: Vec<bool>,
    /// Whether the likelihood has a kink for at least one parameter.
    pub(crate) has_kinks: bool,
    /// Order in which parameters are eliminated in a factorisation of the curvature matrix with the fewest
    /// multiplications (see `layout`). The optimiser uses it.
    pub(crate) layout: Layout,
    /// Order of elimination in which parameters that scale a single bin come first and all other parameters follow
    /// together. Covariances are computed with it.
    pub(crate) wide: Layout,
    /// Layout in which the Hessian is one dense matrix, with columns in the order of the parameters. Evaluations of
    /// the Hessian, flat directions and saddle points use it.
    pub(crate) flat: Layout,
}
