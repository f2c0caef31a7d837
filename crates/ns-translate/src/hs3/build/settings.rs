//! The values, ranges and constant flags of parameters, from parameter points and domains.

use std::collections::{HashMap, HashSet};

use crate::hs3::document::{Analysis, Document, DomainAxis, PointValue};

/// Values, ranges and constant flags of an analysis, by the name of the parameter.
pub(super) struct Settings<'a> {
    values: HashMap<&'a str, &'a PointValue>,
    ranges: HashMap<&'a str, &'a DomainAxis>,
    constants: HashSet<&'a str>,
    /// Observed values of global observables, from the data of constraint terms.
    observed: HashMap<String, f64>,
}

impl<'a> Settings<'a> {
    /// Collects the settings of an analysis. The parameter point and the domains that the analysis names take
    /// precedence. Points and domains that ROOT calls default come next, and all others last.
    pub(super) fn new(document: &'a Document, analysis: Option<&'a Analysis>) -> Self {
        let own = analysis.and_then(|analysis| analysis.init.as_ref()).map(|name| name.value.as_str());
        let rank = |name: &str| match name {
            name if Some(name) == own => 0,
            "default_values" => 1,
            "NominalParamValues" => 2,
            _ => 3,
        };
        let mut points: Vec<_> = document.points.iter().collect();
        points.sort_by_key(|point| rank(&point.name));
        let mut values = HashMap::new();
        for value in points.into_iter().flat_map(|point| &point.content) {
            values.entry(value.name.as_str()).or_insert(value);
        }
        let own: Vec<&str> = analysis
            .map(|analysis| analysis.domains.iter().map(|name| name.value.as_str()).collect())
            .unwrap_or_default();
        let mut domains: Vec<_> = document.domains.iter().collect();
        let rank = |name: &str| match name {
            name if own.contains(&name) => 0,
            "default_domain" => 1,
            _ => 2,
        };
        domains.sort_by_key(|domain| rank(&domain.name));
        let mut ranges = HashMap::new();
        for range in domains.into_iter().flat_map(|domain| &domain.content) {
            ranges.entry(range.name.as_str()).or_insert(range);
        }
        let constants = document.constants.iter().map(String::as_str).collect();
        Self { values, ranges, constants, observed: HashMap::new() }
    }

    /// Makes a global observable constant at its observed value.
    pub(super) fn observe(&mut self, name: &str, value: f64) {
        self.observed.insert(name.to_owned(), value);
    }

    /// Returns the observed value of a global observable; else the value of a parameter.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.observed.get(name).copied().or_else(|| self.value(name).map(|value| value.value))
    }

    /// Returns the value that a parameter point gives to a parameter.
    pub(super) fn value(&self, name: &str) -> Option<&'a PointValue> {
        self.values.get(name).copied()
    }

    /// Returns whether the file declares a parameter constant.
    pub(super) fn is_constant(&self, name: &str) -> bool {
        self.observed.contains_key(name)
            || self.constants.contains(name)
            || self.value(name).is_some_and(|value| value.constant)
    }

    /// Returns the range of a parameter as a (lower, upper) pair. A bound that the file does not give is infinite.
    /// The result is `None` if the file gives no range.
    pub(super) fn range(&self, name: &str) -> Option<(f64, f64)> {
        let domain = self.ranges.get(name).map(|range| (range.min, range.max));
        let point = self.value(name).map(|value| (value.min, value.max));
        let pair = domain.or(point).filter(|pair| *pair != (None, None))?;
        Some((pair.0.unwrap_or(f64::NEG_INFINITY), pair.1.unwrap_or(f64::INFINITY)))
    }
}
