//! Determines the parameters that the modifiers of a document use, in pyhf's order.
//!
//! pyhf orders parameters by modifier type. Within a type, parameters are in the order of their first use, with
//! channels, samples and modifiers sorted by name (`pyhf.pdf`). Only staterror parameters are sorted by their own
//! names (`pyhf.modifiers.staterror`). If modifiers of several types have the same name, they share one parameter,
//! which takes the position of the first of these types.

use std::collections::{BTreeMap, HashMap};

use super::document::{Channel, Document, Effect, Modifier, ModifierType, Sample};
use super::functions;
use super::names::{quoted, show};
use super::problem::Report;

/// One parameter set, i.e. a parameter or a vector of parameters with a common name. All modifiers with its name
/// share it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) kind: SetKind,
    /// JSON pointer of a modifier that uses the set.
    pub(crate) path: String,
}

/// The type of a parameter set, with the properties that follow from its modifiers. The settings of a measurement are
/// not applied yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SetKind {
    /// One parameter with a Gaussian constraint of mean 0 and width 1. It belongs to histosys and normsys
    /// modifiers. A histosys and a normsys of the same name share it.
    Alpha,
    /// The luminosity: one parameter with a Gaussian constraint. The measurement must give its start value,
    /// bounds and auxiliary datum.
    Lumi,
    /// One parameter without a constraint.
    NormFactor,
    /// Parameters without a constraint, one per bin.
    ShapeFactor { n: usize },
    /// One parameter per bin with a Poisson constraint. `tau` is the squared ratio of yield and uncertainty in each
    /// bin. In bins without a positive yield and uncertainty, `tau` is 1 and the parameter is fixed.
    ShapeSys { tau: Vec<f64>, fixed: Vec<bool> },
    /// One parameter per bin with a Gaussian constraint. `sigma` is the relative uncertainty of the summed yield in
    /// each bin. In bins without a yield or uncertainty, `sigma` is 1 and the parameter is fixed. `offsets` maps the
    /// index of a channel in the document to the channel's first parameter in the set.
    StatError { sigma: Vec<f64>, fixed: Vec<bool>, offsets: HashMap<usize, usize> },
    /// One parameter that only functions use. The measurement must give its start value and bounds, and may give the width
    /// of a Gaussian constraint.
    OfFunctions,
}

impl SetKind {
    /// Returns the number of scalar parameters in the set.
    pub(crate) fn n(&self) -> usize {
        match self {
            Self::Alpha | Self::Lumi | Self::NormFactor | Self::OfFunctions => 1,
            Self::ShapeFactor { n } => *n,
            Self::ShapeSys { tau, .. } => tau.len(),
            Self::StatError { sigma, .. } => sigma.len(),
        }
    }

    /// Returns whether the set is a single parameter called `name`. Otherwise its parameters are called
    /// `name[i]`.
    pub(crate) fn scalar(&self) -> bool {
        matches!(self, Self::Alpha | Self::Lumi | Self::NormFactor | Self::OfFunctions)
    }
}

/// A modifier with the channel and the sample that contain it.
#[derive(Clone, Copy)]
struct Use<'a> {
    channel: &'a Channel,
    sample: &'a Sample,
    modifier: &'a Modifier,
}

impl Use<'_> {
    fn path(&self) -> String {
        self.modifier.path(self.channel, self.sample)
    }

    fn place(&self) -> String {
        format!("sample {} of channel {}", quoted(&self.sample.name), quoted(&self.channel.name))
    }
}

/// Collects the parameter sets. Reports modifiers of the same name that cannot share a parameter.
pub(crate) fn declare(document: &Document, report: &mut Report) -> Vec<Declared> {
    let uses = sorted_uses(document);
    let mut sets: Vec<(Declared, ModifierType, Use<'_>)> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for kind in ModifierType::ALL.into_iter().filter(|kind| *kind != ModifierType::Function) {
        let mut of_kind: Vec<(&str, Vec<Use<'_>>)> = group(&uses, kind);
        if kind == ModifierType::StatError {
            of_kind.sort_by(|a, b| a.0.cmp(b.0));
        }
        for (name, users) in of_kind {
            let Some(&first) = users.first() else { continue };
            if let Some((_, earlier_kind, earlier)) = by_name.get(name).and_then(|&i| sets.get(i)) {
                report_conflict(name, (*earlier_kind, earlier), (kind, &first), report);
                continue;
            }
            let set_kind = match kind {
                ModifierType::HistoSys | ModifierType::NormSys => SetKind::Alpha,
                ModifierType::Lumi => SetKind::Lumi,
                ModifierType::NormFactor => SetKind::NormFactor,
                ModifierType::ShapeFactor => shape_factor(&users, report),
                ModifierType::ShapeSys => shape_sys(name, &users, report),
                ModifierType::StatError => stat_error(name, &users, document, report),
                ModifierType::Function => continue,
            };
            let declared = Declared { name: name.to_owned(), kind: set_kind, path: first.path() };
            by_name.insert(name, sets.len());
            sets.push((declared, kind, first));
        }
    }
    let mut sets: Vec<Declared> = sets.into_iter().map(|(declared, ..)| declared).collect();
    let functions = functions::collect(document, report);
    let own = functions::declare(&functions, &sets, report);
    sets.extend(own);
    warn_of_equal_names(&sets, report);
    sets
}

/// Warns if a scalar parameter has the same name as an element of a vector. As in pyhf, both are in the
/// model, and a look-up by name finds only the first of them.
fn warn_of_equal_names(sets: &[Declared], report: &mut Report) {
    let vectors: HashMap<&str, usize> =
        sets.iter().filter(|set| !set.kind.scalar()).map(|set| (set.name.as_str(), set.kind.n())).collect();
    for set in sets.iter().filter(|set| set.kind.scalar()) {
        let element = set.name.strip_suffix(']').and_then(|name| name.rsplit_once('['));
        let Some((vector, index)) = element else { continue };
        let Some(i) = index.parse::<usize>().ok().filter(|i| i.to_string() == index) else { continue };
        if vectors.get(vector).is_some_and(|n| i < *n) {
            report.warn(
                set.path.clone(),
                format!(
                    "The modifier {} has the name of element {i} of the parameter {}: two parameters of the model \
                     are called the same.",
                    quoted(&set.name),
                    quoted(vector),
                ),
                "Rename the modifier; fixing, scanning or reading one of the two by name is ambiguous.",
            );
        }
    }
}

/// Returns every modifier of the document, with channels, samples and modifiers sorted by name.
fn sorted_uses(document: &Document) -> Vec<Use<'_>> {
    let mut channels: Vec<&Channel> = document.channels.iter().collect();
    channels.sort_by(|a, b| a.name.cmp(&b.name));
    let mut uses = Vec::new();
    for channel in channels {
        let mut samples: Vec<&Sample> = channel.samples.iter().collect();
        samples.sort_by(|a, b| a.name.cmp(&b.name));
        for sample in samples {
            let mut modifiers: Vec<&Modifier> = sample.modifiers.iter().collect();
            modifiers.sort_by(|a, b| a.name.cmp(&b.name));
            uses.extend(modifiers.into_iter().map(|modifier| Use { channel, sample, modifier }));
        }
    }
    uses
}

/// Groups the modifiers of one type by name, in the order in which the names first appear.
fn group<'a>(uses: &[Use<'a>], kind: ModifierType) -> Vec<(&'a str, Vec<Use<'a>>)> {
    let mut groups: Vec<(&str, Vec<Use<'_>>)> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for &user in uses.iter().filter(|u| u.modifier.effect.kind() == kind) {
        let name = user.modifier.name.as_str();
        let at = *by_name.entry(name).or_insert_with(|| {
            groups.push((name, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, users)) = groups.get_mut(at) {
            users.push(user);
        }
    }
    groups
}

/// Reports a name that is used by modifiers of two types. Only histosys and normsys may have the same name, because
/// pyhf constrains them in the same way.
fn report_conflict(
    name: &str,
    (earlier_kind, earlier): (ModifierType, &Use<'_>),
    (kind, user): (ModifierType, &Use<'_>),
    report: &mut Report,
) {
    let alike = |t| matches!(t, ModifierType::HistoSys | ModifierType::NormSys);
    if alike(earlier_kind) && alike(kind) {
        return;
    }
    report.error(
        user.path(),
        format!(
            "The name {} belongs to a {kind} here and to a {earlier_kind} on {} ({}). One name is one \
             parameter, and these two types constrain it differently.",
            quoted(name),
            earlier.place(),
            earlier.path(),
        ),
        "Rename one of the two; only histosys and normsys can share a name.",
    );
}

fn shape_factor(users: &[Use<'_>], report: &mut Report) -> SetKind {
    // In pyhf the first channel in sorted order determines the size of the set. In a longer channel pyhf
    // would index beyond the set and silently use parameter 0.
    let n = users.first().map_or(0, |u| u.channel.n_bins());
    for user in users {
        let bins = user.channel.n_bins();
        if n > 0 && bins > n {
            let first = users.first().map_or(String::new(), |u| quoted(&u.channel.name));
            report.error(
                user.path(),
                format!(
                    "The shapefactor {} has one parameter per bin of channel {first}, {n} in all, but channel {} \
                     has {bins} bins.",
                    quoted(&user.modifier.name),
                    quoted(&user.channel.name),
                ),
                "Give this channel a shapefactor of another name, or the same binning.",
            );
        }
    }
    SetKind::ShapeFactor { n }
}

fn shape_sys(name: &str, users: &[Use<'_>], report: &mut Report) -> SetKind {
    let Some((first, others)) = users.split_first() else {
        return SetKind::ShapeSys { tau: Vec::new(), fixed: Vec::new() };
    };
    for other in others {
        if std::ptr::eq(other.sample, first.sample) {
            continue; // reported elsewhere as a repeated modifier of the sample
        }
        report.error(
            other.path(),
            format!(
                "The shapesys name {} is already used on {} ({}). A shapesys has its own parameters for each \
                 sample and cannot be shared.",
                quoted(name),
                first.place(),
                first.path(),
            ),
            "Give each shapesys a name of its own; a staterror can be shared between the samples of a channel.",
        );
    }
    let Effect::ShapeSys(uncertainty) = &first.modifier.effect else {
        return SetKind::ShapeSys { tau: Vec::new(), fixed: Vec::new() };
    };
    let mut dropped = Vec::new();
    let mut tau = Vec::with_capacity(uncertainty.len());
    let mut fixed = Vec::with_capacity(uncertainty.len());
    for (bin, (&nominal, &uncertainty)) in first.sample.data.iter().zip(uncertainty).enumerate() {
        let constrained = nominal > 0.0 && uncertainty > 0.0;
        let rate = if constrained { (nominal * nominal) / (uncertainty * uncertainty) } else { 1.0 };
        if !(rate.is_finite() && rate > 0.0) {
            report.error(
                format!("{}/data/{bin}", first.path()),
                format!(
                    "The shapesys {} on {} has uncertainty {uncertainty:e} for a yield of {nominal:e}: their \
                     squared ratio, the rate of the Poisson constraint, is outside the range of numbers.",
                    quoted(name),
                    first.place(),
                ),
                "Check the uncertainty of this bin; 0 switches it off.",
            );
        }
        tau.push(rate);
        fixed.push(!constrained);
        if nominal <= 0.0 && uncertainty > 0.0 {
            dropped.push((bin, uncertainty, nominal));
        }
    }
    warn_of_dropped(ModifierType::ShapeSys, name, first, &dropped, report);
    SetKind::ShapeSys { tau, fixed }
}

fn stat_error(name: &str, users: &[Use<'_>], document: &Document, report: &mut Report) -> SetKind {
    // The uses of the staterror by channel, in the order of `users`: channels and samples sorted by name.
    let mut channels: Vec<(&Channel, Vec<&Use<'_>>)> = Vec::new();
    for user in users {
        match channels.last_mut() {
            Some((channel, samples)) if channel.at == user.channel.at => samples.push(user),
            _ => channels.push((user.channel, vec![user])),
        }
    }
    if document.known.modifiers {
        same_samples_everywhere(name, &channels, report);
    }
    let (mut sigma, mut fixed, mut offsets) = (Vec::new(), Vec::new(), HashMap::new());
    for (channel, samples) in channels {
        offsets.insert(channel.at, sigma.len());
        let mut dropped = Vec::new();
        for bin in 0..channel.n_bins() {
            let nominal: f64 = samples.iter().filter_map(|u| u.sample.data.get(bin)).sum();
            let relative: f64 = samples
                .iter()
                .filter_map(|u| match &u.modifier.effect {
                    Effect::StatError(data) => data.get(bin),
                    _ => None,
                })
                .map(|x| if nominal > 0.0 { (x / nominal) * (x / nominal) } else { 0.0 })
                .sum();
            let width = relative.sqrt();
            if width.is_infinite() {
                report.error(
                    samples.first().map_or_else(|| channel.path(), |u| format!("{}/data/{bin}", u.path())),
                    format!(
                        "The staterror {} in bin {bin} of channel {} is too large for the summed yield \
                         {nominal:e}: their ratio is outside the range of numbers.",
                        quoted(name),
                        quoted(&channel.name),
                    ),
                    "Check the uncertainties and yields of this bin.",
                );
            }
            // In pyhf, a bin without uncertainty keeps a constraint of width 1 in the likelihood, and its
            // parameter is fixed.
            fixed.push(width == 0.0);
            sigma.push(if width == 0.0 { 1.0 } else { width });
            let given = samples.iter().filter_map(|u| match &u.modifier.effect {
                Effect::StatError(data) => data.get(bin).copied(),
                _ => None,
            });
            let given = given.map(|x| x * x).sum::<f64>().sqrt();
            let known = samples.iter().all(|u| u.sample.data.get(bin).is_some_and(|x| x.is_finite()));
            if known && width == 0.0 && given > 0.0 {
                dropped.push((bin, given, nominal));
            }
        }
        if let Some(first) = samples.first() {
            warn_of_dropped(ModifierType::StatError, name, first, &dropped, report);
        }
    }
    SetKind::StatError { sigma, fixed, offsets }
}

/// Warns of uncertainties that have no effect, because the yield of their bin is not positive. As in pyhf, the parameters
/// of these bins are fixed. Each element of `dropped` is a bin, its uncertainty and its yield.
fn warn_of_dropped(
    kind: ModifierType,
    name: &str,
    first: &Use<'_>,
    dropped: &[(usize, f64, f64)],
    report: &mut Report,
) {
    let Some(&(bin, _, _)) = dropped.first() else { return };
    let each: Vec<String> = dropped
        .iter()
        .take(5)
        .map(|(bin, uncertainty, nominal)| {
            format!("bin {bin} (uncertainty {}, yield {})", show(*uncertainty), show(*nominal))
        })
        .collect();
    let more = if dropped.len() > each.len() {
        format!(" and {} more", dropped.len() - each.len())
    } else {
        String::new()
    };
    report.warn(
        format!("{}/data/{bin}", first.path()),
        format!(
            "The uncertainty of the {kind} {} is not used in {}{more} of channel {}: the yield that it belongs to is not \
             positive, and its parameter is fixed.",
            quoted(name),
            each.join(", "),
            quoted(&first.channel.name),
        ),
        "Check the yields; a histosys can describe the uncertainty of a negative yield.",
    );
}

/// Reports a staterror that acts on different samples in different channels, which pyhf does not allow.
fn same_samples_everywhere(name: &str, channels: &[(&Channel, Vec<&Use<'_>>)], report: &mut Report) {
    if channels.len() < 2 {
        return;
    }
    let mut where_used: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (channel, samples) in channels {
        for user in samples {
            where_used.entry(&user.sample.name).or_default().push(channel.at);
        }
    }
    let mut all = where_used.iter();
    let Some((first_sample, first_channels)) = all.next() else { return };
    let Some((other_sample, other_channels)) = all.find(|(_, used)| *used != first_channels) else { return };
    let names = |used: &[usize]| {
        let names: Vec<String> = channels
            .iter()
            .filter(|(c, _)| used.contains(&c.at))
            .map(|(c, _)| quoted(&c.name))
            .take(5)
            .collect();
        names.join(", ")
    };
    let odd = channels
        .iter()
        .flat_map(|(_, samples)| samples)
        .find(|u| u.sample.name == **other_sample)
        .map_or_else(String::new, |u| u.path());
    report.error(
        odd,
        format!(
            "The staterror {} is on sample {} in channels {}, but on sample {} in channels {}. All samples that \
             share a staterror must have it in the same channels.",
            quoted(name),
            quoted(first_sample),
            names(first_channels),
            quoted(other_sample),
            names(other_channels),
        ),
        "Use one staterror name per channel.",
    );
}
