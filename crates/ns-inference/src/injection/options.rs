//! The options of injection tests.

use serde::Deserialize;

use crate::{FitOptions, Work, options};

/// Options of [`injection`](super::injection), set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct InjectionOptions {
    /// Data, fixed parameters and search effort. The data give the other parameters of the generating points.
    pub fit: FitOptions,
    /// Full name of the parameter; `None` for the parameter of interest.
    pub param: Option<String>,
    /// Injected values of the parameter, at least one.
    pub values: Vec<f64>,
    /// Number of toys at each value.
    pub n_toys: u64,
    /// Seed of the random numbers. Each value has random numbers of its own.
    pub seed: u64,
}

impl Default for InjectionOptions {
    fn default() -> Self {
        Self { fit: FitOptions::default(), param: None, values: Vec::new(), n_toys: 1000, seed: 0 }
    }
}

options::setters! { InjectionOptions {
    fit: FitOptions, param: Option<String>, values: Vec<f64>, n_toys: u64, seed: u64
} }

impl InjectionOptions {
    /// Returns the work of the test. The choice of the device depends on it.
    #[must_use]
    pub fn work(&self) -> Work {
        Work::Toys { toys: self.n_toys.saturating_mul(self.values.len() as u64), fits: 1 }
    }
}
