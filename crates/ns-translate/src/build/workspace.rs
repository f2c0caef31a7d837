//! Writes a description as a workspace of pyhf.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::describe::{
    Channel, Description, Effect, Formula, Parts, Pruning, Sample, Smoothing, Symmetrise, Systematic,
};
use super::merge::merged;
use super::places::Place;
use super::prune::{self, EffectRow, Part, Reason};
use super::smooth::smoothed;
use super::symmetrise::{self, Split, split, two_sided};
use crate::pyhf::Report;
use crate::pyhf::names::quoted;

/// The templates of a systematic on a sample of a channel, before the effect was split into normalisation and shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TemplateRow {
    /// Name of the channel.
    pub channel: String,
    /// Name of the sample.
    pub sample: String,
    /// Name of the systematic.
    pub systematic: String,
    /// Title of the axis of the channel; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub axis_title: String,
    /// Edges of the bins; `None` if they are not known.
    pub edges: Option<Vec<f64>>,
    /// Events of each bin without the systematic.
    pub nominal: Vec<f64>,
    /// Statistical uncertainty of these events; `None` if it is not known.
    pub uncertainty: Option<Vec<f64>>,
    /// Events of each bin at +1 and at -1 standard deviation, made symmetric and smoothed.
    pub varied: (Vec<f64>, Vec<f64>),
    /// The same without smoothing; `None` if smoothing changed nothing.
    pub before: Option<(Vec<f64>, Vec<f64>)>,
}

/// What is written of a description.
pub(super) struct Written {
    pub(super) workspace: Value,
    /// The effects of all systematics.
    pub(super) effects: Vec<EffectRow>,
    /// The templates of systematics that have them.
    pub(super) templates: Vec<TemplateRow>,
}

/// Writes the workspace of a description that has been checked.
pub(super) fn write(
    description: &Description,
    report: &mut Report,
    path: &dyn Fn(Place<'_>) -> String,
) -> Written {
    let (mut rows, mut templates) = (Vec::new(), Vec::new());
    let mut used = HashSet::new();
    let (mut channels, mut observations) = (Vec::new(), Vec::new());
    for channel in &description.channels {
        let active = active_bins(channel, description.mc_threshold);
        let mut samples = vec![Value::Null; channel.samples.len()];
        let first_row = rows.len();
        for at in order(channel) {
            let Some(sample) = channel.samples.get(at) else { continue };
            let mut writer = Writer {
                description,
                channel,
                sample,
                modifiers: Vec::new(),
                rows: &mut rows,
                templates: &mut templates,
            };
            writer.factors(&active);
            for systematic in &sample.systematics {
                if let Err(fault) = writer.systematic(systematic) {
                    let place = Place::Systematic {
                        channel: &channel.name,
                        sample: &sample.name,
                        systematic: &systematic.name,
                    };
                    report.error(
                        path(place),
                        fault,
                        "Correct its templates, or take the sample off the systematic.",
                    );
                }
            }
            used.extend(sample.functions.iter().flat_map(Formula::names));
            for modifier in &writer.modifiers {
                used.extend(modifier.get("name").and_then(Value::as_str).map(str::to_owned));
            }
            let document = json!({
                "name": sample.name,
                "data": sample.template.values,
                "modifiers": writer.modifiers,
            });
            samples.get_mut(at).into_iter().for_each(|place| *place = document.clone());
        }
        let place = |row: &EffectRow| channel.samples.iter().position(|sample| sample.name == row.sample);
        rows.get_mut(first_row..).unwrap_or_default().sort_by_key(place);
        let data = channel.data.clone().unwrap_or_else(|| {
            report.warn(
                path(Place::Channel(&channel.name)),
                format!(
                    "The channel {} has no data; the sum of its samples is taken.",
                    quoted(&channel.name)
                ),
                "Give its data, if there are any.",
            );
            total(channel, |sample| &sample.template.values)
        });
        observations.push(json!({"name": channel.name, "data": data}));
        channels.push(json!({"name": channel.name, "samples": samples}));
    }
    let document = json!({
        "channels": channels,
        "observations": observations,
        "measurements": [measurement(description, &used)],
        "version": "1.0.0",
    });
    Written { workspace: document, effects: rows, templates }
}

/// The indices of the samples of a channel, those first whose pruning others take.
fn order(channel: &Channel) -> Vec<usize> {
    let is_reference = |sample: &Sample| {
        let mut others = channel.samples.iter().flat_map(|other| &other.systematics);
        others.any(|systematic| systematic.pruned_as.as_ref() == Some(&sample.name))
    };
    let (mut first, last): (Vec<usize>, Vec<usize>) =
        (0..channel.samples.len()).partition(|at| channel.samples.get(*at).is_some_and(is_reference));
    first.extend(last);
    first
}

/// The sum of an array over all samples, bin by bin.
fn total<'a>(channel: &'a Channel, of: impl Fn(&'a Sample) -> &'a [f64]) -> Vec<f64> {
    let n = channel.samples.first().map_or(0, |sample| sample.template.values.len());
    let mut sum = vec![0.0; n];
    for sample in &channel.samples {
        for (sum, value) in sum.iter_mut().zip(of(sample)) {
            *sum += value;
        }
    }
    sum
}

/// The bins whose statistics of simulation have a parameter.
fn active_bins(channel: &Channel, threshold: f64) -> Vec<bool> {
    let values = total(channel, |sample| &sample.template.values);
    let variances = total(channel, |sample| match &sample.template.variances {
        Some(variances) if sample.mc_statistics => variances,
        _ => &[],
    });
    let bins = values.iter().zip(variances);
    bins.map(|(value, variance)| threshold == 0.0 || variance.sqrt() > threshold * value.abs()).collect()
}

struct Writer<'a> {
    description: &'a Description,
    channel: &'a Channel,
    sample: &'a Sample,
    modifiers: Vec<Value>,
    rows: &'a mut Vec<EffectRow>,
    templates: &'a mut Vec<TemplateRow>,
}

impl Writer<'_> {
    fn push(&mut self, name: &str, kind: &str, data: Value) {
        self.modifiers.push(json!({"name": name, "type": kind, "data": data}));
    }

    /// Writes what a sample has besides systematics.
    fn factors(&mut self, active: &[bool]) {
        if let Some(variances) = self.sample.template.variances.as_ref().filter(|_| self.sample.mc_statistics)
        {
            let sigma = |(variance, active): (&f64, &bool)| if *active { variance.sqrt() } else { 0.0 };
            let sigmas: Vec<f64> = variances.iter().zip(active).map(sigma).collect();
            let name = format!("staterror_{}", self.channel.name.replace(' ', "-"));
            if active.contains(&true) {
                self.push(&name, "staterror", json!(sigmas));
            }
        }
        for name in &self.sample.norm_factors {
            self.push(name, "normfactor", Value::Null);
        }
        for Formula { name, expression } in &self.sample.functions {
            self.push(name, "function", json!({"expression": expression}));
        }
        for name in &self.sample.shape_factors {
            self.push(name, "shapefactor", Value::Null);
        }
    }

    /// Writes a systematic. The error says what is wrong with its templates.
    fn systematic(&mut self, systematic: &Systematic) -> Result<(), String> {
        let name = systematic.parameter();
        // Nobody wants to lose the parameter of interest.
        let is_poi = name == self.description.measurement.poi;
        let pruning = if is_poi { Pruning::default() } else { self.description.pruning };
        match &systematic.effect {
            Effect::Normalisation { up, down } => {
                let part = Part::new(*up, *down, pruning.normalisation, pruning.large)
                    .pruned_as(self.reference(systematic).and_then(|row| row.normalisation.as_ref()));
                if part.is_kept() {
                    self.push(name, "normsys", json!({"hi": 1.0 + up, "lo": 1.0 + down}));
                }
                self.row(systematic, Some(part), None, false);
            }
            Effect::Uncorrelated { sigmas } => {
                self.push(name, "shapesys", json!(sigmas));
            }
            Effect::Templates { up, down, symmetrise, smooth, parts } => {
                let nominal = &self.sample.template.values;
                if nominal.iter().all(|n| *n == 0.0) {
                    let none = || Part { up: None, down: None, pruned: Some(Reason::Empty) };
                    self.row(systematic, Some(none()), Some(none()), false);
                    return Ok(());
                }
                let sigmas = self.sigmas();
                let finished = finished((nominal, &sigmas), (up, down.as_deref()), *symmetrise, *smooth);
                let Finished { split, smoothed, before } =
                    finished.ok_or_else(|| no_events(nominal, up, down.as_deref()))?;
                self.templates.push(TemplateRow {
                    channel: self.channel.name.clone(),
                    sample: self.sample.name.clone(),
                    systematic: systematic.name.clone(),
                    axis_title: self.channel.title.clone().unwrap_or_default(),
                    edges: self.channel.edges.clone(),
                    nominal: nominal.clone(),
                    uncertainty: self.sample.template.variances.as_ref().map(|_| sigmas.clone()),
                    varied: split.together(),
                    before,
                });
                self.templates(systematic, &split, *parts, pruning, smoothed);
            }
        }
        Ok(())
    }

    /// The row of the sample whose pruning a systematic takes.
    fn reference(&self, systematic: &Systematic) -> Option<&EffectRow> {
        let sample = systematic.pruned_as.as_ref().filter(|name| **name != self.sample.name)?;
        self.rows.iter().find(|row| {
            row.channel == self.channel.name && row.sample == *sample && row.systematic == systematic.name
        })
    }

    /// Uncertainties of the nominal template from its statistics; 0 if they are not known.
    fn sigmas(&self) -> Vec<f64> {
        let template = &self.sample.template;
        match &template.variances {
            Some(variances) => variances.iter().map(|v| v.sqrt()).collect(),
            None => vec![0.0; template.values.len()],
        }
    }

    fn templates(
        &mut self,
        systematic: &Systematic,
        split: &Split,
        parts: Parts,
        pruning: Pruning,
        smoothed: bool,
    ) {
        let (name, nominal) = (systematic.parameter(), &self.sample.template.values);
        let left_out = |out: bool| out.then_some(Reason::LeftOut);
        let reference = self.reference(systematic);
        let mut norm = prune::normalisation(split.up, split.down, pruning)
            .pruned_as(reference.and_then(|row| row.normalisation.as_ref()))
            .without(left_out(parts == Parts::Shape));
        let one_bin = (nominal.len() == 1 && parts != Parts::Together).then_some(Reason::OneBin);
        let mut shape = prune::shape(nominal, &split.up_shape, &split.down_shape, pruning)
            .pruned_as(reference.and_then(|row| row.shape.as_ref()))
            .rather(one_bin)
            .without(left_out(parts == Parts::Normalisation));
        if parts == Parts::Together {
            // One modifier has both parts.
            if norm.is_kept() || shape.is_kept() {
                (norm.pruned, shape.pruned) = (None, None);
                let (up, down) = split.together();
                self.push(name, "histosys", json!({"hi_data": up, "lo_data": down}));
            }
        } else {
            if norm.is_kept() {
                self.push(name, "normsys", json!({"hi": split.up, "lo": split.down}));
            }
            if shape.is_kept() {
                self.push(name, "histosys", json!({"hi_data": split.up_shape, "lo_data": split.down_shape}));
            }
        }
        self.row(systematic, Some(norm), Some(shape), smoothed);
    }

    fn row(
        &mut self,
        systematic: &Systematic,
        normalisation: Option<Part>,
        shape: Option<Part>,
        smoothed: bool,
    ) {
        self.rows.push(EffectRow {
            channel: self.channel.name.clone(),
            sample: self.sample.name.clone(),
            systematic: systematic.name.clone(),
            normalisation,
            shape,
            smoothed,
        });
    }
}

/// Templates that were smoothed and made symmetric.
pub(super) struct Finished {
    pub(super) split: Split,
    /// Whether smoothing changed them.
    smoothed: bool,
    /// The templates without smoothing, if it changed them.
    before: Option<(Vec<f64>, Vec<f64>)>,
}

/// Smooths the templates of a systematic and makes them symmetric. `nominal` comes with its uncertainties. `None` if a template
/// has no events.
pub(super) fn finished(
    (nominal, sigmas): (&[f64], &[f64]),
    (up, down): (&[f64], Option<&[f64]>),
    symmetrise: Symmetrise,
    smooth: Option<Smoothing>,
) -> Option<Finished> {
    let smooth = |varied: &[f64]| match smooth {
        Some(Smoothing::Medians353Qh) => smoothed(varied, nominal),
        Some(Smoothing::Merge(most)) => merged(varied, nominal, sigmas, most),
        None => varied.to_vec(),
    };
    let both = down.and_then(|down| two_sided(nominal, up, down, symmetrise));
    let how = if both.is_some() { Symmetrise::None } else { symmetrise };
    let (first, second) =
        both.map_or_else(|| (up.to_vec(), down.map(<[f64]>::to_vec)), |(up, down)| (up, Some(down)));
    let (smooth_up, smooth_down) = (smooth(&first), second.as_deref().map(smooth));
    let split = split(nominal, &smooth_up, smooth_down.as_deref(), how)?;
    let smoothed = smooth_up != first || smooth_down != second;
    let before = smoothed
        .then(|| symmetrise::split(nominal, &first, second.as_deref(), how).map(|split| split.together()))
        .flatten();
    Some(Finished { split, smoothed, before })
}

/// Says which template has no events.
fn no_events(nominal: &[f64], up: &[f64], down: Option<&[f64]>) -> String {
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let all = [("nominal template", Some(nominal)), ("template up", Some(up)), ("template down", down)];
    let empty = all.into_iter().find(|(_, values)| values.is_some_and(|values| !(sum(values) > 0.0)));
    let (which, total) = empty.map_or(("template", 0.0), |(which, values)| (which, values.map_or(0.0, sum)));
    format!("The sum of its {which} is {total}, so normalisation and shape cannot be separated.")
}

/// Writes the measurement, without settings of parameters that were pruned.
fn measurement(description: &Description, used: &HashSet<String>) -> Value {
    let measurement = &description.measurement;
    let settings = measurement.parameters.iter().filter(|parameter| used.contains(&parameter.name));
    let parameters: Vec<Value> = settings
        .map(|parameter| {
            let mut entry = Map::from_iter([("name".to_owned(), json!(parameter.name))]);
            if let Some(init) = parameter.init {
                entry.insert("inits".to_owned(), json!([init]));
            }
            if let Some(bounds) = parameter.bounds {
                entry.insert("bounds".to_owned(), json!([bounds]));
            }
            if parameter.fixed {
                entry.insert("fixed".to_owned(), json!(true));
            }
            Value::Object(entry)
        })
        .collect();
    json!({"name": measurement.name, "config": {"poi": measurement.poi, "parameters": parameters}})
}
