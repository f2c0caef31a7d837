//! Builds the result of an upper limit. A warning gives the reason for each limit that was not found.

use serde::{Deserialize, Serialize};

use super::bracket::End;
use super::{LimitOptions, LimitScan, LimitSearch};
use crate::hypotest::asymptotic::{self, EXPECTED_SIGMAS};
use crate::hypotest::tester::Tester;
use crate::hypotest::{NsigmaOrder, StatisticName, statistic_name};
use crate::present::{exact, significant};
use crate::words;

/// If CLs at a limit differs from `1 - cl` by more than this number, the result has a warning.
const JUMP: f64 = 1e-7;

/// CLs at the limits. If CLs is a continuous function of the tested value, CLs at each limit is `1 - cl`. A number is
/// `None` if the limit was not found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ClsAtLimit {
    /// Observed CLs at the observed limit; `None` if the observed limit was not found.
    pub observed: Option<f64>,
    /// Expected CLs at each of the five expected limits, in the order of the limits.
    pub expected: Vec<Option<f64>>,
}

/// The result of an upper limit. Serialises to the JSON of `nextstat upper-limit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct LimitResult {
    /// Name of the parameter of interest.
    pub param: String,
    /// Confidence level.
    pub cl: f64,
    /// Name of the test statistic.
    #[serde(deserialize_with = "statistic_name")]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub test_stat: StatisticName,
    /// Observed limit; `None` if CLs does not cross `1 - cl`, or if the observed limit was not asked for.
    pub observed: Option<f64>,
    /// Five limits expected under the background-only hypothesis, at -2 to +2 standard deviations. Empty if not asked
    /// for.
    pub expected: Vec<Option<f64>>,
    /// Numbers of standard deviations of the five expected limits.
    pub nsigma_order: NsigmaOrder,
    /// CLs at the observed and at the expected limits.
    pub cls_at_limit: ClsAtLimit,
    /// Best-fit value of the parameter of interest.
    pub mu_hat: f64,
    /// Number of values of the POI that were tested.
    pub n_evaluations: usize,
    /// CLs along a grid of values; `None` if not asked for.
    pub scan: Option<LimitScan>,
    /// Estimated error of the Asimov statistics at the limits, which comes from the numerical integration of expected
    /// events. `None` if the model has no event channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub asimov_error: Option<f64>,
    /// Whether every fit on which this result depends converged.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// Whether the caller stopped the work. Some results may then be missing.
    #[serde(skip)]
    pub interrupted: bool,
}

/// Returns CLs at the limit that the search `wanted` found; `None` if this search found no limit.
fn cls_at(tester: &Tester<'_>, wanted: &LimitSearch, options: &LimitOptions) -> Option<f64> {
    let Some(End::Found(value)) = wanted.search.end() else { return None };
    let tested = tester.known(value, wanted.n_sigma.is_none())?;
    match wanted.n_sigma {
        None => asymptotic::observed(options.statistic, tested.q, tested.q_asimov).cls,
        Some(n) => asymptotic::expected(n, tested.q_asimov).cls,
    }
}

/// If CLs jumps across `alpha`, i.e. 1 minus the confidence level, returns the limit and CLs at the limit. Returns
/// `None` if CLs at the limit equals `alpha`, or if the search `wanted` found no limit.
pub(super) fn jump(
    tester: &Tester<'_>,
    wanted: &LimitSearch,
    options: &LimitOptions,
    alpha: f64,
) -> Option<(f64, f64)> {
    let Some(End::Found(value)) = wanted.search.end() else { return None };
    let cls = cls_at(tester, wanted, options)?;
    ((cls - alpha).abs() > JUMP).then_some((value, cls))
}

/// Returns the reason why no limit can be at `value`: the test there has no power, so that CLs is 1 or does not exist.
/// Returns `None` if the test has power, or if the fits at `value` have not been made.
fn without_cls(tester: &Tester<'_>, value: f64, observed: bool) -> Option<String> {
    let tested = tester.known(value, observed)?;
    let powerless = tester.powerless(&tested)?;
    let verdict = if powerless.undefined { "CLs does not exist" } else { "CLs is 1" };
    Some(format!("{verdict}, since {}", powerless.why?))
}

/// Builds the result of an upper limit. A warning gives the reason for each limit that was not found.
pub(super) fn name_result(
    tester: &mut Tester<'_>,
    options: &LimitOptions,
    alpha: f64,
    searches: &[LimitSearch],
    scan: Option<LimitScan>,
    interrupted: bool,
) -> LimitResult {
    tester.judge_asimov();
    let name = tester.name().to_owned();
    let mut limits: Vec<Option<f64>> = Vec::with_capacity(searches.len());
    let mut missing: Vec<(String, Vec<String>)> = Vec::new();
    let level = significant(alpha);
    let band = asymptotic::expected_sigmas(tester.format());
    let raise = format!("raise that bound in {}", words::bounds(tester.format()));
    for wanted in searches {
        let which = match wanted.n_sigma {
            None => "the observed limit".to_owned(),
            Some(0.0) => "the median expected limit".to_owned(),
            Some(n) => {
                let nominal = band.iter().zip(EXPECTED_SIGMAS).find(|(own, _)| **own == n);
                format!("the expected limit at {:+} sigma", -nominal.map_or(n, |(_, nominal)| nominal))
            }
        };
        let observed = wanted.n_sigma.is_none();
        let limit = match wanted.search.end() {
            Some(End::Found(value)) if without_cls(tester, value, observed).is_none() => {
                tester.judge_at(value);
                Some(value)
            }
            Some(end) => {
                let reason = match end {
                    End::NotCrossed { upper }
                        if tester.known(upper, false).is_some_and(|t| t.q_asimov == 0.0)
                            && !tester.has_effect() =>
                    {
                        format!("{name} has no effect on what is expected; check its samples")
                    }
                    End::Found(value) | End::NotCrossed { upper: value }
                        if without_cls(tester, value, observed).is_some() =>
                    {
                        let why = without_cls(tester, value, observed).unwrap_or_default();
                        match end {
                            End::NotCrossed { upper } => format!(
                                "q_asimov is 0 up to the upper bound {} of {name}: {why}; {raise}",
                                exact(upper)
                            ),
                            _ => format!("q_asimov is 0 up to {name} = {}: {why}", significant(value)),
                        }
                    }
                    End::NotCrossed { upper } => {
                        format!(
                            "CLs stays above {level} up to the upper bound {} of {name}; {raise}",
                            exact(upper)
                        )
                    }
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
    let cls_of: Vec<Option<f64>> = searches.iter().map(|s| cls_at(tester, s, options)).collect();
    let cls = |n_sigma: Option<f64>| {
        searches.iter().zip(&cls_of).find(|(s, _)| s.n_sigma == n_sigma).and_then(|(_, cls)| *cls)
    };
    let mut jumps = Vec::new();
    for (limit, cls) in searches.iter().filter_map(|s| jump(tester, s, options, alpha)) {
        jumps.push(format!(
            "CLs jumps from {cls:.6} across {level} at {name} = {limit}: the fits of the other parameters have several \
             minima there, and no search connects them"
        ));
    }
    let expected =
        if options.observed_only { Vec::new() } else { band.iter().map(|n| at(Some(*n))).collect() };
    LimitResult {
        cl: options.cl,
        test_stat: options.statistic.name(),
        observed: at(None),
        cls_at_limit: ClsAtLimit {
            observed: cls(None),
            expected: expected.iter().zip(band).map(|(_, n)| cls(Some(n))).collect(),
        },
        expected,
        nsigma_order: NsigmaOrder::default(),
        mu_hat: tester.best_value(),
        n_evaluations: tester.n_evaluations,
        scan,
        asimov_error: tester.asimov_error(),
        converged: tester.converged,
        param: name,
        warnings: once(std::mem::take(&mut tester.notes).into_iter().chain(jumps)),
        interrupted,
    }
}

/// Removes repeated warnings, which arise when the searches are repeated.
fn once(notes: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for note in notes {
        if !kept.contains(&note) {
            kept.push(note);
        }
    }
    kept
}
