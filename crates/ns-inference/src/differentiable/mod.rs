//! The likelihood and test statistics as differentiable functions of numbers of the model, such as nominal yields.
//! The numbers with respect to which derivatives are taken are called inputs.
//!
//! [`DifferentiableSession`] computes `-ln L` and its derivatives with respect to parameters and inputs.
//! [`ProfiledDifferentiableSession`] computes results of fits and their derivatives with respect to inputs. The
//! derivatives of test statistics follow from the envelope theorem. The derivatives of best fits, uncertainties, CLs
//! and limits follow from the implicit function theorem. These derivatives need the exact Hessian over the parameters
//! that are not at a bound.

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

/// A number with its derivatives with respect to the inputs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Differentiated {
    /// The number; NaN if it does not exist.
    pub value: f64,
    /// Derivatives with respect to the values of all inputs, in the order of [`ns_core::InputTable::values`].
    pub gradient: Vec<f64>,
    /// Whether the derivatives are one-sided. This is true in two cases. In the first case, a parameter is at a bound
    /// or a kink and would leave it after a small change of the inputs. In the second case, the tested value equals the
    /// best-fit value, where the statistic becomes 0.
    pub one_sided: bool,
}

impl Differentiated {
    /// Returns the value that stands for a result that does not exist. The value and its `n` derivatives are NaN.
    fn missing(n: usize) -> Self {
        Self { value: f64::NAN, gradient: vec![f64::NAN; n], one_sided: false }
    }
}

/// Adds `factor` times `from` to `to`, element by element.
fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

/// Adds `factor` times the derivatives in `from` to the derivatives in `to`. An empty list in `to` counts as a list of
/// zeros.
fn add_pulled(to: &mut ns_core::Pulled, factor: f64, from: &ns_core::Pulled) {
    for (to, from) in [(&mut to.yields, &from.yields), (&mut to.main, &from.main), (&mut to.aux, &from.aux)] {
        if to.is_empty() {
            to.resize(from.len(), 0.0);
        }
        add(to, factor, from);
    }
}
