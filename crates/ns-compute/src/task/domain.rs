//! The bounds and fixed parameters of a fit, and its starting point within the bounds.

use ns_core::{FitRequest, INTEGRAL_TOLERANCE, ParameterTable, Start};

/// The bounds and the fixed parameters of one fit, and the point to which it stays close along flat directions. Each
/// vector has one element per parameter.
#[derive(Debug, Clone)]
pub(crate) struct FitDomain {
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    pub(crate) fixed: Vec<bool>,
    /// Largest accepted relative error of the integrals in `-ln L`.
    pub(crate) integral_tolerance: f64,
    pub(crate) origin: Vec<f64>,
}

impl FitDomain {
    pub(crate) fn new(table: &ParameterTable, request: &FitRequest) -> Self {
        let mut domain = Self {
            lower: table.bounds.iter().map(|b| b.0).collect(),
            upper: table.bounds.iter().map(|b| b.1).collect(),
            fixed: table.fixed.clone(),
            integral_tolerance: request.integral_tolerance.unwrap_or(INTEGRAL_TOLERANCE),
            origin: request.origin.as_deref().unwrap_or(&table.init).to_vec(),
        };
        for &(p, (lower, upper)) in &request.bounds {
            domain.lower[p] = lower;
            domain.upper[p] = upper;
        }
        for &p in &request.released {
            domain.fixed[p] = false;
        }
        for (p, fixed) in domain.fixed.iter_mut().enumerate() {
            *fixed |= domain.lower[p] == domain.upper[p];
        }
        for &(p, _) in &request.fixed {
            domain.fixed[p] = true;
        }
        domain
    }

    /// Sets the fixed parameters of `point` to the values of the request. If the request has a direction
    /// ([`Start::Along`]), the free parameters first move along this direction, within their bounds. The length of this
    /// move is chosen such that it would bring the first fixed parameter to its value.
    pub(crate) fn place(&self, request: &FitRequest, point: &mut [f64]) {
        if let (Start::Along(_, direction), Some(&(held, value))) = (&request.start, request.fixed.first()) {
            let length = (value - point[held]) / direction[held];
            if length.is_finite() {
                for (p, x) in point.iter_mut().enumerate() {
                    if !self.fixed[p] {
                        *x = (*x + length * direction[p]).clamp(self.lower[p], self.upper[p]);
                    }
                }
            }
        }
        for &(p, value) in &request.fixed {
            point[p] = value;
        }
    }

    /// Returns the starting point of a request: the result of [`Self::place`] for `start`, with the free parameters
    /// moved into their bounds.
    pub(crate) fn begin(&self, request: &FitRequest, mut start: Vec<f64>) -> Vec<f64> {
        self.place(request, &mut start);
        for (p, x) in start.iter_mut().enumerate().filter(|(p, _)| !self.fixed[*p]) {
            *x = x.clamp(self.lower[p], self.upper[p]);
        }
        start
    }
}
