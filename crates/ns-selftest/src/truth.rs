//! Compares results of the CPU with formulae in closed form.

use ns_core::{Control, Data, EvaluationRequest, Execution, Model, Session};
use ns_inference::{CpuSession, FitOptions, fit};

use crate::check::Checks;
use crate::models::{END, EVENTS, counting, events, times};

const BINNED: &str = "binned fit on the CPU";
const SUMS: &str = "event sums on the CPU";

/// Checks two results of the CPU: a fit of a binned model, and `-ln L` of the model of events.
pub(crate) fn cpu(checks: &mut Checks) {
    match binned() {
        Ok(difference) => {
            let what = "best fit and uncertainty of one bin, (n - b)/s and sqrt(n)/s, in uncertainties";
            checks.compare(BINNED, difference, 1e-6, what);
        }
        Err(why) => checks.failed(BINNED, &why),
    }
    match sums() {
        Ok(difference) => {
            let what = format!("-ln L of {EVENTS} events against the formula, relative");
            checks.compare(SUMS, difference, 1e-12, &what);
        }
        Err(why) => checks.failed(SUMS, &why),
    }
}

/// Compares the best fit and the uncertainty of a fit of one bin with their exact values. Returns the larger
/// difference, in units of the uncertainty.
fn binned() -> Result<f64, String> {
    let (s, b, n) = (10.0, 50.0, 63.0_f64);
    let model = counting(s, b, n)?;
    let session = opened(&model)?;
    let control = Control { observer: None, cancel: None, task: None };
    let result = fit(&model, &session, &FitOptions::default(), control).map_err(|error| error.to_string())?;
    let width = n.sqrt() / s;
    let sigma = result.uncertainties.first().copied().flatten().ok_or("there is no uncertainty")?;
    let mu = result.bestfit.first().ok_or("there is no best fit")?;
    Ok((mu - (n - b) / s).abs().max((sigma - width).abs()) / width)
}

/// Evaluates `-ln L` of the model of events at several parameter points, and compares the differences between the
/// points with the exact formula. Returns the largest deviation, relative to the size of `-ln L`.
fn sums() -> Result<f64, String> {
    let model = events()?;
    let session = opened(&model)?;
    let at =
        |name: &str| model.parameters.iter().position(|p| p.name == name).ok_or("a parameter is missing");
    let (slope, n) = (at("slope")?, at("n")?);
    let points = [(0.35, 40_000.0), (0.2, 38_000.0), (0.6, 45_000.0)];
    let mut flat = vec![0.0; points.len() * model.parameters.len()];
    for (row, point) in flat.chunks_mut(model.parameters.len()).zip(&points) {
        row[slope] = point.0;
        row[n] = point.1;
    }
    let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
    let found = session.evaluate(&Data::observed(), &flat, request).map_err(|error| error.to_string())?.nll;
    let total: f64 = times().iter().sum();
    let formula = |(slope, n): &(f64, f64)| {
        let log = (slope / (1.0 - (-slope * END).exp())).ln();
        n - EVENTS as f64 * (n.ln() + log) + slope * total
    };
    let (Some(first), Some(exact)) = (found.first(), points.first().map(formula)) else {
        return Err("nothing was evaluated".to_owned());
    };
    // The constants of the likelihood cancel in differences, so only differences are compared.
    let of =
        |(point, nll): (&(f64, f64), &f64)| ((nll - first) - (formula(point) - exact)).abs() / exact.abs();
    Ok(points.iter().zip(&found).map(of).fold(0.0, f64::max))
}

fn opened(model: &Model) -> Result<CpuSession, String> {
    let execution = Execution { threads: 1, ..Execution::default() };
    CpuSession::open(model, &execution).map_err(|error| error.to_string())
}
