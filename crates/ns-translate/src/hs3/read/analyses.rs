//! Reads likelihoods, domains, parameter points and analyses.

use serde_json::Value;

use super::fields::{self, Fields};
use crate::hs3::document::{Analysis, Arg, DomainAxis, Likelihood, Placed, PointValue, Ranges, Region};
use crate::hs3::words::count;
use crate::pyhf::expect::{self, ValueLocation};
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

/// Reads a likelihood.
pub(super) fn likelihood(fields: &Fields<'_>, report: &mut Report) -> Option<Likelihood> {
    let path = fields.path("distributions");
    let _ = fields.required("distributions", report)?;
    let distributions = fields.optional_names("distributions", report);
    let items = fields.items("data", "names of data sets", report);
    let data: Vec<Arg> =
        items.into_iter().map(|(value, place)| fields::argument(value, &place, report)).collect();
    if distributions.len() != data.len() {
        report.error(
            path,
            format!(
                "The likelihood has {}, but {}.",
                count(distributions.len(), "distribution", "distributions"),
                count(data.len(), "data set", "data sets")
            ),
            "Name one data set per distribution, in the same order.",
        );
        return None;
    }
    let auxiliary = fields.optional_names("aux_distributions", report);
    let auxiliary_data = fields.optional_arguments("aux_data", report);
    if !auxiliary_data.is_empty() && auxiliary.is_empty() {
        report.error(
            fields.path("aux_data"),
            "The likelihood has data of constraint terms, but no 'aux_distributions'.",
            "Name the distributions of these data under 'aux_distributions', or remove 'aux_data'.",
        );
    }
    let bins = fields.optional_name("nextstat.bins", report);
    let coefficients = fields.optional_name("nextstat.coefficients", report);
    let regions = match fields.optional("nextstat.ranges") {
        Some(Value::Array(_)) => regions(fields, report),
        _ => Vec::new(),
    };
    let own = if regions.is_empty() { ranges(fields, "nextstat.ranges", report) } else { Vec::new() };
    let blind = ranges(fields, "nextstat.blind", report);
    Some(Likelihood {
        distributions,
        data,
        auxiliary,
        auxiliary_data,
        bins,
        ranges: own,
        regions,
        coefficients,
        blind,
    })
}

/// Reads fit ranges of several observables together: `[{"x": [0, 1], "y": [2, 3]}, ...]`.
fn regions(fields: &Fields<'_>, report: &mut Report) -> Vec<Placed<Region>> {
    let mut regions = Vec::new();
    for (value, place) in fields.items("nextstat.ranges", "boxes of fit ranges", report) {
        let Some(map) = value.as_object() else {
            expect::object(value, &place, &[], &[], report);
            continue;
        };
        let mut region = Region::new();
        for (name, value) in map {
            let below = ValueLocation::new(place.key(name), format!("The fit range of {}", quoted(name)));
            match *expect::numbers(value, &below, report) {
                [from, to] if from < to => region.push((name.clone(), (from, to))),
                _ => report.error(
                    below.path,
                    format!("{} is empty, or is no pair.", below.what),
                    "Write [from, to] with from below to.",
                ),
            }
        }
        regions.push(Placed { value: region, path: place.path });
    }
    regions
}

/// Reads the fit ranges or the blinded ranges of observables: `{"x": [[100, 115], [135, 160]]}`.
fn ranges(fields: &Fields<'_>, key: &'static str, report: &mut Report) -> Vec<Ranges> {
    let Some(value) = fields.optional(key) else { return Vec::new() };
    let place = fields.location(key);
    let (many, one) = match key {
        "nextstat.blind" => ("blinded ranges", "Blinded range"),
        _ => ("fit ranges", "Fit range"),
    };
    let Some(map) = value.as_object() else {
        expect::object(value, &place, &[], &[], report);
        return Vec::new();
    };
    let mut ranges = Vec::new();
    for (name, value) in map {
        let path = place.key(name);
        let below = ValueLocation::new(path.clone(), format!("The {many} of {}", quoted(name)));
        let Some(items) = expect::non_empty(value, &below, "pairs [from, to]", report) else { continue };
        let mut pairs: Vec<(f64, f64)> = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let element = ValueLocation::new(format!("{path}/{i}"), format!("{one} {i} of {}", quoted(name)));
            let numbers = expect::numbers(item, &element, report);
            match *numbers {
                [from, to] if from < to && pairs.last().is_none_or(|last| last.1 <= from) => {
                    pairs.push((from, to))
                }
                _ => report.error(
                    element.path,
                    format!("{} is empty, overlaps the one before, or is no pair.", element.what),
                    "Write pairs [from, to] in rising order that do not overlap.",
                ),
            }
        }
        ranges.push((name.clone(), Placed { value: pairs, path }));
    }
    ranges
}

/// Reads a domain: the ranges of parameters.
pub(super) fn domain(fields: &Fields<'_>, report: &mut Report) -> Option<Vec<DomainAxis>> {
    let kind = fields.text("type", report)?;
    if kind != "product_domain" {
        report.error(
            fields.path("type"),
            format!("There is no domain type {}.", quoted(kind)),
            "Write \"product_domain\".",
        );
        return None;
    }
    let mut axes = Vec::new();
    for (value, place) in fields.items("axes", "axes", report) {
        let path = place.path.clone();
        let Some(axis) = Fields::of(value, place, report) else { continue };
        let Some(name) = axis.text("name", report).map(str::to_owned) else { continue };
        let (min, max) = (axis.optional_number("min", report), axis.optional_number("max", report));
        axis.ignore(&["nbins", "edges", "value"]);
        axis.finish(report);
        if min.zip(max).is_some_and(|(min, max)| min > max) {
            report.error(
                path.clone(),
                format!("The range of {} is empty: min is above max.", quoted(&name)),
                "Exchange the two.",
            );
            continue;
        }
        axes.push(DomainAxis { name, path, min, max });
    }
    Some(axes)
}

/// Reads a parameter point.
pub(super) fn point(fields: &Fields<'_>, report: &mut Report) -> Option<Vec<PointValue>> {
    let mut values = Vec::new();
    for (value, place) in fields.items("parameters", "values of parameters", report) {
        let path = place.path.clone();
        let Some(entry) = Fields::of(value, place, report) else { continue };
        let name = entry.text("name", report).map(str::to_owned);
        let value = entry.number("value", report);
        let constant = entry.optional_flag("const", report).unwrap_or(false);
        let (min, max) = (entry.optional_number("min", report), entry.optional_number("max", report));
        let error = entry.optional_number("error", report);
        entry.ignore(&["nbins"]);
        entry.finish(report);
        let Some(name) = name else { continue };
        values.push(PointValue { name, path, value, constant, min, max, error });
    }
    Some(values)
}

/// Reads an analysis. The HS3 standard spells some keys in two ways.
pub(super) fn analysis(fields: &Fields<'_>, report: &mut Report) -> Option<Analysis> {
    let likelihood = fields.name("likelihood", report)?;
    let mut interest = fields.optional_names("parameters_of_interest", report);
    match fields.optional("parameter_of_interest") {
        Some(Value::Array(_)) => interest.extend(fields.optional_names("parameter_of_interest", report)),
        Some(_) => interest.extend(fields.optional_name("parameter_of_interest", report)),
        None => {}
    }
    let mut domains = fields.optional_names("domains", report);
    domains.extend(fields.optional_name("domain", report));
    let init = fields.optional_name("init", report);
    if fields.optional("prior").is_some() {
        report.warn(
            fields.path("prior"),
            "The prior is not used: all methods are frequentist.",
            "Constraints belong into 'aux_distributions' of the likelihood.",
        );
    }
    let auxiliary = fields.optional_names("aux_likelihood_terms", report);
    Some(Analysis { likelihood, interest, domains, init, auxiliary })
}
