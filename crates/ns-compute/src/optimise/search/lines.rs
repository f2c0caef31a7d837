//! Searches along lines: varies single parameters, and descends from the points with the lowest `-ln L`.

use super::super::descend::descend;
use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, SHORT, attempt_below};
use super::single_parameter::LocalCurvature;

/// Returns the free parameters along which there may be a second minimum, the most promising first. They are chosen by
/// the slopes at `theta`. If `all` is true, the strongly nonlinear parameters are always returned.
///
/// The curvature of `-ln L` along a parameter has three parts: 1 from its constraint, a positive part from the data,
/// and `f''(alpha) sum_b r_b A_b` from the asymmetric part `A_b` of its effect. `r_b` is the derivative of `-ln L` with
/// respect to the expected yield of bin `b`, and `f` is the interpolation function of histosys. For the interpolation
/// code 4p, `f''` is between -1.25 and 3.75. Therefore a parameter can have a second minimum only if `sum_b r_b A_b` is
/// below -0.27 or above 0.8.
///
/// If there is such a parameter, other parameters with half this sum may change together with it, and are returned too.
/// The limits that the function uses are a little closer to 0. In models with kinks they are still closer, because the
/// barrier between two minima may be arbitrarily low.
fn promising(worker: &mut Worker, problem: &Problem<'_>, theta: &[f64], all: bool) -> Vec<usize> {
    let plan = problem.plan;
    let able = |p: usize| plan.policy.nonlinear[p] && !problem.fixed[p];
    if !(0..theta.len()).any(able) {
        return Vec::new();
    }
    worker.evaluate(problem, theta, 0.0);
    let slopes = &worker.scratch.slope;
    let beyond = |p: usize, share: f64| {
        let pull = plan.policy.nonlinearity.pull(p, slopes);
        let (least, most) = if plan.structure.has_kinks { (-0.15, 0.15) } else { (-0.25, 0.75) };
        pull < share * least || pull > share * most
    };
    if !all && !(0..theta.len()).any(|p| able(p) && beyond(p, 1.0)) {
        return Vec::new();
    }
    let mut chosen: Vec<usize> = (0..theta.len())
        .filter(|&p| able(p) && ((all && plan.policy.nonlinearity.amount[p] > 0.2) || beyond(p, 0.5)))
        .collect();
    // There may be thousands of parameters. The most promising ones come first.
    let strength = |p: usize| plan.policy.nonlinearity.pull(p, slopes).abs();
    chosen.sort_by(|&a, &b| strength(b).total_cmp(&strength(a)));
    chosen
}

/// Returns a measure of the nonlinearity at `theta`: the sum of `|sum_b r_b A_b|` over all free nonlinear parameters.
/// `r_b` is the derivative of `-ln L` with respect to the expected yield of bin `b`, and `A_b` the asymmetric part of
/// the parameter's effect on this bin (see [`promising`]).
pub(super) fn strain(worker: &mut Worker, problem: &Problem<'_>, theta: &[f64]) -> f64 {
    worker.evaluate(problem, theta, 0.0);
    let slopes = &worker.scratch.slope;
    let able = |&p: &usize| problem.plan.policy.nonlinear[p] && !problem.fixed[p];
    (0..theta.len()).filter(able).map(|p| problem.plan.policy.nonlinearity.pull(p, slopes).abs()).sum()
}

/// Limits of a search along single parameters.
#[derive(Clone, Copy)]
pub(super) struct Along {
    /// Whether every strongly nonlinear parameter is tried. If false, only the parameters are tried for which a second
    /// minimum is likely.
    pub(super) all: bool,
    /// Largest number of parameters that are tried.
    pub(super) parameters: usize,
    /// A descent starts from a point only if `-ln L` rises by less than this number from the minimum to the point.
    pub(super) rise: f64,
    /// Largest number of descents.
    pub(super) descents: usize,
}

/// Varies single parameters, and descends from the points with the lowest `-ln L`. Repeats this around every lower
/// minimum that is found.
pub(super) fn lines(worker: &mut Worker, problem: &Problem<'_>, along: Along, found: &mut BestSoFar) {
    let mut descents = 0;
    let mut failed: Vec<(usize, bool)> = Vec::new();
    loop {
        let minimum = found.best.theta.clone();
        let mut chosen = promising(worker, problem, &minimum, along.all);
        chosen.truncate(along.parameters);
        if chosen.is_empty() {
            return;
        }
        let Some(mut around) = LocalCurvature::new(worker, problem, &minimum) else { return };
        let mut candidates = Vec::new();
        let left = found.left(worker);
        for p in chosen {
            if problem.is_cancelled() {
                return;
            }
            if found.left(worker) < 0.5 * left {
                break;
            }
            around.look_along(worker, problem, p, along.rise, &mut candidates);
        }
        candidates.sort_by(|a, b| a.rise.total_cmp(&b.rise));
        let mut improved = false;
        for candidate in candidates {
            let key =
                (candidate.parameter, candidate.theta[candidate.parameter] > minimum[candidate.parameter]);
            if descents >= along.descents || found.is_spent(worker) {
                return;
            }
            if failed.contains(&key) {
                continue;
            }
            descents += 1;
            let mut start = candidate.theta;
            if problem.plan.structure.has_kinks {
                // The first step from a distant point may return across the kink at once. Therefore the other
                // parameters are minimised first.
                let mut held = problem.clone();
                held.fixed[candidate.parameter] = true;
                if let Ok(settled) = descend(worker, &held, &start, SHORT) {
                    found.iterations += settled.iterations;
                    start = settled.theta;
                }
            }
            if attempt_below(worker, problem, &start, found) {
                improved = true;
                break;
            }
            failed.push(key);
        }
        if !improved {
            return;
        }
    }
}
