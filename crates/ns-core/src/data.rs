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

/// The data of a task. Analyses do not look inside; only the session does.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Data {
    /// The observed data, with which the session was opened.
    Observed,
    /// Given counts.
    Binned(Arc<BinnedData>),
    /// Toys that the session draws itself, one after another, so that they are never all in memory.
    Drawn(Drawn),
}

/// A run of toys of one source. A task with such data has one outcome per toy.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// The distributions that they are drawn from.
    pub source: Arc<ToySource>,
    /// Their indices.
    pub toys: Range<u64>,
}

impl Data {
    /// Number of data sets: the number of toys, or 1.
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
