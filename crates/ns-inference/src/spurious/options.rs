//! The options of spurious-signal tests.

use serde::Deserialize;

use crate::{FitOptions, LookElsewhereOptions, Work, options};

/// Options of [`spurious_signal`](super::spurious_signal), set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SpuriousOptions {
    /// Fixed parameters, starting point and search effort of the fits. The data are those of the backgrounds.
    pub fit: FitOptions,
    /// Full name of the parameter that says where the signal is, such as a mass. Required.
    pub param: String,
    /// First place; `None` for the lower bound of the parameter.
    pub start: Option<f64>,
    /// Last place; `None` for the upper bound of the parameter.
    pub stop: Option<f64>,
    /// Number of places, at equal distances.
    pub points: usize,
    /// Largest accepted spurious signal, in units of its uncertainty.
    pub limit: f64,
}

impl Default for SpuriousOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            param: String::new(),
            start: None,
            stop: None,
            points: 61,
            limit: 0.2,
        }
    }
}

options::setters! { SpuriousOptions {
    fit: FitOptions, start: Option<f64>, stop: Option<f64>, points: usize, limit: f64
} }

impl SpuriousOptions {
    /// Creates the options of a test along the parameter `name`.
    #[must_use]
    pub fn along(name: impl Into<String>) -> Self {
        Self { param: name.into(), ..Self::default() }
    }

    /// Returns the work of the test. The choice of the device depends on it.
    #[must_use]
    pub fn work(&self) -> Work {
        Work::Scan { points: self.points as u64 }
    }

    /// Returns the options of a search at the same places.
    pub(super) fn search(&self) -> LookElsewhereOptions {
        LookElsewhereOptions::along(self.param.clone())
            .fit(self.fit.clone())
            .start(self.start)
            .stop(self.stop)
            .points(self.points)
    }
}
