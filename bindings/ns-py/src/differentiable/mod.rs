//! `nextstat.DifferentiableSession` and `nextstat.ProfiledDifferentiableSession`: the likelihood and its
//! statistics, with derivatives with respect to numbers of the model.

mod inputs;
mod likelihood;
mod on_device;
mod profiled;
mod rows;

pub(crate) use likelihood::DifferentiableSession;
pub(crate) use profiled::{BestFits, ProfiledDifferentiableSession};
