//! The accuracy of Asimov data of event channels. The expected events are the nodes of a rule for numerical integration,
//! so `-ln L` of Asimov data has an error. It is estimated at the points that an analysis has visited, by comparison
//! with data that are made for these points.

use std::borrow::Cow;

use ns_core::{
    Data, Density, EvaluationRequest, FitOutcome, Model, Observations, Session, SessionError, Value,
};

use crate::InferenceError;
use crate::single_fits::of_single_fits;

/// Largest error of a difference of `-2 ln L` of a converged result.
const MOST: f64 = 1e-4;

/// If the error of a difference of `-2 ln L` is larger, the data are made again for the points that were visited.
const AGAIN: f64 = 1e-5;

/// Size of the rounding errors of `-2 ln L` of an event, in rounding errors of a log-density whose absolute value is 1.
const NOISE: f64 = 16.0;

/// Fractions of the distance to the point of the data by which a point is shifted where a density is negative.
const INWARDS: [f64; 8] = [1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2];

/// Shifts at which the shapes of densities are considered, in uncertainties of their parameters.
const SHIFTS: [f64; 4] = [-3.0, -1.0, 1.0, 3.0];

/// The error of Asimov data.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    /// Estimated error of differences of `-2 ln L` between the points that were visited and the point where the data
    /// were made.
    pub(crate) error: f64,
    /// Largest error of a converged result.
    most: f64,
    /// Index of the event channel with the largest error.
    channel: usize,
    /// Data that were made for the points that were visited, if they are needed.
    pub(crate) finer: Option<Data>,
}

impl Checked {
    /// Returns whether the error is too large for a converged result.
    pub(crate) fn is_too_large(&self) -> bool {
        !(self.error <= self.most)
    }

    /// Returns a warning if the error is too large for a converged result.
    pub(crate) fn note(&self, model: &Model) -> Option<String> {
        let name = model.event_channels.get(self.channel).map_or("", |channel| channel.name.as_str());
        self.is_too_large().then(|| {
            format!(
                "the Asimov data of channel {name} are not accurate: differences of twice_nll have an error of about \
                 {:.1e}, and {:.0e} is allowed; shorten the fit ranges around narrow peaks, narrow the bounds of \
                 parameters that move them, or fix these parameters",
                self.error, self.most
            )
        })
    }
}

/// Estimates the error of Asimov data at the points `visited`, where fits ended, and `around` them. Returns `None` if the
/// data are not Asimov data with events.
///
/// A fit to the data may end where a density is negative between two events of the data. Data that are made for this
/// point have events there. The next valid point towards the point of the data then stands for the end of the fit.
///
/// # Errors
/// If the data for these points cannot be made, or the device fails.
pub(crate) fn check(
    model: &Model,
    session: &dyn Session,
    data: &Data,
    visited: &[Cow<'_, [f64]>],
    around: &[Vec<f64>],
) -> Result<Option<Checked>, InferenceError> {
    let session = of_single_fits(session);
    let Some(expected) = data.expected.as_deref().filter(|_| !model.event_channels.is_empty()) else {
        return Ok(None);
    };
    let centre = expected.parameters.as_slice();
    let points: Vec<&[f64]> =
        visited.iter().map(AsRef::as_ref).chain(around.iter().map(Vec::as_slice)).collect();
    let finer = session.asimov_for(centre, &points, data)?;
    let Some(made) = finer.expected.as_deref() else { return Ok(None) };
    let all: Vec<f64> = std::iter::once(centre).chain(points.iter().copied()).flatten().copied().collect();
    let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
    let at = |data: &Data, points: &[f64]| session.evaluate(data, points, request).map(|values| values.nll);
    let here = at(data, &all)?;
    let values = |data: &Data| -> Result<Vec<f64>, SessionError> {
        let mut nll = at(data, &all)?;
        for ((value, known), point) in nll.iter_mut().zip(&here).skip(1).zip(&points) {
            if known.is_finite() && !value.is_finite() {
                let shifted = |by: &f64| point.iter().zip(centre).map(|(x, to)| x + by * (to - x)).collect();
                let shifted: Vec<Vec<f64>> = INWARDS.iter().map(shifted).collect();
                let valid = at(data, &shifted.concat())?.into_iter().find(|nll| nll.is_finite());
                *value = valid.unwrap_or(f64::INFINITY);
            }
        }
        Ok(nll)
    };
    let there = values(&finer)?;
    let difference = |other: &[f64]| largest(&here, other, visited.len());
    let own: f64 = made.errors.iter().sum();
    let found = difference(&there);
    let error = found + own;
    let mut channel = index_of_largest(&made.errors);
    let noise = noise(model, data);
    if error > MOST + noise && found > own {
        let mut by_channel = Vec::new();
        for index in 0..model.event_channels.len() {
            by_channel.push(difference(&values(&replaced(model, data, &finer, index))?));
        }
        channel = index_of_largest(&by_channel);
    }
    Ok(Some(Checked { error, most: MOST + noise, channel, finer: (found > AGAIN + noise).then_some(finer) }))
}

/// Returns the size of rounding errors of `-2 ln L` that come from neural networks which compute densities with 32-bit
/// numbers. The errors at different events are independent.
fn noise(model: &Model, data: &Data) -> f64 {
    let mut noise = 0.0;
    for (channel, table) in model.event_channels.iter().zip(&data.counts(model).events) {
        let logs = channel.log_densities().into_iter().map(|density| &density.source);
        let sources = logs.chain(channel.conditional_densities().into_iter().map(|own| &own.source));
        let rounding = sources.map(|source| source.0.rounding()).fold(1.0, f64::max);
        if rounding > 1.0 {
            let squares: f64 = table.weights.iter().flat_map(|weights| weights.iter()).map(|w| w * w).sum();
            noise += NOISE * rounding * f64::EPSILON * squares.sqrt();
        }
    }
    noise
}

/// Returns the largest difference of two lists of `-2 ln L`, each measured from its first element. `here` and `there`
/// contain `-ln L`. Points where both are infinite are not compared; behind the first `ends` points after the first
/// element, one infinite value is enough.
fn largest(here: &[f64], there: &[f64], ends: usize) -> f64 {
    let (Some(first), Some(second)) = (here.first(), there.first()) else { return 0.0 };
    let is_compared = |i: usize, (a, b): (&f64, &f64)| match (a.is_finite(), b.is_finite()) {
        (true, true) => true,
        (false, false) => false,
        _ => i <= ends,
    };
    let compared = here.iter().zip(there).enumerate().filter(|(i, pair)| is_compared(*i, *pair));
    let distance = compared.map(|(_, (a, b))| 2.0 * ((a - first) - (b - second)).abs());
    distance.fold(0.0, |most, x| if x.is_nan() { f64::INFINITY } else { most.max(x) })
}

fn index_of_largest(list: &[f64]) -> usize {
    let largest = list.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    largest.map_or(0, |(index, _)| index)
}

/// Returns `data` with the events of one channel replaced by those of `other`.
fn replaced(model: &Model, data: &Data, other: &Data, channel: usize) -> Data {
    let counts = data.counts(model);
    let mut events = counts.events.clone();
    if let (Some(to), Some(from)) = (events.get_mut(channel), other.counts(model).events.get(channel)) {
        to.clone_from(from);
    }
    data.with(Observations { events, ..counts.clone() })
}

/// Returns points around a fit: all parameters of shapes of densities are shifted by the same number of uncertainties.
/// The uncertainty of a parameter that the fit does not determine is that of its constraint. Without a constraint, a
/// third of the distance to its bound stands for it. `is_fixed` tells which parameters are fixed.
pub(crate) fn around(model: &Model, fit: &FitOutcome, is_fixed: impl Fn(usize) -> bool) -> Vec<Vec<f64>> {
    let moved: Vec<usize> = of_shapes(model).into_iter().filter(|i| !is_fixed(*i)).collect();
    if moved.is_empty() {
        return Vec::new();
    }
    let shifted = |shift: f64| {
        let mut point = fit.parameters.clone();
        for &i in &moved {
            let (Some(x), Some(parameter)) = (point.get_mut(i), model.parameters.get(i)) else { continue };
            let (lower, upper) = parameter.bounds;
            let sigma = fit.uncertainties.get(i).copied().flatten();
            let sigma =
                sigma.or_else(|| parameter.constraint.prefit_sigma()).filter(|sigma| sigma.is_finite());
            let end = if shift < 0.0 { lower } else { upper };
            let moved = match sigma {
                Some(sigma) => (*x + shift * sigma).max(lower).min(upper),
                None => *x + (end - *x) * shift.abs() / 3.0,
            };
            if moved.is_finite() {
                *x = moved;
            }
        }
        point
    };
    SHIFTS.into_iter().map(shifted).collect()
}

/// Returns the indices of the parameters on which the shapes of densities depend, in ascending order.
fn of_shapes(model: &Model) -> Vec<usize> {
    let mut values = Vec::new();
    for process in model.event_channels.iter().flat_map(|channel| &channel.processes) {
        add_shapes(&process.density, &mut values);
    }
    let mut found = Vec::new();
    let mut is_known = vec![false; model.functions.len()];
    while let Some(value) = values.pop() {
        match value {
            Value::Number(_) => {}
            Value::Parameter(p) => found.push(p),
            Value::Function(f) => {
                let (Some(known), Some(function)) = (is_known.get_mut(f), model.functions.get(f)) else {
                    continue;
                };
                if !std::mem::replace(known, true) {
                    values.extend(function.form.values());
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn add_shapes(density: &Density, values: &mut Vec<Value>) {
    if !matches!(density, Density::Mixture { .. }) {
        values.extend(density.own_values());
    }
    density.parts().iter().for_each(|part| add_shapes(part, values));
}
