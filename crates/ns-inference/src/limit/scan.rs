//! Computes CLs along a grid of values, for the plot of a limit.

use serde::{Deserialize, Serialize};

use super::bracket::End;
use super::{LimitOptions, LimitSearch};
use crate::InferenceError;
use crate::hypotest::NsigmaOrder;
use crate::hypotest::asymptotic::{self, EXPECTED_SIGMAS};
use crate::hypotest::profile::Effort;
use crate::hypotest::tester::Tester;

/// Number of values that are tested in one batch of fits. If the caller stops the work, the results of the current
/// batch are lost.
const CHUNK: usize = 8;

/// CLs along a grid of values of the POI. If a fit at a value failed, CLs at this value is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct LimitScan {
    /// Tested values of the POI.
    pub mu_values: Vec<f64>,
    /// Observed CLs, one number per tested value.
    pub observed: Vec<Option<f64>>,
    /// Expected CLs at -2 to +2 standard deviations: five lists with one number per tested value.
    pub expected: Vec<Vec<Option<f64>>>,
    /// Numbers of standard deviations of the five lists in `expected`.
    pub nsigma_order: NsigmaOrder,
    /// Whether the caller stopped the work before all values were tested.
    #[serde(skip)]
    pub interrupted: bool,
}

/// Length of an automatic grid of values, divided by the distance from the first value to the largest limit.
const BEYOND: f64 = 1.25;

/// If no limit was found, the automatic grid ends at this distance above the larger of two values of the POI: the best
/// fit to the observed data and the best fit to the Asimov set (expected data). The unit is the uncertainty of the POI.
const WITHOUT_LIMIT: f64 = 5.0;

/// Returns `points` equidistant values of the POI, within its bounds. The first value is 0, or the lower bound if
/// this bound is positive. The values extend beyond the largest limit found.
pub(super) fn cover(tester: &Tester<'_>, searches: &[LimitSearch], points: usize) -> Vec<f64> {
    let (lower, upper) = tester.bounds();
    let start = lower.max(0.0);
    let found = searches.iter().filter_map(|search| match search.search.end() {
        Some(End::Found(limit)) => Some(limit),
        _ => None,
    });
    let stop = match found.reduce(f64::max) {
        Some(limit) if limit > start => start + BEYOND * (limit - start),
        _ => {
            let sigma = tester.asimov.best.uncertainties.get(tester.poi).copied().flatten();
            let sigma = sigma.filter(|s| s.is_finite() && *s > 0.0).unwrap_or(1.0);
            start.max(tester.asimov.best_value()).max(tester.best_value()) + WITHOUT_LIMIT * sigma
        }
    };
    let stop = stop.min(upper);
    if points < 2 || !(stop > start) {
        return Vec::new();
    }
    let last = (points - 1) as f64;
    let value = |i: usize| if i + 1 == points { stop } else { start + (stop - start) * i as f64 / last };
    (0..points).map(value).collect()
}

/// Tests every value of the grid. If the caller stops the work, the result contains only the values that have been
/// tested.
///
/// # Errors
/// If the device fails.
pub(super) fn scan(
    tester: &mut Tester<'_>,
    grid: &[f64],
    options: &LimitOptions,
    effort: Effort,
) -> Result<LimitScan, InferenceError> {
    let mut result = LimitScan { expected: vec![Vec::new(); EXPECTED_SIGMAS.len()], ..LimitScan::default() };
    let (lower, upper) = tester.bounds();
    if let Some(outside) = grid.iter().copied().find(|value| *value < lower || *value > upper) {
        tester.note_outside(outside);
    }
    for chunk in grid.chunks(CHUNK) {
        let tested = match tester.test(chunk, !options.expected_only, effort) {
            Ok(tested) => tested,
            Err(InferenceError::Cancelled) => {
                result.interrupted = true;
                tester.notes.push(format!(
                    "interrupted after {} of {} points of the scan",
                    result.mu_values.len(),
                    grid.len()
                ));
                break;
            }
            Err(error) => return Err(error),
        };
        for (&value, tested) in chunk.iter().zip(tested) {
            result.mu_values.push(value);
            let tested = match tested {
                Ok(tested) => Some(tested),
                Err(reason) => {
                    tester.notes.push(format!("no CLs at {} = {value}: {reason}", tester.name()));
                    None
                }
            };
            if tested.as_ref().is_some_and(|t| !t.converged) {
                tester.judge_at(value);
            }
            let powerless = tested.as_ref().and_then(|t| tester.powerless(t));
            let undefined = powerless.as_ref().is_some_and(|p| p.undefined);
            if let Some(reason) = powerless.and_then(|p| p.note()) {
                tester.notes.push(format!("in the scan at {value}, {reason}"));
            }
            result.observed.push(
                tested
                    .as_ref()
                    .filter(|_| !options.expected_only && !undefined)
                    .and_then(|t| asymptotic::observed(options.statistic, t.q, t.q_asimov).cls),
            );
            let band = asymptotic::expected_sigmas(tester.format());
            for (list, n) in result.expected.iter_mut().zip(band) {
                list.push(tested.as_ref().and_then(|t| asymptotic::expected(n, t.q_asimov).cls));
            }
        }
    }
    Ok(result)
}
