//! Reads `nextstat.template_dist`, a density that is estimated from simulated events. The weights of the events can
//! depend on nuisance parameters.

use std::sync::Arc;

use serde_json::Value;

use super::fields::Fields;
use super::histfactory;
use super::source::{self, Events};
use crate::hs3::document::{Arg, Argument, Axis, Estimator, Response, Template};
use crate::hs3::sources::EventSources;
use crate::hs3::words::count;
use crate::pyhf::expect::{self, ValueLocation};
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

/// Reads a template, which is a density estimated from simulated events. `sources` provides events that are not in
/// the file.
pub(super) fn read(fields: &Fields<'_>, sources: &EventSources, report: &mut Report) -> Option<Template> {
    let x = fields.arguments("x", report);
    let estimator = estimator(fields, x.len(), report);
    let drafts = responses(fields, report);
    let axes: Vec<Axis> = x.iter().filter_map(axis).collect();
    for number in x.iter().filter(|x| matches!(x.value, Argument::Number(_))) {
        report.error(
            number.path.clone(),
            "A template has a number in place of an observable.",
            "Name an axis of the data.",
        );
    }
    if axes.len() != x.len() || estimator.is_none() {
        fields.ignore_all();
        return None;
    }
    let events = events(fields, &axes, &drafts, sources, report)?;
    let mut more = events.more.into_iter();
    let mut responses = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let (up, down) = (more.next()?, more.next()?);
        let Draft { path, parameter, interpolation, shape, rate, .. } = draft;
        responses.push(Response { path, parameter, up, down, interpolation, shape, rate });
    }
    let estimator = estimator?;
    if matches!(estimator, Estimator::Kernels { .. }) && !responses.is_empty() {
        report.error(
            fields.path("responses"),
            "A density of kernels cannot follow nuisance parameters.",
            "Use the estimator \"histogram\", or remove the responses.",
        );
        return None;
    }
    Some(Template { x, estimator, columns: events.columns, weights: events.weights, responses })
}

/// Returns an axis that has the name of the observable `x` and no range. Returns `None` if `x` is not a name.
fn axis(x: &Arg) -> Option<Axis> {
    let Argument::Name(name) = &x.value else { return None };
    Some(Axis { name: name.clone(), path: x.path.clone(), min: None, max: None, bins: None, edges: None })
}

/// Reads the method of the density estimate: a histogram with bin edges for each observable, or kernels. `axes` is
/// the number of observables.
fn estimator(fields: &Fields<'_>, axes: usize, report: &mut Report) -> Option<Estimator> {
    let value = fields.required("estimator", report)?;
    let inner = Fields::of(value, fields.location("estimator"), report)?;
    match inner.text("type", report)? {
        "histogram" => edges(inner, axes, report).map(Estimator::Histogram),
        "kde" => kernels(inner, axes, report),
        kind => {
            report.error(
                inner.path("type"),
                format!("The estimator {} is not supported.", quoted(kind)),
                "Use \"histogram\" with \"edges\", or \"kde\".",
            );
            inner.ignore_all();
            None
        }
    }
}

/// Reads the options of a density estimate with kernels.
fn kernels(inner: Fields<'_>, axes: usize, report: &mut Report) -> Option<Estimator> {
    let bandwidth = inner.optional_number("bandwidth", report).unwrap_or(1.0);
    let (mut reflect, mut good) = (true, true);
    if let Some(word) = inner.optional_name("boundary", report) {
        reflect = word.value == "reflect";
        if !reflect && word.value != "none" {
            good = false;
            report.error(
                word.path,
                format!("{} is no boundary of kernels.", quoted(&word.value)),
                "Write \"reflect\" or \"none\".",
            );
        }
    }
    if let Some(kernel) = inner.optional_name("kernel", report)
        && kernel.value != "gaussian"
    {
        good = false;
        let message = format!("Kernels of type {} are not supported.", quoted(&kernel.value));
        report.error(kernel.path, message, "Write \"gaussian\".");
    }
    if !(bandwidth > 0.0 && bandwidth.is_finite()) {
        good = false;
        report.error(
            inner.path("bandwidth"),
            "The bandwidth is not positive.",
            "Write a positive factor; with 1 the widths follow from the events.",
        );
    }
    if axes != 1 {
        good = false;
        report.error(
            inner.path("type"),
            format!("Kernels make a density of one observable, not of {axes}."),
            "Use a \"histogram\", or a product of densities.",
        );
    }
    inner.finish(report);
    good.then_some(Estimator::Kernels { bandwidth, reflect })
}

/// Reads the bin edges of each observable.
fn edges(inner: Fields<'_>, axes: usize, report: &mut Report) -> Option<Vec<Vec<f64>>> {
    let one = inner
        .optional("edges")
        .and_then(Value::as_array)
        .is_some_and(|list| list.first().is_none_or(Value::is_number));
    let edges = if one {
        vec![inner.numbers("edges", report)]
    } else {
        let items = inner.items("edges", "lists of edges", report);
        items.into_iter().map(|(list, place)| expect::numbers(list, &place, report)).collect()
    };
    let path = inner.path("edges");
    inner.finish(report);
    let rising = |axis: &Vec<f64>| {
        axis.len() >= 2
            && axis.iter().all(|x| x.is_finite())
            && axis.windows(2).all(|pair| pair.first() < pair.last())
    };
    if edges.len() != axes || !edges.iter().all(rising) {
        report.error(
            path,
            format!(
                "There {} {} of edges for {}, or the edges do not rise.",
                if edges.len() == 1 { "is" } else { "are" },
                count(edges.len(), "list", "lists"),
                count(axes, "observable", "observables")
            ),
            "Write the edges of each observable in rising order, at least two.",
        );
        return None;
    }
    Some(edges)
}

/// Weights of events as they are written in the file: numbers, or the name of a column of events. They may also be
/// unreadable.
enum Written {
    Numbers(Vec<f64>),
    Column(String),
    Broken,
}

/// A response, i.e. the effect of a nuisance parameter on the weights of events. Its weights have not been looked up
/// in the columns of events yet.
struct Draft {
    path: String,
    parameter: Arg,
    up: Written,
    down: Written,
    interpolation: Option<crate::hs3::document::Placed<crate::hs3::document::Interpolation>>,
    shape: bool,
    rate: bool,
}

fn responses(fields: &Fields<'_>, report: &mut Report) -> Vec<Draft> {
    if fields.optional("responses").is_none() {
        return Vec::new();
    }
    let mut drafts: Vec<Draft> = Vec::new();
    for (value, place) in fields.items("responses", "responses", report) {
        let Some(inner) = Fields::of(value, place, report) else { continue };
        let path = inner.here();
        let parameter = inner.argument("parameter", report);
        let (up, down) = (weights(&inner, "up", report), weights(&inner, "down", report));
        let interpolation = inner
            .optional("interpolation")
            .and_then(|value| histfactory::interpolation(value, &inner.location("interpolation"), report));
        let (shape, rate) = acts_on(&inner, report);
        inner.finish(report);
        if let Argument::Number(_) = parameter.value {
            report.error(
                parameter.path.clone(),
                "A response belongs to a number, not to a nuisance parameter.",
                "Write the name of the nuisance parameter in quotes.",
            );
        } else if drafts.iter().any(|other| other.parameter.value == parameter.value)
            && let Argument::Name(name) = &parameter.value
        {
            report.error(
                path.clone(),
                format!("The nuisance parameter {} has two responses.", quoted(name)),
                "Write one response per nuisance parameter.",
            );
        }
        drafts.push(Draft { path, parameter, up, down, interpolation, shape, rate });
    }
    drafts
}

fn weights(fields: &Fields<'_>, key: &'static str, report: &mut Report) -> Written {
    match fields.required(key, report) {
        Some(Value::String(name)) => Written::Column(name.clone()),
        Some(value) => Written::Numbers(expect::numbers(value, &fields.location(key), report)),
        None => Written::Broken,
    }
}

/// Reads whether a response (the effect of a nuisance parameter) changes the shape of a template, and whether it
/// changes the yield. By default it changes both.
fn acts_on(fields: &Fields<'_>, report: &mut Report) -> (bool, bool) {
    let words = fields.optional_names("acts_on", report);
    if !fields.has("acts_on") {
        return (true, true);
    }
    let mut acts = (false, false);
    for word in &words {
        match word.value.as_str() {
            "shape" => acts.0 = true,
            "yield" => acts.1 = true,
            other => report.error(
                word.path.clone(),
                format!("A response cannot act on {}.", quoted(other)),
                "Write \"shape\", \"yield\", or both.",
            ),
        }
    }
    if words.is_empty() {
        let remedy = "Write \"shape\", \"yield\", or both.";
        report.error(fields.path("acts_on"), "The response acts on nothing.", remedy);
    }
    acts
}

/// Reads the events of a template with all their weights. The columns `more` of the result are the weights `up` and
/// `down` of each response in `drafts`, in this order.
fn events(
    fields: &Fields<'_>,
    axes: &[Axis],
    drafts: &[Draft],
    sources: &EventSources,
    report: &mut Report,
) -> Option<Events> {
    let from_file = fields.optional(source::KEY).is_some();
    if from_file && (fields.has("entries") || fields.has("weights")) {
        report.error(
            fields.path(source::KEY),
            "The template has both events and a file of events.",
            "Remove 'entries' and 'weights', or the file.",
        );
    }
    let mut more = (Vec::new(), Vec::new());
    for draft in drafts {
        for (written, key) in [(&draft.up, "up"), (&draft.down, "down")] {
            let path = format!("{}/{key}", draft.path);
            match (written, from_file) {
                (Written::Column(name), true) => more.0.push(name.clone()),
                (Written::Numbers(numbers), false) => more.1.push((path, Arc::from(numbers.as_slice()))),
                (Written::Column(name), false) => report.error(
                    path,
                    format!("The weights are the column {}, but the events come from no file.", quoted(name)),
                    "Write one number per event, or name the file under 'nextstat.source'.",
                ),
                (Written::Numbers(_), true) => report.error(
                    path,
                    "The weights are numbers, but the events come from a file.",
                    "Write the name of a column of the file.",
                ),
                (Written::Broken, _) => {}
            }
        }
    }
    if from_file {
        fields.ignore(&["entries", "weights"]);
        let mut file = source::file_source(fields, axes, report)?;
        file.more = more.0;
        let complete = file.more.len() == 2 * drafts.len();
        return source::from_file(fields, axes, &file, sources, report).filter(|_| complete);
    }
    let events = written(fields, axes, &more.1, report)?;
    (events.more.len() == 2 * drafts.len()).then_some(events)
}

/// Reads the events that are written in the template itself. `more` has further lists of weights, each with its JSON
/// pointer.
fn written(
    fields: &Fields<'_>,
    axes: &[Axis],
    more: &[(String, Arc<[f64]>)],
    report: &mut Report,
) -> Option<Events> {
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); axes.len()];
    for (item, place) in fields.items("entries", "events", report) {
        let numbers = match item {
            // A single number stands for an event of one observable.
            Value::Number(_) => vec![expect::number(item, &place, report)],
            _ => expect::numbers(item, &place, report),
        };
        if numbers.len() != axes.len() {
            report.error(
                place.path,
                format!(
                    "The event has {}, but there {} {}.",
                    count(numbers.len(), "number", "numbers"),
                    if axes.len() == 1 { "is" } else { "are" },
                    count(axes.len(), "observable", "observables")
                ),
                "Write one number per observable.",
            );
            return None;
        }
        columns.iter_mut().zip(&numbers).for_each(|(column, x)| column.push(*x));
    }
    let n = columns.first().map_or(0, Vec::len);
    let weights = fields.optional("weights").is_some().then(|| fields.numbers("weights", report));
    let own = weights.iter().map(|w| (fields.path("weights"), w.len()));
    for (path, length) in own.chain(more.iter().map(|(path, w)| (path.clone(), w.len()))) {
        if length != n {
            report.error(
                path,
                format!(
                    "There {} {} for {}.",
                    if length == 1 { "is" } else { "are" },
                    count(length, "weight", "weights"),
                    count(n, "event", "events")
                ),
                "Write one weight per event.",
            );
        }
    }
    // JSON contains only finite numbers, and other values have been reported.
    let own = columns.iter().chain(&weights).flatten();
    if !own.chain(more.iter().flat_map(|(_, w)| w.iter())).all(|x| x.is_finite()) {
        return None;
    }
    let columns = columns.into_iter().map(Arc::from).collect();
    let more = more.iter().map(|(_, w)| Arc::clone(w)).collect();
    let events = Events { columns, weights: weights.map(Arc::from), more };
    let place = ValueLocation::new(fields.here(), "the template");
    source::checked(events, axes, n, &place, report)
}
