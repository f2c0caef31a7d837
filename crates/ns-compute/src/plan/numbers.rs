//! The floating-point numbers of a compiled model. The indices in `Structure` refer to these arrays.

use crate::terms::normsys::Normsys;

/// Nominal yields, templates, normsys factors, and widths of constraints.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers {
    /// Nominal yield of each cell (one bin of one sample in a channel), with padding.
    pub(crate) nominal: Vec<f64>,
    /// The slope `S = (hi - lo)/2` of each histosys term in each bin, one term after the other, with padding. `lo` and
    /// `hi` are the yields at the parameter values -1 and 1.
    pub(crate) hist_slope: Vec<f64>,
    /// The asymmetric part `A = (hi + lo)/2 - nominal` of each asymmetric histosys term in each bin, with padding. `lo`
    /// and `hi` are the yields at the parameter values -1 and 1.
    pub(crate) hist_curve: Vec<f64>,
    /// Coefficients of the polynomial of each normsys term. There is one array per power of the parameter (see
    /// `terms::normsys`).
    pub(crate) norm_coefficients: [Vec<f64>; 6],
    /// For each normsys term, the rate of the factor outside the range of the polynomial, for positive parameter values
    /// (see `terms::normsys::Beyond`).
    pub(crate) norm_rate_hi: Vec<f64>,
    /// For each normsys term, the rate of the factor outside the range of the polynomial, for negative parameter values
    /// (see `terms::normsys::Beyond`).
    pub(crate) norm_rate_lo: Vec<f64>,
    /// Value of each normsys factor at the parameter value 1. In the padding it is 1.
    pub(crate) norm_hi: Vec<f64>,
    /// Value of each normsys factor at the parameter value -1. In the padding it is 1.
    pub(crate) norm_lo: Vec<f64>,
    /// Width of each Gaussian constraint.
    pub(crate) sigma: Vec<f64>,
    /// 1 divided by the width of each Gaussian constraint.
    pub(crate) inverse_sigma: Vec<f64>,
    /// The sum of `ln(sigma sqrt(2 pi))` over all Gaussian constraints.
    pub(crate) gaussian_constant: f64,
    /// Expected auxiliary count of each Poisson constraint at the parameter value 1.
    pub(crate) tau: Vec<f64>,
}

impl Numbers {
    /// Sets the number of normsys terms. New terms, for example those used as padding, are factors of 1 for any
    /// parameter value.
    pub(super) fn resize_normsys(&mut self, n: usize) {
        for array in &mut self.norm_coefficients {
            array.resize(n, 0.0);
        }
        self.norm_rate_hi.resize(n, 0.0);
        self.norm_rate_lo.resize(n, 0.0);
        self.norm_hi.resize(n, 1.0);
        self.norm_lo.resize(n, 1.0);
    }

    /// Sets the numbers of the normsys term with index `i` from its factors at the parameter values -1 (`lo`) and 1
    /// (`hi`).
    pub(super) fn set_normsys(&mut self, i: usize, normsys: &Normsys, lo: f64, hi: f64) {
        let coefficients = (normsys.coefficients)(lo, hi);
        for (array, c) in self.norm_coefficients.iter_mut().zip(coefficients) {
            array[i] = c;
        }
        self.norm_rate_hi[i] = normsys.beyond.rate(hi);
        self.norm_rate_lo[i] = normsys.beyond.rate(lo);
        (self.norm_hi[i], self.norm_lo[i]) = (hi, lo);
    }

    /// Computes all numbers that depend on the widths of the Gaussian constraints.
    pub(super) fn finish_gaussian(&mut self) {
        self.inverse_sigma.clear();
        self.inverse_sigma.extend(self.sigma.iter().map(|sigma| 1.0 / sigma));
        let normalisation = |sigma: &f64| (sigma * (2.0 * std::f64::consts::PI).sqrt()).ln();
        self.gaussian_constant = self.sigma.iter().map(normalisation).fold(0.0, |sum, x| sum + x);
    }
}
