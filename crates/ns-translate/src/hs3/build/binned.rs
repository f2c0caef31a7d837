//! Builds the channels of HistFactory models.

use std::collections::HashMap;

use ns_core::{Channel, ChannelAxis, Effect, Modifier, Sample};

use crate::hs3::check;
use crate::hs3::document::{
    self, Data, Distribution, HistFactory, Kind, Likelihood, Named, WrittenConstraint,
};
use crate::hs3::index::Object;
use crate::hs3::words::count;
use crate::pyhf::names::{quoted, show};
use crate::pyhf::problem::Report;

use super::parameters::Default;
use super::{Builder, interpolation};

/// Default start value and bounds of a nuisance parameter of a normsys or histosys modifier.
const ALPHA: Default = Default { init: 0.0, bounds: (-5.0, 5.0) };
/// Default start value and bounds of a parameter that multiplies the yield of one bin.
const GAMMA: Default = Default { init: 1.0, bounds: (1e-10, 10.0) };
/// Default start value and bounds of a parameter that multiplies all yields of a sample.
const FACTOR: Default = Default { init: 1.0, bounds: (0.0, 10.0) };

/// The axis of a channel for pictures: that of the distribution, or else of its data. Bins of several observables, and bins
/// from 0 of width 1, which files have in place of unknown ones, give no edges. Names that ROOT and this program make up are
/// no titles.
fn shown_axis(own: &[document::Axis], of_data: &[document::Axis]) -> ChannelAxis {
    let axes = if own.is_empty() { of_data } else { own };
    let [axis] = axes else { return ChannelAxis::default() };
    let edges = check::edges(axis, &mut Report::default()).unwrap_or_default();
    let is_counted = edges.iter().enumerate().all(|(i, edge)| *edge == i as f64);
    let title = if axis.name.starts_with("obs_") { String::new() } else { axis.name.clone() };
    ChannelAxis { title, edges: if is_counted { Vec::new() } else { edges } }
}

impl Builder<'_, '_> {
    /// Declares the parameters of all modifiers with one parameter per bin. The parameters of such a modifier
    /// are consecutive in the model.
    pub(super) fn declare_groups(&mut self, likelihood: &Likelihood) {
        let index = self.index;
        let mut open: Vec<usize> = likelihood
            .distributions
            .iter()
            .rev()
            .filter_map(|name| index.distribution(&name.value))
            .collect();
        while let Some(i) = open.pop() {
            let Some(distribution) = index.document.distributions.get(i) else { continue };
            match &distribution.content {
                Distribution::Product { factors } => {
                    open.extend(factors.iter().filter_map(|factor| index.named_distribution(factor)));
                    // Each factor is visited once. The loop ends because references have no cycles.
                    open.sort_unstable();
                    open.dedup();
                }
                Distribution::HistFactory(channel) => {
                    for modifier in channel.samples.iter().flat_map(|sample| &sample.modifiers) {
                        let names = modifier.bin_parameters(&distribution.name, channel.bins());
                        if names.iter().any(|name| self.is_function(name)) {
                            continue;
                        }
                        if !names.is_empty() && !self.parameters.declare_group(&names) {
                            self.report.error(
                                modifier.path.clone(),
                                format!("The modifier {} shares some parameters of its bins with others, but not in the same order.", quoted(&modifier.name)),
                                "Let modifiers share all their parameters in the same order, or none.",
                            );
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Builds a channel of a HistFactory model.
    pub(super) fn binned_channel(&mut self, i: usize, name: &str, data: &Named<Data>) {
        let index = self.index;
        let Some(distribution) = index.document.distributions.get(i) else { return };
        let Distribution::HistFactory(channel) = &distribution.content else { return };
        let Data::Binned { axes, contents } = &data.content else {
            self.report.error(
                data.path.clone(),
                format!(
                    "The data {} of the histfactory_dist {} are not binned.",
                    quoted(&data.name),
                    quoted(name)
                ),
                "Use data of type \"binned\".",
            );
            return;
        };
        let n_bins = channel.bins();
        let edges = |axes: &[document::Axis]| -> Vec<Option<Vec<f64>>> {
            axes.iter().map(|axis| check::edges(axis, &mut Report::default())).collect()
        };
        let differ = |(a, b): (&Option<Vec<f64>>, &Option<Vec<f64>>)| match (a, b) {
            (Some(a), Some(b)) => {
                a.len() != b.len() || a.iter().zip(b).any(|(x, y)| (x - y).abs() > 1e-9 * (x.abs() + y.abs()))
            }
            _ => false,
        };
        let (mine, theirs) = (edges(&channel.axes), edges(axes));
        let other_axes =
            !mine.is_empty() && (mine.len() != theirs.len() || mine.iter().zip(&theirs).any(differ));
        if contents.len() != n_bins || other_axes {
            self.report.error(
                data.path.clone(),
                format!(
                    "The bins of the data {} are not those of the distribution {}.",
                    quoted(&data.name),
                    quoted(&distribution.name)
                ),
                "Use the same axes in both.",
            );
            return;
        }
        let errors = stat_errors(&distribution.name, channel);
        let mut samples = Vec::with_capacity(channel.samples.len());
        for sample in &channel.samples {
            let mut modifiers = Vec::with_capacity(sample.modifiers.len());
            for modifier in &sample.modifiers {
                modifiers.extend(self.modifier(&distribution.name, channel, sample, modifier, &errors));
            }
            samples.push(Sample { name: sample.name.clone(), nominal: sample.contents.clone(), modifiers });
        }
        // `first_bin` is set later, when all channels are known.
        let axis = shown_axis(&channel.axes, axes);
        let channel = Channel { name: name.to_owned(), first_bin: 0, n_bins, samples, axis };
        self.binned.push((channel, contents.clone()));
    }

    /// Builds one modifier with its parameters and constraints.
    fn modifier(
        &mut self,
        channel_name: &str,
        channel: &HistFactory,
        sample: &document::Sample,
        modifier: &document::Modifier,
        errors: &HashMap<Vec<String>, Vec<f64>>,
    ) -> Option<Modifier> {
        let path = modifier.path.as_str();
        let name = modifier.name.clone();
        if let Some(effect) = self.functions_of(channel_name, channel, modifier) {
            return Some(Modifier { name, first: 0, effect: effect? });
        }
        let (first, effect) = match &modifier.effect {
            document::Effect::NormFactor => {
                let p = self.scalar(modifier, FACTOR)?;
                self.constrain_scalar(p, modifier, 1.0);
                (p, Effect::NormFactor)
            }
            document::Effect::NormSys { hi, lo } => {
                let p = self.scalar(modifier, ALPHA)?;
                self.constrain_scalar(p, modifier, 0.0);
                let normsys = |m: &&document::Modifier| matches!(m.effect, document::Effect::NormSys { .. });
                let alone = sample.modifiers.iter().filter(normsys).count() == 1;
                let code = interpolation::normsys(modifier.interpolation.as_ref(), alone, self.report)?;
                let exponential = matches!(code, ns_core::NormsysCode::Code1 | ns_core::NormsysCode::Code4);
                if exponential && !(*hi > 0.0 && *lo > 0.0) {
                    self.report.error(
                        format!("{path}/data"),
                        format!("The factors {} and {} of modifier {} are not both positive, but are interpolated exponentially.", show(*lo), show(*hi), quoted(&name)),
                        "Correct them, or use a linear interpolation.",
                    );
                }
                self.codes.normsys(code, path);
                (p, Effect::NormSys { lo: *lo, hi: *hi })
            }
            document::Effect::HistoSys { hi, lo } => {
                let p = self.scalar(modifier, ALPHA)?;
                self.constrain_scalar(p, modifier, 0.0);
                let code = interpolation::additive(modifier.interpolation.as_ref(), "histosys", self.report)?;
                self.codes.histosys(code, path);
                self.check_templates(modifier, sample, hi, lo);
                (p, Effect::HistoSys { lo: lo.clone(), hi: hi.clone() })
            }
            document::Effect::ShapeFactor => {
                let first = self.vector(channel_name, channel, modifier)?;
                self.constrain_bins(first, channel, modifier, None, None)
            }
            document::Effect::ShapeSys { values, meaning } => {
                let first = self.vector(channel_name, channel, modifier)?;
                // ROOT writes a shapefactor as a shapesys without uncertainties.
                let zero = |values: &Vec<f64>| values.iter().all(|value| *value == 0.0);
                let values = values.as_ref().filter(|values| !zero(values)).map(Vec::as_slice);
                if let (Some(values), None) = (values, meaning) {
                    self.check_values(modifier, &sample.contents, values);
                }
                let default = values.map(|_| Kind::Poisson);
                self.constrain_bins(first, channel, modifier, values, default)
            }
            document::Effect::StatError => {
                let names = modifier.bin_parameters(channel_name, channel.bins());
                let first = self.vector(channel_name, channel, modifier)?;
                let relative = errors.get(&names).map(Vec::as_slice);
                let constant = matches!(&modifier.constraint, WrittenConstraint::Kind(kind) if kind.value == Kind::Const);
                if relative.is_none()
                    && !constant
                    && !matches!(modifier.constraint, WrittenConstraint::Distributions(_))
                {
                    self.report.error(
                        path.to_owned(),
                        format!("No sample with the staterror {} has 'errors'.", quoted(&name)),
                        "Add the uncertainties of the contents as data/errors.",
                    );
                    return None;
                }
                self.constrain_bins(first, channel, modifier, relative, Some(Kind::Poisson))
            }
        };
        Some(Modifier { name, first, effect })
    }

    /// Returns the index of the parameter of a modifier that has a single parameter.
    fn scalar(&mut self, modifier: &document::Modifier, default: Default) -> Option<usize> {
        let name = match modifier.parameters.as_slice() {
            [only] => only.clone(),
            [] => modifier.name.clone(),
            more => {
                self.report.error(
                    modifier.path.clone(),
                    format!(
                        "The modifier {} has {} parameters, but takes one.",
                        quoted(&modifier.name),
                        more.len()
                    ),
                    "Name one parameter.",
                );
                return None;
            }
        };
        if let Some(Object::Function(_) | Object::Distribution(_)) = self.index.find(&name) {
            self.report.error(
                modifier.path.clone(),
                format!(
                    "The modifier {} is controlled by {}, which is no parameter; this is not supported.",
                    quoted(&modifier.name),
                    quoted(&name)
                ),
                "Name a parameter. Functions of parameters can be factors of samples and of bins (normfactor, shapefactor).",
            );
            return None;
        }
        Some(self.parameters.get(&name, Some(default), &modifier.path, self.report))
    }

    /// Returns the index of the first parameter of a modifier that has one parameter per bin.
    fn vector(
        &mut self,
        channel_name: &str,
        channel: &HistFactory,
        modifier: &document::Modifier,
    ) -> Option<usize> {
        let names = modifier.bin_parameters(channel_name, channel.bins());
        let n_bins = channel.bins();
        if names.len() != n_bins {
            self.report.error(
                modifier.path.clone(),
                format!(
                    "The modifier {} has {} for {}.",
                    quoted(&modifier.name),
                    count(names.len(), "parameter", "parameters"),
                    count(n_bins, "bin", "bins")
                ),
                "Name one parameter per bin under 'parameters'.",
            );
            return None;
        }
        let mut first = None;
        for name in &names {
            let p = self.parameters.get(name, Some(GAMMA), &modifier.path, self.report);
            first.get_or_insert(p);
        }
        first
    }
}

/// Returns, for each staterror, the relative uncertainty of the sum of its samples, one number per bin. The keys are
/// the names of the parameters of the staterror.
fn stat_errors(channel_name: &str, channel: &HistFactory) -> HashMap<Vec<String>, Vec<f64>> {
    let n_bins = channel.bins();
    let mut sums: HashMap<Vec<String>, Vec<(f64, f64)>> = HashMap::new();
    for sample in &channel.samples {
        let is_stat = |m: &&document::Modifier| matches!(m.effect, document::Effect::StatError);
        let Some(modifier) = sample.modifiers.iter().find(is_stat) else { continue };
        let Some(errors) = &sample.errors else { continue };
        let names = modifier.bin_parameters(channel_name, channel.bins());
        let sums = sums.entry(names).or_insert_with(|| vec![(0.0, 0.0); n_bins]);
        for ((content, square), (yields, error)) in sums.iter_mut().zip(sample.contents.iter().zip(errors)) {
            *content += yields;
            *square += error * error;
        }
    }
    let relative =
        |(content, square): &(f64, f64)| if *content > 0.0 { square.sqrt() / content } else { 0.0 };
    sums.into_iter().map(|(names, sums)| (names, sums.iter().map(relative).collect())).collect()
}
