//! Checks that every name in a reference exists, and that references have no cycles.

use std::collections::{BTreeSet, HashMap};

use crate::hs3::document::{Argument, Distribution, Document, Placed};
use crate::hs3::index::{Index, Object};
use crate::hs3::references::Role;
use crate::pyhf::names::{list, nearest, quoted};
use crate::pyhf::problem::Report;

/// Largest length of a chain of functions and distributions in which each refers to the next.
const DEEPEST: usize = 200;

pub(super) fn check(index: &Index<'_>, report: &mut Report) {
    let document = index.document;
    let leaves = leaves(document);
    let objects = (0..document.distributions.len())
        .map(Object::Distribution)
        .chain((0..document.functions.len()).map(Object::Function));
    for object in objects.clone() {
        let mut missing = BTreeSet::new();
        for reference in index.references(object) {
            let found = index.find(reference.name);
            let wrong = match (found, reference.role) {
                (Some(Object::Distribution(_)), Role::Value) => {
                    Some("a distribution; a number, parameter or function")
                }
                (Some(Object::Function(_)), Role::Distribution) => Some("a function; a distribution"),
                _ => None,
            };
            if let Some(wrong) = wrong {
                report.error(
                    reference.path.to_owned(),
                    format!("The name {} is that of {wrong} is needed here.", quoted(reference.name)),
                    "Name another object, or change its kind.",
                );
            }
            let value = reference.role != Role::Distribution;
            let known = found.is_some() || (value && leaves.contains(reference.name));
            // ROOT writes some numbers as strings.
            let number = value && reference.name.parse::<f64>().is_ok_and(f64::is_finite);
            let broken = document.broken.iter().any(|name| name == reference.name);
            if !known && !number && !broken && missing.insert(reference.name.to_owned()) {
                undefined(index, &leaves, reference.name, reference.path, reference.role, report);
            }
        }
    }
    circles(index, objects, report);
    sections(index, report);
}

/// Returns all names of observables and parameters that the document declares.
fn leaves(document: &Document) -> BTreeSet<&str> {
    use crate::hs3::document::Data;
    let mut leaves = BTreeSet::new();
    for data in &document.data {
        match &data.content {
            Data::Unbinned { axes, .. } | Data::Binned { axes, .. } | Data::Point { axes, .. } => {
                leaves.extend(axes.iter().map(|axis| axis.name.as_str()));
            }
            Data::Unsupported { axes, .. } => leaves.extend(axes.iter().map(String::as_str)),
        }
    }
    leaves.extend(document.points.iter().flat_map(|p| &p.content).map(|value| value.name.as_str()));
    leaves.extend(document.domains.iter().flat_map(|d| &d.content).map(|axis| axis.name.as_str()));
    for distribution in &document.distributions {
        match &distribution.content {
            Distribution::HistFactory(channel) => {
                leaves.extend(channel.axes.iter().map(|axis| axis.name.as_str()));
                let modifiers = channel.samples.iter().flat_map(|sample| &sample.modifiers);
                leaves.extend(modifiers.flat_map(|modifier| &modifier.parameters).map(String::as_str));
            }
            Distribution::Histogram { axes, .. } => leaves.extend(axes.iter().map(|axis| axis.name.as_str())),
            _ => {}
        }
    }
    leaves
}

/// Reports a name that does not exist.
fn undefined(
    index: &Index<'_>,
    leaves: &BTreeSet<&str>,
    name: &str,
    path: &str,
    role: Role,
    report: &mut Report,
) {
    let near = match role {
        Role::Value | Role::Either => nearest(name, leaves.iter().copied().chain(index.names())),
        Role::Distribution => nearest(name, index.document.distributions.iter().map(|d| d.name.as_str())),
    };
    let kinds = match role {
        Role::Value => "parameter, observable or function",
        Role::Either => "distribution, function, parameter or observable",
        Role::Distribution => "distribution",
    };
    let remedy = match (near, role) {
        (Some(near), _) => format!("Did you mean {}?", quoted(near)),
        (None, Role::Value) => {
            "Give a parameter a value in 'parameter_points', name an observable as an axis of the data, or define a function."
                .to_owned()
        }
        (None, Role::Either) => "Define it under 'distributions' or 'functions'.".to_owned(),
        (None, Role::Distribution) => "Define it under 'distributions'.".to_owned(),
    };
    report.error(path.to_owned(), format!("There is no {kinds} {}.", quoted(name)), remedy);
}

/// Reports objects (functions or distributions) that refer to themselves, directly or through other objects. Also
/// reports chains of references that are too long.
fn circles(index: &Index<'_>, objects: impl Iterator<Item = Object>, report: &mut Report) {
    // For each object, the number of levels below it; `None` while the object is being visited.
    let mut levels: HashMap<Object, Option<usize>> = HashMap::new();
    for start in objects {
        if levels.contains_key(&start) {
            continue;
        }
        let mut way: Vec<(Object, Vec<Object>, usize)> = vec![(start, inner(index, start), 0)];
        levels.insert(start, None);
        while let Some((object, open, deepest)) = way.last_mut() {
            let object = *object;
            let Some(next) = open.pop() else {
                let level = *deepest + 1;
                way.pop();
                levels.insert(object, Some(level));
                if level == DEEPEST + 1 {
                    report.error(
                        path(index, object),
                        format!(
                            "{} refers to others over more than {DEEPEST} levels.",
                            quoted(name(index, object))
                        ),
                        "Combine functions, so that there are fewer levels.",
                    );
                }
                if let Some((.., deepest)) = way.last_mut() {
                    *deepest = (*deepest).max(level);
                }
                continue;
            };
            match levels.get(&next) {
                Some(Some(level)) => *deepest = (*deepest).max(*level),
                Some(None) => {
                    let from = way.iter().position(|(visited, ..)| *visited == next).unwrap_or(0);
                    let members: Vec<String> =
                        way.iter().skip(from).map(|(visited, ..)| quoted(name(index, *visited))).collect();
                    report.error(
                        path(index, next),
                        format!(
                            "{} refers to itself: {} -> {}.",
                            quoted(name(index, next)),
                            members.join(" -> "),
                            quoted(name(index, next))
                        ),
                        "Remove one of these references.",
                    );
                }
                None => {
                    levels.insert(next, None);
                    let below = inner(index, next);
                    way.push((next, below, 0));
                }
            }
        }
    }
}

/// Returns the distributions and functions that an object (a distribution or a function) refers to, each of them
/// once.
fn inner(index: &Index<'_>, object: Object) -> Vec<Object> {
    let mut found: Vec<Object> = Vec::new();
    for reference in index.references(object) {
        if let Some(object) = index.find(reference.name)
            && !found.contains(&object)
        {
            found.push(object);
        }
    }
    found
}

fn name<'a>(index: &Index<'a>, object: Object) -> &'a str {
    let document = index.document;
    let found = match object {
        Object::Distribution(i) => document.distributions.get(i).map(|d| d.name.as_str()),
        Object::Function(i) => document.functions.get(i).map(|f| f.name.as_str()),
    };
    found.unwrap_or_default()
}

fn path(index: &Index<'_>, object: Object) -> String {
    let document = index.document;
    let found = match object {
        Object::Distribution(i) => document.distributions.get(i).map(|d| d.path.clone()),
        Object::Function(i) => document.functions.get(i).map(|f| f.path.clone()),
    };
    found.unwrap_or_default()
}

/// Checks the names in likelihoods and analyses. Also checks that each name occurs only once in its section of the
/// file.
fn sections(index: &Index<'_>, report: &mut Report) {
    let document = index.document;
    fn unique<'a>(
        names: impl Iterator<Item = (&'a str, &'a str)>,
        kind: &str,
        report: &mut Report,
    ) -> Vec<&'a str> {
        let mut seen: Vec<&str> = Vec::new();
        for (name, path) in names {
            if seen.contains(&name) {
                report.error(
                    format!("{path}/name"),
                    format!("Two {kind} are called {}.", quoted(name)),
                    "Rename one of the two.",
                );
            }
            seen.push(name);
        }
        seen
    }
    let data = unique(document.data.iter().map(|d| (d.name.as_str(), d.path.as_str())), "data sets", report);
    let likelihoods = document.likelihoods.iter().map(|l| (l.name.as_str(), l.path.as_str()));
    let likelihoods = unique(likelihoods, "likelihoods", report);
    let domains =
        unique(document.domains.iter().map(|d| (d.name.as_str(), d.path.as_str())), "domains", report);
    let points = document.points.iter().map(|p| (p.name.as_str(), p.path.as_str()));
    let points = unique(points, "parameter points", report);
    unique(document.analyses.iter().map(|a| (a.name.as_str(), a.path.as_str())), "analyses", report);

    let mut expect = |name: &Placed<String>, known: &[&str], kind: &str, plural: &str| {
        if known.contains(&name.value.as_str()) || document.broken.contains(&name.value) {
            return;
        }
        let near = nearest(&name.value, known.iter().copied());
        let remedy = near.map_or_else(
            || list(&format!("The {plural} are"), known),
            |near| format!("Did you mean {}?", quoted(near)),
        );
        report.error(name.path.clone(), format!("There is no {kind} {}.", quoted(&name.value)), remedy);
    };
    let distributions: Vec<&str> = document.distributions.iter().map(|d| d.name.as_str()).collect();
    for likelihood in &document.likelihoods {
        let content = &likelihood.content;
        for name in content.distributions.iter().chain(&content.auxiliary) {
            expect(name, &distributions, "distribution", "distributions");
        }
        for argument in &content.data {
            if let Argument::Name(name) = &argument.value {
                let name = Placed { value: name.clone(), path: argument.path.clone() };
                expect(&name, &data, "data set", "data sets");
            }
        }
    }
    for analysis in &document.analyses {
        let content = &analysis.content;
        expect(&content.likelihood, &likelihoods, "likelihood", "likelihoods");
        for name in &content.auxiliary {
            expect(name, &distributions, "distribution", "distributions");
        }
        for name in &content.domains {
            expect(name, &domains, "domain", "domains");
        }
        if let Some(name) = &content.init {
            expect(name, &points, "parameter point", "parameter points");
        }
    }
}
