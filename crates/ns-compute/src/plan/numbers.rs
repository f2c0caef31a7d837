//! The floating-point numbers of a compiled model. The indices in `Structure` refer to these arrays.

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
    /// One over the width of each Gaussian constraint.
    pub(crate) inverse_sigma: Vec<f64>,
    /// `sum ln(sigma sqrt(2 pi))` over the Gaussian constraints.
    pub(crate) gaussian_constant: f64,
    /// Expected auxiliary count of each Poisson constraint at a parameter value of 1.
    pub(crate) tau: Vec<f64>,
}
