//! Injection tests (closure, linearity): toys are drawn at several values of a parameter and fitted. The fitted values should
//! be the injected ones on average.
//!
//! At each value the other parameters are those of the conditional fit of the data.

mod line;
mod options;
mod result;

use std::time::Instant;

use ns_core::{Control, Model, Observer, Session};

pub use options::InjectionOptions;
pub use result::{Injected, InjectionResult, Line};

use crate::analysis::Analysis;
use crate::observed::Observed;
use crate::options::Point;
use crate::single_fits::of_single_fits;
use crate::toys::options::check_number;
use crate::toys::{FitToysOptions, GeneratingPoint, INTERRUPTED, fit_toys};
use crate::{InferenceError, parameter_index};

/// Name of the analysis in messages.
const WHAT: &str = "an injection test";

/// Distance of the seeds of neighbouring values.
const SEEDS: u64 = 1 << 32;

/// Draws toys at each of the values, fits them, and finds the bias and the line through the mean fitted values.
///
/// # Errors
/// If there is no value, a value is not finite or given twice, the parameter is unknown or fixed; and for the errors of fits
/// and toys. [`InferenceError::Cancelled`] if the caller stopped the work before the first toy.
pub fn injection(
    model: &Model,
    session: &dyn Session,
    options: &InjectionOptions,
    control: Control<'_>,
) -> Result<InjectionResult, InferenceError> {
    check_number(options.n_toys)?;
    let started = Instant::now();
    let silent = Control { observer: None, cancel: control.cancel, task: None };
    let mut analysis = Analysis::new(model, of_single_fits(session), &options.fit, silent)?;
    let index = match &options.param {
        Some(name) => parameter_index(model, name)?,
        None => analysis.poi(WHAT)?,
    };
    let name = model.parameters.get(index).map_or_else(String::new, |p| p.name.clone());
    if analysis.is_fixed(index) {
        return Err(InferenceError::PoiFixed { analysis: WHAT, name, format: model.format });
    }
    let values = values(options, &name)?;
    let mut observed = Observed::begin(&mut analysis, index)?;
    let mut warnings = model.warnings.clone();
    let mut points = Vec::with_capacity(values.len());
    let (mut converged, mut interrupted) = (true, false);
    for (k, value) in values.iter().copied().enumerate() {
        let at = observed.at(&mut analysis, &[(index, value)])?;
        let toys = FitToysOptions::default()
            .fit(options.fit.clone())
            .point(GeneratingPoint::At(Point::Values(at.parameters)))
            .params(vec![name.clone()])
            .n_toys(options.n_toys)
            .seed(options.seed.wrapping_add(SEEDS.wrapping_mul(k as u64)));
        let part = Part { control, done: k, of: values.len() };
        let own = Control { observer: Some(&part), cancel: control.cancel, task: None };
        let found = match fit_toys(model, session, &toys, own) {
            Err(InferenceError::Cancelled) if !points.is_empty() => {
                interrupted = true;
                break;
            }
            other => other?,
        };
        converged &= found.converged;
        interrupted |= found.interrupted;
        for warning in found.warnings {
            if !warnings.contains(&warning) && warning != INTERRUPTED {
                warnings.push(warning);
            }
        }
        let Some(study) = found.parameters.into_iter().next() else { continue };
        points.push(Injected { value, study, n_toys: found.n_toys, n_failed: found.n_failed });
        if interrupted {
            break;
        }
    }
    warnings.append(&mut observed.notes);
    if interrupted {
        warnings.push(INTERRUPTED.to_owned());
    }
    let line = line::through(&points);
    if points.len() > 1 && line.is_none() {
        warnings.push("line is null: a mean has no error; take more toys".to_owned());
    }
    let n: u64 = points.iter().map(|point| point.n_toys).sum();
    let seconds = started.elapsed().as_secs_f64();
    Ok(InjectionResult {
        param: name,
        points,
        line,
        seed: options.seed,
        toys_per_s: (n > 0 && seconds > 0.0).then(|| n as f64 / seconds),
        converged: converged && observed.best().converged() && observed.converged && !interrupted,
        interrupted,
        warnings,
    })
}

/// Returns the injected values in ascending order.
fn values(options: &InjectionOptions, name: &str) -> Result<Vec<f64>, InferenceError> {
    let bad = |problem: String| InferenceError::BadPoint { problem };
    let mut values = options.values.clone();
    if values.is_empty() {
        return Err(bad("there is no value to inject; give at least one".to_owned()));
    }
    if let Some(value) = values.iter().copied().find(|value| !value.is_finite()) {
        return Err(InferenceError::NotFinite { what: "the injected value", name: name.to_owned(), value });
    }
    values.sort_by(f64::total_cmp);
    if let Some(twice) = values.windows(2).find(|pair| pair.first() == pair.last()) {
        return Err(bad(format!(
            "the value {} is injected twice",
            twice.first().copied().unwrap_or_default()
        )));
    }
    Ok(values)
}

/// Reports the progress of one of several runs of the same length.
struct Part<'a> {
    control: Control<'a>,
    done: usize,
    of: usize,
}

impl Observer for Part<'_> {
    fn progress(&self, done: usize, total: usize) {
        self.control.progress(self.done * total + done, self.of * total);
    }
}
