//! The floating-point numbers of a compiled model. The indices in `Structure` refer to these arrays.

use crate::terms::normsys::Normsys;

/// Nominal yields, templates, normsys factors, and widths of constraints.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers {
    /// Nominal yield of each cell, padded.
    pub(crate) nominal: Vec<f64>,
    /// `S = (hi - lo)/2` of each bin, one histosys term after the other, padded.
    pub(crate) hist_slope: Vec<f64>,
    /// `A = (hi + lo)/2 - nominal` in the same form, for the asymmetric histosys terms only.
    pub(crate) hist_curve: Vec<f64>,
    /// Coefficients of the polynomials of the normsys terms, one array per power of alpha (see
    /// `terms::normsys`).
    pub(crate) norm_coefficients: [Vec<f64>; 6],
    /// Rate of each normsys factor beyond the polynomial (see `terms::normsys::Beyond`), for positive alpha.
    pub(crate) norm_rate_hi: Vec<f64>,
    /// Rate of each normsys factor beyond the polynomial, for negative alpha.
    pub(crate) norm_rate_lo: Vec<f64>,
    /// Each normsys factor at alpha = 1; 1 in the padding.
    pub(crate) norm_hi: Vec<f64>,
    /// Each normsys factor at alpha = -1; 1 in the padding.
    pub(crate) norm_lo: Vec<f64>,
    /// Width of each Gaussian constraint.
    pub(crate) sigma: Vec<f64>,
    /// One over the width of each Gaussian constraint.
    pub(crate) inverse_sigma: Vec<f64>,
    /// `sum ln(sigma sqrt(2 pi))` over the Gaussian constraints.
    pub(crate) gaussian_constant: f64,
    /// Expected auxiliary count of each Poisson constraint at a parameter value of 1.
    pub(crate) tau: Vec<f64>,
}

impl Numbers {
    /// Sets the number of normsys terms. New terms, for example padding, are factors of 1 at any parameter
    /// value.
    pub(super) fn resize_normsys(&mut self, n: usize) {
        for array in &mut self.norm_coefficients {
            array.resize(n, 0.0);
        }
        self.norm_rate_hi.resize(n, 0.0);
        self.norm_rate_lo.resize(n, 0.0);
        self.norm_hi.resize(n, 1.0);
        self.norm_lo.resize(n, 1.0);
    }

    /// Sets the factors of normsys term `i` at alpha = -1 and 1.
    pub(super) fn set_normsys(&mut self, i: usize, normsys: &Normsys, lo: f64, hi: f64) {
        let coefficients = (normsys.coefficients)(lo, hi);
        for (array, c) in self.norm_coefficients.iter_mut().zip(coefficients) {
            array[i] = c;
        }
        self.norm_rate_hi[i] = normsys.beyond.rate(hi);
        self.norm_rate_lo[i] = normsys.beyond.rate(lo);
        (self.norm_hi[i], self.norm_lo[i]) = (hi, lo);
    }

    /// Computes the numbers that depend on the widths of the Gaussian constraints.
    pub(super) fn finish_gaussian(&mut self) {
        self.inverse_sigma.clear();
        self.inverse_sigma.extend(self.sigma.iter().map(|sigma| 1.0 / sigma));
        let normalisation = |sigma: &f64| (sigma * (2.0 * std::f64::consts::PI).sqrt()).ln();
        self.gaussian_constant = self.sigma.iter().map(normalisation).fold(0.0, |sum, x| sum + x);
    }
}
