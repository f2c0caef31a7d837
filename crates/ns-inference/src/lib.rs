//! Statistical analyses of NextStat, written on [`ns_core::Session`] alone.

mod device;
mod error;
pub mod fit;
mod lookup;
pub mod minos;
pub mod present;

pub use device::{DeviceInfo, devices, open_session};
pub use error::InferenceError;
pub use fit::{BatchFit, FitData, FitOptions, FitResult, fit, fit_batch};
pub use lookup::parameter_index;
pub use minos::Interval;
