//! The parameters of a model in the order of the card.

use std::collections::HashMap;

use ns_core::{Constraint, Parameter, ParameterSet};

/// The constraint of a parameter, with the observed value of its auxiliary datum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Written {
    /// No constraint.
    Free,
    Gaussian {
        datum: f64,
        sigma: f64,
    },
    /// `datum ~ Poisson(tau * parameter)`.
    Poisson {
        datum: f64,
        tau: f64,
    },
}

/// What a line says about a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    pub(super) init: f64,
    pub(super) bounds: (f64, f64),
    pub(super) fixed: bool,
    pub(super) written: Written,
}

/// The parameters that the model has so far.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    entries: Vec<Entry>,
    sets: Vec<ParameterSet>,
    /// Index of the first parameter of each set.
    first: HashMap<String, usize>,
}

impl Parameters {
    /// Returns the index of a parameter; `None` if the model does not have it.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.first.get(name).copied()
    }

    /// Returns the names of the parameters, or of their sets, in their order.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<(usize, &str)> =
            self.first.iter().map(|(name, index)| (*index, name.as_str())).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name).collect()
    }

    /// Returns the index of a parameter, which is added if it is new. `Err` if it exists with another constraint.
    pub(super) fn declare(&mut self, name: &str, entry: Entry) -> Result<usize, ()> {
        if let Some(known) = self.find(name) {
            let same = self.entries.get(known).is_some_and(|known| known.written == entry.written);
            return if same { Ok(known) } else { Err(()) };
        }
        Ok(self.add(name, true, vec![entry]))
    }

    /// Returns what is known of a parameter.
    pub(super) fn get(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    /// Returns the name of a parameter, or of the set that it is an element of.
    pub(super) fn name(&self, index: usize) -> Option<&str> {
        self.sets.iter().find(|set| set.range.contains(&index)).map(|set| set.name.as_str())
    }

    /// Returns the start values of all parameters.
    pub(super) fn start_values(&self) -> Vec<f64> {
        self.entries.iter().map(|entry| entry.init).collect()
    }

    /// Adds one parameter per bin. Returns the index of the first; `None` if the name is in use.
    pub(super) fn declare_bins(&mut self, name: &str, entries: Vec<Entry>) -> Option<usize> {
        self.find(name).is_none().then(|| self.add(name, false, entries))
    }

    fn add(&mut self, name: &str, scalar: bool, entries: Vec<Entry>) -> usize {
        let start = self.entries.len();
        self.entries.extend(entries);
        self.first.insert(name.to_owned(), start);
        self.sets.push(ParameterSet { name: name.to_owned(), range: start..self.entries.len(), scalar });
        start
    }

    /// Fixes a parameter, if the model has it.
    pub(super) fn fix(&mut self, name: &str) {
        if let Some(entry) = self.find(name).and_then(|i| self.entries.get_mut(i)) {
            entry.fixed = true;
        }
    }

    /// Returns the parameters, their sets and the auxiliary data.
    pub(super) fn finish(self) -> (Vec<Parameter>, Vec<ParameterSet>, Vec<f64>) {
        let mut aux = Vec::new();
        let mut parameters = Vec::with_capacity(self.entries.len());
        for set in &self.sets {
            for (i, entry) in self.entries.get(set.range.clone()).unwrap_or_default().iter().enumerate() {
                let at = aux.len();
                let constraint = match entry.written {
                    Written::Free => Constraint::None,
                    Written::Gaussian { datum, sigma } => {
                        aux.push(datum);
                        Constraint::Gaussian { sigma, aux: at }
                    }
                    Written::Poisson { datum, tau } => {
                        aux.push(datum);
                        Constraint::Poisson { tau, aux: at }
                    }
                };
                parameters.push(Parameter {
                    name: if set.scalar { set.name.clone() } else { format!("{}[{i}]", set.name) },
                    init: entry.init,
                    bounds: entry.bounds,
                    fixed: entry.fixed,
                    constraint,
                });
            }
        }
        (parameters, self.sets, aux)
    }
}
