//! The parameters of a model, in the order in which the parts of the model first use them.

use std::collections::HashMap;

use crate::hs3::document::Analysis;
use crate::hs3::index::Index;
use crate::pyhf::names::{quoted, show};
use crate::pyhf::problem::Report;

use super::settings::Settings;

/// The constraint of one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Written {
    /// `datum ~ N(parameter, sigma)`.
    Gaussian { sigma: f64, datum: f64 },
    /// `datum ~ Poisson(tau * parameter)`.
    Poisson { tau: f64, datum: f64 },
}

/// A constraint and the place in the file that gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Constrained {
    pub(super) written: Written,
    /// JSON pointer of the distribution or the modifier.
    pub(super) origin: String,
}

/// A parameter of the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) init: f64,
    pub(super) bounds: (f64, f64),
    pub(super) fixed: bool,
    pub(super) constraint: Option<Constrained>,
}

/// Start value and bounds that a parameter gets if the file gives none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Default {
    pub(super) init: f64,
    pub(super) bounds: (f64, f64),
}

/// The parameters of the parts of the model that have been built so far.
pub(super) struct Parameters<'a> {
    pub(super) entries: Vec<Entry>,
    pub(super) settings: Settings<'a>,
    index: HashMap<String, usize>,
    /// Lists of parameters that must be consecutive in the model. Each list has one parameter per bin of a
    /// channel.
    groups: Vec<Vec<String>>,
    group_of: HashMap<String, usize>,
}

impl<'a> Parameters<'a> {
    pub(super) fn new(index: &Index<'a>, analysis: Option<&'a Analysis>) -> Self {
        Self {
            entries: Vec::new(),
            settings: Settings::new(index.document, analysis),
            index: HashMap::new(),
            groups: Vec::new(),
            group_of: HashMap::new(),
        }
    }

    /// Returns the index of a parameter; `None` if no part of the model has used it yet.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// Returns the names of the parameters, in their order.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<(usize, &str)> =
            self.index.iter().map(|(name, index)| (*index, name.as_str())).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name).collect()
    }

    /// Declares that these parameters are consecutive. Returns false if this contradicts an earlier declaration.
    pub(super) fn declare_group(&mut self, names: &[String]) -> bool {
        let known = names.iter().find_map(|name| self.group_of.get(name)).copied();
        match known.and_then(|group| self.groups.get(group)) {
            Some(group) => group.windows(names.len()).any(|part| part == names),
            None => {
                let unique: std::collections::HashSet<&String> = names.iter().collect();
                if unique.len() != names.len() {
                    return false;
                }
                for name in names {
                    self.group_of.insert(name.clone(), self.groups.len());
                }
                self.groups.push(names.to_vec());
                true
            }
        }
    }

    /// Returns the index of a parameter. Adds the parameter to the model if it is new. `path` is the JSON pointer to
    /// the place that uses the parameter.
    pub(super) fn get(
        &mut self,
        name: &str,
        default: Option<Default>,
        path: &str,
        report: &mut Report,
    ) -> usize {
        if let Some(known) = self.find(name) {
            return known;
        }
        let group = self.group_of.get(name).and_then(|group| self.groups.get(*group)).cloned();
        for name in group.unwrap_or_else(|| vec![name.to_owned()]) {
            let entry = self.entry(&name, default, path, report);
            self.index.insert(name, self.entries.len());
            self.entries.push(entry);
        }
        self.find(name).unwrap_or_default()
    }

    /// Creates a parameter with the start value, the bounds and the constant flag that the file gives for it.
    fn entry(&self, name: &str, default: Option<Default>, path: &str, report: &mut Report) -> Entry {
        let given = self.settings.value(name);
        let fixed = self.settings.is_constant(name);
        let bounds = self.settings.range(name).or(default.map(|default| default.bounds));
        let bounds = bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let mut init = self.settings.number(name).or(default.map(|default| default.init));
        if init.is_none() && bounds.0.is_finite() && bounds.1.is_finite() {
            let middle = 0.5 * (bounds.0 + bounds.1);
            report.warn(
                path.to_owned(),
                format!(
                    "The parameter {} has no start value; the middle of its range, {}, is taken.",
                    quoted(name),
                    show(middle)
                ),
                "Give it a value in 'parameter_points'.",
            );
            init = Some(middle);
        }
        let Some(mut init) = init else {
            report.error(
                path.to_owned(),
                format!("The parameter {} has neither a value nor a range.", quoted(name)),
                "Give it a value in 'parameter_points', and a range in a domain.",
            );
            return Entry { name: name.to_owned(), init: 0.0, bounds, fixed, constraint: None };
        };
        if !fixed && !(bounds.0..=bounds.1).contains(&init) {
            let place = given.map_or(path, |value| value.path.as_str());
            let inside = init.clamp(bounds.0, bounds.1);
            report.warn(
                place.to_owned(),
                format!(
                    "The value {} of parameter {} is outside of its range from {} to {}; it starts at {}.",
                    show(init),
                    quoted(name),
                    show(bounds.0),
                    show(bounds.1),
                    show(inside)
                ),
                "Correct the value or the range.",
            );
            init = inside;
        }
        Entry { name: name.to_owned(), init, bounds, fixed, constraint: None }
    }

    /// Adds the constraint of a parameter. If the parameter already has a constraint, changes nothing and returns
    /// `false`.
    pub(super) fn constrain(&mut self, parameter: usize, written: Written, origin: &str) -> bool {
        let Some(entry) = self.entries.get_mut(parameter) else { return false };
        match &entry.constraint {
            None => {
                entry.constraint = Some(Constrained { written, origin: origin.to_owned() });
                true
            }
            Some(_) => false,
        }
    }

    /// Returns the constraint of a parameter.
    pub(super) fn constraint(&self, parameter: usize) -> Option<&Constrained> {
        self.entries.get(parameter)?.constraint.as_ref()
    }

    /// Returns the value of the global observable of a parameter, if the file has one under the name that ROOT gives.
    pub(super) fn nominal(&self, parameter: usize) -> Option<f64> {
        let name = format!("nom_{}", self.entries.get(parameter)?.name);
        self.settings.number(&name)
    }

    /// Makes a parameter constant, unless the file gives it a value or a range and does not call it constant.
    pub(super) fn hold(&mut self, parameter: usize) {
        if let Some(entry) = self.entries.get_mut(parameter) {
            let declared =
                self.settings.value(&entry.name).is_some() || self.settings.range(&entry.name).is_some();
            entry.fixed |= !declared;
        }
    }

    /// Fixes a parameter at a value.
    pub(super) fn fix(&mut self, parameter: usize, value: f64) {
        if let Some(entry) = self.entries.get_mut(parameter) {
            entry.fixed = true;
            entry.init = value;
        }
    }
}
