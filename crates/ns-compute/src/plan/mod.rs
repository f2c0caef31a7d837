//! The compiled model: flat arrays and indices, no names.
//!
//! A *block* is one sample in one channel. Its per-bin arrays are padded to a
//! multiple of [`LANES`] with zeros, so that kernels never need a remainder loop;
//! padded lanes contribute exactly zero.

mod compile;
mod count;
mod nonlinearity;
mod structure;

use ns_core::{HistosysCode, ParameterTable};

use crate::terms::normsys::Normsys;

pub(crate) use nonlinearity::Nonlinearity;
pub(crate) use structure::{Component, CurvatureSlot, Incidence, Layout};

/// Width of the padding of per-bin arrays.
pub(crate) const LANES: usize = 4;

/// Padding of the normsys terms of one parameter.
pub(crate) const TERM_LANES: usize = 8;

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
    /// Offset of the first symmetric template in `Plan::hist_slope`.
    pub(crate) slope: usize,
    /// Offset of the first asymmetric template in `Plan::hist_curve`.
    pub(crate) curve: usize,
    /// normsys terms, as positions into `Plan::norm_of_block`.
    pub(crate) norm: (usize, usize),
    /// Scalar factors (normfactor, lumi).
    pub(crate) factor: (usize, usize),
    /// Per-bin factors (shapesys, staterror, shapefactor).
    pub(crate) binwise: (usize, usize),
    /// Distinct scalar parameters of the block, in `Plan::block_params`.
    pub(crate) params: (usize, usize),
}

/// normsys terms of one parameter: consecutive, padded to [`TERM_LANES`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct NormRun {
    pub(crate) param: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Gaussian constraint terms.
#[derive(Debug, Clone, Default)]
pub(crate) struct GaussianTerms {
    pub(crate) param: Vec<usize>,
    pub(crate) aux: Vec<usize>,
    pub(crate) inverse_sigma: Vec<f64>,
    /// `sum ln(sigma sqrt(2 pi))`.
    pub(crate) constant: f64,
}

/// Poisson constraint terms.
#[derive(Debug, Clone, Default)]
pub(crate) struct PoissonTerms {
    pub(crate) param: Vec<usize>,
    pub(crate) aux: Vec<usize>,
    pub(crate) tau: Vec<f64>,
}

/// A compiled model. Data are not part of it.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) table: ParameterTable,
    pub(crate) n_bins: usize,
    pub(crate) n_aux: usize,
    pub(crate) normsys: &'static Normsys,
    pub(crate) histosys: HistosysCode,
    pub(crate) blocks: Vec<Block>,
    /// Number of padded cells over all blocks.
    pub(crate) n_cells: usize,
    pub(crate) nominal: Vec<f64>,
    pub(crate) hist_param: Vec<u32>,
    /// Position of each histosys term's parameter within its block's list.
    pub(crate) hist_slot: Vec<u32>,
    /// `S = (hi - lo)/2`, term after term, padded.
    pub(crate) hist_slope: Vec<f64>,
    /// `A = (hi + lo)/2 - nominal`, for the asymmetric terms only.
    pub(crate) hist_curve: Vec<f64>,
    /// Parameters used by some histosys.
    pub(crate) hist_params: Vec<usize>,
    pub(crate) norm_runs: Vec<NormRun>,
    /// Block of each (padded) normsys term; padding points at the dummy block.
    pub(crate) norm_block: Vec<u32>,
    /// Coefficients of the polynomials of normsys, one array per power, and rates beyond (see `terms::normsys`).
    pub(crate) norm_coefficients: [Vec<f64>; 6],
    pub(crate) norm_rate_hi: Vec<f64>,
    pub(crate) norm_rate_lo: Vec<f64>,
    /// normsys terms grouped by block (indices into the padded terms).
    pub(crate) norm_of_block: Vec<u32>,
    /// Position of each of those terms' parameter within the block's list.
    pub(crate) norm_slot: Vec<u32>,
    pub(crate) factor_param: Vec<u32>,
    pub(crate) factor_slot: Vec<u32>,
    /// Parameter of the channel's first bin, per per-bin factor.
    pub(crate) binwise_first: Vec<u32>,
    pub(crate) block_params: Vec<u32>,
    pub(crate) gaussian: GaussianTerms,
    pub(crate) poisson: PoissonTerms,
    /// Parameters with an auxiliary measurement.
    pub(crate) constrained: Vec<bool>,
    /// Parameters whose likelihood has a kink at 0.
    pub(crate) kinked: Vec<bool>,
    /// Some parameter has one.
    pub(crate) has_kinks: bool,
    /// Parameters with an asymmetric effect: the other sign may hide a second minimum.
    pub(crate) asymmetric: Vec<bool>,
    /// Those whose asymmetric effect is strong enough for a second minimum between smooth pieces.
    pub(crate) nonlinear: Vec<bool>,
    /// The asymmetric parts of all effects.
    pub(crate) nonlinearity: Nonlinearity,
    /// Asymmetric effects are so many and strong that second minima are common.
    pub(crate) strongly_nonlinear: bool,
    /// The EDM of a certificate, where it is measured with a metric from elsewhere.
    pub(crate) edm_tolerance: f64,
    /// Order of elimination.
    pub(crate) layout: Layout,
    /// Local parameters eliminated, no border: for the covariance of models of moderate size.
    pub(crate) wide: Layout,
    /// Everything dense, columns are parameters: for whole Hessians and flat directions.
    pub(crate) flat: Layout,
}

impl Plan {
    /// Number of parameters.
    #[must_use]
    pub fn n_parameters(&self) -> usize {
        self.table.init.len()
    }

    /// Number of main bins.
    #[must_use]
    pub fn n_bins(&self) -> usize {
        self.n_bins
    }

    /// Width of the Gaussian constraint of a parameter, if it has one.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(crate) fn gaussian_width(&self, parameter: usize) -> Option<f64> {
        let gaussian = &self.gaussian;
        gaussian
            .param
            .iter()
            .zip(&gaussian.inverse_sigma)
            .find(|(p, _)| **p == parameter)
            .map(|(_, w)| 1.0 / w)
    }

    /// Number of auxiliary data.
    #[must_use]
    pub fn n_aux(&self) -> usize {
        self.n_aux
    }
}
