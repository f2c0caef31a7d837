//! The numbers of a compiled model, at the places that its structure gives them.

/// Yields, templates, factors and widths of constraints.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers {
    /// Nominal yields per padded cell.
    pub(crate) nominal: Vec<f64>,
    /// `S = (hi - lo)/2`, histosys term after term, padded.
    pub(crate) hist_slope: Vec<f64>,
    /// `A = (hi + lo)/2 - nominal`, for the asymmetric terms only.
    pub(crate) hist_curve: Vec<f64>,
    /// Coefficients of the polynomials of normsys, one array per power, and rates beyond (see `terms::normsys`).
    pub(crate) norm_coefficients: [Vec<f64>; 6],
    pub(crate) norm_rate_hi: Vec<f64>,
    pub(crate) norm_rate_lo: Vec<f64>,
    /// One over the width of each Gaussian constraint.
    pub(crate) inverse_sigma: Vec<f64>,
    /// `sum ln(sigma sqrt(2 pi))` over the Gaussian constraints.
    pub(crate) gaussian_constant: f64,
    /// Expected auxiliary datum at 1 of each Poisson constraint.
    pub(crate) tau: Vec<f64>,
}
