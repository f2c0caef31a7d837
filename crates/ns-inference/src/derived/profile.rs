//! Intervals of functions of parameters: the profile of `-2 ln L` along a function `f`.
//!
//! A Gaussian term `(f - d)^2 / (2 s^2)` is added to `-ln L`. The minimum of the sum is also a minimum of `-ln L` among all
//! points with the same value `c` of `f`, because the term is constant there. Every `d` thus gives a point of the exact
//! profile `t(c)`, whose derivative is `2 (d - c) / s^2` (the multiplier of Lagrange). The search changes `d`, which is an
//! auxiliary datum of the model with the term, until `t = 1`.

use std::sync::Arc;

use ns_compute::CpuSession;
use ns_compute::function_values::FunctionValues;
use ns_core::{
    Data, Device, EvaluationRequest, Execution, FitOutcome, FitRequest, FitTask, Function, Measured, Model,
    Observations, OutcomeParts, Penalty, PenaltyForm, Search, Session, SessionError, Start, TaskOutcome,
    Value,
};

use crate::InferenceError;
use crate::analysis::Analysis;
use crate::minos::Interval;

/// Largest number of fits for one end of an interval.
const MOST_FITS: usize = 40;

/// Largest accepted difference of the square root of `t` from 1 before the last step along the tangent.
const ACCURACY: f64 = 1e-6;

/// The fits along one function.
struct Profile<'a> {
    analysis: &'a Analysis<'a>,
    session: CpuSession,
    observations: Observations,
    values: FunctionValues,
    /// Index of the function.
    function: usize,
    best: &'a FitOutcome,
    /// Where the next fit begins: the last point on the same side.
    start: Arc<[f64]>,
    /// Value of the function at the best fit, and the width `s` of the added term.
    centre: f64,
    width: f64,
}

/// A point of the profile: the datum, the value of the function, and the signed square root of `t`.
#[derive(Debug, Clone, Copy)]
struct Point {
    datum: f64,
    value: f64,
    root: f64,
}

/// Returns the interval of function `index` of `functions`. `at` contains the value of the function at the best fit and its
/// uncertainty.
///
/// # Errors
/// If the session refuses the model with the added term.
pub(super) fn interval(
    analysis: &Analysis<'_>,
    functions: &[Function],
    index: usize,
    best: &FitOutcome,
    at: (f64, Option<f64>),
) -> Result<Interval, InferenceError> {
    let (centre, Some(width)) = (at.0, at.1.filter(|width| *width > 0.0)) else {
        return Ok(Interval::of_name(
            String::new(),
            "it has no uncertainty, which sets the scale of the search",
        ));
    };
    let own = analysis.model;
    let function = own.functions.len() + index;
    let observations = {
        let counts = analysis.data.counts(own);
        let aux = counts.aux.iter().copied().chain([centre]).collect();
        // Counts that the caller gives may be without events, which are then those of the model.
        let events = if counts.events.is_empty() { &own.observed.events } else { &counts.events };
        Observations { aux, events: events.clone(), ..counts.clone() }
    };
    let form = PenaltyForm::Gaussian {
        x: Value::Function(function),
        mean: Measured::Datum(own.observed.aux.len()),
        sigma: Value::Number(width),
    };
    let mut model = Model { observed: observations.clone(), ..own.clone() };
    model.functions.extend_from_slice(functions);
    model.penalties.push(Penalty { name: "derived quantity".to_owned(), form });
    let execution = Execution { device: Device::Cpu, threads: 1, ..Execution::default() };
    let session = CpuSession::open(&model, &execution)?;
    let values = FunctionValues::new(own, functions).map_err(SessionError::from)?;
    let start = Arc::from(best.parameters.as_slice());
    let mut profile =
        Profile { analysis, session, observations, values, function, best, start, centre, width };
    let (lower, upper) = (profile.end(-1.0)?, profile.end(1.0)?);
    let side = |end: &Result<f64, String>| end.clone().ok();
    Ok(Interval {
        parameter: functions.get(index).map(|f| f.name.clone()).unwrap_or_default(),
        lower: side(&lower).map(|x| x - centre),
        upper: side(&upper).map(|x| x - centre),
        lower_crossing: side(&lower),
        upper_crossing: side(&upper),
        lower_reason: lower.err(),
        upper_reason: upper.err(),
    })
}

impl Profile<'_> {
    /// Returns the end of the interval on one side, or the reason why there is none. `side` is -1 or 1.
    fn end(&mut self, side: f64) -> Result<Result<f64, String>, InferenceError> {
        // In a parabola, the function moves by half of the distance to the datum.
        let mut below = Point { datum: self.centre, value: self.centre, root: 0.0 };
        let mut above: Option<Point> = None;
        self.start = Arc::from(self.best.parameters.as_slice());
        let mut datum = self.centre + 2.0 * side * self.width;
        for _ in 0..MOST_FITS {
            if self.analysis.is_cancelled() {
                return Ok(Err("the search was interrupted".to_owned()));
            }
            let point = match self.at(datum)? {
                Ok(point) => point,
                Err(reason) => return Ok(Err(reason)),
            };
            if (point.root - 1.0).abs() <= ACCURACY {
                let slope = 2.0 * (point.datum - point.value) / (self.width * self.width);
                let rest = 1.0 - point.root * point.root;
                return Ok(Ok(point.value + if slope == 0.0 { 0.0 } else { rest / slope }));
            }
            if point.root < 1.0 {
                below = point;
            } else {
                above = Some(point);
            }
            datum = match above {
                // Secant between the points on both sides, kept within the middle nine tenths.
                Some(above) => {
                    let share = (1.0 - below.root) / (above.root - below.root);
                    below.datum + share.clamp(0.05, 0.95) * (above.datum - below.datum)
                }
                None => {
                    let far = if below.root > 0.0 { (1.02 / below.root).clamp(1.05, 8.0) } else { 8.0 };
                    self.centre + far * (below.datum - self.centre).abs().max(2.0 * self.width) * side
                }
            };
        }
        Ok(Err(match above {
            None => {
                "twice_nll does not rise by 1 before the function reaches the end of its range".to_owned()
            }
            Some(_) => format!("{MOST_FITS} fits were not enough: twice_nll jumps along the function"),
        }))
    }

    /// Fits with the datum `datum`, and returns the point of the profile, or the reason why there is none.
    fn at(&mut self, datum: f64) -> Result<Result<Point, String>, InferenceError> {
        let mut observations = self.observations.clone();
        if let Some(last) = observations.aux.last_mut() {
            *last = datum;
        }
        let base = &self.analysis.base;
        // A single descent is enough along most functions. A search follows if it ends without a minimum.
        let request = |search| FitRequest {
            start: Start::At(Arc::clone(&self.start)),
            search,
            metric: None,
            ..base.clone()
        };
        let data: Data = observations.into();
        let mut found = Err("a conditional fit was interrupted".to_owned());
        for search in [Search::Local, Search::Standard] {
            let task = FitTask { data: data.clone(), fits: vec![request(search)], cancel: None };
            let mut outcomes: Vec<TaskOutcome> = Vec::new();
            self.session.fit_batch(&[task], OutcomeParts::default(), self.analysis.control, &mut outcomes)?;
            found = match outcomes.into_iter().next().and_then(|task| task.fits.into_iter().next()) {
                Some(Ok(outcome)) if outcome.converged() => Ok(outcome),
                Some(Ok(_)) => Err("a conditional fit did not converge".to_owned()),
                Some(Err(failure)) => Err(format!("a conditional fit failed: {failure}")),
                None => break,
            };
            if found.is_ok() {
                break;
            }
        }
        let outcome = match found {
            Ok(outcome) => outcome,
            Err(reason) => return Ok(Err(reason)),
        };
        self.start = Arc::from(outcome.parameters.as_slice());
        let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
        let there = self.analysis.session.evaluate(&self.analysis.data, &outcome.parameters, request)?;
        let nll = there.nll.first().copied().unwrap_or(f64::NAN);
        self.values.evaluate(&outcome.parameters);
        let value = self.values.get(self.function).map_or(f64::NAN, |at| at.value);
        let rise = 2.0 * (nll - self.best.nll);
        if !(rise.is_finite() && value.is_finite()) {
            return Ok(Err("twice_nll or the function is not finite at a conditional fit".to_owned()));
        }
        if rise < -1e-6 {
            return Ok(Err(format!(
                "a conditional fit is lower than the best fit by {:.3e} in twice_nll; search thoroughly",
                -rise
            )));
        }
        Ok(Ok(Point { datum, value, root: rise.max(0.0).sqrt() }))
    }
}
