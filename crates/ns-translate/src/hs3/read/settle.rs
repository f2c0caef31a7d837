//! Completes modifiers of HistFactory channels with what the dialect of the file leaves out: names of parameters, kinds
//! of constraint, and the meaning of the values of shapesys modifiers.

use std::collections::{HashMap, HashSet};

use crate::hs3::document::{
    Distribution, Document, DomainAxis, Effect, Kind, Modifier, Named, Placed, PointValue, ShapeValues,
    StatSettings, WrittenConstraint,
};
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

/// What files of the program that wrote the document mean without saying it.
pub(super) struct Dialect {
    /// Whether a normsys or a histosys without a constraint has a Gaussian one.
    pub(super) gaussian_by_default: bool,
    /// Meaning of the values of a shapesys.
    pub(super) shape_values: Option<ShapeValues>,
}

/// Completes the modifiers of a document.
pub(super) fn settle(document: &mut Document, dialect: &Dialect, report: &mut Report) {
    let parameters = Declared::of(&document.domains, &document.points);
    let used = used_parameters(&document.distributions);
    for distribution in &mut document.distributions {
        let Distribution::HistFactory(channel) = &mut distribution.content else { continue };
        let stat = channel.stat.clone();
        for sample in &mut channel.samples {
            for modifier in &mut sample.modifiers {
                match modifier.effect {
                    Effect::NormSys { .. } | Effect::HistoSys { .. } => {
                        settle_scalar(modifier, &parameters, dialect);
                        take_prefixed(modifier, &parameters, &used, report);
                    }
                    Effect::StatError => settle_stat(modifier, &stat),
                    Effect::ShapeSys { .. } => {
                        settle_shape(modifier, &distribution.name, &sample.contents, &parameters, dialect);
                    }
                    Effect::NormFactor | Effect::ShapeFactor => {}
                }
            }
        }
    }
}

/// Names the parameter and the constraint of a normsys or a histosys. The HS3 standard requires the name of the
/// parameter; ROOT leaves it out if it is `alpha_` with the name of the modifier.
fn settle_scalar(modifier: &mut Modifier, parameters: &Declared<'_>, dialect: &Dialect) {
    let unnamed = modifier.parameters.is_empty();
    if unnamed {
        let prefixed = format!("alpha_{}", modifier.name);
        let plain = parameters.names.contains(modifier.name.as_str())
            && !parameters.names.contains(prefixed.as_str());
        modifier.parameters.push(if plain { modifier.name.clone() } else { prefixed });
    }
    if modifier.constraint == WrittenConstraint::None && (unnamed || dialect.gaussian_by_default) {
        let path = modifier.path.clone();
        modifier.constraint = WrittenConstraint::Kind(Placed { value: Kind::Gauss, path });
    }
}

/// Returns the names of the parameters that modifiers name.
fn used_parameters(distributions: &[Named<Distribution>]) -> HashSet<String> {
    let channels = distributions.iter().filter_map(|distribution| match &distribution.content {
        Distribution::HistFactory(channel) => Some(channel),
        _ => None,
    });
    let modifiers = channels.flat_map(|channel| &channel.samples).flat_map(|sample| &sample.modifiers);
    modifiers.flat_map(|modifier| modifier.parameters.iter().cloned()).collect()
}

/// Replaces the parameter of a modifier by `alpha_` with its name, if the file gives a value or a range to that name
/// alone and no modifier uses it: otherwise the value would be lost.
fn take_prefixed(
    modifier: &mut Modifier,
    parameters: &Declared<'_>,
    used: &HashSet<String>,
    report: &mut Report,
) {
    let [name] = modifier.parameters.as_mut_slice() else { return };
    let prefixed = format!("alpha_{name}");
    let declared = |name: &str| parameters.names.contains(name);
    if !declared(name) && declared(&prefixed) && !used.contains(&prefixed) {
        report.warn(
            modifier.path.clone(),
            format!(
                "The file gives the parameter {} of modifier {} no value, but it does for {}, which is taken.",
                quoted(name),
                quoted(&modifier.name),
                quoted(&prefixed)
            ),
            format!("Name {} as the parameter.", quoted(&prefixed)),
        );
        *name = prefixed;
    }
}

/// Gives a staterror without a constraint the constraint of its channel.
fn settle_stat(modifier: &mut Modifier, stat: &StatSettings) {
    if let (WrittenConstraint::None, Some(kind)) = (&modifier.constraint, &stat.constraint) {
        modifier.constraint = WrittenConstraint::Kind(kind.clone());
    }
}

/// Makes the values of a shapesys relative uncertainties, if it is known what they are.
fn settle_shape(
    modifier: &mut Modifier,
    channel: &str,
    contents: &[f64],
    parameters: &Declared<'_>,
    dialect: &Dialect,
) {
    let names = modifier.bin_parameters(channel, contents.len());
    let poisson = !matches!(&modifier.constraint, WrittenConstraint::Kind(kind) if kind.value == Kind::Gauss);
    let Effect::ShapeSys { values: Some(values), meaning } = &mut modifier.effect else { return };
    if values.len() != contents.len() || names.len() != contents.len() {
        return;
    }
    let by_writer = match dialect.shape_values {
        // Widths of Gaussian terms were relative in all versions of ROOT.
        Some(ShapeValues::Counts) if !poisson => Some(ShapeValues::Relative),
        other => other,
    };
    let told = meaning.or_else(|| parameters.tell(&names, values, contents, poisson)).or(by_writer);
    let Some(told) = told else { return };
    for (value, content) in values.iter_mut().zip(contents) {
        *value = told.relative(*value, *content);
    }
    *meaning = Some(ShapeValues::Relative);
}

/// What domains and parameter points say about parameters, by name.
struct Declared<'a> {
    names: HashSet<&'a str>,
    /// Upper ends of ranges.
    upper: HashMap<&'a str, f64>,
    values: HashMap<&'a str, &'a PointValue>,
}

impl<'a> Declared<'a> {
    fn of(domains: &'a [Named<Vec<DomainAxis>>], points: &'a [Named<Vec<PointValue>>]) -> Self {
        let axes = || domains.iter().flat_map(|domain| &domain.content);
        let points = || points.iter().flat_map(|point| &point.content);
        let names = axes().map(|axis| axis.name.as_str()).chain(points().map(|value| value.name.as_str()));
        let ends = axes().map(|axis| (axis.name.as_str(), axis.max));
        let ends = ends.chain(points().map(|value| (value.name.as_str(), value.max)));
        let upper = ends.filter_map(|(name, end)| Some((name, end?))).collect();
        Self {
            names: names.collect(),
            upper,
            values: points().map(|value| (value.name.as_str(), value)).collect(),
        }
    }

    /// Returns what the values of a shapesys with these parameters mean, if the file tells it. ROOT ends the range of a
    /// factor at `1 + 5 sigma`, where `sigma` is its relative uncertainty, writes `sigma` as the error of the factor, and
    /// the auxiliary count `1 / sigma^2` of a Poisson term as the value of the parameter `nom_` of the factor.
    fn tell(&self, names: &[String], values: &[f64], contents: &[f64], poisson: bool) -> Option<ShapeValues> {
        let by_range = |name: &String| self.upper.get(name.as_str()).map(|upper| (upper - 1.0) / 5.0);
        let by_error = |name: &String| self.values.get(name.as_str())?.error;
        let by_count = |name: &String| {
            let nominal = self.values.get(format!("nom_{name}").as_str())?;
            poisson.then(|| 1.0 / nominal.value.sqrt())
        };
        let sources: [Vec<Option<f64>>; 3] = [
            names.iter().map(by_range).collect(),
            names.iter().map(by_error).collect(),
            names.iter().map(by_count).collect(),
        ];
        let used = |(value, content): &(&f64, &f64)| **value > 0.0 && **content > 0.0;
        sources.into_iter().find_map(|sigmas| {
            let fits = |meaning: &ShapeValues| {
                let bins = || sigmas.iter().zip(values.iter().zip(contents)).filter(|(_, bin)| used(bin));
                let is_near = |(sigma, (value, content)): (&Option<f64>, (&f64, &f64))| {
                    sigma.is_some_and(|sigma| {
                        (meaning.relative(*value, *content) - sigma).abs() <= 1e-5 * sigma.abs()
                    })
                };
                bins().next().is_some() && bins().all(is_near)
            };
            ShapeValues::ALL.into_iter().find(fits)
        })
    }
}
