//! Properties of conditional fits far from the best fit, and of fits without a unique minimum: scans of few points,
//! single fits with a parameter fixed, parameters whose product alone matters, and minima at a bound without a slope.

use ns_core::{Control, Data};
use ns_inference::{FitData, FitOptions, FitResult, ScanAxis, ScanOptions, fit, scan as profile};

use super::checks::Subject;
use super::reference::{SAME, noise};

/// Number of descents from random points that every conditional fit is compared with.
const STARTS: usize = 16;

/// Largest number of parameters of a model in which conditional fits are compared with descents from random points.
const MOST_SCATTERED: usize = 40;

/// Checks fits with one parameter fixed far from its best fit. No fit may end above a minimum that another analysis or
/// a descent from a random point finds, with or without uncertainties.
pub fn held(s: &mut Subject<'_>) {
    for parameter in s.choose(2) {
        let value = far(s, parameter);
        let Some(lowest) = lowest(s, parameter, value) else { continue };
        let name = s.name(parameter).to_owned();
        for uncertainties in [true, false] {
            let options = FitOptions::default().fix(&name, value).uncertainties(uncertainties);
            match fit(s.model, s.session, &options, Control::default()) {
                Ok(found) => {
                    let above = found.nll - lowest;
                    s.report.check(
                        "fit: far values are those of the minimum",
                        above <= SAME + noise(lowest),
                        above,
                        || {
                            format!(
                                "{name} = {value}, uncertainties {uncertainties}: above by {above:.3e} in nll"
                            )
                        },
                    );
                }
                Err(error) => s.report.refuse("fit of a far value", error.to_string()),
            }
        }
    }
}

/// Checks scans of one to three points far from the best fit.
pub fn sparse_scan(s: &mut Subject<'_>) {
    let parameters = s.choose(1);
    let Some(&parameter) = s.draw.some(&parameters, 1).first() else { return };
    let n = s.draw.integer(1, 3);
    let values: Vec<f64> = (0..n).map(|_| far(s, parameter)).collect();
    let name = s.name(parameter).to_owned();
    let options = ScanOptions::new(ScanAxis::param(&name).values(values));
    let result = match profile(s.model, s.session, &options, Control::default()) {
        Ok(result) => result,
        Err(error) => {
            s.report.refuse("scan of few points", error.to_string());
            return;
        }
    };
    for (value, delta) in result.mu_values.iter().zip(&result.twice_delta_nll) {
        let Some(delta) = delta else { continue };
        let Some(lowest) = lowest(s, parameter, *value) else { continue };
        let above = 0.5 * (result.twice_nll + delta) - lowest;
        s.report.check("scan: far points agree", above <= SAME + noise(lowest), above, || {
            format!("{name} = {value}, one of {n}: above by {above:.3e} in nll")
        });
    }
}

/// Returns a value of the parameter 5 to 50 uncertainties from its best fit. If such a value is outside the bounds, a
/// value between the best fit and the bound.
fn far(s: &mut Subject<'_>, parameter: usize) -> f64 {
    let p = &s.model.parameters[parameter];
    let ((lower, upper), best) = (p.bounds, s.best.bestfit[parameter]);
    let sigma = s.best.uncertainties[parameter].unwrap_or_else(|| 0.1 * (1.0 + best.abs()));
    let direction = if s.draw.chance(0.5) { 1.0 } else { -1.0 };
    let to = best + direction * s.draw.between(5.0, 50.0) * sigma;
    if (lower..=upper).contains(&to) {
        return to;
    }
    let bound = if direction > 0.0 { upper } else { lower };
    let bound = if bound == best { lower + upper - bound } else { bound };
    best + s.draw.between(0.4, 1.0) * (bound - best)
}

/// Returns the lowest `-ln L` known with `parameter` fixed at `value`: that of thorough searches, and of descents from
/// the best fit and, in models of up to [`MOST_SCATTERED`] parameters, from random points. Returns `None` if a bin has a
/// negative expected yield at one of these minima.
pub fn lowest(s: &mut Subject<'_>, parameter: usize, value: f64) -> Option<f64> {
    let (negative, missed) = (s.reference.negative_yield, s.reference.missed.len());
    let best = s.best.bestfit.clone();
    let held = [(parameter, value)];
    s.held(&held, &[best]);
    if s.model.parameters.len() <= MOST_SCATTERED {
        s.reference.multi_start(&held, STARTS, &mut s.draw);
    }
    let lowest = s.held(&held, &[]);
    if s.reference.negative_yield && !negative {
        s.reference.negative_yield = false;
        s.reference.missed.truncate(missed);
        return None;
    }
    Some(lowest)
}

/// Checks that parameters of which only the product matters have no uncertainty, and that they are named as flat. At the
/// largest product within the bounds they are not flat, but at their bounds.
pub fn products(s: &mut Subject<'_>) {
    let pair = ["mu", "mu2"].map(|name| s.model.parameter_index(name));
    let [Some(a), Some(b)] = pair else { return };
    if s.best.bestfit[a] * s.best.bestfit[b] < 1e-3 || !s.best.converged {
        return;
    }
    if [a, b].iter().all(|&i| s.best.bestfit[i] == s.model.parameters[i].bounds.1) {
        return;
    }
    for i in [a, b] {
        let name = s.name(i).to_owned();
        let named = s.best.uncertainties[i].is_none() && s.best.flat.contains(&name);
        s.report.check("flat: factors of a product are named", named, 1.0, || {
            format!("{name}: {:?}, flat {:?}", s.best.uncertainties[i], s.best.flat)
        });
    }
}

/// Checks fits of Asimov data whose minimum is at the bound of the POI, where the slope vanishes. Which parameters have
/// an uncertainty must not depend on rounding, so data that differ in their last digits must give the same kind of
/// answer.
pub fn slope_zero(s: &mut Subject<'_>) {
    let Some(poi) = s.model.poi() else { return };
    let (lower, upper) = s.model.parameters[poi].bounds;
    if lower != 0.0 || upper <= 0.0 {
        return;
    }
    let mut point: Vec<f64> = s.model.parameters.iter().map(|p| p.init).collect();
    point[poi] = 0.0;
    let Ok(data) = s.session.asimov(&point, &Data::observed()) else { return };
    let mut kinds: Vec<(Vec<bool>, Vec<String>, Vec<String>)> = Vec::new();
    for shift in [0.0, 3e-15, -3e-15, 1e-13, -1e-13] {
        let mut moved = data.counts(s.model).clone();
        for x in &mut moved.main {
            *x *= 1.0 + shift;
        }
        let options = FitOptions::default().data(FitData::Given(moved.into()));
        let Ok(found) = fit(s.model, s.session, &options, Control::default()) else { return };
        kinds.push(kind(&found));
    }
    let same = kinds.windows(2).all(|pair| pair[0] == pair[1]);
    s.report.check("fit: rounding does not decide at a bound", same, 1.0, || format!("{kinds:?}"));
}

/// Returns the kind of answer of a fit: for each parameter whether it has an uncertainty, and the names of parameters
/// at a bound and of flat parameters.
fn kind(found: &FitResult) -> (Vec<bool>, Vec<String>, Vec<String>) {
    let known = found.uncertainties.iter().map(Option::is_some).collect();
    (known, found.at_bound.clone(), found.flat.clone())
}
