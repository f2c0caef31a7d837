//! The parameters of a description: start values, bounds, constraints, and which of them share a name.

use std::collections::HashMap;

use super::describe::{Channel, Combination, Effect, Function, Sample};
use crate::xml_error::{HistFactoryError, Place};

/// Bounds of the parameters of systematics, as in pyhf and RooFit.
const ALPHA: (f64, f64) = (-5.0, 5.0);
/// Bounds of factors of bins, as in pyhf.
const FACTOR: (f64, f64) = (1e-10, 10.0);

/// What a parameter does. The order is that of the parameters in HS3 files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Lumi,
    Norm,
    /// Of `OverallSys` and `HistoSys`.
    Alpha,
    /// A factor per bin of `ShapeSys`.
    Shape,
    /// A factor per bin of the simulation's uncertainty; named after the channel.
    Stat,
    /// A free factor per bin of `ShapeFactor`.
    Free,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Constraint {
    None,
    Gaussian(f64),
    Poisson(f64),
}

/// A parameter, or the parameters of all bins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) kind: Kind,
    /// Name in the XML: of the systematic, factor or channel.
    pub(super) source: String,
    pub(super) place: Place,
    pub(super) start: Vec<f64>,
    pub(super) bounds: (f64, f64),
    pub(super) fixed: Vec<bool>,
    pub(super) constraint: Vec<Constraint>,
    /// How many samples it acts on.
    pub(super) uses: usize,
    /// Whether an `OverallSys` and a `HistoSys` have it.
    pub(super) acts: (bool, bool),
}

impl Group {
    /// The name in a workspace of pyhf.
    pub(super) fn name(&self) -> String {
        match self.kind {
            Kind::Lumi => "lumi".to_owned(),
            Kind::Stat => format!("staterror_{}", self.source),
            _ => self.source.clone(),
        }
    }

    /// The name of a parameter in RooFit, without the number of the bin.
    pub(super) fn roofit(&self) -> String {
        match self.kind {
            Kind::Lumi => "Lumi".to_owned(),
            Kind::Norm => self.source.clone(),
            Kind::Alpha => format!("alpha_{}", self.source),
            Kind::Shape | Kind::Free => format!("gamma_{}", self.source),
            Kind::Stat => format!("gamma_stat_{}", self.source),
        }
    }

    /// Whether it has one parameter only, whatever the number of bins.
    pub(super) fn is_scalar(&self) -> bool {
        matches!(self.kind, Kind::Lumi | Kind::Norm | Kind::Alpha)
    }
}

/// All parameters of a description. The first is the luminosity, of which each measurement has its own value.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    pub(super) all: Vec<Group>,
    by_name: HashMap<(Kind, String), usize>,
}

impl Groups {
    /// Collects the parameters. `scales` says whether samples scale with the luminosity that do not say it.
    ///
    /// # Errors
    /// [`HistFactoryError::Element`] if elements of one parameter contradict each other.
    pub(super) fn of(combination: &Combination, scales: bool) -> Result<Self, HistFactoryError> {
        let place = combination
            .measurements
            .first()
            .map_or_else(|| Place { file: String::new(), line: 0 }, |measurement| measurement.place.clone());
        let samples = combination.channels.iter().flat_map(|channel| &channel.samples);
        let lumi = Group {
            kind: Kind::Lumi,
            source: "Lumi".to_owned(),
            place,
            uses: samples.filter(|sample| sample.lumi.unwrap_or(scales)).count(),
            ..scalar(1.0, (0.0, f64::INFINITY))
        };
        let by_name = HashMap::from([((Kind::Lumi, "Lumi".to_owned()), 0)]);
        let mut out = Self { all: vec![lumi], by_name };
        for channel in &combination.channels {
            for sample in &channel.samples {
                out.sample(sample)?;
            }
            out.simulation(channel)?;
        }
        for function in &combination.functions {
            out.dependents(function)?;
        }
        Ok(out)
    }

    pub(super) fn find(&self, kind: Kind, source: &str) -> Option<usize> {
        self.by_name.get(&(kind, source.to_owned())).copied()
    }

    pub(super) fn get(&self, kind: Kind, source: &str) -> Option<&Group> {
        self.find(kind, source).and_then(|i| self.all.get(i))
    }

    fn sample(&mut self, sample: &Sample) -> Result<(), HistFactoryError> {
        for modifier in &sample.modifiers {
            let mut acts = (false, false);
            let (kind, tag, fresh) = match &modifier.effect {
                // Its parameters are those of the function.
                Effect::Function { .. } => continue,
                Effect::NormFactor { value, low, high, constant } => {
                    let group = Group { fixed: vec![*constant], ..scalar(*value, (*low, *high)) };
                    (Kind::Norm, "NormFactor", group)
                }
                Effect::OverallSys { .. } => {
                    acts.0 = true;
                    (Kind::Alpha, "OverallSys", systematic())
                }
                Effect::HistoSys { .. } => {
                    acts.1 = true;
                    (Kind::Alpha, "HistoSys", systematic())
                }
                Effect::ShapeSys { relative, poisson } => {
                    (Kind::Shape, "ShapeSys", factors(relative, *poisson))
                }
                Effect::ShapeFactor { start, constant } => {
                    let n = sample.contents.len();
                    let group = factors(&vec![0.0; n], false);
                    let start = start.clone().unwrap_or(vec![1.0; n]);
                    (Kind::Free, "ShapeFactor", Group { start, fixed: vec![*constant; n], ..group })
                }
            };
            let fresh = Group { kind, source: modifier.name.clone(), place: modifier.place.clone(), ..fresh };
            self.add(fresh, tag, acts)?;
        }
        Ok(())
    }

    /// Adds the parameters of a function that have a range; the others are those of factors.
    fn dependents(&mut self, function: &Function) -> Result<(), HistFactoryError> {
        for dependent in &function.dependents {
            let Some((start, low, high)) = dependent.range else { continue };
            let constant = low == high;
            let bounds = if constant { (start - 1.0, start + 1.0) } else { (low, high) };
            let fresh = Group {
                source: dependent.name.clone(),
                place: function.place.clone(),
                fixed: vec![constant],
                ..scalar(start, bounds)
            };
            self.add(fresh, "Function", (false, false))?;
        }
        Ok(())
    }

    /// Adds the factors of a channel's simulation. The uncertainty is that of the sum of the samples.
    fn simulation(&mut self, channel: &Channel) -> Result<(), HistFactoryError> {
        let active: Vec<(&Sample, &Vec<f64>)> =
            channel.samples.iter().filter_map(|sample| Some((sample, sample.errors.as_ref()?))).collect();
        if active.is_empty() {
            return Ok(());
        }
        let relative: Vec<f64> = (0..channel.bins)
            .map(|bin| {
                let at = |values: &[f64]| values.get(bin).copied().unwrap_or(0.0);
                let sum: f64 = active.iter().map(|(sample, _)| at(&sample.contents)).sum();
                let squares: f64 = active.iter().map(|(_, errors)| at(errors) * at(errors)).sum();
                let relative = squares.sqrt() / sum;
                if relative.is_finite() && relative > 0.0 && relative >= channel.threshold {
                    relative
                } else {
                    0.0
                }
            })
            .collect();
        let group = Group {
            kind: Kind::Stat,
            source: channel.name.clone(),
            place: channel.place.clone(),
            ..factors(&relative, channel.poisson)
        };
        self.add(group, "StatError", (false, false))?;
        if let Some(group) = self.all.last_mut() {
            group.uses = active.len();
        }
        Ok(())
    }

    fn add(&mut self, fresh: Group, tag: &str, acts: (bool, bool)) -> Result<(), HistFactoryError> {
        let key = (fresh.kind, fresh.source.clone());
        let known = match self.by_name.get(&key).and_then(|&i| self.all.get_mut(i)) {
            Some(known) => known,
            None => {
                self.by_name.insert(key, self.all.len());
                self.all.push(Group { uses: 1, acts, ..fresh });
                return Ok(());
            }
        };
        let same = |a: &Group, b: &Group| {
            a.start == b.start && a.bounds == b.bounds && a.fixed == b.fixed && a.constraint == b.constraint
        };
        if !same(known, &fresh) {
            return Err(HistFactoryError::Element {
                place: fresh.place.clone(),
                element: format!("<{tag} Name=\"{}\">", fresh.source),
                message: format!(
                    "It has the same parameters as the element at {}, but other values, bounds, uncertainties or numbers of bins.",
                    known.place
                ),
                remedy: "Write the same in both, or give them different names.".to_owned(),
            });
        }
        known.uses += 1;
        known.acts = (known.acts.0 || acts.0, known.acts.1 || acts.1);
        Ok(())
    }
}

/// A group of which kind, name and place are filled in by the caller.
fn scalar(start: f64, bounds: (f64, f64)) -> Group {
    Group {
        kind: Kind::Norm,
        source: String::new(),
        place: Place { file: String::new(), line: 0 },
        start: vec![start],
        bounds,
        fixed: vec![false],
        constraint: vec![Constraint::None],
        uses: 0,
        acts: (false, false),
    }
}

fn systematic() -> Group {
    Group { constraint: vec![Constraint::Gaussian(1.0)], ..scalar(0.0, ALPHA) }
}

/// Factors with these relative uncertainties. A bin without uncertainty is fixed if the others have one.
fn factors(relative: &[f64], poisson: bool) -> Group {
    let constraint = |r: &f64| match poisson {
        _ if !(*r > 0.0) => Constraint::None,
        true => Constraint::Poisson(1.0 / (r * r)),
        false => Constraint::Gaussian(*r),
    };
    Group {
        start: vec![1.0; relative.len()],
        fixed: relative.iter().map(|r| !(*r > 0.0)).collect(),
        constraint: relative.iter().map(constraint).collect(),
        ..scalar(1.0, FACTOR)
    }
}
