//! Plot of an injection test.

use ns_viz::Linearity;

use super::remarks;
use crate::InjectionResult;

/// Builds the plot of the bias against the injected value.
#[must_use]
pub fn injection(result: &InjectionResult) -> Linearity {
    let points = &result.points;
    Linearity {
        parameter: format!("injected {}", result.param),
        injected: points.iter().map(|point| point.value).collect(),
        bias: points.iter().map(|point| point.study.bias).collect(),
        error: points.iter().map(|point| point.study.bias_error).collect(),
        line: result.line.as_ref().map(|line| [line.intercept, line.slope, line.slope_error]),
        subtitle: remarks([
            (!result.converged && !result.interrupted).then_some("not all fits converged"),
            result.interrupted.then_some("interrupted"),
        ]),
        ..Linearity::default()
    }
}
