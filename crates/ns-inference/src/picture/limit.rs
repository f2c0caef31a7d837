//! Plot of CLs along the scan of a limit.

use ns_viz::Limit;

use super::{increasing, pick, remarks};
use crate::LimitResult;

/// Builds the plot of CLs along a scan of tested values, with the observed and expected limits. Returns `None` if the
/// result has no scan.
#[must_use]
pub fn limit(result: &LimitResult) -> Option<Limit> {
    let scan = result.scan.as_ref()?;
    let order = increasing(&scan.mu_values);
    let has_observed = scan.observed.iter().any(Option::is_some);
    let has_expected = scan.expected.iter().flatten().any(Option::is_some) && !result.expected.is_empty();
    let at = |list: usize, point: usize| scan.expected.get(list)?.get(point).copied().flatten();
    let expected = order.iter().map(|point| std::array::from_fn(|list| at(list, *point)));
    Some(Limit {
        poi: result.param.clone(),
        mu: pick(&scan.mu_values, &order),
        observed: if has_observed { pick(&scan.observed, &order) } else { Vec::new() },
        expected: if has_expected { expected.collect() } else { Vec::new() },
        alpha: 1.0 - result.cl,
        observed_limit: result.observed,
        expected_limits: std::array::from_fn(|i| result.expected.get(i).copied().flatten()),
        subtitle: remarks([
            (!result.converged).then_some("not all fits converged"),
            result.interrupted.then_some("interrupted"),
        ]),
        ..Limit::default()
    })
}
