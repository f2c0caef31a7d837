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

    /// Width of the Gaussian constraint of a parameter, if it has one.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(crate) fn gaussian_width(&self, parameter: usize) -> Option<f64> {
        let index = self.structure.gaussian.param.iter().position(|&p| p == parameter)?;
        Some(1.0 / self.numbers.inverse_sigma[index])
    }
}
