//! Messages that explain why a fit has no result, no certificate or no uncertainty. Each message gives a remedy.

use ns_core::{
    Data, DensityJump, EXPECTED, EvaluationRequest, FitFailure, FitOutcome, FitStatus, Inactive,
    IntegralError, Model, Reason, Session, SessionError,
};

use crate::InferenceError;
use crate::present::significant;

/// Largest number of names that a message lists.
const SHOWN: usize = 8;

/// Joins up to [`SHOWN`] names with commas. If there are more names, the text ends with the number of names left out.
pub(crate) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let mut text = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// Returns the name of a parameter.
pub(crate) fn name(model: &Model, index: usize) -> &str {
    model.parameters.get(index).map_or("?", |p| p.name.as_str())
}

/// Describes a bin, for example `bin 2 of channel 'SR'`. As in the workspace, the first bin of a channel is bin 0.
pub(crate) fn bin_place(model: &Model, bin: usize) -> String {
    match model.bin_name(bin) {
        Some((channel, bin)) => format!("bin {bin} of channel '{channel}'"),
        None => format!("bin {bin}"),
    }
}

/// Returns the name of an event channel.
fn event_channel(model: &Model, index: usize) -> &str {
    model.event_channels.get(index).map_or("?", |channel| channel.name.as_str())
}

/// Describes an event by the values of its observables, for example `m = 125, y = 0.5`.
fn event_place(model: &Model, channel: usize, at: &[f64]) -> String {
    let axes = model.event_channels.get(channel).map_or(&[][..], |channel| &channel.observables);
    let values = axes.iter().zip(at).map(|(axis, x)| format!("{} = {}", axis.name, significant(*x)));
    values.collect::<Vec<_>>().join(", ")
}

/// Returns a message that explains why one fit of a batch has no result.
pub(crate) fn failure(model: &Model, failure: &FitFailure) -> String {
    match failure {
        FitFailure::NotFinite { bin, expected, observed } if *expected > 0.0 && expected.is_finite() => {
            format!(
                "the likelihood overflows: {} expects {} events, but {} were observed; correct the observation or the \
             yields of its samples ({})",
                bin_place(model, *bin),
                significant(*expected),
                significant(*observed),
                samples_of(model, *bin),
            )
        }
        FitFailure::NotFinite { bin, expected, observed } => format!(
            "the likelihood is not finite at any start point: {place} expects {expected} events but {observed} \
             were observed; check the yields of its samples ({samples}), or give a start point at which the \
             expectation is positive",
            place = bin_place(model, *bin),
            expected = significant(*expected),
            observed = significant(*observed),
            samples = samples_of(model, *bin),
        ),
        FitFailure::ConstraintNotFinite { parameter, value } => format!(
            "the constraint term of parameter '{}' is not finite at any start point (value {value:e}); check its \
             auxiliary data, width, start value and bounds",
            name(model, *parameter),
        ),
        FitFailure::DensityNotPositive { channel, event } => {
            let name = event_channel(model, *channel);
            let binned = model.event_channels.get(*channel).is_some_and(|channel| channel.binning.is_some());
            if binned {
                return format!(
                    "the density in bin {event} (counted from 0) of event channel '{name}', which has a content, is not a \
                     positive number at any start point; check that a process can fill the bin, or give a start point at \
                     which its density is positive"
                );
            }
            format!(
                "the density of event {event} (counted from 0) in event channel '{name}' is not a positive number at any \
                 start point; check that a process can produce the event, or give a start point at which its density is positive"
            )
        }
        FitFailure::InfiniteIntegral { channel, process, observables } => {
            let axes = model.event_channels.get(*channel).map(|channel| channel.observables.as_slice());
            let axis = |x: &usize| Some(axes?.get(*x)?.name.as_str());
            let names: Vec<&str> = observables.iter().filter_map(axis).collect();
            let (process, channel) = process_place(model, *channel, *process);
            format!(
                "the density of process '{process}' in event channel '{channel}' has an infinite integral over the fit \
                 range of '{}' at every start point, so it is no density; cut the range where the density diverges, give \
                 a density that is finite there, or give a start point and bounds at which its integral is finite",
                names.join("', '")
            )
        }
        FitFailure::NegativeTotal { channel, expected } => format!(
            "the expected number of events of event channel '{}' is negative ({}) at every start point, also with all free \
             parameters within their bounds; check its rates and the values of fixed parameters",
            event_channel(model, *channel),
            significant(*expected),
        ),
        FitFailure::NotEvaluated { channel, cause } => format!(
            "event channel '{}', at every start point: {cause}; give a start point and bounds of the context within the \
             region where the flow was trained",
            event_channel(model, *channel)
        ),
        FitFailure::NotDrawn { channel } => format!(
            "no events of event channel '{}' can be drawn: its density is negative or not a number in its fit range, at the \
             point where toys are drawn",
            event_channel(model, *channel)
        ),
        FitFailure::Cancelled => "interrupted before this fit".to_owned(),
        other => other.to_string(),
    }
}

/// Builds the error for a parameter point where Asimov data or toys cannot be generated. The error names the bin whose
/// expected yield is invalid, or the event channel whose density cannot be sampled. A density of events is named with
/// the place in its channel where it is invalid.
pub(crate) fn expectation(model: &Model, purpose: &'static str, error: SessionError) -> InferenceError {
    match error {
        SessionError::BadNumber { what: EXPECTED, index, value, .. }
        | SessionError::BadMean { what: "main data", index, mean: value } => {
            InferenceError::Expectation { purpose, place: bin_place(model, index), value }
        }
        SessionError::BadDensity { channel, at, value } => InferenceError::Density {
            purpose,
            channel: event_channel(model, channel).to_owned(),
            event: event_place(model, channel, &at),
            value,
        },
        SessionError::CannotSample { channel, problem } => {
            InferenceError::CannotSample { channel: event_channel(model, channel).to_owned(), problem }
        }
        other => other.into(),
    }
}

/// Lists the names of the samples in the channel that contains a bin.
fn samples_of(model: &Model, bin: usize) -> String {
    model
        .channels
        .iter()
        .find(|c| (c.first_bin..c.first_bin + c.n_bins).contains(&bin))
        .map_or_else(String::new, |c| list(c.samples.iter().map(|s| s.name.as_str())))
}

/// Returns a sentence that says why the fit stopped.
pub(crate) fn termination(outcome: &FitOutcome) -> String {
    let edm = match outcome.certificate.edm {
        0.0 => "0".to_owned(),
        edm if edm.is_finite() => format!("{edm:.1e}"),
        _ => "unknown".to_owned(),
    };
    match &outcome.status {
        FitStatus::Converged => format!("converged: estimated distance to the minimum {edm}"),
        FitStatus::NotConverged(reason) => {
            let why = match reason {
                Reason::IterationLimit => "the iteration limit came first",
                Reason::NoProgress => "no step lowers the function although its gradient is not zero",
                Reason::Unbounded => "the function falls without end along a direction",
                Reason::InexactIntegral => "an integral of a density is not exact enough",
                Reason::Jump { .. } => "a density jumps at a place that depends on free parameters",
                _ => "the certificate does not hold",
            };
            format!("not converged: {why} (estimated distance to the minimum {edm})")
        }
    }
}

/// Lists possible reasons why a fit stopped without a certificate, each with a remedy. The reasons depend on the bins
/// without expected events, the parameters at bounds and the flat directions of `-ln L` at the last point of the fit.
pub(crate) fn not_converged(model: &Model, outcome: &FitOutcome) -> Vec<String> {
    if outcome.status == FitStatus::NotConverged(Reason::InexactIntegral) {
        return outcome
            .certificate
            .integral_error
            .iter()
            .map(|error| inexact_integral(model, error))
            .collect();
    }
    if let FitStatus::NotConverged(Reason::Jump { parameters }) = &outcome.status {
        return model.density_jumps().iter().filter_map(|jump| at_jump(model, jump, parameters)).collect();
    }
    let mut notes = endless(model, outcome);
    if !notes.is_empty() {
        return notes;
    }
    let empty = empty_bins(model, outcome);
    let bounded = held(model, outcome, |why| matches!(why, Inactive::LowerBound | Inactive::UpperBound));
    let flat = held(model, outcome, |why| why == Inactive::Flat);
    if let Some(empty) = empty {
        notes.push(format!(
            "the fit did not converge, with no expected events in {empty}; check for negative yields or factors there"
        ));
    }
    if !flat.is_empty() {
        notes.push(format!(
            "the fit did not converge, with a flat direction along {flat}; fix one of them or remove it"
        ));
    }
    if !bounded.is_empty() {
        notes.push(format!(
            "the fit did not converge, with parameters at their bounds: {bounded}; widen the bounds if they are not \
             physical"
        ));
    }
    let without_slope = ends_without_slope(model, outcome);
    if notes.is_empty() && !without_slope.is_empty() {
        notes.push(format!(
            "the fit did not converge: the derivative of -ln L does not exist with {without_slope} at its bound, as that of \
             sqrt(mu) at mu = 0; use the root itself as the parameter (mu = k * k), or a lower bound above 0"
        ));
    }
    if notes.is_empty() {
        notes.push(
            "the fit did not converge, although no parameter is at a bound, no direction is flat and no bin is empty; \
             try another start point (--init, init=)"
                .to_owned(),
        );
    }
    notes
}

/// Lists the parameters that lie exactly on a bound of a fit whose distance to the minimum is unknown, and that count as
/// free all the same. Their derivatives are not numbers.
fn ends_without_slope(model: &Model, outcome: &FitOutcome) -> String {
    if outcome.certificate.edm.is_finite() {
        return String::new();
    }
    let on_bound = |(i, (p, x)): &(usize, (&ns_core::Parameter, &f64))| {
        let (lower, upper) = p.bounds;
        let held = outcome.inactive.iter().any(|(j, _)| j == i);
        !p.fixed && !held && lower < upper && (**x == lower || **x == upper)
    };
    let places = model.parameters.iter().zip(&outcome.parameters).enumerate().filter(on_bound);
    let names: Vec<&str> = places.map(|(_, (p, _))| p.name.as_str()).collect();
    list(names.into_iter())
}

/// Returns a message that names the density whose integral is not exact enough, with remedies.
fn inexact_integral(model: &Model, error: &IntegralError) -> String {
    let (process, channel) = process_place(model, error.channel, error.process);
    let size = match error.relative {
        size if size.is_finite() => format!("a relative error of {size:.1e}"),
        _ => "an unknown error".to_owned(),
    };
    format!(
        "the integral of the density of process '{process}' in event channel '{channel}' has {size} at the best fit, so \
         -ln L is not exact; write the density as standard densities and their products, give its parameters bounds that \
         keep peaks wide, or narrow the fit range; if the error is acceptable, allow it (--integral-tolerance, \
         integral_tolerance=)"
    )
}

/// Returns a message that names a density that jumps and the free parameters that move the jump, with remedies. Returns
/// `None` if none of its parameters is in `free`.
fn at_jump(model: &Model, jump: &DensityJump, free: &[usize]) -> Option<String> {
    let own = jump.parameters.iter().filter(|p| free.contains(p));
    let mut names = own.map(|p| name(model, *p)).peekable();
    names.peek()?;
    let names = list(names);
    let (process, channel) = process_place(model, jump.channel, jump.process);
    Some(format!(
        "the density of process '{process}' in event channel '{channel}' jumps at a place that depends on {names}: the \
         derivatives of -ln L lack what comes from the jump, so this point is no certified minimum; fix {names}, scan \
         over a grid of values (scan), or write a smooth turn-on instead of the comparison"
    ))
}

/// Returns the names of a process and of its event channel.
pub(crate) fn process_place(model: &Model, channel: usize, process: usize) -> (&str, &str) {
    let processes = model.event_channels.get(channel).map(|channel| channel.processes.as_slice());
    let name = processes.and_then(|all| all.get(process)).map_or("?", |process| process.name.as_str());
    (name, event_channel(model, channel))
}

/// A parameter tends to a point if its distance from it is below this fraction of the distance of its initial value.
const TENDS: f64 = 1e-6;

/// Returns why the likelihood of a fit of events has no maximum, if it has none.
fn endless(model: &Model, outcome: &FitOutcome) -> Vec<String> {
    if outcome.status != FitStatus::NotConverged(Reason::Unbounded) || model.event_channels.is_empty() {
        return Vec::new();
    }
    let channels = model.event_channels.iter().zip(&model.observed.events);
    let sums = channels.filter(|(channel, _)| channel.extended).map(|(c, table)| (c, table.sum_of_weights()));
    let mut notes: Vec<String> = sums
        .filter(|(_, sum)| *sum < 0.0)
        .map(|(channel, sum)| {
            format!(
                "the weights of the events of event channel '{}' have the negative sum {}: the likelihood grows without \
                 end as the expected number of events falls to 0, so it has no maximum; correct the weights, or give the \
                 rates lower bounds above 0",
                channel.name,
                significant(sum)
            )
        })
        .collect();
    let tends = |(parameter, value): &(&ns_core::Parameter, &f64)| {
        let towards = |end: f64| {
            let left = (*value - end).abs();
            left > 0.0 && left < TENDS * (parameter.init - end).abs()
        };
        [parameter.bounds.0, parameter.bounds.1, 0.0].into_iter().any(towards)
    };
    let names = model.parameters.iter().zip(&outcome.parameters).filter(tends).map(|(p, _)| p.name.as_str());
    let names = list(names);
    if notes.is_empty() && !names.is_empty() {
        notes.push(format!(
            "the likelihood grows without end as {names} nears the end of its range, so it has no maximum: for example, a \
             width tends to 0 on a single event; narrow its bounds"
        ));
    }
    notes
}

/// Lists the names of the free parameters that have no symmetric uncertainty for a reason that `kind` accepts.
fn held(model: &Model, outcome: &FitOutcome, kind: impl Fn(Inactive) -> bool) -> String {
    list(outcome.inactive.iter().filter(|(_, why)| kind(*why)).map(|(i, _)| name(model, *i)))
}

/// Lists the bins whose expected yield is zero or less, and the event channels that expect no events; `None` if there
/// are none.
pub(crate) fn empty_bins(model: &Model, outcome: &FitOutcome) -> Option<String> {
    let channel = |c: &usize| format!("event channel '{}'", event_channel(model, *c));
    let bins = outcome.empty_bins.iter().map(|b| bin_place(model, *b));
    let places: Vec<String> = bins.chain(outcome.empty_channels.iter().map(channel)).collect();
    if places.is_empty() {
        return None;
    }
    Some(list(places.iter().map(String::as_str)))
}

/// An expected yield below this number is negative by more than its rounding error.
const NEGATIVE: f64 = -1e-6;

/// Returns the index and the expected yield of each bin whose expected yield is negative at the minimum.
fn negative_bins(session: &dyn Session, data: &Data, outcome: &FitOutcome) -> Vec<(usize, f64)> {
    if outcome.empty_bins.is_empty() {
        return Vec::new();
    }
    let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
    let expected =
        session.evaluate(data, &outcome.parameters, request).map(|found| found.expected).unwrap_or_default();
    let yields = outcome.empty_bins.iter().filter_map(|&bin| Some((bin, *expected.get(bin)?)));
    yields.filter(|(_, events)| *events < NEGATIVE).collect()
}

/// Returns whether any bin has a negative expected yield at the minimum. In a bin without observed events the
/// likelihood grows as the expected yield falls. The minimum of `-ln L` is then at the bounds of the parameters.
pub(crate) fn has_negative_yield(session: &dyn Session, data: &Data, outcome: &FitOutcome) -> bool {
    !negative_bins(session, data, outcome).is_empty()
}

/// Builds the warning for a minimum at which bins have an expected yield of zero or less; `None` if there are no such
/// bins.
pub(crate) fn without_events(
    model: &Model,
    session: &dyn Session,
    data: &Data,
    outcome: &FitOutcome,
) -> Option<String> {
    let empty = empty_bins(model, outcome)?;
    let negative: Vec<String> = negative_bins(session, data, outcome)
        .into_iter()
        .map(|(bin, events)| format!("{} ({})", bin_place(model, bin), significant(events)))
        .collect();
    if negative.is_empty() {
        return Some(format!("no expected events are left at the minimum in {empty}"));
    }
    Some(format!(
        "the minimum expects a negative number of events in {}: where none are observed the likelihood grows as the \
         expectation falls below 0, as in pyhf, and fits from other start points or with parameters held may end far lower; \
         narrow the bounds of the parameters that lead there, or correct the yields",
        list(negative.iter().map(String::as_str))
    ))
}

/// Returns warnings about parameters that have no uncertainty because the likelihood is flat. One warning lists the
/// parameters that do not change the likelihood. Another warning lists the parameters that the data determine only in
/// combination with other parameters.
pub(crate) fn flat_directions(
    model: &Model,
    session: &dyn Session,
    data: &Data,
    outcome: &FitOutcome,
) -> Vec<String> {
    let flat: Vec<usize> =
        outcome.inactive.iter().filter(|(_, why)| *why == Inactive::Flat).map(|(i, _)| *i).collect();
    if flat.is_empty() {
        return Vec::new();
    }
    let request = EvaluationRequest { hessian: true, ..EvaluationRequest::default() };
    let n = outcome.parameters.len();
    let hessian = session.evaluate(data, &outcome.parameters, request).map(|e| e.hessian).unwrap_or_default();
    // The parameter has no effect if its curvature, times the squared width of its bounds, is below rounding.
    let no_effect = |i: usize| {
        let width = model.parameters.get(i).map_or(1.0, |p| p.bounds.1 - p.bounds.0);
        hessian.get(i * (n + 1)).is_some_and(|curvature| curvature.abs() * width * width < 1e-12)
    };
    let (alone, together): (Vec<usize>, Vec<usize>) = flat.into_iter().partition(|i| no_effect(*i));
    let compared = model.compared_parameters();
    let (steps, alone): (Vec<usize>, Vec<usize>) = alone.into_iter().partition(|i| compared.contains(i));
    let is_flat = !(alone.is_empty() && together.is_empty());
    let mut notes = Vec::new();
    if !steps.is_empty() {
        let names = list(steps.into_iter().map(|i| name(model, i)));
        notes.push(format!(
            "the likelihood is flat in {names} near the minimum, and may jump farther away, because a comparison uses \
             {names}: no uncertainty; fix {names}, or scan over a grid of values (scan)"
        ));
    }
    if !alone.is_empty() {
        notes.push(format!(
            "the likelihood does not depend on {} at the minimum: no uncertainty; fix or remove the parameter",
            list(alone.into_iter().map(|i| name(model, i)))
        ));
    }
    if !together.is_empty() {
        notes.push(format!(
            "the data determine {} only in combination: a flat direction, no uncertainty; fix one of them",
            list(together.into_iter().map(|i| name(model, i)))
        ));
    }
    if is_flat && model.has_function_factors() {
        notes.push(
            "functions bend the flat direction: the uncertainties of the other parameters hold at this point of it; ask for \
             MINOS intervals, or fix one of the flat parameters"
                .to_owned(),
        );
    }
    notes
}
