//! Properties of analyses that follow the profile likelihood of one parameter: MINOS, uncertainties, scans and
//! rankings.

use ns_core::{Control, FitRequest, Interpolation, Search, Start};
use ns_inference::minos::Interval;
use ns_inference::ranking::Side;
use ns_inference::{RankingOptions, ScanAxis, ScanOptions, ranking as rank, scan as profile};

use super::checks::Subject;
use super::far;
use super::reference::{SAME, noise};
use super::tests::thorough_is_above;

/// Returns the rise of `twice_nll` (`-2 ln L`) above the best fit if one parameter is fixed at `value`. The fit with
/// this parameter fixed uses the thorough search.
fn rise(s: &mut Subject<'_>, parameter: usize, value: f64) -> f64 {
    let near = [s.best.bestfit.clone()];
    2.0 * (s.held(&[(parameter, value)], &near) - s.best.nll)
}

/// Returns the rise of `-2 ln L` as [`rise`] does. If an upper bound on the rise is at most `limit`, returns this
/// bound instead. `further` is an additional starting point.
fn rise_at_most(
    s: &mut Subject<'_>,
    parameter: usize,
    value: f64,
    further: Option<Vec<f64>>,
    limit: f64,
) -> f64 {
    let near: Vec<Vec<f64>> = further.into_iter().chain([s.best.bestfit.clone()]).collect();
    let limit = s.best.nll + 0.5 * limit;
    let found = s.reference.at_most(false, &[(parameter, value)], &near, limit);
    2.0 * (found.unwrap_or(f64::INFINITY) - s.best.nll)
}

/// Checks MINOS intervals. At each end, the profile of `twice_nll` (`-2 ln L`) must be 1 above its minimum. Nearer to
/// the best fit, it must be less than 1 above the minimum.
pub fn minos(s: &mut Subject<'_>) {
    if !s.best.converged {
        return;
    }
    let intervals: Vec<Interval> = s.best.minos.iter().chain(&s.best.crossings).cloned().collect();
    for interval in intervals.iter().take(4) {
        let Some(parameter) = s.model.parameter_index(&interval.parameter) else { continue };
        let ends = [
            (-1.0, interval.lower_crossing, &interval.lower_reason),
            (1.0, interval.upper_crossing, &interval.upper_reason),
        ];
        for (direction, crossing, reason) in ends {
            match crossing {
                Some(value) => crossed(s, parameter, value, "MINOS"),
                None => not_crossed(s, parameter, direction, reason.as_deref().unwrap_or("")),
            }
        }
    }
}

/// Checks that the profile of `-2 ln L` is 1 above its minimum at `value`, and lower between `value` and the best
/// fit.
fn crossed(s: &mut Subject<'_>, parameter: usize, value: f64, what: &'static str) {
    let best = s.best.bestfit[parameter];
    let name = s.name(parameter).to_owned();
    let at = rise(s, parameter, value);
    let there = s.reference.lowest(false, &[(parameter, value)]).map(|lowest| lowest.point);
    let mut worst: Option<(f64, f64)> = None;
    for fraction in [0.3, 0.6, 0.9] {
        let x = best + fraction * (value - best);
        let between = rise_at_most(s, parameter, x, there.clone(), 1.0 + 1e-4);
        if between > 1.0 + 1e-4 && worst.is_none_or(|(_, r)| between > r) {
            worst = Some((x, between));
        }
    }
    // Beyond the end of the interval the profile may follow another minimum. The fits in between then also find this
    // minimum.
    let off = (at - 1.0).abs();
    s.report.check("MINOS: twice_nll has risen by 1", off <= 1e-4, off, || {
        format!("{what} {name} = {value}: {at}")
    });
    s.report.check("MINOS: the crossing is the first", worst.is_none(), 1.0, || {
        let (x, between) = worst.unwrap_or_default();
        format!("{what} {name} = {value}, but {between} already at {x}")
    });
}

/// Checks a side of the best fit on which MINOS found no end of the interval. On this side, the profile of `-2 ln L`
/// must not rise to 1 above its minimum.
fn not_crossed(s: &mut Subject<'_>, parameter: usize, direction: f64, reason: &str) {
    let name = s.name(parameter).to_owned();
    s.report.check("MINOS: a missing side has a reason", !reason.is_empty(), 1.0, || name.clone());
    if let Some((_, jump)) = reason.split_once("jumps across the level at ") {
        look_beyond(s, parameter, jump);
    }
    // The profile of the global minimum is continuous, but not that of the minima with positive yields.
    s.report.check("MINOS: the profile does not jump", !reason.contains("jumps"), 1.0, || {
        format!("{name} {direction}: {reason}")
    });
    let (lower, upper) = s.model.parameters[parameter].bounds;
    let (best, bound) = (s.best.bestfit[parameter], if direction < 0.0 { lower } else { upper });
    if reason.contains("only at the") {
        for fraction in [0.33, 0.67, 1.0] {
            let x = best + fraction * (bound - best);
            let at = rise_at_most(s, parameter, x, None, 1.0 + 1e-4);
            s.report.check("MINOS: no crossing within the bounds", at <= 1.0 + 1e-4, at - 1.0, || {
                format!("{name} = {x}: {at}, but: {reason}")
            });
        }
    }
}

/// Looks whether descents from the best fit to just beyond a jump of the profile end at a negative expected yield. `jump` begins
/// with the value of the parameter.
fn look_beyond(s: &mut Subject<'_>, parameter: usize, jump: &str) {
    let Some(Ok(value)) = jump.split(':').next().map(str::parse::<f64>) else { return };
    let start = s.best.bestfit.clone();
    let fixed = vec![(parameter, start[parameter] + 1.03 * (value - start[parameter]))];
    let start = Start::At(start.into());
    let request = FitRequest { start, fixed, search: Search::Local, ..FitRequest::default() };
    if let Some(fit) = s.reference.fit(false, request) {
        s.reference.look_at(false, &fit.parameters);
    }
}

/// Checks that an uncertainty agrees with the profile likelihood near the minimum. A missing uncertainty must have a
/// reason.
pub fn uncertainties(s: &mut Subject<'_>) {
    if !s.best.converged {
        return;
    }
    for parameter in s.choose(3) {
        let (lower, upper) = s.model.parameters[parameter].bounds;
        let best = s.best.bestfit[parameter];
        let name = s.name(parameter).to_owned();
        let Some(sigma) = s.best.uncertainties[parameter] else {
            let listed = s.best.at_bound.contains(&name) || s.best.at_kink.contains(&name);
            // Warnings contain only the first names of long lists. The list of flat parameters is therefore used.
            let flat = s.best.flat.contains(&name);
            s.report.check("uncertainty: a missing one has a reason", listed || flat, 1.0, || name.clone());
            if flat && !listed {
                // Along a flat direction the likelihood does not change near the minimum.
                let step = 1e-3 * (1.0 + best.abs());
                let values: Vec<f64> =
                    [best - step, best + step].into_iter().filter(|x| *x >= lower && *x <= upper).collect();
                // The direction is flat on one side only if another parameter that moves along the flat direction is
                // at a bound.
                let rises: Vec<f64> = values.iter().map(|x| rise(s, parameter, *x)).collect();
                let least = rises.iter().copied().fold(f64::INFINITY, f64::min);
                s.report.check("uncertainty: a flat direction is flat", least < 1e-5, least, || {
                    format!("{name} at {values:?}: {rises:?}")
                });
            }
            continue;
        };
        s.report.check("uncertainty: positive", sigma > 1e-12, 1.0, || format!("{name}: {sigma}"));
        // The uncertainty assumes that other parameters stay on their kink or bound. Away from the minimum they may
        // leave it.
        let conditional = !s.best.at_kink.is_empty() || !s.best.at_bound.is_empty();
        let least = if conditional { -1e-6 } else { 0.4 };
        // If a warning says that the two sides of a minimum differ, the same uncertainty is given for both sides. It
        // must lie between the values of the two sides.
        let one_for_both = s.best.warnings.iter().any(|w| {
            w.contains("the mean of both curvatures")
                || (w.contains("holds on one side only") && w.contains(name.as_str()))
        });
        let mut sides: Vec<(f64, f64, f64)> = Vec::new();
        for side in [-1.0, 1.0] {
            // Two distances are tried, because a parameter that reaches a bound changes the curvature. Points beyond
            // a kink are left out, because the curvature is different there.
            let kinked = s.model.interpolation != Interpolation::SMOOTH;
            let ratio = |s: &mut Subject<'_>, fraction: f64| {
                let x = best + side * fraction * sigma;
                let beyond = kinked && best.abs() > 1e-9 && x * best < 0.0;
                (x >= lower && x <= upper && !beyond).then(|| rise(s, parameter, x) / (fraction * fraction))
            };
            let Some(far) = ratio(s, 0.1) else { continue };
            let fine = (least..=2.5).contains(&far);
            let close = if fine { far } else { ratio(s, 0.01).unwrap_or(far) };
            sides.push((side, far, close));
        }
        let all = |wrong: &dyn Fn(f64) -> bool| !sides.is_empty() && sides.iter().all(|s| wrong(s.2));
        // Elsewhere along a bent valley the profile may rise as slowly as it likes.
        let bent = s.best.warnings.iter().any(|w| w.contains("functions bend the flat direction"));
        let least = if bent { -1e-6 } else { least };
        // Where functions make a minimum flatter than a parabola, a warning says that no uncertainty there is reliable.
        let is_flat = s.best.warnings.iter().any(|w| w.contains("the data hardly determine"));
        let most = if is_flat && s.model.has_function_factors() { f64::INFINITY } else { 2.5 };
        let outside = all(&|close| close < least) || all(&|close| close > most);
        for (side, far, close) in &sides {
            let holds = if one_for_both { !outside } else { (least..=most).contains(close) };
            let size = close.max(1e-9).ln().abs();
            s.report.check("uncertainty: the profile rises as it says", holds, size, || {
                format!(
                    "{name} = {best} +- {sigma}, side {side}: {far:.4} of the parabola at 0.1 sigma, {close:.4} at 0.01"
                )
            });
        }
    }
}

/// Checks that the points and crossings of a scan lie on the profile likelihood. The reference values are from fits
/// with the thorough search.
pub fn scan(s: &mut Subject<'_>) {
    let Some(poi) = s.model.poi() else { return };
    let options = ScanOptions::new(ScanAxis::default().points(5));
    let result = match profile(s.model, s.session, &options, Control::default()) {
        Ok(result) => result,
        Err(error) => {
            s.report.refuse("scan", error.to_string());
            return;
        }
    };
    let mut near = vec![s.best.bestfit.clone()];
    for (value, delta) in result.mu_values.iter().zip(&result.twice_delta_nll) {
        let Some(delta) = delta else { continue };
        let nll = s.held(&[(poi, *value)], &near);
        let off = 0.5 * (result.twice_nll + delta) - nll;
        if -off > SAME + noise(nll) {
            thorough_is_above(s, &format!("scan at {value}"), -off);
        }
        s.report.check("scan: points agree", off <= SAME + noise(nll), off, || {
            format!("at {value} above by {off:.3e} in nll")
        });
        if let Some(lowest) = s.reference.lowest(false, &[(poi, *value)]) {
            near = vec![lowest.point];
        }
    }
    for interval in &result.intervals {
        for crossing in [interval.lower, interval.upper].into_iter().flatten() {
            let at = 2.0 * s.held(&[(poi, crossing)], &near) - result.twice_nll;
            let off = (at - interval.level).abs();
            s.report.check("scan: crossings agree", off <= 1e-4 * interval.level, off, || {
                format!("level {} at {crossing}: {at}", interval.level)
            });
        }
        for reason in [&interval.lower_reason, &interval.upper_reason].into_iter().flatten() {
            s.report.check("scan: the profile does not jump", !reason.contains("jumps"), 1.0, || {
                format!("level {}: {reason}", interval.level)
            });
        }
    }
}

/// Checks that the refits of a ranking are conditional minima. If the POI is also fixed, at its value in the refit,
/// the lowest `-ln L` must not rise. At most `most` parameters are checked. If `all` is false, half of the rankings have no
/// impacts before the fit.
pub fn ranking(s: &mut Subject<'_>, most: usize, all: bool) {
    let Some(poi) = s.model.poi() else { return };
    let prefit = s.draw.chance(0.5) || all;
    let options = RankingOptions::default().prefit(prefit);
    let result = match rank(s.model, s.session, &options, Control::default()) {
        Ok(result) => result,
        Err(error) => {
            s.report.refuse("ranking", error.to_string());
            return;
        }
    };
    let entries: Vec<usize> = (0..result.ranking.len()).collect();
    for k in s.draw.some(&entries, most) {
        let entry = &result.ranking[k];
        let Some(parameter) = s.model.parameter_index(&entry.name) else { continue };
        for side in Side::ALL {
            let shift = entry.impacts.get(side);
            if !prefit && matches!(side, Side::PrefitUp | Side::PrefitDown) {
                continue;
            }
            let (Some(delta), Some(value)) = (shift.delta, shift.value) else {
                let reason = shift.reason.clone().unwrap_or_default();
                s.report.check("ranking: a missing impact has a reason", !reason.is_empty(), 1.0, || {
                    format!("{} {side:?}", entry.name)
                });
                continue;
            };
            let (lower, upper) = s.model.parameters[poi].bounds;
            let target = (result.mu_hat + delta).clamp(lower, upper);
            let Some(lowest) = far::lowest(s, parameter, value) else { continue };
            let near: Vec<Vec<f64>> = s
                .reference
                .lowest(false, &[(parameter, value)])
                .map(|found| found.point)
                .into_iter()
                .collect();
            let held = [(parameter, value), (poi, target)];
            let limit = lowest + SAME + noise(lowest);
            let both = s.reference.at_most(false, &held, &near, limit).unwrap_or(f64::INFINITY);
            let above = both - lowest;
            s.report.check("ranking: refits agree", above <= SAME + noise(lowest), above, || {
                format!(
                    "{} {side:?} = {value}: {} = {target} is {above:.3e} in nll above the thorough fit",
                    entry.name, result.param
                )
            });
        }
    }
}
