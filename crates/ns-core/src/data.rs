//! Data of an evaluation: inputs next to the parameters, never part of the compiled model.

use std::ops::Range;
use std::sync::Arc;

use crate::ToySource;

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
    /// Toys that the session draws itself, one after another: they never exist in memory together.
    Drawn(Drawn),
}

/// A run of toys of one source. A task with such data has one outcome per toy.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// What they are drawn from.
    pub source: Arc<ToySource>,
    /// Their indices.
    pub toys: Range<u64>,
}

impl Data {
    /// How many data sets this stands for: the number of toys, or 1.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Drawn(drawn) => drawn.toys.end.saturating_sub(drawn.toys.start),
            _ => 1,
        }
    }
}

impl From<BinnedData> for Data {
    fn from(data: BinnedData) -> Self {
        Self::Binned(Arc::new(data))
    }
}
