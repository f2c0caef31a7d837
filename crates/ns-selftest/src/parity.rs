//! Compares the results of sessions on a device with those of sessions on the CPU.

use ns_core::{Control, Data, Device, EvaluationRequest, Execution, Model, Session};
use ns_inference::{CpuSession, FitOptions, fit_batch, open_session};

use crate::check::Checks;
use crate::models;

/// Largest allowed difference of `-ln L` or of a gradient element, relative to the largest absolute value of `-ln L`
/// or of any gradient element.
const EVALUATION: f64 = 1e-11;

/// Largest allowed difference of best-fit values, as in `docs/selftest.md`. The unit is the parameter's uncertainty,
/// or 1 if the uncertainty is smaller or unknown.
const BEST_FIT: f64 = 1e-6;

/// Number of points at which each model is evaluated, and number of data sets that are fitted.
const POINTS: usize = 32;

const OPEN: &str = "device";
const BINNED: &str = "binned model";
const FITS: &str = "binned fits";
const SUMS: &str = "event sums";

/// Compares results of the device and of the CPU for both built-in models.
pub(crate) fn sessions(device: Device, checks: &mut Checks) {
    let execution = Execution { device, ..Execution::default() };
    for (name, model) in [(BINNED, models::binned()), (SUMS, models::events())] {
        let pair = model.and_then(|model| {
            let cpu = CpuSession::open(&model, &Execution::default()).map_err(|error| error.to_string())?;
            Ok((model, cpu))
        });
        let (model, cpu) = match pair {
            Ok(pair) => pair,
            Err(why) => {
                checks.failed(name, &why);
                continue;
            }
        };
        let there = match open_session(&model, &execution) {
            Ok(session) => session,
            Err(error) => {
                checks.missing(
                    OPEN,
                    &error.to_string(),
                    "See `nextstat devices`; the device cpu needs nothing.",
                );
                return;
            }
        };
        match evaluations(&model, &cpu, there.as_ref()) {
            Ok(difference) => {
                let what = format!("-ln L and gradient at {POINTS} points, relative");
                checks.compare(name, difference, EVALUATION, &what);
            }
            Err(why) => checks.failed(name, &why),
        }
        if name == BINNED {
            match fits(&model, &cpu, there.as_ref()) {
                Ok(difference) => {
                    let on_gpu = there.check().map_or(0, |check| check.n_fits);
                    let what =
                        format!("best fits of {POINTS} data sets ({on_gpu} on the GPU), in uncertainties");
                    checks.compare(FITS, difference, BEST_FIT, &what);
                }
                Err(why) => checks.failed(FITS, &why),
            }
        }
    }
}

/// Returns points around the initial parameter values, within the bounds, one point after another in one list.
fn points(model: &Model) -> Vec<f64> {
    let mut points = Vec::with_capacity(POINTS * model.parameters.len());
    for k in 0..POINTS {
        for (i, parameter) in model.parameters.iter().enumerate() {
            // The fractional parts of multiples of the golden ratio are distributed evenly.
            let fraction = ((k * model.parameters.len() + i) as f64 * 0.618_033_988_749_894_9).fract() - 0.5;
            let moved = parameter.init + 0.2 * fraction * parameter.init.abs().max(1.0);
            points.push(moved.clamp(parameter.bounds.0, parameter.bounds.1));
        }
    }
    points
}

/// Compares `-ln L` and its gradient on the device with those on the CPU. Returns the largest relative difference.
fn evaluations(model: &Model, cpu: &dyn Session, device: &dyn Session) -> Result<f64, String> {
    let points = points(model);
    let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
    let of = |session: &dyn Session| {
        session.evaluate(&Data::observed(), &points, request).map_err(|error| error.to_string())
    };
    let (here, there) = (of(cpu)?, of(device)?);
    let value = relative(&here.nll, &there.nll);
    let gradients = here
        .gradient
        .chunks(model.parameters.len())
        .zip(there.gradient.chunks(model.parameters.len()))
        .map(|(here, there)| relative(here, there));
    Ok(gradients.fold(value, worse))
}

/// Returns the largest difference between two arrays, divided by the largest absolute value in `here` or by
/// 1, whichever is larger; infinity if a number is not finite.
fn relative(here: &[f64], there: &[f64]) -> f64 {
    let size = here.iter().fold(1.0, |size: f64, x| size.max(x.abs()));
    if here.len() != there.len() {
        return f64::INFINITY;
    }
    here.iter().zip(there).map(|(a, b)| (a - b).abs() / size).fold(0.0, worse)
}

/// Returns the larger of two numbers; infinity if the second number is not finite.
fn worse(a: f64, b: f64) -> f64 {
    if b.is_finite() { a.max(b) } else { f64::INFINITY }
}

/// Returns the largest difference of best-fit values between the device and the CPU. The unit is the parameter's
/// uncertainty, or 1 if the uncertainty is smaller or unknown.
fn fits(model: &Model, cpu: &dyn Session, device: &dyn Session) -> Result<f64, String> {
    let datasets: Vec<_> = (0..POINTS)
        .map(|k| {
            let mut data = model.observed.clone();
            for (i, count) in data.main.iter_mut().enumerate() {
                let fraction = ((k * 7 + i) as f64 * 0.618_033_988_749_894_9).fract() - 0.5;
                *count = (*count + 2.0 * fraction * count.sqrt()).round();
            }
            data
        })
        .collect();
    let options = FitOptions::default();
    let of = |session: &dyn Session| {
        let control = Control { observer: None, cancel: None, task: None };
        fit_batch(model, session, datasets.clone(), &options, control).map_err(|error| error.to_string())
    };
    let (here, there) = (of(cpu)?, of(device)?);
    let mut largest = 0.0;
    for (k, pair) in here.fits.iter().zip(&there.fits).enumerate() {
        let (Ok(a), Ok(b)) = pair else { return Err(format!("the fit of data set {k} failed")) };
        for ((x, y), sigma) in a.parameters.iter().zip(&b.parameters).zip(&a.uncertainties) {
            let unit = sigma.unwrap_or(1.0).max(1.0);
            largest = worse(largest, (x - y).abs() / unit);
        }
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_differs() {
        assert_eq!(relative(&[1.0, 2.0], &[1.0, 2.0]), 0.0);
        assert_eq!(relative(&[1.0, 4.0], &[1.0, 5.0]), 0.25);
        assert_eq!(relative(&[1.0], &[f64::NAN]), f64::INFINITY);
        assert_eq!(relative(&[f64::NAN], &[1.0]), f64::INFINITY);
        assert_eq!(relative(&[1.0], &[]), f64::INFINITY);
    }
}
