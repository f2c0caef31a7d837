//! Plot of the p-values of tested values, with confidence intervals.

use ns_viz::Confidence;

use super::remarks;
use crate::IntervalResult;

/// Builds the plot of an interval with toys. Returns `None` without toys, because no p-values were computed then.
#[must_use]
pub fn interval(result: &IntervalResult) -> Option<Confidence> {
    let points = &result.points;
    if points.is_empty() {
        return None;
    }
    Some(Confidence {
        parameter: result.param.clone(),
        x: points.iter().map(|point| point.value).collect(),
        p_value: points.iter().map(|point| point.p_value).collect(),
        error: points.iter().map(|point| point.p_value_error).collect(),
        asymptotic: points.iter().map(|point| point.p_value_asymptotic).collect(),
        alpha: 1.0 - result.cl,
        interval: [result.lower.zip(result.lower_error), result.upper.zip(result.upper_error)],
        asymptotic_interval: [result.asymptotic.lower, result.asymptotic.upper],
        subtitle: remarks([
            (!result.converged && !result.interrupted).then_some("not converged"),
            result.interrupted.then_some("interrupted"),
        ]),
        ..Confidence::default()
    })
}
