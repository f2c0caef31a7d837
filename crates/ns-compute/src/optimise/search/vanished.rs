//! Searches for values of parameters that have no effect at the best point, because the amplitude in front of them is
//! at its bound. See "Amplitudes at a bound" in `docs/numerics/minima.md`.

use super::super::active::on_bound;
use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, attempt_below};
use super::shapes::between;

/// Largest and smallest number of values of a parameter at which the slope of an amplitude is computed. What the search
/// may cost decides.
const MOST_VALUES: usize = 64;
const FEWEST_VALUES: usize = 8;

/// Number of times that the distance to the neighbours of the value with the least slope is halved.
const HALVINGS: usize = 4;

/// Largest number of parameters without effect that are varied, and how often all of them are.
const MOST_IDLE: usize = 4;
const SWEEPS: usize = 2;

/// An amplitude leaves its bound if its slope times `1 + |x|` is below minus this number.
const LEAST_SLOPE: f64 = 1e-6;

/// Relative change of `-ln L` up to which a parameter has no effect.
const NO_EFFECT: f64 = 1e-12;

/// Descends from values of parameters without effect for which `-ln L` falls if an amplitude leaves its bound.
///
/// At the bound, `-ln L` does not depend on such a parameter, but the slope of the amplitude does. So a descent that
/// has reached the bound stays there, although the amplitude would leave it for other values.
pub(super) fn search_vanished(worker: &mut Worker, problem: &Problem<'_>, found: &mut BestSoFar) {
    if problem.physical || !found.best.theta.iter().enumerate().any(|(p, x)| is_amplitude(problem, p, *x)) {
        return;
    }
    let best = found.best.theta.clone();
    let value = worker.evaluate(problem, &best, 0.0).value();
    worker.gradient(problem, &best);
    let idle: Vec<usize> =
        (0..best.len()).filter(|&p| may_be_idle(problem, p) && worker.scratch.gradient[p] == 0.0).collect();
    if idle.is_empty() || idle.len() > MOST_IDLE {
        return;
    }
    let amplitudes: Vec<usize> = (0..best.len()).filter(|&p| is_amplitude(problem, p, best[p])).collect();
    let price = 2.0 * worker.prices.evaluation * (idle.len() * amplitudes.len()) as f64;
    let values = (found.left(worker) / price) as usize;
    if values < FEWEST_VALUES {
        return;
    }
    let sweeps = if idle.len() > 1 && values >= SWEEPS * MOST_VALUES { SWEEPS } else { 1 };
    for p in amplitudes {
        let values = values.min(MOST_VALUES);
        let mut scan = Scan { worker, problem, value, amplitude: p, values, theta: best.clone() };
        let Some(mut least) = scan.slope() else { continue };
        let before = least;
        for _ in 0..sweeps {
            for &s in &idle {
                scan.vary(s, &mut least);
            }
        }
        let start = scan.theta;
        if least < before && least * (1.0 + best[p].abs()) < -LEAST_SLOPE && !problem.is_cancelled() {
            attempt_below(worker, problem, &start, found);
        }
    }
}

/// Returns whether the parameter `p` with the value `x` is at a bound, so that what it multiplies may have vanished.
fn is_amplitude(problem: &Problem<'_>, p: usize, x: f64) -> bool {
    !problem.fixed[p] && problem.lower[p] < problem.upper[p] && on_bound(problem, p, x).is_some()
}

/// Returns whether the parameter `p` may be without effect: it is free and has no constraint term.
fn may_be_idle(problem: &Problem<'_>, p: usize) -> bool {
    let (lower, upper) = (problem.lower[p], problem.upper[p]);
    !problem.fixed[p]
        && !problem.plan.structure.constrained[p]
        && lower < upper
        && lower.is_finite()
        && upper.is_finite()
}

/// The slope of an amplitude at its bound, as a function of parameters without effect.
struct Scan<'s, 'a> {
    worker: &'s mut Worker,
    problem: &'s Problem<'a>,
    /// `-ln L` at the best point.
    value: f64,
    amplitude: usize,
    /// Number of values of each parameter.
    values: usize,
    /// The point with the least slope so far.
    theta: Vec<f64>,
}

impl Scan<'_, '_> {
    /// Returns the slope of `-ln L` if the amplitude leaves its bound at `theta`. Returns `None` if `-ln L` is not that
    /// of the best point, so that the varied parameter has an effect.
    fn slope(&mut self) -> Option<f64> {
        let here = self.worker.evaluate(self.problem, &self.theta, 0.0).value();
        if !((here - self.value).abs() <= NO_EFFECT * (1.0 + self.value.abs())) {
            return None;
        }
        self.worker.gradient(self.problem, &self.theta);
        let p = self.amplitude;
        let inward = on_bound(self.problem, p, self.theta[p])?;
        Some(inward * self.worker.scratch.gradient[p]).filter(|slope| slope.is_finite())
    }

    fn slope_at(&mut self, s: usize, x: f64) -> Option<f64> {
        self.theta[s] = x;
        self.slope()
    }

    /// Moves the parameter `s` to the value with the least slope, if it is below `least`.
    fn vary(&mut self, s: usize, least: &mut f64) {
        let (lower, upper, kept) = (self.problem.lower[s], self.problem.upper[s], self.theta[s]);
        let at = |part: f64| between(lower, upper, part);
        let mut width = 1.0 / (self.values - 1) as f64;
        let (mut slope, mut part) = (f64::INFINITY, 0.0);
        for k in 0..self.values {
            let other = k as f64 * width;
            let Some(here) = self.slope_at(s, at(other)) else {
                self.theta[s] = kept;
                return;
            };
            if here < slope {
                (slope, part) = (here, other);
            }
        }
        for _ in 0..HALVINGS {
            width /= 2.0;
            for other in [part - width, part + width] {
                let here = (0.0..=1.0).contains(&other).then(|| self.slope_at(s, at(other))).flatten();
                if let Some(here) = here.filter(|here| *here < slope) {
                    (slope, part) = (here, other);
                    break;
                }
            }
        }
        self.theta[s] = if slope < *least { at(part) } else { kept };
        *least = least.min(slope);
    }
}
