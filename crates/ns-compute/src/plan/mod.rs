//! The compiled model, which consists of flat arrays of numbers and indices, without names.
//!
//! [`Structure`] describes which parameter acts on which sample and bin. [`Numbers`] contains the sizes of these
//! effects. [`SearchPolicy`] lists the parameters for which the optimiser searches for further minima; the likelihood
//! does not depend on this list. [`OpenTerms`] lists the numbers that data may replace.

mod check;
mod compile;
mod count;
mod incidence;
mod layout;
mod nonlinearity;
mod numbers;
mod open;
mod policy;
mod product;
mod structure;

use std::sync::Arc;

use crate::events::EventPlan;
use crate::factors::FactorFunctions;

pub(crate) use layout::{Component, CurvatureSlot, Layout};
pub(crate) use nonlinearity::Nonlinearity;
pub(crate) use numbers::Numbers;
pub(crate) use open::OpenTerms;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use open::{OpenBlock, OpenNorm, OpenWidth, Source};
pub(crate) use policy::{EDM_TOLERANCE, EDM_WITHOUT_PROGRESS, SearchPolicy};
pub(crate) use structure::{Block, NormRun, Structure};

/// Per-bin arrays are padded to a multiple of this number of bins.
pub(crate) const LANES: usize = 4;

/// The number of normsys terms of one parameter is padded to a multiple of this number.
pub(crate) const TERM_LANES: usize = 8;

/// Effect of one histosys modifier on one bin. It adds `alpha slope + f(alpha) curve` to the nominal yield, where
/// `alpha` is the parameter and `f` the interpolation function.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Template {
    pub(crate) param: usize,
    pub(crate) slope: f64,
    pub(crate) curve: f64,
}

/// A compiled model. It does not contain the data.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) structure: Arc<Structure>,
    pub(crate) numbers: Numbers,
    pub(crate) policy: SearchPolicy,
    /// Event channels and penalty terms of the model.
    pub(crate) events: Arc<EventPlan>,
    /// Functions of parameters that are factors of samples.
    pub(crate) factors: Arc<FactorFunctions>,
    /// List of those numbers of the compiled model that data may replace.
    pub(crate) open: Arc<OpenTerms>,
}

/// Largest number of components (values and derivatives) of the results of all operations on functions that a thread block of
/// a GPU holds. They take at most four mebibytes.
const MOST_COMPONENTS: usize = 1 << 19;

impl Plan {
    /// Returns whether the model has event channels or penalty terms that are formulas.
    #[must_use]
    pub fn has_formula_terms(&self) -> bool {
        self.events.has_formulas()
    }

    /// Returns the part of `-ln L` of the saturated model that is the same for all data: normalisations of normal constraints.
    pub(crate) fn saturated_normal(&self) -> f64 {
        self.numbers.gaussian_constant + self.events.saturated()
    }

    /// Returns whether functions of parameters are factors of samples.
    #[must_use]
    pub fn has_function_factors(&self) -> bool {
        !self.factors.is_empty()
    }

    /// Says why CUDA devices cannot evaluate the functions of parameters that are factors of samples. Returns `None` if they can,
    /// or if there are no such functions.
    #[must_use]
    pub fn why_not_on_gpus(&self) -> Option<&'static str> {
        if !self.has_function_factors() {
            return None;
        }
        if self.structure.has_kinks {
            return Some("functions in models whose interpolation codes have kinks are evaluated on the CPU");
        }
        let components = |f: usize| Some(self.factors.tape(f)?.components);
        match self.factors.all().map(components).sum::<Option<usize>>() {
            None => Some(
                "functions of parameters that use gamma or Bessel functions, the Landau density or interpolations are evaluated on the CPU",
            ),
            Some(all) if all > MOST_COMPONENTS => {
                Some("functions of so many operations are evaluated on the CPU")
            }
            Some(_) => None,
        }
    }

    /// Replaces the numbers of all inputs (numbers of the model that data may replace) by `values`.
    /// [`OpenTerms::check`] must have accepted these values. The search policy of the optimiser does not change;
    /// [`Self::judge`] computes a new policy.
    pub(crate) fn replace(&mut self, values: &[f64]) {
        self.open.write(&self.structure, values, &mut self.numbers);
    }

    /// Determines the parameters for which the optimiser searches for further minima. This is needed after numbers
    /// were replaced.
    pub(crate) fn judge(&mut self) {
        let edm_tolerance = self.policy.edm_tolerance;
        self.policy = SearchPolicy::new(&self.structure, &self.numbers, &self.factors, edm_tolerance);
    }

    /// Returns the number of parameters.
    #[must_use]
    pub fn n_parameters(&self) -> usize {
        self.structure.table.init.len()
    }

    /// Returns whether the model has kinks: parameters at which the slope of `-ln L` jumps.
    #[must_use]
    pub fn has_kinks(&self) -> bool {
        self.structure.has_kinks
    }

    /// Returns whether second minima are common in this model because many of its effects are strongly asymmetric.
    #[must_use]
    pub fn is_strongly_nonlinear(&self) -> bool {
        self.policy.strongly_nonlinear
    }

    /// Returns the number of main bins of all channels together.
    #[must_use]
    pub fn n_bins(&self) -> usize {
        self.structure.n_bins
    }

    /// Returns the number of auxiliary data.
    #[must_use]
    pub fn n_aux(&self) -> usize {
        self.structure.n_aux
    }

    /// Iterates over the Gaussian constraints. Each element contains the index of the parameter, the index of the
    /// auxiliary datum, and 1 divided by the width.
    pub(crate) fn gaussian(&self) -> impl ExactSizeIterator<Item = (usize, usize, f64)> {
        self.structure.gaussian.with(&self.numbers.inverse_sigma)
    }

    /// Iterates over the Poisson constraints. Each element contains the index of the parameter, the index of the
    /// auxiliary datum, and the expected auxiliary count at the parameter value 1.
    pub(crate) fn poisson(&self) -> impl ExactSizeIterator<Item = (usize, usize, f64)> {
        self.structure.poisson.with(&self.numbers.tau)
    }

    /// Returns the indices of the parameters that are scale factors (normfactor, lumi) of a block (one sample in one
    /// channel).
    #[inline(always)]
    pub(crate) fn scale_factors(&self, block: &Block) -> &[u32] {
        &self.structure.factor_param[block.factor.0..block.factor.1]
    }

    /// Returns the per-bin factors of a block (one sample in one channel). Each is given by the index of its parameter
    /// in the first bin; the parameters of the other bins follow it.
    #[inline(always)]
    pub(crate) fn per_bin_factors(&self, block: &Block) -> &[u32] {
        &self.structure.binwise_first[block.binwise.0..block.binwise.1]
    }

    /// Returns the functions that multiply single bins of a block (one sample in one channel), one per bin. The list is
    /// empty if there are none.
    #[inline(always)]
    pub(crate) fn bin_functions(&self, block: &Block) -> &[u32] {
        &self.structure.bin_function[block.bin_functions.0..block.bin_functions.1]
    }

    /// Iterates over the functions that multiply bin `b` of a block (one sample in one channel): the one of the whole block,
    /// and the one of the bin.
    pub(crate) fn functions_of_bin(&self, block: &Block, b: usize) -> impl Iterator<Item = usize> {
        let own = self.bin_functions(block).get(b).map(|&function| function as usize);
        block.function.map(|function| function.index).into_iter().chain(own)
    }

    /// Returns the index of the parameter of a normsys term of a block (one sample in one channel). `i` must be in the
    /// range `Block::norm`.
    #[inline(always)]
    pub(crate) fn norm_param(&self, block: &Block, i: usize) -> usize {
        self.structure.block_params[block.params.0 + self.structure.norm_slot[i] as usize] as usize
    }

    /// Returns the indices of the parameters of the histosys templates of a block (one sample in one channel).
    #[inline(always)]
    pub(crate) fn templates(&self, block: &Block) -> &[u32] {
        &self.structure.hist_param[block.hist.0..block.hist.1]
    }

    /// Iterates over the histosys templates of a block (one sample in one channel). Each element describes the effect
    /// of a template on bin `b` of the block.
    #[inline(always)]
    pub(crate) fn templates_in(&self, block: &Block, b: usize) -> impl Iterator<Item = Template> {
        self.templates(block).iter().enumerate().map(move |(i, &param)| {
            let at = i * block.n_lanes * LANES + b;
            let curved = block.hist.0 + i < block.hist_curved;
            let curve = if curved { self.numbers.hist_curve[block.curve + at] } else { 0.0 };
            Template { param: param as usize, slope: self.numbers.hist_slope[block.slope + at], curve }
        })
    }
}
