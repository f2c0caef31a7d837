//! Finds what is wrong with a description.

use std::collections::HashSet;

use ns_unbinned::expression::Expression;

use super::describe::{Channel, Description, Effect, Formula, Parameter, Sample, Symmetrise};
use super::places::Place;
use crate::pyhf::Report;
use crate::pyhf::names::{list, nearest, quoted, show};

/// Returns all problems of a description. `path` turns a place into the path of a problem.
pub(super) fn check(description: &Description, path: &dyn Fn(Place<'_>) -> String) -> Report {
    let mut check = Check { report: Report::default(), path };
    check.measurement(description);
    check.distinct("channels", description.channels.iter().map(|c| c.name.as_str()), Place::All);
    if description.channels.is_empty() {
        check.error(Place::All, "There is no channel.", "Add a channel with its samples.");
    }
    for channel in &description.channels {
        check.channel(channel);
    }
    check.report
}

/// Names of all parameters that the parts of a description use.
pub(super) fn parameters(description: &Description) -> HashSet<String> {
    let mut names: HashSet<String> = HashSet::new();
    for sample in description.channels.iter().flat_map(|c| &c.samples) {
        names.extend(sample.norm_factors.iter().chain(&sample.shape_factors).cloned());
        names.extend(sample.functions.iter().flat_map(Formula::names));
        names.extend(sample.systematics.iter().map(|systematic| systematic.parameter().to_owned()));
    }
    names
}

struct Check<'a> {
    report: Report,
    path: &'a dyn Fn(Place<'_>) -> String,
}

impl Check<'_> {
    fn error(&mut self, place: Place<'_>, message: impl Into<String>, remedy: impl Into<String>) {
        self.report.error((self.path)(place), message, remedy);
    }

    fn distinct<'n>(&mut self, what: &str, names: impl Iterator<Item = &'n str>, place: Place<'_>) {
        let mut seen = HashSet::new();
        for name in names {
            if name.is_empty() {
                self.error(place, format!("One of the {what} has no name."), "Give it a name.");
            } else if !seen.insert(name) {
                let message = format!("Two of the {what} are called {}.", quoted(name));
                self.error(place, message, "Rename one of them.");
            }
        }
    }

    fn measurement(&mut self, description: &Description) {
        let measurement = &description.measurement;
        if measurement.name.is_empty() {
            self.error(Place::Measurement, "The measurement has no name.", "Give it a name.");
        }
        let known = parameters(description);
        let poi = measurement.poi.as_str();
        if !poi.is_empty() && !known.contains(poi) {
            let message = format!("No sample has the parameter of interest {}.", quoted(poi));
            self.error(Place::Measurement, message, meant(poi, &known));
        }
        let names = measurement.parameters.iter().map(|p| p.name.as_str());
        self.distinct("settings of parameters", names, Place::Measurement);
        for Parameter { name, init, bounds, .. } in &measurement.parameters {
            let place = Place::Parameter(name);
            if !known.contains(name.as_str()) {
                let message = format!("No sample has the parameter {}.", quoted(name));
                self.error(place, message, meant(name, &known));
            }
            let [low, high] = bounds.unwrap_or([0.0, 1.0]);
            if !(low < high && low.is_finite() && high.is_finite()) {
                let message = format!("Its bounds are {} and {}.", show(low), show(high));
                self.error(place, message, "Give two finite numbers, the smaller first.");
            } else if let Some(init) =
                init.filter(|x| !x.is_finite() || bounds.is_some_and(|[low, high]| *x < low || *x > high))
            {
                let message = format!("Its start value {} is not within its bounds.", show(init));
                self.error(place, message, "Change the start value or the bounds.");
            }
        }
        if !(description.mc_threshold >= 0.0 && description.mc_threshold.is_finite()) {
            let message = format!(
                "The threshold of the statistics of simulation is {}.",
                show(description.mc_threshold)
            );
            self.error(Place::All, message, "Give a relative uncertainty of 0 or more.");
        }
        let pruning = description.pruning;
        let all = [
            ("normalisation", pruning.normalisation),
            ("shape", pruning.shape),
            ("largest effect", pruning.large),
        ];
        for (what, value) in all {
            if let Some(value) = value.filter(|x| !(x.is_finite() && *x >= 0.0)) {
                let message = format!("The threshold of pruning for the {what} is {}.", show(value));
                self.error(Place::All, message, "Give a relative effect of 0 or more, such as 0.005.");
            }
        }
    }

    fn channel(&mut self, channel: &Channel) {
        let place = Place::Channel(&channel.name);
        self.distinct("samples of the channel", channel.samples.iter().map(|s| s.name.as_str()), place);
        let Some(first) = channel.samples.first() else {
            return self.error(
                place,
                "The channel has no sample.",
                "Add a sample, or leave the channel out.",
            );
        };
        let n = channel.edges.as_ref().map_or(first.template.values.len(), |e| e.len().saturating_sub(1));
        if n == 0 {
            return self.error(place, "The channel has no bin.", "Give at least two edges.");
        }
        if let Some(edges) = &channel.edges {
            let increases = |pair: &[f64]| matches!(pair, [a, b] if a < b && b.is_finite());
            if !edges.windows(2).all(increases) {
                self.error(place, "The edges of the bins do not increase.", "Sort them, each of them once.");
            }
        }
        if let Some(data) = &channel.data {
            self.numbers(place, "The data", data, n, true);
        }
        for sample in &channel.samples {
            self.sample(channel, sample, n);
        }
    }

    fn sample(&mut self, channel: &Channel, sample: &Sample, n: usize) {
        let place = Place::Sample { channel: &channel.name, sample: &sample.name };
        self.numbers(place, "The template", &sample.template.values, n, false);
        if let Some(variances) = &sample.template.variances {
            self.numbers(place, "The variance", variances, n, true);
        }
        let functions = sample.functions.iter().map(|function| &function.name);
        let factors = sample.norm_factors.iter().chain(&sample.shape_factors).chain(functions);
        self.distinct("factors", factors.map(String::as_str), place);
        for function in &sample.functions {
            if let Err(error) = Expression::parse(&function.expression) {
                let message =
                    format!("The expression of the factor {} is wrong {error}.", quoted(&function.name));
                self.error(place, message, error.remedy());
            }
        }
        self.distinct("systematics", sample.systematics.iter().map(|s| s.name.as_str()), place);
        let mut used: HashSet<(&str, &str)> = HashSet::new();
        for systematic in &sample.systematics {
            let place = Place::Systematic {
                channel: &channel.name,
                sample: &sample.name,
                systematic: &systematic.name,
            };
            let uncorrelated = matches!(systematic.effect, Effect::Uncorrelated { .. });
            let kind = if uncorrelated { "bins" } else { "one" };
            if !used.insert((systematic.parameter(), kind)) {
                let message = format!(
                    "Another systematic of the sample has the parameter {} too.",
                    quoted(systematic.parameter())
                );
                self.error(
                    place,
                    message,
                    "Merge the two effects, or give one of them a parameter of its own.",
                );
            }
            self.effect(place, &systematic.effect, n);
        }
    }

    fn effect(&mut self, place: Place<'_>, effect: &Effect, n: usize) {
        match effect {
            Effect::Normalisation { up, down } => {
                for value in [up, down] {
                    if !(*value > -1.0 && value.is_finite()) {
                        let message =
                            format!("The relative change of the normalisation is {}.", show(*value));
                        self.error(place, message, "Give a number above -1: 0.05 stands for 5 % more.");
                    }
                }
            }
            Effect::Templates { up, down, symmetrise, .. } => {
                self.numbers(place, "The template up", up, n, false);
                match down {
                    Some(down) => self.numbers(place, "The template down", down, n, false),
                    None => {
                        let two = [Symmetrise::TwoSided, Symmetrise::AbsMean, Symmetrise::Maximum]
                            .contains(symmetrise);
                        if two {
                            self.error(
                                place,
                                "This way to make templates symmetric needs a template down.",
                                "Give it, or use 'one_sided' or 'mirror'.",
                            );
                        }
                    }
                }
            }
            Effect::Uncorrelated { sigmas } => self.numbers(place, "The uncertainty", sigmas, n, true),
        }
    }

    /// Checks the number of bins and their contents.
    fn numbers(&mut self, place: Place<'_>, what: &str, values: &[f64], n: usize, positive: bool) {
        if values.len() != n {
            let message = format!("{what} has {} bins; the channel has {n}.", values.len());
            return self.error(place, message, "Make the bins the same everywhere in the channel.");
        }
        let wrong = |x: &f64| !x.is_finite() || (positive && *x < 0.0);
        if let Some(bin) = values.iter().position(wrong) {
            let least = if positive { " of 0 or more" } else { "" };
            let message = format!("{what} is {} in bin {}.", show(values[bin]), bin + 1);
            self.error(place, message, format!("Give a finite number{least}."));
        }
    }
}

/// The remedy for a name that does not exist.
fn meant(name: &str, known: &HashSet<String>) -> String {
    let mut names: Vec<&str> = known.iter().map(String::as_str).collect();
    names.sort_unstable();
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("Did you mean {}?", quoted(near)),
        None => list("The parameters are", &names),
    }
}
