//! Builds a [`Model`] from a document that has passed all checks.

mod auxiliary;
mod binned;
mod channel;
mod constrained_modifier;
mod constraint;
mod convolution;
mod decay;
mod density;
mod factor_function;
mod flow;
mod generic;
mod interpolation;
mod normalization;
mod parameters;
mod processes;
mod projection;
mod ranges;
mod settings;
mod template;
mod value;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ns_core::{
    Channel, Constraint, Device, EventChannel, EventTable, Function, Model, Observations, Parameter,
    ParameterSet, Penalty, Value,
};

use crate::pyhf::interest::{BadList, wanted};
use crate::pyhf::names::{nearest, quoted};
use crate::pyhf::problem::{Problem, Report};

use super::choose::Choice;
use super::index::{Index, Object};
use interpolation::Codes;
use parameters::{Parameters, Written};

/// Builds the model of one likelihood. The log-densities of flows are evaluated on `device`. The document
/// must have no errors so far. If the result is `None`, `report` gives the reason.
pub(super) fn build(
    index: &Index<'_>,
    choice: &Choice<'_>,
    (pois, device): (&[String], Device),
    report: &mut Report,
) -> Option<Model> {
    let mut builder = Builder {
        index,
        parameters: Parameters::new(index, choice.analysis.map(|analysis| &analysis.content)),
        functions: Vec::new(),
        function_values: HashMap::new(),
        constants: HashMap::new(),
        axes: BTreeSet::new(),
        leaves: HashMap::new(),
        constrained: BTreeSet::new(),
        penalties: Vec::new(),
        penalty_data: Vec::new(),
        binned: Vec::new(),
        channels: Vec::new(),
        tables: Vec::new(),
        codes: Codes::default(),
        densities: 0,
        captured: None,
        weighted: Vec::new(),
        unconstrained: Vec::new(),
        conditional: BTreeSet::new(),
        logs: Vec::new(),
        flows: HashMap::new(),
        device,
        report,
    };
    builder.likelihood(choice);
    if builder.report.has_errors() {
        return None;
    }
    builder.finish(choice, pois)
}

/// Largest number of densities in a model. A small file can refer to shared parts so often that the number of
/// densities becomes huge.
const MOST_DENSITIES: usize = 100_000;

/// Reasons why a value or a density could not be built.
#[derive(Debug, PartialEq)]
enum Trouble {
    /// The value or density depends on observables, not only on parameters.
    Observables,
    /// The problem has been reported.
    Reported,
}

/// A model that is being built.
struct Builder<'a, 'r> {
    index: &'a Index<'a>,
    parameters: Parameters<'a>,
    functions: Vec<Function>,
    /// Value of each function that has been built, by the index of the function in the document.
    function_values: HashMap<usize, Value>,
    /// Known results of `constant_function`, by the index of the function in the document: the value of a function
    /// that never changes, or `None` for any other function.
    constants: HashMap<usize, Option<f64>>,
    /// Names of the axes of all data of the likelihood.
    axes: BTreeSet<String>,
    leaves: HashMap<Object, Arc<BTreeSet<String>>>,
    /// Indices of the distributions that have become constraint terms.
    constrained: BTreeSet<usize>,
    penalties: Vec<Penalty>,
    /// Auxiliary data of penalties. A penalty is a constraint term that is not the constraint of a single
    /// parameter. Until the model is finished, penalties refer to these data by indices that begin at 0.
    penalty_data: Vec<f64>,
    /// Binned channels, each with its observed counts.
    binned: Vec<(Channel, Vec<f64>)>,
    channels: Vec<EventChannel>,
    tables: Vec<Arc<EventTable>>,
    codes: Codes,
    densities: usize,
    /// Expressions of parameters that depend on observables, while a density may have such parameters.
    captured: decay::Captured,
    /// Parameters on which the weights of simulated events depend, each with the JSON pointer to the template of
    /// these events.
    weighted: Vec<(usize, String)>,
    /// Parameters of normsys and histosys modifiers that name no constraint, each with the JSON pointer to a modifier.
    unconstrained: Vec<(usize, String)>,
    /// JSON pointers to distributions and widths with a warning: a width or slope depends on an observable, or may be negative.
    conditional: BTreeSet<String>,
    /// Log-densities of normalising flows in the channel that is being built. Each becomes a column of the events.
    logs: Vec<ns_core::LogDensity>,
    /// Loaded flows by the index of their distribution.
    flows: HashMap<usize, ns_core::SharedLogProb>,
    /// Device on which flows are evaluated.
    device: Device,
    report: &'r mut Report,
}

impl Builder<'_, '_> {
    /// Builds all terms of a likelihood.
    fn likelihood(&mut self, choice: &Choice<'_>) {
        self.collect_axes(&choice.likelihood.content);
        self.declare_groups(&choice.likelihood.content);
        if self.report.has_errors() {
            return;
        }
        let likelihood = &choice.likelihood.content;
        self.auxiliary_data(likelihood);
        for (name, data) in likelihood.distributions.iter().zip(&likelihood.data) {
            self.channel(name, data, likelihood);
        }
        let more = choice.analysis.map(|analysis| analysis.content.auxiliary.as_slice()).unwrap_or_default();
        for name in likelihood.auxiliary.iter().chain(more) {
            if let Some(i) = self.index.distribution(&name.value) {
                self.constrain(i, None);
            }
        }
    }

    /// Returns the names of all observables and parameters that an object depends on.
    fn leaves(&mut self, object: Object) -> Arc<BTreeSet<String>> {
        let index = self.index;
        Arc::clone(self.leaves.entry(object).or_insert_with(|| Arc::new(index.leaves(object))))
    }

    /// Counts one more density. Reports an error if the model has too many.
    fn count_density(&mut self, path: &str) -> Result<(), Trouble> {
        self.densities += 1;
        if self.densities == MOST_DENSITIES + 1 {
            self.report.error(
                path.to_owned(),
                format!("The model consists of more than {MOST_DENSITIES} densities, because parts are used many times."),
                "Use fewer nested products and mixtures.",
            );
        }
        if self.densities > MOST_DENSITIES { Err(Trouble::Reported) } else { Ok(()) }
    }

    /// Builds the model from its parts.
    fn finish(mut self, choice: &Choice<'_>, pois: &[String]) -> Option<Model> {
        self.check_weighted();
        self.check_unconstrained();
        let pois = self.interest(choice, pois);
        let interpolation = self.codes.common(self.report);
        if self.report.has_errors() {
            return None;
        }
        let mut aux = Vec::new();
        let mut parameters = Vec::new();
        for entry in self.parameters.entries {
            let constraint = match entry.constraint.map(|constraint| constraint.written) {
                None => Constraint::None,
                Some(Written::Gaussian { sigma, datum }) => {
                    aux.push(datum);
                    Constraint::Gaussian { sigma, aux: aux.len() - 1 }
                }
                Some(Written::Poisson { tau, datum }) => {
                    aux.push(datum);
                    Constraint::Poisson { tau, aux: aux.len() - 1 }
                }
            };
            let (init, bounds, fixed) = (entry.init, entry.bounds, entry.fixed);
            parameters.push(Parameter { name: entry.name, init, bounds, fixed, constraint });
        }
        let first_datum = aux.len();
        aux.extend(self.penalty_data);
        let mut penalties = self.penalties;
        for penalty in &mut penalties {
            constraint::shift_datum(&mut penalty.form, first_datum);
        }
        let set = |(i, p): (usize, &Parameter)| ParameterSet {
            name: p.name.clone(),
            range: i..i + 1,
            scalar: true,
        };
        let parameter_sets = parameters.iter().enumerate().map(set).collect();
        // Channels are sorted by name, as in models of workspaces.
        self.binned.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        let mut main = Vec::new();
        let mut channels = Vec::new();
        for (mut channel, counts) in self.binned {
            channel.first_bin = main.len();
            main.extend(counts);
            channels.push(channel);
        }
        let model = Model {
            format: ns_core::ModelFormat::Hs3,
            unobserved: Vec::new(),
            measurement: choice.name.clone(),
            channels,
            parameters,
            parameter_sets,
            pois,
            interpolation,
            functions: self.functions,
            event_channels: self.channels,
            penalties,
            open: Vec::new(),
            observed: Observations { main, aux, events: self.tables },
            warnings: self.report.warnings().map(Problem::paragraph).collect(),
        };
        if let Err(error) = model.check_events() {
            self.report.error(
                choice.likelihood.path.clone(),
                format!(
                    "The model of likelihood {} is inconsistent: {error}.",
                    quoted(&choice.likelihood.name)
                ),
                "Correct the part that it names.",
            );
            return None;
        }
        Some(model)
    }

    /// Returns the indices of the parameters of interest: those that `lists` names, or by default those of the analysis.
    fn interest(&mut self, choice: &Choice<'_>, lists: &[String]) -> Vec<usize> {
        let asked = match wanted(lists, |name| self.parameters.find(name).is_some(), &self.parameters.names())
        {
            Ok(names) => names,
            Err(BadList { name, message, remedy }) => {
                let message = format!("Parameter of interest {}: {message}", quoted(&name));
                self.report.error(String::new(), message, remedy);
                return Vec::new();
            }
        };
        let is_asked = !asked.is_empty();
        let written = choice.analysis.map(|analysis| analysis.content.interest.as_slice());
        let named: Vec<(String, String)> = if is_asked {
            asked.into_iter().map(|name| (name, String::new())).collect()
        } else {
            let written = written.unwrap_or_default().iter();
            written.map(|name| (name.value.clone(), name.path.clone())).collect()
        };
        let mut found = Vec::with_capacity(named.len());
        for (name, path) in named {
            let Some(index) = self.parameters.find(&name) else {
                self.without_influence(&name, path, is_asked);
                continue;
            };
            if found.contains(&index) {
                let message = format!("The analysis has the parameter of interest {} twice.", quoted(&name));
                self.report.warn(path, message, "Give every name once.");
            } else {
                found.push(index);
            }
        }
        found
    }

    /// Reports a parameter of interest that the likelihood does not depend on.
    fn without_influence(&mut self, name: &str, path: String, is_asked: bool) {
        let names = self.parameters.entries.iter().map(|entry| entry.name.as_str());
        let near = nearest(name, names);
        let hint = near.map_or(String::new(), |near| format!(" Did you mean {}?", quoted(near)));
        let message =
            format!("The parameter of interest {} has no influence on the likelihood.", quoted(name));
        if is_asked {
            self.report.error(path, message, format!("Choose another one.{hint}"));
        } else {
            let remedy = format!("Fits work; limits, significances and rankings need one.{hint}");
            self.report.warn(path, message, remedy);
        }
    }
}
