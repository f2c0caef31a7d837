//! CLs upper limit on the parameter of interest, observed and expected.
//!
//! An expected limit needs no CLs at all: the Asimov statistic at which the CLs of an n-sigma outcome
//! equals `1 - cl` has a closed form, so all five are crossings of one nearly straight function, the
//! root of the Asimov statistic. The observed limit is a crossing of CLs itself. All six are searched
//! together, each round one batch of fits.

pub(crate) mod bracket;
mod scan;

use ns_core::{Control, Model, Search, Session};
use serde::{Deserialize, Serialize};

pub use scan::LimitScan;

use crate::analysis::Analysis;
use crate::hypotest::NsigmaOrder;
use crate::hypotest::TestStatistic;
use crate::hypotest::asymptotic::{self, EXPECTED_SIGMAS};
use crate::hypotest::profile::Effort;
use crate::hypotest::tester::{Tested, Tester};
use crate::present::significant;
use crate::{FitOptions, InferenceError, options};
use bracket::{Bracket, End};

/// Largest accepted difference of a search function from its level: CLs is then exact to 1e-9.
const TOLERANCE: f64 = 1e-9;

/// Most runs of all searches. They are repeated if a lower minimum was found, then with a search in every fit.
const MOST_ATTEMPTS: usize = 8;

/// A larger difference of CLs at a limit from `1 - cl` gives a warning.
const JUMP: f64 = 1e-7;

/// Options of [`upper_limit`], built step by step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitOptions {
    /// Data, fixed parameters, start and search of all fits.
    pub fit: FitOptions,
    /// q or qtilde.
    #[serde(rename = "test_stat", deserialize_with = "options::text")]
    pub statistic: TestStatistic,
    /// Confidence level.
    pub cl: f64,
    /// Leave out the observed limit.
    pub expected_only: bool,
    /// Leave out the expected limits.
    pub observed_only: bool,
    /// Values at which CLs is wanted besides, for a picture.
    pub scan: Vec<f64>,
    /// With an empty `scan`: how many values to choose once the limits are known, from 0 (or the lower
    /// bound, if that is higher) to a quarter beyond the largest limit.
    pub auto_scan: Option<usize>,
}

impl Default for LimitOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            statistic: TestStatistic::Qtilde,
            cl: 0.95,
            expected_only: false,
            observed_only: false,
            scan: Vec::new(),
            auto_scan: None,
        }
    }
}

options::setters! { LimitOptions {
    fit: FitOptions, statistic: TestStatistic, cl: f64, expected_only: bool, observed_only: bool,
    scan: Vec<f64>, auto_scan: Option<usize>
} }

/// CLs at the limits found: each should be `1 - cl`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ClsAtLimit {
    /// Observed CLs at the observed limit.
    pub observed: Option<f64>,
    /// Expected CLs at each expected limit.
    pub expected: Vec<Option<f64>>,
}

/// The result of a limit. Serialises to the JSON of `nextstat upper-limit`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LimitResult {
    /// Name of the parameter of interest.
    pub param: String,
    /// Confidence level.
    pub cl: f64,
    /// Name of the statistic.
    pub test_stat: &'static str,
    /// The observed limit; `None` if CLs is not crossed, or was not asked for.
    pub observed: Option<f64>,
    /// Limits expected for background alone, at -2 to +2 standard deviations.
    pub expected: Vec<Option<f64>>,
    /// Standard deviations that the five expected values belong to.
    pub nsigma_order: NsigmaOrder,
    /// CLs at these limits.
    pub cls_at_limit: ClsAtLimit,
    /// Best-fit value of the parameter of interest.
    pub mu_hat: f64,
    /// Values of the parameter at which fits were made.
    pub n_evaluations: usize,
    /// CLs along a grid, if asked for.
    pub scan: Option<LimitScan>,
    /// Whether every fit behind these numbers reached its certificate.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// True if the caller stopped the work; what is missing was not computed.
    #[serde(skip)]
    pub interrupted: bool,
}

/// One limit that is searched.
struct LimitSearch {
    /// `None`: the observed one.
    n_sigma: Option<f64>,
    search: Bracket,
}

/// What a search function is at a tested value: positive below the limit, nearly straight.
fn level(wanted: Option<f64>, statistic: TestStatistic, alpha: f64, tested: &Tested) -> Option<f64> {
    match wanted {
        Some(n) => Some(asymptotic::expected_root(n, alpha) - tested.q_asimov.sqrt()),
        None => {
            // CLs falls about as a Gaussian: this root is nearly a straight line.
            let ln_cls = asymptotic::ln_cls(statistic, tested.q, tested.q_asimov);
            Some((-2.0 * alpha.ln()).sqrt() - (-2.0 * ln_cls).max(0.0).sqrt())
        }
    }
}

/// Finds the CLs upper limit: the value of the parameter of interest above which CLs stays below
/// `1 - cl`.
///
/// # Errors
/// If the model has no parameter of interest or holds it fixed, for a confidence level outside
/// (0.5, 1) or the statistic q0, if a first fit has no finite likelihood, or if the device fails.
pub fn upper_limit(
    model: &Model,
    session: &dyn Session,
    options: &LimitOptions,
    control: Control<'_>,
) -> Result<LimitResult, InferenceError> {
    if !(options.cl > 0.5 && options.cl < 1.0) {
        return Err(InferenceError::ConfidenceLevel { value: options.cl });
    }
    if options.statistic == TestStatistic::Q0 {
        return Err(InferenceError::WrongStatistic { analysis: "an upper limit", statistic: "q0" });
    }
    let alpha = 1.0 - options.cl;
    let analysis = Analysis::new(model, session, &options.fit, control)?;
    let points = if options.scan.is_empty() { options.auto_scan.unwrap_or(0) } else { options.scan.len() };
    let mut tester = Tester::new(analysis, options.statistic, "an upper limit", 30 + 2 * points)?;
    // In the smallest models every intermediate fit makes a search. In others the steps start from their neighbours' minima, as long
    // as these are consistent, and only the fits at the limits make a search.
    let mut effort = if tester.analysis.is_tiny() { Effort::Search } else { Effort::Follow };
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
        if interrupted || tester.n_lowered == lowered || attempt == MOST_ATTEMPTS {
            break;
        }
        // The earlier values were measured from another minimum.
        searches = open(&tester, options, alpha);
    }
    if scan.as_ref().is_some_and(|scan: &LimitScan| scan.interrupted) {
        interrupted = true;
    }
    Ok(name_result(tester, options, alpha, &searches, scan, interrupted))
}

/// Finds the limits and checks them: with searches at the values found, by comparing neighbours where
/// that is cheap or something is odd, and the grid. Where anything turns out lower, the caller begins again.
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
            // Without a result there is nothing more to find out.
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

/// The value at which a search ended, if a result or a warning depends on the fits there.
fn reported(end: End) -> Option<f64> {
    match end {
        End::Found(value) | End::NotCrossed { upper: value } => Some(value),
        _ => None,
    }
}

/// Runs the searches to their ends; each round asks every open one for a value.
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
            for ((i, _), tested) in asked.into_iter().zip(results) {
                if let Some(s) = searches.get_mut(i) {
                    let value =
                        tested.ok().and_then(|tested| level(s.n_sigma, options.statistic, alpha, &tested));
                    s.search.accept(value);
                }
            }
        }
        if !open {
            return Ok(());
        }
    }
}

/// Opens the searches that are wanted.
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
        for n in EXPECTED_SIGMAS {
            let root = asymptotic::expected_root(n, alpha);
            let search = Bracket::new(asimov, root, asimov + root * sigma, upper, TOLERANCE);
            list.push(LimitSearch { n_sigma: Some(n), search });
        }
    }
    if !options.expected_only {
        // At a best fit above the Asimov value the statistic is 0 and CLs at least 0.5. Otherwise CLs starts
        // from its limit at the Asimov value, which a deep deficit can push below any level.
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

/// CLs at the value where a search ended.
fn cls_at(tester: &Tester<'_>, wanted: &LimitSearch, options: &LimitOptions) -> Option<f64> {
    let Some(End::Found(value)) = wanted.search.end() else { return None };
    let tested = tester.known(value, wanted.n_sigma.is_none())?;
    match wanted.n_sigma {
        None => asymptotic::observed(options.statistic, tested.q, tested.q_asimov).cls,
        Some(n) => asymptotic::expected(n, tested.q_asimov).cls,
    }
}

/// Limit and CLs of a search that ended where CLs is not `1 - cl`.
fn jump(tester: &Tester<'_>, wanted: &LimitSearch, options: &LimitOptions, alpha: f64) -> Option<(f64, f64)> {
    let Some(End::Found(value)) = wanted.search.end() else { return None };
    let cls = cls_at(tester, wanted, options)?;
    ((cls - alpha).abs() > JUMP).then_some((value, cls))
}

/// Builds the result, with reasons for missing numbers.
fn name_result(
    mut tester: Tester<'_>,
    options: &LimitOptions,
    alpha: f64,
    searches: &[LimitSearch],
    scan: Option<LimitScan>,
    interrupted: bool,
) -> LimitResult {
    let name = tester.name().to_owned();
    let mut limits: Vec<Option<f64>> = Vec::with_capacity(searches.len());
    let mut missing: Vec<(String, Vec<String>)> = Vec::new();
    let level = significant(alpha);
    for wanted in searches {
        let which = match wanted.n_sigma {
            None => "the observed limit".to_owned(),
            Some(0.0) => "the median expected limit".to_owned(),
            Some(n) => format!("the expected limit at {:+} sigma", -n),
        };
        let limit = match wanted.search.end() {
            Some(End::Found(value)) => {
                tester.judge_at(value);
                Some(value)
            }
            Some(end) => {
                let reason = match end {
                    End::NotCrossed { upper }
                        if tester.known(upper, false).is_some_and(|t| t.q_asimov == 0.0)
                            && !tester.has_effect(upper) =>
                    {
                        format!("{name} has no effect on what is expected; check its samples")
                    }
                    End::NotCrossed { upper } => format!(
                        "CLs stays above {level} up to the upper bound {upper} of {name}; raise that bound in the \
                         measurement's \"parameters\""
                    ),
                    End::Below { low } => format!(
                        "CLs is below {level} at every value of {name} above {low}: the data lie too far below the \
                         background; use the statistic q, or look for what the model lacks"
                    ),
                    End::Wall { below } => format!(
                        "CLs stays above {level} up to {name} = {below}, and beyond it the likelihood is not finite"
                    ),
                    End::Exhausted { below } | End::Found(below) => format!(
                        "CLs stays above {level} up to {name} = {below}, where the search was given up"
                    ),
                };
                match missing.iter_mut().find(|(other, _)| *other == reason) {
                    Some((_, names)) => names.push(which),
                    None => missing.push((reason, vec![which])),
                }
                None
            }
            None => {
                match missing.iter_mut().find(|(other, _)| other == "interrupted") {
                    Some((_, names)) => names.push(which),
                    None => missing.push(("interrupted".to_owned(), vec![which])),
                }
                None
            }
        };
        limits.push(limit);
    }
    for (reason, names) in missing {
        let verb = if names.len() == 1 { "is" } else { "are" };
        tester.notes.push(format!("{} {verb} null: {reason}", names.join(", ")));
    }
    let at = |n_sigma: Option<f64>| {
        searches.iter().zip(&limits).find(|(s, _)| s.n_sigma == n_sigma).and_then(|(_, limit)| *limit)
    };
    let cls_of: Vec<Option<f64>> = searches.iter().map(|s| cls_at(&tester, s, options)).collect();
    let cls = |n_sigma: Option<f64>| {
        searches.iter().zip(&cls_of).find(|(s, _)| s.n_sigma == n_sigma).and_then(|(_, cls)| *cls)
    };
    let mut jumps = Vec::new();
    for (limit, cls) in searches.iter().filter_map(|s| jump(&tester, s, options, alpha)) {
        jumps.push(format!(
            "CLs jumps from {cls:.6} across {level} at {name} = {limit}: the fits of the other parameters have several \
             minima there, and no search connects them"
        ));
    }
    let expected = if options.observed_only {
        Vec::new()
    } else {
        EXPECTED_SIGMAS.iter().map(|n| at(Some(*n))).collect()
    };
    LimitResult {
        cl: options.cl,
        test_stat: options.statistic.name(),
        observed: at(None),
        cls_at_limit: ClsAtLimit {
            observed: cls(None),
            expected: expected.iter().zip(EXPECTED_SIGMAS).map(|(_, n)| cls(Some(n))).collect(),
        },
        expected,
        nsigma_order: NsigmaOrder::default(),
        mu_hat: tester.best_value(),
        n_evaluations: tester.n_evaluations,
        scan,
        converged: tester.converged,
        param: name,
        warnings: once(tester.notes.into_iter().chain(jumps)),
        interrupted,
    }
}

/// Notes without repetitions: the work may have been done more than once.
fn once(notes: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for note in notes {
        if !kept.contains(&note) {
            kept.push(note);
        }
    }
    kept
}
