//! Observed and expected CLs upper limits on the parameter of interest.
//!
//! An expected limit depends only on the Asimov statistic, which is the test statistic of the data expected without
//! signal. A closed formula gives the value that this statistic has at the limit, i.e. where the expected CLs equals
//! `1 - cl` (`cl` is the confidence level). There are five such values, one for each expected limit. The search uses
//! the square root of the statistic, because it is a nearly linear function of the POI.
//!
//! The observed limit is the value of the POI at which CLs crosses `1 - cl`. The searches for all six limits run
//! together, and share what they find. In each round there is one batch of fits for the observed limit and one batch for the
//! expected limits.

pub(crate) mod bracket;
mod options;
mod result;
mod scan;

use ns_core::{Control, Model, Search, Session};

pub use options::LimitOptions;
pub use result::{ClsAtLimit, LimitResult};
pub use scan::LimitScan;

use crate::InferenceError;
use crate::analysis::Analysis;
use crate::hypotest::TestStatistic;
use crate::hypotest::asymptotic;
use crate::hypotest::profile::Effort;
use crate::hypotest::tester::{Tested, Tester};
use bracket::{Bracket, End};
use result::{jump, name_result};

/// Largest absolute value of the search function [`level`] that counts as 0. CLs at a limit is then exact to 1e-9.
const TOLERANCE: f64 = 1e-9;

/// Largest number of times that all searches are run. The searches are repeated if a fit found a lower minimum.
const MOST_ATTEMPTS: usize = 8;

/// After as many evaluations of CLs the search for limits is not repeated. A limit takes about ten.
const MOST_EVALUATIONS: usize = 1000;

/// The same where the free fit has not converged, so that the limits do not count anyway.
const MOST_WITHOUT_FIT: usize = 100;

/// The search for one limit.
struct LimitSearch {
    /// For an expected limit, its number of standard deviations, one of
    /// [`asymptotic::expected_sigmas`]. `None` for the observed
    /// limit.
    n_sigma: Option<f64>,
    search: Bracket,
}

/// Computes the search function of a limit at one tested value of the POI. This function is positive below the limit, 0
/// at the limit, and nearly linear. `wanted` is the number of standard deviations of an expected limit, or `None` for
/// the observed limit. `alpha` is 1 minus the confidence level.
fn level(wanted: Option<f64>, statistic: TestStatistic, alpha: f64, tested: &Tested) -> Option<f64> {
    match wanted {
        Some(n) => Some(asymptotic::expected_root(n, alpha) - tested.q_asimov.sqrt()),
        None => {
            // As a function of the tested value, CLs falls about like a Gaussian. The square root of its negative
            // logarithm is nearly linear.
            let ln_cls = asymptotic::ln_cls(statistic, tested.q, tested.q_asimov);
            Some((-2.0 * alpha.ln()).sqrt() - (-2.0 * ln_cls).max(0.0).sqrt())
        }
    }
}

/// Finds the CLs upper limit: the value of the parameter of interest at which CLs falls below `1 - cl`.
///
/// # Errors
/// If the model has no POI or fixes it, if the confidence level is not between 0.5 and 1, if the statistic is q0, if
/// `-ln L` is not finite in the free fit or in a fit for the Asimov set, or if the device fails.
pub fn upper_limit(
    model: &Model,
    session: &dyn Session,
    options: &LimitOptions,
    control: Control<'_>,
) -> Result<LimitResult, InferenceError> {
    let analysis = Analysis::new(model, session, &options.fit, control)?;
    upper_limit_at(analysis, options).map(|(result, _)| result)
}

/// Computes the limit as [`upper_limit`] does, for the data of `analysis`. Also returns the tester, which contains the
/// fits.
///
/// # Errors
/// The errors of [`upper_limit`].
pub(crate) fn upper_limit_at<'a>(
    analysis: Analysis<'a>,
    options: &LimitOptions,
) -> Result<(LimitResult, Tester<'a>), InferenceError> {
    if !(options.cl > 0.5 && options.cl < 1.0) {
        return Err(InferenceError::ConfidenceLevel { value: options.cl });
    }
    if options.statistic == TestStatistic::Q0 {
        return Err(InferenceError::WrongStatistic { analysis: "an upper limit", statistic: "q0" });
    }
    let alpha = 1.0 - options.cl;
    let points = if options.scan.is_empty() { options.auto_scan.unwrap_or(0) } else { options.scan.len() };
    let mut tester = Tester::new(analysis, options.statistic, "an upper limit", 30 + 2 * points)?;
    // In the smallest models every intermediate fit searches for the lowest minimum. In larger models an intermediate
    // fit is a single descent from a predicted point. Only the fits at the limits search for the lowest minimum. If
    // these fits find a lower minimum, all later fits make the search.
    let mut effort = if tester.analysis.is_tiny() { Effort::Search } else { Effort::Follow };
    let most = if tester.converged { MOST_EVALUATIONS } else { MOST_WITHOUT_FIT };
    let mut searches = open(&tester, options, alpha);
    let mut scan = None;
    let mut interrupted = false;
    for attempt in 1..=MOST_ATTEMPTS {
        let lowered = tester.n_lowered;
        let step = settle(&mut tester, &mut searches, options, alpha, &mut effort, &mut scan);
        interrupted = match step {
            Ok(()) => false,
            Err(InferenceError::Cancelled) => true,
            Err(error) => return Err(error),
        };
        let last = attempt == MOST_ATTEMPTS || tester.n_evaluations >= most;
        if interrupted || tester.n_lowered == lowered {
            break;
        }
        if last {
            let evaluations = tester.n_evaluations;
            tester.converged = false;
            tester.notes.push(format!(
                "the search for the limits was given up after {evaluations} tests of {}: fits still found lower minima of \
                 -ln L, which move the limits; look at the start values and bounds, and at yields that turn negative",
                tester.name()
            ));
            break;
        }
        // The function values of the earlier searches were relative to a minimum that is no longer the lowest.
        searches = open(&tester, options, alpha);
    }
    if scan.as_ref().is_some_and(|scan: &LimitScan| scan.interrupted) {
        interrupted = true;
    }
    let result = name_result(&mut tester, options, alpha, &searches, scan, interrupted);
    Ok((result, tester))
}

/// Finds the limits, in three steps. First, the searches for the limits run. Second, the fits at the limits are
/// repeated with a search for the lowest minimum; if the model is small or a result is suspicious, these fits are also
/// compared with those at neighbouring values. Third, CLs is computed along the grid. If any fit finds a lower minimum,
/// the function returns early. The caller then repeats the searches.
fn settle(
    tester: &mut Tester<'_>,
    searches: &mut [LimitSearch],
    options: &LimitOptions,
    alpha: f64,
    effort: &mut Effort,
    scan: &mut Option<LimitScan>,
) -> Result<(), InferenceError> {
    let lowered = tester.n_lowered;
    let small = tester.analysis.is_small();
    follow(tester, searches, options, alpha, *effort)?;
    if tester.n_lowered > lowered {
        return Ok(());
    }
    if options.fit.search != Search::Local {
        let mut found: Vec<f64> = Vec::new();
        for observed in [true, false] {
            let ends = searches.iter().filter(|s| s.n_sigma.is_none() == observed);
            let values: Vec<f64> = ends.filter_map(|s| reported(s.search.end()?)).collect();
            // The return value is not needed here, because `tester` keeps the fits.
            tester.test(&values, observed, Effort::Report)?;
            found.extend(values);
        }
        let odd = tester.n_lowered > lowered
            || searches.iter().any(|s| jump(tester, s, options, alpha).is_some())
            || tester.is_broken();
        if small || odd {
            tester.compare()?;
        }
        if tester.n_lowered > lowered && !small {
            tester.keep(&found);
        }
        if tester.n_lowered > lowered {
            *effort = Effort::Search;
            return Ok(());
        }
    }
    let ends: Vec<f64> = searches.iter().filter_map(|s| reported(s.search.end()?)).collect();
    if tester.check_asimov(&ends)? {
        return Ok(());
    }
    let grid = match options.auto_scan {
        Some(points) if options.scan.is_empty() => scan::cover(tester, searches, points),
        _ => options.scan.clone(),
    };
    if !grid.is_empty() {
        let effort = if small { Effort::Search } else { *effort };
        let result = scan::scan(tester, &grid, options, effort)?;
        let complete = !result.interrupted;
        *scan = Some(result);
        if complete && small {
            tester.compare()?;
        }
    }
    Ok(())
}

/// Returns the value of the POI at which a search ended, if a limit or a warning depends on the fits at this value.
/// Otherwise returns `None`.
fn reported(end: End) -> Option<f64> {
    match end {
        End::Found(value) | End::NotCrossed { upper: value } => Some(value),
        _ => None,
    }
}

/// Runs the searches for limits until all have ended. In each round, every search that has not ended proposes a value
/// to test.
///
/// # Errors
/// If the device fails or the caller stopped the work.
fn follow(
    tester: &mut Tester<'_>,
    searches: &mut [LimitSearch],
    options: &LimitOptions,
    alpha: f64,
    effort: Effort,
) -> Result<(), InferenceError> {
    loop {
        let mut open = false;
        for observed in [true, false] {
            let asked: Vec<(usize, f64)> = searches
                .iter()
                .enumerate()
                .filter(|(_, s)| s.n_sigma.is_none() == observed)
                .filter_map(|(i, s)| Some((i, s.search.next()?)))
                .collect();
            if asked.is_empty() {
                continue;
            }
            open = true;
            let values: Vec<f64> = asked.iter().map(|a| a.1).collect();
            let results = tester.test(&values, observed, effort)?;
            let value = |s: &LimitSearch, tested: &Tested| level(s.n_sigma, options.statistic, alpha, tested);
            for ((i, _), tested) in asked.iter().zip(&results) {
                if let Some(s) = searches.get_mut(*i) {
                    let value = tested.as_ref().ok().and_then(|tested| value(s, tested));
                    s.search.accept(value);
                }
            }
            // Each test has the Asimov statistic, of which all expected limits are roots.
            for ((_, x), tested) in asked.iter().zip(&results) {
                let Ok(tested) = tested else { continue };
                for s in searches.iter_mut().filter(|s| s.n_sigma.is_some()) {
                    if let Some(value) = value(s, tested) {
                        s.search.learn(*x, value);
                    }
                }
            }
        }
        if !open {
            return Ok(());
        }
    }
}

/// Starts the searches for the limits that the options ask for.
fn open(tester: &Tester<'_>, options: &LimitOptions, alpha: f64) -> Vec<LimitSearch> {
    let (_, upper) = tester.bounds();
    let asimov = tester.asimov.best_value();
    let sigma = tester
        .asimov
        .best
        .uncertainties
        .get(tester.poi)
        .copied()
        .flatten()
        .filter(|s| s.is_finite() && *s > 0.0)
        .unwrap_or(1.0);
    let mut list = Vec::new();
    if !options.observed_only {
        for n in asymptotic::expected_sigmas(tester.format()) {
            let root = asymptotic::expected_root(n, alpha);
            let search = Bracket::new(asimov, root, asimov + root * sigma, upper, TOLERANCE);
            list.push(LimitSearch { n_sigma: Some(n), search });
        }
    }
    if !options.expected_only {
        // If the best fit lies above the Asimov value, the search starts at the best fit, where the statistic is 0
        // and CLs is at least 0.5. Otherwise the search starts at the Asimov value, with the limit that CLs
        // approaches from larger values. This CLs can be arbitrarily small if there are far fewer events than
        // expected.
        let best = tester.best_value();
        let low = best.max(asimov);
        let ln_start = if best > asimov {
            -(2.0_f64.ln())
        } else {
            asymptotic::ln_cls(options.statistic, tester.observed.rise(asimov).unwrap_or(0.0), 0.0)
        };
        let value = (-2.0 * alpha.ln()).sqrt() - (-2.0 * ln_start).max(0.0).sqrt();
        let shift = 0.5 * (best - asimov);
        let guess = (asimov + asymptotic::expected_root(0.0, alpha) * sigma + shift).max(low + 0.1 * sigma);
        let search = Bracket::new(low, value, guess, upper, TOLERANCE);
        list.push(LimitSearch { n_sigma: None, search });
    }
    list
}
