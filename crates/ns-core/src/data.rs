//! Data of an evaluation: inputs next to the parameters, never part of the compiled model.

use std::ops::Range;
use std::sync::Arc;

use crate::{BinnedData, Model, ToySource};

/// What a fit or an evaluation stands on. Analyses hand it on as it is, and make other data of it by [`Data::with`], so that
/// all its fields stay together. Only a session asks which kind it is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Data {
    /// What was seen.
    pub seen: Seen,
}

/// Counts and auxiliary measurements, or where they come from.
#[derive(Debug, Clone)]
pub enum Seen {
    /// The observed data, with which the session was opened.
    Observed,
    /// Given counts.
    Given(Arc<BinnedData>),
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
    /// The observed data, with which the session was opened.
    #[must_use]
    pub fn observed() -> Self {
        Self::from(Seen::Observed)
    }

    /// The same with something else seen.
    #[must_use]
    pub fn with(&self, seen: impl Into<Seen>) -> Self {
        Self { seen: seen.into() }
    }

    /// Number of data sets: the number of toys, or 1.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.seen {
            Seen::Drawn(drawn) => drawn.toys.end.saturating_sub(drawn.toys.start),
            Seen::Observed | Seen::Given(_) => 1,
        }
    }

    /// Counts and auxiliary data of one data set for `model`. Of toys, which are many, the observed ones of the model.
    #[must_use]
    pub fn counts<'a>(&'a self, model: &'a Model) -> &'a BinnedData {
        match &self.seen {
            Seen::Given(data) => data,
            Seen::Observed | Seen::Drawn(_) => &model.observed,
        }
    }
}

impl<T: Into<Seen>> From<T> for Data {
    fn from(seen: T) -> Self {
        Self { seen: seen.into() }
    }
}

impl From<BinnedData> for Seen {
    fn from(data: BinnedData) -> Self {
        Self::Given(Arc::new(data))
    }
}

impl From<Arc<BinnedData>> for Seen {
    fn from(data: Arc<BinnedData>) -> Self {
        Self::Given(data)
    }
}

impl From<Drawn> for Seen {
    fn from(drawn: Drawn) -> Self {
        Self::Drawn(drawn)
    }
}
