//! Plot of a confidence region of two parameters.

use ns_viz::Region;

use super::remarks;
use crate::RegionResult;

/// Builds the plot of a region with its tested points and the border of the chi2 law.
#[must_use]
pub fn region(result: &RegionResult) -> Region {
    let alpha = 1.0 - result.cl;
    let tested = |inside: bool| {
        let chosen =
            result.points.iter().filter(move |point| point.p_value.is_some_and(|p| (p > alpha) == inside));
        chosen.map(|point| point.at).collect()
    };
    let has_toys = result.method == "feldman-cousins";
    let [x_parameter, y_parameter] = result.params.clone();
    let found: Vec<_> = result.border.iter().filter(|_| has_toys).collect();
    Region {
        x_parameter,
        y_parameter,
        alpha,
        best_fit: Some(result.best_fit),
        border: found.iter().filter_map(|point| point.at).collect(),
        error: found.iter().filter(|point| point.at.is_some()).map(|point| point.error).collect(),
        asymptotic: result.border.iter().filter_map(|point| point.asymptotic).collect(),
        inside: tested(true),
        outside: tested(false),
        subtitle: remarks([
            (!result.converged && !result.interrupted).then_some("not converged"),
            result.interrupted.then_some("interrupted"),
        ]),
        ..Region::default()
    }
}
