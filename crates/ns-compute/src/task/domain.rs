//! The box of a request, and start points in it.

use ns_core::{FitRequest, ParameterTable, Start};

/// The domain of one request: bounds and fixed parameters.
#[derive(Debug, Clone)]
pub(crate) struct FitDomain {
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    pub(crate) fixed: Vec<bool>,
}

impl FitDomain {
    pub(crate) fn new(table: &ParameterTable, request: &FitRequest) -> Self {
        let mut domain = Self {
            lower: table.bounds.iter().map(|b| b.0).collect(),
            upper: table.bounds.iter().map(|b| b.1).collect(),
            fixed: table.fixed.clone(),
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

    /// Turns `point` into a start point: moved along the request's direction if it has one, with held parameters at their
    /// values, and in that case with the others inside the bounds.
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

    /// The start point of a request: all parameters, inside the bounds.
    pub(crate) fn begin(&self, request: &FitRequest, mut start: Vec<f64>) -> Vec<f64> {
        self.place(request, &mut start);
        for (p, x) in start.iter_mut().enumerate().filter(|(p, _)| !self.fixed[*p]) {
            *x = x.clamp(self.lower[p], self.upper[p]);
        }
        start
    }
}
