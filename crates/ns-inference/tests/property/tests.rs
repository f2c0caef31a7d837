//! Properties of hypothesis tests, significances and limits.

use ns_core::{Control, Data, FitRequest, Search, Start};
use ns_inference::{
    FitOptions, HypotestOptions, HypotestResult, LimitOptions, hypotest as test, significance as discover,
    upper_limit,
};

use super::checks::{Subject, Turns};
use super::reference::{Lowest, SAME, noise};

/// Returns the result of the hypothesis test of `mu`. Results are stored, because several limits may need the same
/// test.
fn tested(s: &mut Subject<'_>, mu: f64) -> Option<HypotestResult> {
    if let Some((_, known)) = s.tests.iter().find(|(value, _)| *value == mu) {
        return known.clone();
    }
    let options = HypotestOptions::default();
    let result = match test(s.model, s.session, mu, &options, Control::default()) {
        Ok(result) => Some(result),
        Err(error) => {
            s.report.refuse("hypotest", error.to_string());
            None
        }
    };
    if let Some(result) = &result {
        aside(s, &result.warnings);
    }
    s.tests.push((mu, result.clone()));
    result
}

/// If a warning says that an expected yield is negative, marks the model as one with a negative expected yield at a
/// minimum.
fn aside(s: &mut Subject<'_>, warnings: &[String]) {
    s.reference.negative_yield |= warnings.iter().any(|w| w.contains("expects a negative number of events"));
}

/// Checks the free, conditional and Asimov fits of hypothesis tests at two values of the parameter of interest.
pub fn hypotest(s: &mut Subject<'_>, turns: Turns) {
    let Some(poi) = s.model.poi() else { return };
    let upper = s.model.parameters[poi].bounds.1;
    let sigma = s.best.uncertainties[poi].unwrap_or(0.5);
    let near = s.best.bestfit[poi].max(0.0) + s.draw.between(0.5, 3.0) * sigma;
    for (i, mu) in [1.0, near.clamp(0.05, upper)].into_iter().enumerate() {
        if !turns.of(i, 2) {
            continue;
        }
        let Some(result) = tested(s, mu) else { continue };
        compare(s, poi, mu, &result);
    }
}

fn compare(s: &mut Subject<'_>, poi: usize, mu: f64, result: &HypotestResult) {
    let free = s.held(&[], &[]);
    let above = 0.5 * result.twice_nll_free - free;
    s.report.check("hypotest: the free fit is not above", above <= SAME + noise(free), above, || {
        format!("mu={mu}: by {above:.3e} in nll")
    });
    let best = s.best.bestfit.clone();
    let conditional = s.held(&[(poi, mu)], &[best]);
    if let Some(twice) = result.twice_nll_conditional {
        let above = 0.5 * twice - conditional;
        if -above > SAME + noise(free) {
            thorough_is_above(s, &format!("hypotest at mu={mu}"), -above);
        }
        s.report.check(
            "hypotest: the conditional fit is not above",
            above <= SAME + noise(free),
            above,
            || format!("mu={mu}: by {above:.3e} in nll"),
        );
    }
    s.report.check("hypotest converges", result.converged, 1.0, || format!("mu={mu}: {:?}", result.warnings));
    // The reference generates its Asimov set in the same way, at the lowest minimum for `mu` = 0. A search from the
    // free fit may find this minimum too.
    let best = s.best.bestfit.clone();
    s.reference.search_from(false, &[(poi, 0.0)], &best, Search::Thorough);
    let at_zero = s.reference.lowest(false, &[(poi, 0.0)]);
    let Some(at_zero) = at_zero else { return };
    let Ok(data) = s.session.asimov(&at_zero.point, &Data::observed()) else { return };
    s.reference.set_asimov(data);
    let bounds = s.model.parameters[poi].bounds;
    let (Some(zero), Some(one)) = (
        s.reference.lowest_among(true, &[(poi, 0.0)], std::slice::from_ref(&at_zero.point)),
        s.reference.lowest_among(true, &[(poi, mu)], std::slice::from_ref(&at_zero.point)),
    ) else {
        return;
    };
    let open = ["flat", "not unique", "do not determine"];
    if bounds.0 > 0.0 || result.warnings.iter().any(|w| open.iter().any(|said| w.contains(said))) {
        return;
    }
    let expected = 2.0 * (one.nll - asimov_best(s, &zero, bounds)).max(0.0);
    let off = (result.q_asimov - expected).abs();
    // The Asimov set depends on the minimum for `mu` = 0. This minimum is known only with the precision of a
    // converged fit.
    s.report.check("hypotest: the Asimov statistic agrees", off <= 1e-5 * (1.0 + expected), off, || {
        format!("mu={mu}: {} and {expected} from thorough fits", result.q_asimov)
    });
}

/// Returns `-ln L` of the free fit to the Asimov set. If every bin has a positive expected yield, the best fit is the
/// point that generated the set. In a bin without background, the likelihood rises towards negative yields. As in
/// pyhf, the statistic then uses the best fit within the bounds of the measurement. A descent finds this fit.
fn asimov_best(s: &mut Subject<'_>, zero: &Lowest, bounds: (f64, f64)) -> f64 {
    let request = FitRequest {
        start: Start::At(zero.point.as_slice().into()),
        search: Search::Local,
        ..FitRequest::default()
    };
    let free = if bounds.0 < 0.0 { s.reference.fit(true, request) } else { None };
    free.map_or(zero.nll, |free| free.nll.min(zero.nll))
}

/// Checks that a hypothesis test returns numbers, or a reason for each missing number, even if yields at its minima
/// are negative. No statistic may be negative, and no number may be NaN.
pub fn numbers(s: &mut Subject<'_>) {
    let mu = 1.0;
    if let Some(result) = tested(s, mu) {
        let statistics = [result.q_obs, result.q_asimov];
        let right = statistics.iter().all(|q| *q >= 0.0 && q.is_finite());
        s.report
            .check("hypotest: the statistics are numbers", right, 1.0, || format!("mu={mu}: {statistics:?}"));
        let p = [result.cls, result.clsb, result.clb];
        let sets = [&result.expected_set.cls, &result.expected_set.clsb, &result.expected_set.clb];
        let all = p.iter().chain(sets.into_iter().flatten()).flatten();
        let right = all.into_iter().all(|p| (0.0..=1.0 + 1e-12).contains(p));
        let said = result.cls.is_some() || result.warnings.iter().any(|w| w.contains("null"));
        s.report
            .check("hypotest: p-values are probabilities", right && said, 1.0, || format!("mu={mu}: {p:?}"));
    }
}

/// Reports that an analysis found a lower minimum than the fit with the thorough search.
pub fn thorough_is_above(s: &mut Subject<'_>, what: &str, depth: f64) {
    s.report.check("an analysis is not below the thorough fit", false, depth, || {
        format!("{what}: lower by {depth:.3e} in nll")
    });
}

/// Checks that q0 is twice the difference in `-ln L` between the conditional fit at 0 and the best fit.
pub fn significance(s: &mut Subject<'_>) {
    let Some(poi) = s.model.poi() else { return };
    let result = match discover(s.model, s.session, &FitOptions::default(), Control::default()) {
        Ok(result) => result,
        Err(error) => {
            s.report.refuse("significance", error.to_string());
            return;
        }
    };
    aside(s, &result.warnings);
    let (free, best) = (s.held(&[], &[]), s.best.bestfit.clone());
    let rise = 2.0 * (s.held(&[(poi, 0.0)], &[best]) - free);
    let expected = if result.mu_hat < 0.0 { 0.0 } else { rise.max(0.0) };
    let off = (result.q0 - expected).abs();
    s.report.check("significance: q0 agrees", off <= 4.0 * (SAME + noise(free)), off, || {
        format!("{} and {expected} from thorough fits", result.q0)
    });
}

/// Returns the words by which warnings name a limit: the observed limit (`None`), or one of the five expected limits
/// (index 0 for -2 sigma to index 4 for +2 sigma).
fn spelled(which: Option<usize>) -> &'static str {
    let expected = [
        "the expected limit at -2 sigma",
        "the expected limit at -1 sigma",
        "the median expected limit",
        "the expected limit at +1 sigma",
        "the expected limit at +2 sigma",
    ];
    which.and_then(|i| expected.get(i).copied()).unwrap_or("the observed limit")
}

/// Checks the observed limit and the five expected limits. A test at a limit must give CLs = `1 - cl`, where `cl` is
/// the confidence level.
pub fn limit(s: &mut Subject<'_>, turns: Turns) {
    let Some(poi) = s.model.poi() else { return };
    let options = LimitOptions::default();
    let result = match upper_limit(s.model, s.session, &options, Control::default()) {
        Ok(result) => result,
        Err(error) => {
            s.report.refuse("upper-limit", error.to_string());
            return;
        }
    };
    aside(s, &result.warnings);
    let (lower, upper) = s.model.parameters[poi].bounds;
    let alpha = 1.0 - result.cl;
    let known: Vec<f64> = result.expected.iter().copied().flatten().collect();
    let ascend = known.windows(2).all(|w| w[0] <= w[1]);
    s.report.check("limit: expected limits ascend", ascend, 1.0, || format!("{:?}", result.expected));
    let inside = known.iter().chain(&result.observed).all(|x| *x >= lower && *x <= upper);
    s.report.check("limit: limits lie inside the bounds", inside, 1.0, || {
        format!("{:?} {:?} in [{lower}, {upper}]", result.observed, result.expected)
    });
    s.report.check("limit converges", result.converged, 1.0, || format!("{:?}", result.warnings));
    let limits = std::iter::once((None, result.observed))
        .chain(result.expected.iter().enumerate().map(|(i, x)| (Some(i), *x)));
    for (i, (which, value)) in limits.enumerate() {
        if !turns.of(i % 3, 3) {
            continue;
        }
        let name = which.map_or_else(|| "observed".to_owned(), |i| format!("expected[{i}]"));
        let read = |r: &HypotestResult| match which {
            None => r.cls,
            Some(i) => r.expected_set.cls.get(i).copied().flatten(),
        };
        let Some(value) = value else {
            // Each limit has its own reason. For example, one limit may be above the bound, while for another limit
            // CLs is below `1 - cl` at all values.
            let said = spelled(which);
            let why = result.warnings.iter().find(|w| w.contains("null: ") && w.contains(said));
            s.report.check("limit: a missing limit has a reason", why.is_some(), 1.0, || name.clone());
            if why.is_some_and(|w| w.contains("up to the upper bound"))
                && let Some(cls) = tested(s, upper).as_ref().and_then(read)
            {
                s.report.check("limit: none within the bounds", cls >= alpha - 1e-6, alpha - cls, || {
                    format!("{name}: CLs {cls} at the bound {upper}")
                });
            }
            continue;
        };
        let Some(at) = tested(s, value) else { continue };
        let cls = read(&at);
        let jump = result.warnings.iter().any(|w| w.contains("jumps") && w.contains(&format!("= {value}")));
        if jump {
            let step = 1e-6 * (1.0 + value.abs());
            let below = tested(s, value - step).as_ref().and_then(read).unwrap_or(f64::NAN);
            let above = tested(s, value + step).as_ref().and_then(read).unwrap_or(f64::NAN);
            s.report.check("limit: a jump is one", below > alpha && above < alpha, 1.0, || {
                format!("{name} {value}: CLs {below} below, {above} above")
            });
        } else {
            let off = cls.map_or(1.0, |cls| (cls - alpha).abs());
            s.report.check("limit: CLs there is 1 - cl", off <= 1e-6, off, || {
                format!("{name} {value}: CLs {cls:?}")
            });
        }
    }
}
