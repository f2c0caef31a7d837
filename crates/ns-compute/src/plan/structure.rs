//! Which parameter acts where: indices, blocks, and the order of elimination.
//!
//! A *block* is one sample in one channel. Its per-bin arrays are padded to a
//! multiple of [`LANES`](super::LANES) with zeros, so that kernels never need a remainder loop;
//! padded lanes contribute exactly zero.

use ns_core::{HistosysCode, ParameterTable};

use super::Layout;
use crate::terms::normsys::Normsys;

/// One sample in one channel. Ranges index the plan's arrays.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// First padded cell (nominal yields and all per-cell scratch).
    pub(crate) cell: usize,
    /// First bin of the channel among all main bins.
    pub(crate) bin: usize,
    /// Bins of the channel.
    pub(crate) n_bins: usize,
    /// Bins divided by `LANES`, rounded up.
    pub(crate) n_lanes: usize,
    /// histosys terms; those up to `hist_curved` have an asymmetric part.
    pub(crate) hist: (usize, usize),
    /// End of the asymmetric histosys terms.
    pub(crate) hist_curved: usize,
    /// Offset of the first symmetric template in `Numbers::hist_slope`.
    pub(crate) slope: usize,
    /// Offset of the first asymmetric template in `Numbers::hist_curve`.
    pub(crate) curve: usize,
    /// normsys terms, as positions into `Structure::norm_of_block`.
    pub(crate) norm: (usize, usize),
    /// Scalar factors (normfactor, lumi).
    pub(crate) factor: (usize, usize),
    /// Per-bin factors (shapesys, staterror, shapefactor).
    pub(crate) binwise: (usize, usize),
    /// Distinct scalar parameters of the block, in `Structure::block_params`.
    pub(crate) params: (usize, usize),
}

/// normsys terms of one parameter: consecutive, padded to [`TERM_LANES`](super::TERM_LANES).
#[derive(Debug, Clone, Copy)]
pub(crate) struct NormRun {
    pub(crate) param: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Constraint terms of one kind: the parameter and the auxiliary datum of each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Constraints {
    pub(crate) param: Vec<usize>,
    pub(crate) aux: Vec<usize>,
}

impl Constraints {
    /// Parameter, auxiliary datum and number of each term.
    pub(super) fn with(&self, numbers: &[f64]) -> impl ExactSizeIterator<Item = (usize, usize, f64)> {
        self.param.iter().zip(&self.aux).zip(numbers).map(|((&p, &a), &x)| (p, a, x))
    }
}

/// The part of a compiled model that stays when its numbers are replaced.
#[derive(Debug, Clone)]
pub(crate) struct Structure {
    pub(crate) table: ParameterTable,
    pub(crate) n_bins: usize,
    pub(crate) n_aux: usize,
    pub(crate) normsys: &'static Normsys,
    pub(crate) histosys: HistosysCode,
    pub(crate) blocks: Vec<Block>,
    /// Number of padded cells over all blocks.
    pub(crate) n_cells: usize,
    pub(crate) hist_param: Vec<u32>,
    /// Position of each histosys term's parameter within its block's list.
    pub(crate) hist_slot: Vec<u32>,
    /// Parameters used by some histosys.
    pub(crate) hist_params: Vec<usize>,
    pub(crate) norm_runs: Vec<NormRun>,
    /// Block of each (padded) normsys term; padding points at the dummy block.
    pub(crate) norm_block: Vec<u32>,
    /// normsys terms grouped by block (indices into the padded terms).
    pub(crate) norm_of_block: Vec<u32>,
    /// Position of each of those terms' parameter within the block's list.
    pub(crate) norm_slot: Vec<u32>,
    pub(crate) factor_param: Vec<u32>,
    pub(crate) factor_slot: Vec<u32>,
    /// Parameter of the channel's first bin, per per-bin factor.
    pub(crate) binwise_first: Vec<u32>,
    pub(crate) block_params: Vec<u32>,
    pub(crate) gaussian: Constraints,
    pub(crate) poisson: Constraints,
    /// Parameters with an auxiliary measurement.
    pub(crate) constrained: Vec<bool>,
    /// Parameters whose likelihood has a kink at 0.
    pub(crate) kinked: Vec<bool>,
    /// Some parameter has one.
    pub(crate) has_kinks: bool,
    /// Order of elimination.
    pub(crate) layout: Layout,
    /// Local parameters eliminated, no border: for the covariance of models of moderate size.
    pub(crate) wide: Layout,
    /// Everything dense, columns are parameters: for whole Hessians and flat directions.
    pub(crate) flat: Layout,
}
