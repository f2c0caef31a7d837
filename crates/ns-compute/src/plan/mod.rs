//! The compiled model: flat arrays and indices, no names.
//!
//! It has three parts: [`Structure`], which parameter acts where; [`Numbers`], by how much; and [`SearchPolicy`], where
//! the optimiser looks for further minima. Formulas read the first two.

mod compile;
mod count;
mod incidence;
mod layout;
mod nonlinearity;
mod numbers;
mod policy;
mod structure;

pub(crate) use layout::{Component, CurvatureSlot, Layout};
pub(crate) use nonlinearity::Nonlinearity;
pub(crate) use numbers::Numbers;
pub(crate) use policy::{EDM_TOLERANCE, SearchPolicy};
pub(crate) use structure::{Block, NormRun, Structure};

/// Width of the padding of per-bin arrays.
pub(crate) const LANES: usize = 4;

/// Padding of the normsys terms of one parameter.
pub(crate) const TERM_LANES: usize = 8;

/// What a histosys does to one bin: `alpha slope + f(alpha) curve`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Template {
    pub(crate) param: usize,
    pub(crate) slope: f64,
    pub(crate) curve: f64,
}

/// A compiled model. Data are not part of it.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) structure: Structure,
    pub(crate) numbers: Numbers,
    pub(crate) policy: SearchPolicy,
}

impl Plan {
    /// Number of parameters.
    #[must_use]
    pub fn n_parameters(&self) -> usize {
        self.structure.table.init.len()
    }

    /// Number of main bins.
    #[must_use]
    pub fn n_bins(&self) -> usize {
        self.structure.n_bins
    }

    /// Number of auxiliary data.
    #[must_use]
    pub fn n_aux(&self) -> usize {
        self.structure.n_aux
    }

    /// Gaussian constraints: parameter, auxiliary datum, and one over the width.
    pub(crate) fn gaussian(&self) -> impl ExactSizeIterator<Item = (usize, usize, f64)> {
        self.structure.gaussian.with(&self.numbers.inverse_sigma)
    }

    /// Poisson constraints: parameter, auxiliary datum, and what is expected of it at 1.
    pub(crate) fn poisson(&self) -> impl ExactSizeIterator<Item = (usize, usize, f64)> {
        self.structure.poisson.with(&self.numbers.tau)
    }

    /// Parameters of the scale factors of a block.
    #[inline(always)]
    pub(crate) fn scale_factors(&self, block: &Block) -> &[u32] {
        &self.structure.factor_param[block.factor.0..block.factor.1]
    }

    /// Parameters of the per-bin factors of a block in its first bin.
    #[inline(always)]
    pub(crate) fn per_bin_factors(&self, block: &Block) -> &[u32] {
        &self.structure.binwise_first[block.binwise.0..block.binwise.1]
    }

    /// Parameters of the templates of a block.
    #[inline(always)]
    pub(crate) fn templates(&self, block: &Block) -> &[u32] {
        &self.structure.hist_param[block.hist.0..block.hist.1]
    }

    /// The templates of a block in bin `b`.
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
