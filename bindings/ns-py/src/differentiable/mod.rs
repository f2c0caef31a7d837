//! `nextstat.DifferentiableSession` and `nextstat.ProfiledDifferentiableSession`. They compute the likelihood
//! and its statistics, with derivatives with respect to the inputs: the numbers of the model, for example nominal
//! yields, that the user selects.

mod inputs;
mod likelihood;
mod on_device;
mod profiled;
mod rows;

pub(crate) use likelihood::DifferentiableSession;
#[cfg(feature = "cuda")]
pub(crate) use on_device::CudaArray;
pub(crate) use profiled::{BestFits, ProfiledDifferentiableSession};
