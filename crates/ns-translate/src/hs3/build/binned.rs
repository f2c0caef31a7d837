//! Builds the channels of HistFactory models.

use std::collections::HashMap;

use ns_core::{Channel, Effect, Modifier, Sample};

use crate::hs3::check;
use crate::hs3::document::{self, Data, Distribution, HistFactory, Likelihood, Named, WrittenConstraint};
use crate::hs3::index::Object;
use crate::hs3::words::count;
use crate::pyhf::names::{quoted, show};
use crate::pyhf::problem::Report;

use super::parameters::{Default, Written};
use super::{Builder, interpolation};

/// Default start value and bounds of a nuisance parameter of a normsys or histosys modifier.
const ALPHA: Default = Default { init: 0.0, bounds: (-5.0, 5.0) };
/// Default start value and bounds of a parameter that multiplies the yield of one bin.
const GAMMA: Default = Default { init: 1.0, bounds: (1e-10, 10.0) };
/// Default start value and bounds of a parameter that multiplies all yields of a sample.
const FACTOR: Default = Default { init: 1.0, bounds: (0.0, 10.0) };

/// The types of constraint that are supported for modifiers with one parameter per bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gauss,
    Poisson,
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
                        let names = bin_parameters(&distribution.name, channel, modifier);
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
        let n_bins = channel.samples.first().map_or(0, |sample| sample.contents.len());
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
        let channel = Channel { name: name.to_owned(), first_bin: 0, n_bins, samples };
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
            document::Effect::ShapeSys { relative } => {
                let first = self.vector(channel_name, channel, modifier)?;
                // ROOT writes a shapefactor as a shapesys without uncertainties.
                let zero = |values: &Vec<f64>| values.iter().all(|value| *value == 0.0);
                let relative = relative.as_ref().filter(|values| !zero(values));
                if relative.is_some() && !self.index.document.from_root {
                    self.report.warn(
                        format!("{path}/data/vals"),
                        format!(
                            "The values of the shapesys {} are taken as relative uncertainties, as in ROOT.",
                            quoted(&name)
                        ),
                        "Check that they are; the HS3 text can be read differently.",
                    );
                }
                let default = relative.map(|_| Kind::Poisson);
                self.constrain_bins(first, channel, modifier, relative.map(Vec::as_slice), default)
            }
            document::Effect::StatError => {
                let names = bin_parameters(channel_name, channel, modifier);
                let first = self.vector(channel_name, channel, modifier)?;
                let relative = errors.get(&names).map(Vec::as_slice);
                if relative.is_none() && !matches!(modifier.constraint, WrittenConstraint::Distributions(_)) {
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
                "Name a parameter.",
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
        let names = bin_parameters(channel_name, channel, modifier);
        let n_bins = channel.samples.first().map_or(0, |sample| sample.contents.len());
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

    /// Adds the constraint of a modifier with a single parameter. `nominal` is the observed value of the auxiliary
    /// datum.
    fn constrain_scalar(&mut self, parameter: usize, modifier: &document::Modifier, nominal: f64) {
        match &modifier.constraint {
            WrittenConstraint::None => {}
            WrittenConstraint::Distribution(name) => {
                if let Some(i) = self.index.distribution(&name.value) {
                    self.constrain(i, None);
                }
            }
            WrittenConstraint::Distributions(names) => {
                for name in names.iter().flatten() {
                    if let Some(i) = self.index.distribution(&name.value) {
                        self.constrain(i, None);
                    }
                }
            }
            WrittenConstraint::Kind(kind) if kind.value == "Gauss" => {
                self.constrain_once(parameter, Written::Gaussian { sigma: 1.0, datum: nominal }, modifier);
            }
            WrittenConstraint::Kind(kind) if kind.value == "Const" => self.parameters.fix(parameter, nominal),
            WrittenConstraint::Kind(kind) => {
                let what = format!("A {} constraint of the modifier {}", kind.value, quoted(&modifier.name));
                self.unsupported(&kind.path, &what, "Use \"Gauss\", or name a distribution.");
            }
        }
    }

    /// Adds the constraint of a modifier to its parameter. Modifiers that share a parameter must have the
    /// same constraint.
    fn constrain_once(&mut self, parameter: usize, written: Written, modifier: &document::Modifier) {
        if self.parameters.constrain(parameter, written, &modifier.path) {
            return;
        }
        let Some(known) = self.parameters.constraint(parameter) else { return };
        if known.written != written {
            let message = format!(
                "The constraint of the modifier {} differs from that at {}.",
                quoted(&modifier.name),
                known.origin
            );
            self.report.error(
                modifier.path.clone(),
                message,
                "Let modifiers of one parameter have the same constraint.",
            );
        }
    }

    /// Adds the constraints of a modifier with one parameter per bin, and returns the modifier's first parameter and
    /// effect. `relative` is the relative uncertainty of each bin. In a bin without an uncertainty the parameter is
    /// fixed.
    fn constrain_bins(
        &mut self,
        first: usize,
        channel: &HistFactory,
        modifier: &document::Modifier,
        relative: Option<&[f64]>,
        default: Option<Kind>,
    ) -> (usize, Effect) {
        let kind = match &modifier.constraint {
            WrittenConstraint::None => default,
            WrittenConstraint::Kind(kind) if kind.value == "Gauss" => relative.map(|_| Kind::Gauss),
            WrittenConstraint::Kind(kind) if kind.value == "Poisson" => relative.map(|_| Kind::Poisson),
            WrittenConstraint::Kind(kind) => {
                let what = format!("A {} constraint of the modifier {}", kind.value, quoted(&modifier.name));
                self.unsupported(&kind.path, &what, "Use \"Gauss\" or \"Poisson\".");
                None
            }
            WrittenConstraint::Distribution(_) | WrittenConstraint::Distributions(_) => {
                self.constrain_scalar(first, modifier, 1.0);
                return (first, Effect::ShapeFactor);
            }
        };
        let (Some(kind), Some(relative)) = (kind, relative) else { return (first, Effect::ShapeFactor) };
        let n_bins = channel.samples.first().map_or(0, |sample| sample.contents.len());
        for (bin, relative) in relative.iter().enumerate().take(n_bins) {
            let parameter = first + bin;
            if !(*relative > 0.0) {
                self.parameters.fix(parameter, 1.0);
                continue;
            }
            let written = match kind {
                Kind::Gauss => Written::Gaussian { sigma: *relative, datum: 1.0 },
                Kind::Poisson => {
                    let tau = 1.0 / (relative * relative);
                    Written::Poisson { tau, datum: tau }
                }
            };
            self.constrain_once(parameter, written, modifier);
        }
        (first, if kind == Kind::Gauss { Effect::StatError } else { Effect::ShapeSys })
    }

    /// Reports a warning or an error if the templates of a histosys may be differences from the nominal yields,
    /// instead of yields.
    fn check_templates(
        &mut self,
        modifier: &document::Modifier,
        sample: &document::Sample,
        hi: &[f64],
        lo: &[f64],
    ) {
        if self.index.document.templates_are_yields {
            return;
        }
        let name = quoted(&modifier.name);
        let path = format!("{}/data", modifier.path);
        let negative = |values: &[f64]| {
            values.iter().zip(&sample.contents).any(|(varied, nominal)| *varied < 0.0 && *nominal >= 0.0)
        };
        if negative(hi) || negative(lo) {
            self.report.error(
                path,
                format!("Templates of the histosys {name} are negative where the sample is not: they seem to be differences."),
                "Write the yields at +1 and -1, not their differences from the contents.",
            );
        } else {
            self.report.warn(
                path,
                format!("The templates of the histosys {name} are taken as yields, as in ROOT."),
                "Check that they are not differences, which the HS3 text allows.",
            );
        }
    }
}

/// Returns the names of the parameters of a modifier with one parameter per bin. If the file gives no names, they
/// are the names that ROOT gives. The list is empty for other modifiers.
fn bin_parameters(channel_name: &str, channel: &HistFactory, modifier: &document::Modifier) -> Vec<String> {
    let prefix = match modifier.effect {
        document::Effect::ShapeFactor | document::Effect::ShapeSys { .. } => {
            format!("gamma_{}", modifier.name)
        }
        document::Effect::StatError => {
            format!("gamma_stat_{}", channel_name.strip_prefix("model_").unwrap_or(channel_name))
        }
        _ => return Vec::new(),
    };
    if !modifier.parameters.is_empty() {
        return modifier.parameters.clone();
    }
    let n_bins = channel.samples.first().map_or(0, |sample| sample.contents.len());
    (0..n_bins).map(|bin| format!("{prefix}_bin_{bin}")).collect()
}

/// Returns, for each staterror, the relative uncertainty of the sum of its samples, one number per bin. The keys are
/// the names of the parameters of the staterror.
fn stat_errors(channel_name: &str, channel: &HistFactory) -> HashMap<Vec<String>, Vec<f64>> {
    let n_bins = channel.samples.first().map_or(0, |sample| sample.contents.len());
    let mut sums: HashMap<Vec<String>, Vec<(f64, f64)>> = HashMap::new();
    for sample in &channel.samples {
        let is_stat = |m: &&document::Modifier| matches!(m.effect, document::Effect::StatError);
        let Some(modifier) = sample.modifiers.iter().find(is_stat) else { continue };
        let Some(errors) = &sample.errors else { continue };
        let names = bin_parameters(channel_name, channel, modifier);
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
