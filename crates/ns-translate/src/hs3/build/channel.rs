//! Builds channels. A channel is a distribution with its data.

use std::collections::BTreeSet;
use std::sync::Arc;

use ns_core::{BinRule, Binning, EventChannel, EventTable, Observable};

use crate::hs3::check;
use crate::hs3::document::{Arg, Argument, Axis, Data, Distribution, Likelihood, Named, Placed};
use crate::hs3::index::Object;
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

use super::Builder;

/// The observables of a channel.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Space {
    pub(super) observables: Vec<Observable>,
}

impl Space {
    /// Returns an empty list of observables, for functions that depend only on parameters.
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// Returns the position of the observable of this name among the observables of the channel.
    pub(super) fn observable(&self, name: &str) -> Option<usize> {
        self.observables.iter().position(|observable| observable.name == name)
    }
}

/// The events of a channel, with the observables that its densities use.
struct Events {
    columns: Vec<Arc<[f64]>>,
    weights: Option<Arc<[f64]>>,
    binning: Option<Binning>,
}

impl<'a> Builder<'a, '_> {
    /// Builds the channel of a distribution and its data.
    pub(super) fn channel(&mut self, name: &Placed<String>, data: &Arg, likelihood: &Likelihood) {
        let index = self.index;
        let Some(i) = index.distribution(&name.value) else { return };
        let data_name = match &data.value {
            Argument::Name(name) => name,
            Argument::Number(number) => return self.constrain(i, Some(*number)),
            Argument::Broken => return,
        };
        let Some(data) = index.document.data.iter().find(|data| data.name == *data_name) else { return };
        let axes = match &data.content {
            Data::Unbinned { axes, .. } | Data::Binned { axes, .. } => axes,
            Data::Point { axes, value } if axes.is_empty() => return self.constrain(i, Some(*value)),
            Data::Point { axes, .. } => axes,
            Data::Unsupported { kind, .. } => {
                self.report.error(
                    format!("{}/type", data.path),
                    format!("Data of type {} are not supported.", quoted(kind)),
                    "The types are unbinned, binned and point.",
                );
                return;
            }
        };
        let names: BTreeSet<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let (mut shapes, mut terms) = (Vec::new(), Vec::new());
        self.factors(i, &names, &mut shapes, &mut terms);
        let of = |i: usize| index.document.distributions.get(i).map(|d| &d.content);
        if shapes.is_empty()
            && let Some(unknown) = terms.iter().find_map(|i| match of(*i) {
                Some(Distribution::Unsupported { kind }) => Some((*i, kind)),
                _ => None,
            })
        {
            let place = index.document.distributions.get(unknown.0).map(|d| format!("{}/type", d.path));
            let what = format!("Distributions of type {}", quoted(unknown.1));
            self.unsupported(
                &place.unwrap_or_default(),
                &what,
                "Write it as a generic_dist, if it has a formula.",
            );
            return;
        }
        for term in terms {
            self.constrain(term, None);
        }
        match *shapes {
            [] => self.report.error(
                name.path.clone(),
                format!(
                    "The distribution {} does not depend on the axes of its data {}.",
                    quoted(&name.value),
                    quoted(data_name)
                ),
                "Name the observables as the axes of the data, or move it to 'aux_distributions'.",
            ),
            [only] if matches!(of(only), Some(Distribution::HistFactory(_))) => {
                self.binned_channel(only, &name.value, data);
            }
            [only] if matches!(of(only), Some(Distribution::Poisson { .. })) => self.counts(only, data),
            _ => self.event_channel(&name.value, &name.path, &shapes, data, axes, likelihood),
        }
    }

    /// Sorts the factors of a product of distributions into two lists: `shapes` for factors that describe the axes
    /// of the data, and `terms` for constraint terms. A distribution that is not a product counts as a single
    /// factor.
    fn factors(&mut self, i: usize, axes: &BTreeSet<&str>, shapes: &mut Vec<usize>, terms: &mut Vec<usize>) {
        let index = self.index;
        if let Some(Distribution::Product { factors }) =
            index.document.distributions.get(i).map(|d| &d.content)
        {
            for factor in factors.iter().filter_map(|factor| index.named_distribution(factor)) {
                self.factors(factor, axes, shapes, terms);
            }
        } else if self.is_shape(i, axes) {
            shapes.push(i);
        } else {
            terms.push(i);
        }
    }

    /// Returns whether a distribution uses one of the axes of the data. The result is always true for a
    /// HistFactory channel, even if its axes have other names.
    fn is_shape(&mut self, i: usize, axes: &BTreeSet<&str>) -> bool {
        let content = self.index.document.distributions.get(i).map(|d| &d.content);
        matches!(content, Some(Distribution::HistFactory(_)))
            || self.leaves(Object::Distribution(i)).iter().any(|leaf| axes.contains(leaf.as_str()))
    }

    /// Builds a channel whose data are events, or contents of bins that are compared with a density.
    fn event_channel(
        &mut self,
        name: &str,
        path: &str,
        shapes: &[usize],
        data: &Named<Data>,
        axes: &[Axis],
        likelihood: &Likelihood,
    ) {
        let mut used = BTreeSet::new();
        for shape in shapes {
            used.extend(self.leaves(Object::Distribution(*shape)).iter().cloned());
        }
        let mut space = Space::none();
        for axis in axes {
            if !used.contains(&axis.name) {
                self.report.warn(
                    axis.path.clone(),
                    format!(
                        "The densities of channel {} do not use the axis {}.",
                        quoted(name),
                        quoted(&axis.name)
                    ),
                    "Check that this is meant; the axis has no influence.",
                );
            } else if let Some((min, max)) = check::range(self.index.document, axis) {
                let blind = likelihood.blind.iter().find(|(name, _)| *name == axis.name);
                let blind = blind.map(|(_, ranges)| ranges.value.clone()).unwrap_or_default();
                space.observables.push(Observable { name: axis.name.clone(), min, max, blind });
            }
        }
        let Some(mut events) = self.events(data, axes, &space, likelihood) else { return };
        let edges = events.binning.as_ref().map(|binning| binning.edges.as_slice());
        let ranges = self.ranges(likelihood, &space, edges);
        if !ranges.is_empty() {
            events = inside(events, &ranges);
        }
        let whole = || vec![space.observables.iter().map(|axis| (axis.min, axis.max)).collect()];
        let reference = self.reference(likelihood, shapes, &space);
        let boxes = match (&reference, ranges.is_empty()) {
            (Some(reference), _) => reference.clone(),
            (None, true) => whole(),
            (None, false) => ranges.clone(),
        };
        self.logs.clear();
        let Some((extended, processes)) = self.processes(shapes, path, &space, &boxes) else { return };
        let channel = EventChannel {
            name: name.to_owned(),
            observables: space.observables,
            ranges,
            reference: reference.unwrap_or_default(),
            extended,
            processes,
            binning: events.binning,
        };
        let mut table = EventTable { columns: events.columns, weights: events.weights };
        if !self.logs.is_empty() {
            let Some(completed) = self.evaluate_flows(&channel, table, path) else { return };
            table = completed;
        }
        self.channels.push(channel);
        self.tables.push(Arc::new(table));
    }

    /// Returns the events of a data set, with one column for each observable of the channel.
    fn events(
        &mut self,
        data: &Named<Data>,
        axes: &[Axis],
        space: &Space,
        likelihood: &Likelihood,
    ) -> Option<Events> {
        match &data.content {
            Data::Unbinned { columns, weights, .. } => {
                let used =
                    axes.iter().zip(columns).filter(|(axis, _)| space.observable(&axis.name).is_some());
                let columns = used.map(|(_, column)| Arc::clone(column)).collect();
                Some(Events { columns, weights: weights.clone(), binning: None })
            }
            Data::Point { value, .. } if axes.len() == 1 => {
                Some(Events { columns: vec![Arc::from([*value])], weights: None, binning: None })
            }
            Data::Binned { contents, .. } => {
                if space.observables.len() != axes.len() {
                    self.report.error(
                        format!("{}/axes", data.path),
                        format!(
                            "The histogram {} has axes that the density does not use.",
                            quoted(&data.name)
                        ),
                        "Sum the histogram over these axes.",
                    );
                    return None;
                }
                let rule = self.bin_rule(likelihood, &data.path)?;
                let edges: Option<Vec<Vec<f64>>> =
                    axes.iter().map(|axis| check::edges(axis, &mut Report::default())).collect();
                let edges = edges?;
                let columns = centres(&edges, contents.len());
                Some(Events {
                    columns,
                    weights: Some(Arc::from(contents.as_slice())),
                    binning: Some(Binning { edges, rule }),
                })
            }
            Data::Point { .. } | Data::Unsupported { .. } => {
                self.report.error(
                    data.path.clone(),
                    format!(
                        "The data set {} is a single number, but has {} axes.",
                        quoted(&data.name),
                        axes.len()
                    ),
                    "Write it as unbinned data with one event.",
                );
                None
            }
        }
    }

    /// Returns the rule by which the contents of bins are compared with a density. By default the density at the bin
    /// centre is used, as in ROOT.
    fn bin_rule(&mut self, likelihood: &Likelihood, path: &str) -> Option<BinRule> {
        match likelihood.bins.as_ref().map(|word| (word.value.as_str(), &word.path)) {
            Some(("center", _)) => Some(BinRule::Center),
            Some(("integral", _)) => Some(BinRule::Integral),
            Some((other, path)) => {
                self.report.error(
                    path.clone(),
                    format!("{} is no way to compare a density with bins.", quoted(other)),
                    "Write \"center\" or \"integral\".",
                );
                None
            }
            None => {
                if !self.index.document.from_root {
                    self.report.warn(
                        path.to_owned(),
                        "Bins are compared with the density at their centres, as in ROOT.",
                        "Add \"nextstat.bins\": \"integral\" to the likelihood for integrals over bins, or \"center\" to keep this.",
                    );
                }
                Some(BinRule::Center)
            }
        }
    }

    /// Collects the names of the axes of all data of a likelihood.
    pub(super) fn collect_axes(&mut self, likelihood: &Likelihood) {
        for argument in &likelihood.data {
            let Argument::Name(name) = &argument.value else { continue };
            let data = self.index.document.data.iter().find(|data| data.name == *name);
            if let Some(Data::Unbinned { axes, .. } | Data::Binned { axes, .. } | Data::Point { axes, .. }) =
                data.map(|data| &data.content)
            {
                self.axes.extend(axes.iter().map(|axis| axis.name.clone()));
            }
        }
        let of_regions = likelihood.regions.iter().flat_map(|region| {
            region.value.iter().map(|(name, _)| (name, format!("{}/{}", region.path, name)))
        });
        for (name, path) in of_regions.filter(|(name, _)| !self.axes.contains(*name)) {
            self.report.error(
                path,
                format!("A fit range is that of {}, which is no axis of the data.", quoted(name)),
                "Name an axis of the data of this likelihood.",
            );
        }
        for (what, ranges) in [("fit", &likelihood.ranges), ("blinded", &likelihood.blind)] {
            for (name, range) in ranges.iter().filter(|(name, _)| !self.axes.contains(name)) {
                self.report.error(
                    range.path.clone(),
                    format!("The {what} ranges are those of {}, which is no axis of the data.", quoted(name)),
                    "Name an axis of the data of this likelihood.",
                );
            }
        }
    }
}

/// Returns the coordinates of the bin centres, one column per observable. The last axis varies fastest.
fn centres(edges: &[Vec<f64>], bins: usize) -> Vec<Arc<[f64]>> {
    let mut repeat = 1;
    let mut columns: Vec<Arc<[f64]>> = Vec::with_capacity(edges.len());
    for edges in edges.iter().rev() {
        let middles: Vec<f64> = edges.windows(2).map(|pair| 0.5 * pair.iter().sum::<f64>()).collect();
        let middle = |bin: usize| middles.get(bin / repeat % middles.len()).copied().unwrap_or(f64::NAN);
        columns.push((0..bins).map(middle).collect());
        repeat *= middles.len();
    }
    columns.reverse();
    columns
}

/// Returns only the events inside the fit ranges.
fn inside(events: Events, ranges: &[Vec<(f64, f64)>]) -> Events {
    let n = events.columns.first().map_or(0, |column| column.len());
    let within = |event: usize, region: &Vec<(f64, f64)>| {
        let mut pairs = events.columns.iter().zip(region);
        pairs.all(|(column, &(from, to))| column.get(event).is_some_and(|x| (from..=to).contains(x)))
    };
    let kept: Vec<bool> = (0..n).map(|event| ranges.iter().any(|region| within(event, region))).collect();
    let select = |column: &Arc<[f64]>| -> Arc<[f64]> {
        column.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(x, _)| *x).collect()
    };
    Events {
        columns: events.columns.iter().map(select).collect(),
        weights: events.weights.as_ref().map(select),
        binning: events.binning,
    }
}
