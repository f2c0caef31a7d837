//! Data of constraint terms (`aux_data`).

use crate::hs3::document::{Arg, Argument, Data, Distribution, Likelihood, Named};
use crate::hs3::index::Object;
use crate::hs3::words::count;
use crate::pyhf::names::{nearest, quoted};

use super::Builder;

impl Builder<'_, '_> {
    /// Reads the data of the constraint terms of a likelihood. A data set with one event gives the values of its axes,
    /// which are then global observables. Numbers belong to the distribution at the same position.
    pub(super) fn auxiliary_data(&mut self, likelihood: &Likelihood) {
        for (k, argument) in likelihood.auxiliary_data.iter().enumerate() {
            let name = match &argument.value {
                Argument::Number(number) => {
                    if !self.at_position(likelihood, k, argument, &[*number]) {
                        return;
                    }
                    continue;
                }
                Argument::Name(name) => name,
                Argument::Broken => continue,
            };
            if let Some(data) = self.index.document.data.iter().find(|data| data.name == *name) {
                self.auxiliary_set(likelihood, k, argument, data);
            } else if let Some(value) = self.parameters.settings.value(name) {
                self.parameters.settings.observe(name, value.value);
            } else {
                self.missing_set(likelihood, k, name, &argument.path);
            }
        }
    }

    /// Reads a data set of constraint terms. `k` is its position.
    fn auxiliary_set(&mut self, likelihood: &Likelihood, k: usize, argument: &Arg, data: &Named<Data>) {
        let (axes, columns) = match &data.content {
            Data::Point { axes, value } if axes.is_empty() => {
                self.at_position(likelihood, k, argument, &[*value]);
                return;
            }
            Data::Point { axes, value } => (axes, vec![vec![*value]]),
            Data::Unbinned { axes, columns, weights: None, .. } => {
                (axes, columns.iter().map(|column| column.to_vec()).collect())
            }
            _ => {
                self.report.error(
                    argument.path.clone(),
                    format!(
                        "The data {} of constraint terms are binned, weighted or of an unknown type.",
                        quoted(&data.name)
                    ),
                    "Use data of type \"point\", or \"unbinned\" with one event and no weights.",
                );
                return;
            }
        };
        let events = columns.first().map_or(0, Vec::len);
        match (axes.as_slice(), columns.as_slice()) {
            (_, columns) if events == 1 => {
                let mut used = false;
                for (axis, column) in axes.iter().zip(columns) {
                    used |= self.is_auxiliary(likelihood, &axis.name);
                    if let Some(value) = column.first() {
                        self.parameters.settings.observe(&axis.name, *value);
                    }
                }
                if !used {
                    self.report.error(
                        argument.path.clone(),
                        format!(
                            "None of the 'aux_distributions' depends on an axis of {}.",
                            quoted(&data.name)
                        ),
                        "Name the axes of the data like the global observables.",
                    );
                }
            }
            ([_], [values]) => drop(self.at_position(likelihood, k, argument, values)),
            _ => self.report.error(
                argument.path.clone(),
                format!(
                    "The data {} of constraint terms have {} and {}.",
                    quoted(&data.name),
                    count(axes.len(), "axis", "axes"),
                    count(events, "event", "events")
                ),
                "Write one event, or one data set per distribution.",
            ),
        }
    }

    /// Returns whether a constraint term of the likelihood depends on a name.
    fn is_auxiliary(&mut self, likelihood: &Likelihood, name: &str) -> bool {
        let terms = likelihood.auxiliary.iter().filter_map(|term| self.index.distribution(&term.value));
        terms.collect::<Vec<_>>().into_iter().any(|i| self.leaves(Object::Distribution(i)).contains(name))
    }

    /// Adds the constraint term at a position once per observed value. Returns false if positions mean nothing, because
    /// there are not as many data as terms.
    fn at_position(&mut self, likelihood: &Likelihood, k: usize, argument: &Arg, values: &[f64]) -> bool {
        let (terms, data) = (likelihood.auxiliary.len(), likelihood.auxiliary_data.len());
        if terms != data {
            self.report.error(
                argument.path.clone(),
                format!(
                    "There {} for {}, and it is not clear which belong together.",
                    if data == 1 { "is 1 entry of 'aux_data'".to_owned() } else { format!("are {data} entries of 'aux_data'") },
                    count(terms, "constraint term", "constraint terms")
                ),
                "Write one entry per distribution, in the same order, or a data set whose axes are the global observables.",
            );
            return false;
        }
        let Some(i) = likelihood.auxiliary.get(k).and_then(|term| self.index.distribution(&term.value))
        else {
            return true;
        };
        if self.constrained.insert(i) {
            for value in values {
                self.constrain(i, Some(*value));
            }
        }
        true
    }

    /// Handles a data set that is not in the file. Files without it are common, because the values of constant
    /// parameters are the same data.
    fn missing_set(&mut self, likelihood: &Likelihood, k: usize, name: &str, path: &str) {
        let index = self.index;
        let paired = likelihood.auxiliary.len() == likelihood.auxiliary_data.len();
        let terms = likelihood.auxiliary.iter().enumerate().filter(|(i, _)| !paired || *i == k);
        let mut known = Vec::new();
        for (_, term) in terms {
            let distribution = index.document.distributions.iter().find(|d| d.name == term.value);
            let sides = match distribution.map(|d| &d.content) {
                Some(Distribution::Gaussian { x, mean, .. } | Distribution::Poisson { x, mean }) => {
                    vec![x, mean]
                }
                Some(Distribution::Lognormal { x, .. } | Distribution::Gamma { x, .. }) => vec![x],
                _ => continue,
            };
            let values: Vec<(String, f64)> = sides
                .into_iter()
                .filter_map(|side| match &side.value {
                    Argument::Name(name) => Some((name.clone(), self.constant(side)?)),
                    Argument::Number(number) => Some((number.to_string(), *number)),
                    Argument::Broken => None,
                })
                .collect();
            if values.is_empty() {
                self.report.error(
                    path.to_owned(),
                    format!(
                        "There is no data set {}, and no global observable of {} is constant.",
                        quoted(name),
                        quoted(&term.value)
                    ),
                    "Add the data set, or declare the global observable constant in 'parameter_points'.",
                );
                return;
            }
            known.extend(values.into_iter().map(|(name, value)| match name.parse::<f64>() {
                Ok(_) => name,
                Err(_) => format!("{name} = {value}"),
            }));
        }
        known.sort();
        known.dedup();
        let more = known.len().saturating_sub(3);
        known.truncate(3);
        let near = nearest(name, index.document.data.iter().map(|data| data.name.as_str()));
        let hint = near.map_or(String::new(), |near| format!(" Did you mean {}?", quoted(near)));
        self.report.warn(
            path.to_owned(),
            format!(
                "There is no data set {} in the file; the values of the constant parameters are taken as these data: {}{}.{hint}",
                quoted(name),
                known.join(", "),
                if more > 0 { format!(" and {more} more") } else { String::new() }
            ),
            "Remove 'aux_data', or add the data set.",
        );
    }
}
