//! The likelihood and its statistics as differentiable functions of the numbers of a model.
//!
//! [`DifferentiableSession`] gives `-ln L` with its derivatives by parameters and inputs.
//! [`ProfiledDifferentiableSession`] gives results of fits with their derivatives by inputs: test statistics by
//! the envelope theorem; best fits, uncertainties, CLs and limits by the implicit function theorem, with the exact
//! Hessian over the parameters that are not at a bound.

#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
mod device;
mod estimate;
mod follow;
mod hypotheses;
mod minimum;
mod profiled;
mod session;

pub use estimate::BestFit;
pub use follow::Follow;
pub use hypotheses::Band;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub use ns_compute::differentiable::{DeviceNll, DeviceRows, RowStatus};
pub use profiled::{ProfiledDifferentiableSession, ProfiledOptions};
pub use session::{DifferentiableSession, NllGradient, SecondOrder};

/// A number with its derivatives by the numbers of all inputs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Differentiated {
    /// The number; NaN if it does not exist.
    pub value: f64,
    /// Derivatives by the numbers of all inputs, in the order of [`ns_core::InputTable::values`].
    pub gradient: Vec<f64>,
    /// Whether the derivatives hold on one side alone: a parameter is at a bound or a kink and would not stay
    /// there, or the statistic is 0.
    pub one_sided: bool,
}

impl Differentiated {
    /// Returns a number that does not exist.
    fn missing(n: usize) -> Self {
        Self { value: f64::NAN, gradient: vec![f64::NAN; n], one_sided: false }
    }
}

/// Adds `factor` times each element of `from` to `to`.
fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

/// Adds `factor` times the derivatives `from` to `to`, which may be empty.
fn add_pulled(to: &mut ns_core::Pulled, factor: f64, from: &ns_core::Pulled) {
    for (to, from) in [(&mut to.yields, &from.yields), (&mut to.main, &from.main), (&mut to.aux, &from.aux)] {
        if to.is_empty() {
            to.resize(from.len(), 0.0);
        }
        add(to, factor, from);
    }
}
