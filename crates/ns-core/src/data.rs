//! Data of an evaluation: inputs next to the parameters, never part of the compiled model.

use std::sync::Arc;

/// Counts and auxiliary measurements of a binned model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BinnedData {
    /// Main counts, channel after channel; not necessarily integers (Asimov).
    pub main: Vec<f64>,
    /// Auxiliary data in the order of the constrained parameters.
    pub aux: Vec<f64>,
}

/// Which data a task uses. Opaque to inference: only the session looks inside.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Data {
    /// What the session was opened with.
    Observed,
    /// Given counts.
    Binned(Arc<BinnedData>),
}

impl From<BinnedData> for Data {
    fn from(data: BinnedData) -> Self {
        Self::Binned(Arc::new(data))
    }
}
