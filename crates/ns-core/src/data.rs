//! The data of a fit or an evaluation. Data are arguments of a fit, like start values. They are not part of the
//! compiled model.

use std::ops::Range;
use std::sync::Arc;

use crate::{Model, Observations, ToySource};

/// The data of a fit or an evaluation. Statistical methods do not read the fields. They pass the data on to a session,
/// or make other data with [`Data::with`]. Only sessions read the fields.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Data {
    /// Counts and auxiliary measurements, or the source from which toys are drawn.
    pub seen: Seen,
    /// Values of the model's open inputs, such as nominal yields, that replace those of the compiled model. `None`
    /// keeps the values of the compiled model.
    pub yields: Option<Arc<Yields>>,
    /// Where the data were made, if they are expected data (an Asimov set).
    pub expected: Option<Arc<Expected>>,
}

/// Where and how accurately expected data (an Asimov set) were made.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expected {
    /// The parameters at which the data are expected.
    pub parameters: Vec<f64>,
    /// For each event channel, the estimated error of `-2 ln L` of the data, because expected events are the nodes of a
    /// rule for numerical integration. It holds for points near `parameters` and for the points for which the data were
    /// made.
    pub errors: Vec<f64>,
}

/// The values of all open inputs of a model (arrays of numbers that data may replace). They replace the numbers of
/// the compiled model. Their order is that of [`InputTable::values`](crate::InputTable::values).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Yields {
    /// The values of all open inputs, one input after another.
    pub values: Vec<f64>,
}

impl From<Vec<f64>> for Yields {
    fn from(values: Vec<f64>) -> Self {
        Self { values }
    }
}

/// Counts and auxiliary measurements, or the source from which toys are drawn.
#[derive(Debug, Clone)]
pub enum Seen {
    /// The observed data of the model that the session has compiled.
    Observed,
    /// Counts and auxiliary measurements given by the caller.
    Given(Arc<Observations>),
    /// Toys that the session draws one after another, so that they are never all in memory.
    Drawn(Drawn),
}

/// A range of toys drawn from the same distributions. A [`crate::FitTask`] with such data has one outcome per
/// toy.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// The distributions that the toys are drawn from.
    pub source: Arc<ToySource>,
    /// Range of the indices of the toys.
    pub toys: Range<u64>,
}

impl Data {
    /// Returns [`Seen::Observed`] data, i.e. the observed data of the model that a session has compiled.
    #[must_use]
    pub fn observed() -> Self {
        Self::from(Seen::Observed)
    }

    /// Returns a copy of these data with other counts and auxiliary measurements. The numbers that replace those of the
    /// compiled model ([`Data::yields`]) stay the same.
    #[must_use]
    pub fn with(&self, seen: impl Into<Seen>) -> Self {
        Self { seen: seen.into(), yields: self.yields.clone(), expected: None }
    }

    /// Returns a copy of these data in which `yields` replace the compiled numbers of the model's inputs (arrays of
    /// numbers that data may replace).
    #[must_use]
    pub fn with_yields(&self, yields: impl Into<Arc<Yields>>) -> Self {
        Self { yields: Some(yields.into()), ..self.clone() }
    }

    /// Returns the number of data sets. This is the number of toys, or 1 if the data are not toys.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.seen {
            Seen::Drawn(drawn) => drawn.toys.end.saturating_sub(drawn.toys.start),
            Seen::Observed | Seen::Given(_) => 1,
        }
    }

    /// Returns the counts and auxiliary data that the caller gave. For [`Seen::Observed`], and also for toys,
    /// returns the observed data of `model`.
    #[must_use]
    pub fn counts<'a>(&'a self, model: &'a Model) -> &'a Observations {
        match &self.seen {
            Seen::Given(data) => data,
            Seen::Observed | Seen::Drawn(_) => &model.observed,
        }
    }
}

impl<T: Into<Seen>> From<T> for Data {
    fn from(seen: T) -> Self {
        Self { seen: seen.into(), yields: None, expected: None }
    }
}

impl From<Observations> for Seen {
    fn from(data: Observations) -> Self {
        Self::Given(Arc::new(data))
    }
}

impl From<Arc<Observations>> for Seen {
    fn from(data: Arc<Observations>) -> Self {
        Self::Given(data)
    }
}

impl From<Drawn> for Seen {
    fn from(drawn: Drawn) -> Self {
        Self::Drawn(drawn)
    }
}
