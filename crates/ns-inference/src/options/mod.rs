//! Reads the options of analyses from JSON or another format that serde supports. An error message contains the path of
//! the wrong entry.

mod blind;
mod fit;
mod weighted;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ns_core::{Model, Observations};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use thiserror::Error;

pub use blind::Blind;
pub use fit::{FitData, FitOptions, observed};
pub use weighted::WeightedUncertainties;

use crate::{InferenceError, parameter_index};

/// An error in the options of an analysis.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: {reason}")]
pub struct OptionsError {
    /// Path of the wrong entry, for example `fit.fixed.mu`; `.` if the error concerns all options.
    pub path: String,
    /// Description of the error.
    pub reason: String,
}

/// Reads the options of an analysis, for example with `serde_json::Deserializer`. Missing keys take their
/// default values.
///
/// ```
/// use ns_inference::{LimitOptions, options};
/// let text = r#"{"cl": 0.9, "fit": {"fixed": {"lumi": 1.0}, "serach": "local"}}"#;
/// let error = options::read::<LimitOptions, _>(&mut serde_json::Deserializer::from_str(text));
/// # let error = error.map_err(|error| error.to_string());
/// assert!(error.is_err_and(|error| error.starts_with("fit.serach: unknown field `serach`")));
/// ```
///
/// # Errors
/// For an unknown key, a value of the wrong type, or a string that is not a valid choice.
pub fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, OptionsError> {
    serde_path_to_error::deserialize(from)
        .map_err(|error| OptionsError { path: error.path().to_string(), reason: error.inner().to_string() })
}

/// Generates one method for each listed field. The method sets the field and returns the options, so that calls can
/// be chained.
macro_rules! setters {
    ($options:ty { $($field:ident: $kind:ty),* }) => {
        impl $options {
            $(
                #[doc = concat!("Sets the field `", stringify!($field), "`.")]
                #[must_use]
                pub fn $field(mut self, $field: $kind) -> Self {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}
pub(crate) use setters;

/// A point in parameter space: the values of all parameters, or of some parameters by name.
#[derive(Debug, Clone, PartialEq)]
pub enum Point {
    /// Values of all parameters, in the model's order.
    Values(Vec<f64>),
    /// Values of some parameters, by full name. All other parameters have the initial values of the model.
    ByName(Vec<(String, f64)>),
}

impl Point {
    /// Returns the values of all parameters in the model's order. Does not check lengths or bounds.
    ///
    /// # Errors
    /// For a name that the model does not have.
    pub fn values(&self, model: &Model) -> Result<Vec<f64>, InferenceError> {
        let named = match self {
            Self::Values(values) => return Ok(values.clone()),
            Self::ByName(named) => named,
        };
        let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        for (name, value) in named {
            if let Some(x) = point.get_mut(parameter_index(model, name)?) {
                *x = *value;
            }
        }
        Ok(point)
    }
}

impl From<Vec<f64>> for Point {
    fn from(values: Vec<f64>) -> Self {
        Self::Values(values)
    }
}

impl From<Vec<(String, f64)>> for Point {
    fn from(named: Vec<(String, f64)>) -> Self {
        Self::ByName(named)
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = Point;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of all values or an object of names and values")
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<Point, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(list)).map(Point::Values)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Point, A::Error> {
                pairs(de::value::MapAccessDeserializer::new(map)).map(Point::ByName)
            }
        }
        from.deserialize_any(Form)
    }
}

/// Deserialises an object as a list of (key, value) pairs, in the order of the entries. Repeated keys are kept.
pub(crate) fn pairs<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Vec<(String, T)>, D::Error> {
    struct Entries<T>(std::marker::PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
        type Value = Vec<(String, T)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::new();
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
    from.deserialize_map(Entries(std::marker::PhantomData))
}

/// Deserialises a value from a string by its `FromStr` implementation.
pub(crate) fn text<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(from: D) -> Result<T, D::Error> {
    String::deserialize(from)?.parse().map_err(de::Error::custom)
}

/// Serialised form of binned [`Observations`]: main counts and auxiliary data.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Binned {
    main: Vec<f64>,
    aux: Vec<f64>,
}

/// Deserialises observations from an object with the keys `main` and `aux`.
pub(crate) fn binned<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Observations>, D::Error> {
    let Binned { main, aux } = Binned::deserialize(from)?;
    Ok(Arc::new(Observations::binned(main, aux)))
}

/// Deserialises observations from an object with the keys `main` and `aux`. A JSON `null` becomes `None`.
pub(crate) fn expectation<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Arc<Observations>>, D::Error> {
    let given = Option::<Binned>::deserialize(from)?;
    Ok(given.map(|Binned { main, aux }| Arc::new(Observations::binned(main, aux))))
}

#[cfg(test)]
mod tests {
    use serde_json::Deserializer;

    use super::*;
    use crate::toys::{FitToysOptions, GeneratingPoint, HypotestToysOptions, Shard};
    use crate::{FitData, FitOptions, Impact, LimitOptions, RankingOptions, TestStatistic};

    fn refused<T: for<'de> Deserialize<'de>>(text: &str) -> String {
        let read = read::<T, _>(&mut Deserializer::from_str(text));
        read.err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn options_are_read_from_json() -> Result<(), OptionsError> {
        let text = r#"{"fixed": {"lumi": 1.0, "a": 0}, "init": {"mu": 2}, "search": "local", "minos": ["mu"],
            "data": {"asimov": {"poi": 1.0}}}"#;
        let wanted = FitOptions::default().fix("lumi", 1.0).fix("a", 0.0).search(ns_core::Search::Local);
        let wanted = wanted.start(vec![("mu".to_owned(), 2.0)]).minos("mu");
        let wanted = wanted.data(FitData::Asimov { poi: Some(1.0) });
        assert_eq!(read::<FitOptions, _>(&mut Deserializer::from_str(text))?, wanted);

        let text = r#"{"impacts": ["global", "global"], "groups": {"jets": ["JES_*"]}}"#;
        let ranking: RankingOptions = read(&mut Deserializer::from_str(text))?;
        assert_eq!((ranking.impacts, ranking.groups.len()), (vec![Impact::Global], 1));

        let text = r#"{"test_stat": "q", "shard": "2/3", "n_toys": 5}"#;
        let toys: HypotestToysOptions = read(&mut Deserializer::from_str(text))?;
        assert_eq!((toys.statistic, toys.n_toys, toys.seed), (TestStatistic::Q, 5, 0));
        assert_eq!(toys.shard, Shard { index: 2, count: 3 });

        let text = r#"{"point": {"at": [1.0]}, "expectation": {"main": [3.0], "aux": []}}"#;
        let study: FitToysOptions = read(&mut Deserializer::from_str(text))?;
        assert_eq!(study.point, GeneratingPoint::At(vec![1.0].into()));
        Ok(())
    }

    #[test]
    fn mistakes_are_refused_with_their_place() {
        let unknown = refused::<LimitOptions>(r#"{"fit": {"fixd": {}}}"#);
        assert!(unknown.starts_with("fit.fixd: unknown field `fixd`, expected one of"), "{unknown}");
        let kind = refused::<LimitOptions>(r#"{"scan": [1.0, "two"]}"#);
        assert!(kind.starts_with("scan[1]: invalid type"), "{kind}");
        let word = refused::<LimitOptions>(r#"{"test_stat": "t"}"#);
        assert!(word.starts_with("test_stat: unknown test_stat 't'"), "{word}");
        let value = refused::<FitOptions>(r#"{"fixed": {"mu": null}}"#);
        assert!(value.starts_with("fixed.mu: invalid type"), "{value}");
    }
}
