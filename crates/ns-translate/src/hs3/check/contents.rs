//! Checks the lengths and axes of data, histograms and samples, and whether events lie outside of an axis.

use std::sync::Arc;

use crate::hs3::document::{Axis, Data, Distribution, Document, Effect, HistFactory, Origin};
use crate::hs3::words::count;
use crate::pyhf::names::{quoted, show};
use crate::pyhf::problem::Report;

/// Largest number of bins of a histogram or a data set.
const MOST_BINS: usize = 1 << 26;

pub(super) fn check(document: &Document, report: &mut Report) {
    for data in &document.data {
        let what = format!("data set {}", quoted(&data.name));
        match &data.content {
            Data::Unbinned { axes, columns, weights, origin } => {
                events(document, axes, columns, *origin, &what, &data.path, report);
                if weights.as_ref().is_some_and(|w| !w.is_empty() && w.iter().all(|w| *w == 0.0)) {
                    let remedy = "Correct the weights.";
                    report.error(
                        format!("{}/weights", data.path),
                        format!("All weights of {what} are 0."),
                        remedy,
                    );
                }
            }
            Data::Binned { axes, contents } => {
                histogram(axes, contents, &what, &data.path, report);
                if let Some(i) = contents.iter().position(|content| *content < 0.0) {
                    report.error(
                        format!("{}/contents/{i}", data.path),
                        format!(
                            "Bin {i} of {what} has the negative content {}.",
                            show(contents.get(i).copied().unwrap_or_default())
                        ),
                        "Write a number of events that is not negative.",
                    );
                }
            }
            Data::Point { .. } | Data::Unsupported { .. } => {}
        }
    }
    for distribution in &document.distributions {
        let what = format!("distribution {}", quoted(&distribution.name));
        match &distribution.content {
            Distribution::Histogram { axes, contents } => {
                let path = format!("{}/data", distribution.path);
                histogram(axes, contents, &what, &path, report);
                let bad = |x: &f64| *x < 0.0;
                if contents.iter().any(bad) || contents.iter().all(|x| *x == 0.0) {
                    report.error(
                        format!("{path}/contents"),
                        format!("The contents of {what} are negative somewhere, or all are 0: they are no density."),
                        "Correct the contents.",
                    );
                }
            }
            Distribution::Template(template) => {
                super::template::check(template, &what, &distribution.path, report);
            }
            Distribution::HistFactory(channel) => samples(channel, &what, &distribution.path, report),
            _ => {}
        }
    }
}

/// Returns the edges of the bins of an axis. If the axis has no bins, reports an error and returns `None`.
pub(in crate::hs3) fn edges(axis: &Axis, report: &mut Report) -> Option<Vec<f64>> {
    let name = quoted(&axis.name);
    match (&axis.edges, axis.bins, axis.min, axis.max) {
        (Some(edges), None, ..) => {
            let rising = edges.len() >= 2 && edges.windows(2).all(|pair| pair.first() < pair.last());
            if !rising {
                report.error(
                    format!("{}/edges", axis.path),
                    format!("The edges of the axis {name} do not rise, or there are fewer than two."),
                    "Write the edges in rising order.",
                );
                return None;
            }
            Some(edges.clone())
        }
        (None, Some(bins), Some(min), Some(max)) if min < max => {
            let width = (max - min) / bins as f64;
            let mut edges: Vec<f64> = (0..bins).map(|i| min + width * i as f64).collect();
            edges.push(max);
            Some(edges)
        }
        _ => {
            report.error(
                axis.path.clone(),
                format!("The axis {name} does not say where its bins are."),
                "Write either 'edges', or 'min', 'max' (above 'min') and 'nbins'.",
            );
            None
        }
    }
}

/// Checks that all axes have bins, and that there is one content per bin.
fn histogram(axes: &[Axis], contents: &[f64], what: &str, path: &str, report: &mut Report) {
    let bins: Option<Vec<usize>> =
        axes.iter().map(|axis| edges(axis, report).map(|edges| edges.len() - 1)).collect();
    let Some(bins) = bins else { return };
    let product =
        bins.iter().try_fold(1_usize, |product, n| product.checked_mul(*n)).filter(|n| *n <= MOST_BINS);
    let Some(product) = product else {
        let remedy = "Use fewer bins.";
        report.error(format!("{path}/axes"), format!("The {what} has more than {MOST_BINS} bins."), remedy);
        return;
    };
    if axes.is_empty() || product != contents.len() {
        let expected = if axes.is_empty() { 0 } else { product };
        report.error(
            format!("{path}/contents"),
            format!(
                "The {what} has {}, but its axes have {}.",
                count(contents.len(), "content", "contents"),
                count(expected, "bin", "bins")
            ),
            "Write one number per bin; the last axis runs fastest.",
        );
    }
}

/// Returns the range of an axis. If the axis gives no range, returns the range of the same name in the
/// domains.
pub(in crate::hs3) fn range(document: &Document, axis: &Axis) -> Option<(f64, f64)> {
    if let (Some(first), Some(last)) =
        (axis.edges.as_ref().and_then(|e| e.first()), axis.edges.as_ref().and_then(|e| e.last()))
    {
        return Some((*first, *last));
    }
    let find = |axis: &&crate::hs3::document::DomainAxis, name: &str| axis.name == name;
    let domain =
        document.domains.iter().flat_map(|domain| &domain.content).find(|other| find(other, &axis.name));
    let min = axis.min.or_else(|| domain.and_then(|domain| domain.min));
    let max = axis.max.or_else(|| domain.and_then(|domain| domain.max));
    min.zip(max)
}

/// Checks that the axes of events have a range, and that all events lie within it.
fn events(
    document: &Document,
    axes: &[Axis],
    columns: &[Arc<[f64]>],
    origin: Origin,
    what: &str,
    path: &str,
    report: &mut Report,
) {
    if axes.is_empty() {
        let remedy = "Name at least one observable, with min and max.";
        report.error(format!("{path}/axes"), format!("The {what} has no axis."), remedy);
    }
    for (axis, column) in axes.iter().zip(columns) {
        let name = quoted(&axis.name);
        let Some((min, max)) = range(document, axis) else {
            report.error(
                axis.path.clone(),
                format!(
                    "The axis {name} of {what} lacks 'min' or 'max': a density is normalised over this range."
                ),
                "Add both.",
            );
            continue;
        };
        if !(min < max) {
            report.error(
                axis.path.clone(),
                format!("The axis {name} of {what} is empty: it goes from {} to {}.", show(min), show(max)),
                "Write 'min' below 'max'.",
            );
            continue;
        }
        let outside = |x: &f64| *x < min || *x > max;
        if let Some(first) = column.iter().position(outside) {
            let n_outside = column.iter().filter(|x| outside(x)).count();
            let value = column.get(first).copied().unwrap_or_default();
            let (place, remedy) = match origin {
                Origin::Entries => {
                    (format!("{path}/entries/{first}"), "Remove these events, or widen the axis.")
                }
                Origin::File => (
                    format!("{path}/nextstat.source"),
                    "Drop these events with conditions under 'where', or widen the axis.",
                ),
                Origin::Given => (path.to_owned(), "Give events within the axis alone, or widen the axis."),
            };
            report.error(
                place,
                format!(
                    "Event {first} of {what} has {name} = {}, outside of its axis from {} to {}; {} outside.",
                    show(value),
                    show(min),
                    show(max),
                    if n_outside == 1 {
                        "no other event is".to_owned()
                    } else {
                        format!("{n_outside} of {} events are", column.len())
                    }
                ),
                remedy,
            );
        }
    }
}

/// Checks the lengths of the samples and modifiers of a channel.
fn samples(channel: &HistFactory, what: &str, path: &str, report: &mut Report) {
    let bins: Option<Vec<usize>> =
        channel.axes.iter().map(|axis| edges(axis, report).map(|edges| edges.len() - 1)).collect();
    let bins = match bins {
        None => return,
        Some(bins) if bins.is_empty() => {
            // Without axes, the first sample determines the number of bins.
            channel.samples.first().map_or(0, |sample| sample.contents.len())
        }
        Some(bins) => bins.iter().product(),
    };
    if channel.samples.is_empty() {
        report.error(format!("{path}/samples"), format!("The {what} has no sample."), "Add at least one.");
    }
    for sample in &channel.samples {
        let mut length = |place: String, actual: usize, thing: String| {
            if actual != bins {
                report.error(
                    place,
                    format!(
                        "{thing} of sample {}: there {} {}, but the channel has {}.",
                        quoted(&sample.name),
                        if actual == 1 { "is" } else { "are" },
                        count(actual, "number", "numbers"),
                        count(bins, "bin", "bins")
                    ),
                    "Write one number per bin.",
                );
            }
        };
        length(format!("{}/data/contents", sample.path), sample.contents.len(), "The contents".to_owned());
        if let Some(errors) = &sample.errors {
            length(format!("{}/data/errors", sample.path), errors.len(), "The list of errors".to_owned());
        }
        for modifier in &sample.modifiers {
            let name = quoted(&modifier.name);
            match &modifier.effect {
                Effect::HistoSys { hi, lo } => {
                    length(
                        format!("{}/data/hi/contents", modifier.path),
                        hi.len(),
                        format!("'hi' of modifier {name}"),
                    );
                    length(
                        format!("{}/data/lo/contents", modifier.path),
                        lo.len(),
                        format!("'lo' of modifier {name}"),
                    );
                }
                Effect::ShapeSys { values: Some(values), .. } => {
                    length(
                        format!("{}/data/vals", modifier.path),
                        values.len(),
                        format!("'vals' of modifier {name}"),
                    );
                }
                _ => {}
            }
        }
    }
}
