//! Newton's method from one starting point.
//!
//! Each iteration uses the exact Hessian. If it is indefinite, the Gauss-Newton matrix replaces it, which is always
//! positive semi-definite. If a step fails, the Levenberg damping grows. Near the minimum a Cholesky factor is used
//! again as long as the EDM (estimated distance to the minimum) shrinks fast, because a gradient takes only a tenth
//! of the time of a factorisation.

use ns_core::{FitFailure, FitStatus, Reason};

use super::active::classify;
use super::curved_step::curve_step;
use super::endless::{FIRST_CHECK, falls_without_end};
use super::escape::escape;
use super::function_kinks::settle_on_kinks;
use super::not_finite::not_finite;
use super::step::step;
use super::wall::descend_within_walls;
use super::{Problem, Worker};
use crate::curvature::{Factored, Point, assemble, factor, solve};
use crate::eval::Likelihood;
use crate::events::Wall;
use crate::shared_constants::{EDM_MARGIN, LOWER_BY};

/// If the EDM (estimated distance to the minimum) of a certified point is larger than this number, one more Newton step
/// is made. An EDM of 1e-12 allows an error of 1.4e-6 uncertainties, which would be visible in differences between
/// fits.
const LAST_STEP: f64 = 1e-16;

/// Largest number of iterations of one descent.
pub(crate) const MOST_ITERATIONS: usize = 250;

/// After this number of Gauss-Newton steps in a descent, the exact Hessian is used even if it is indefinite. It is then
/// damped instead of being replaced by the Gauss-Newton matrix.
const PATIENCE: usize = 8;

/// The Cholesky factor of the Hessian is used again if a step reduces the EDM (estimated distance to the minimum) at
/// least to this fraction.
const GOOD_CONTRACTION: f64 = 2e-2;

/// A descent ends without convergence if the Levenberg damping exceeds this number.
const MOST_DAMPING: f64 = 1e10;

/// A starting point cannot be used if the curvature `n / expected^2` of the Poisson term of a bin with `n` events
/// exceeds this number. The expected yield of the bin is then nearly zero.
const MOST_CURVATURE: f64 = 1e100;

/// Number of the first trial points of a line search that are given up early if the densities of many more events than at
/// its start are out of the range of doubles. Such points are rarely lower, and take far longer than others.
const CAUTIOUS_TRIALS: usize = 2;

/// Largest number of trial points of one line search for which a correction to a curved step is tried (see
/// `curved_step`).
const CURVED_TRIALS: usize = 3;

/// A descent ends if its EDM (estimated distance to the minimum) is at most this multiple of what the rounding of the
/// parameters to doubles causes. That is four doubles from the minimum. Factors of 1e13 that cancel each other in the
/// published model `susy_2018_16_sleptons` have such minima.
const NEIGHBOURS: f64 = 64.0;

/// Largest EDM (estimated distance to the minimum) that predicts the remaining decrease of `-ln L` within a factor of
/// 10.
const FORESEEABLE: f64 = 0.1;

/// In the relaxed likelihood, a parabola replaces the Poisson term of a bin below this expected yield. The number is
/// a fraction of the bin's count.
const RELAXED_FLOOR: f64 = 0.1;

/// Fractions of the way to the origin of the fit at which a descent may start if it cannot start where it should. The
/// minimum of the relaxed likelihood, which is the alternative, can be very far from all data.
const TOWARDS_ORIGIN: [f64; 4] = [0.25, 0.5, 0.75, 1.0];

/// Status of a descent that makes no further progress.
const STUCK: FitStatus = FitStatus::NotConverged(Reason::NoProgress);

/// Options of a descent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    /// Whether the starting point is far from any minimum. The exact Hessian is usually indefinite at such a point.
    pub(crate) cold: bool,
    /// Whether the certificate of the minimum must come from the Hessian at the final point. If false, the Cholesky
    /// factor from an earlier point suffices.
    pub(crate) verify: bool,
    /// Largest number of iterations of the descent.
    pub(crate) iterations: usize,
    /// Value of `-ln L` at a known minimum. The descent ends early, without a certificate, if it is not expected to
    /// reach a lower value.
    pub(crate) beat: Option<f64>,
}

impl Mode {
    /// Returns the usual options. If `cold` is true, the starting point is far from any minimum.
    pub(crate) const fn from(cold: bool) -> Self {
        Self { cold, verify: false, iterations: MOST_ITERATIONS, beat: None }
    }
}

/// Result of a descent.
#[derive(Debug, Clone)]
pub(crate) struct Descent {
    pub(crate) theta: Vec<f64>,
    /// Value of `-ln L` at the final point, without the constants that depend on the data alone.
    pub(crate) likelihood: Likelihood,
    pub(crate) edm: f64,
    pub(crate) status: FitStatus,
    pub(crate) iterations: usize,
    pub(crate) indefinite: usize,
    /// Indices of the parameters along which `-ln L` has no curvature at the final point.
    pub(crate) flat: Vec<usize>,
    /// If an expected number of events is 0 at the final point and cannot fall further, one element per event channel.
    pub(crate) walls: Option<Vec<Wall>>,
    /// Indices of the parameters that are held on a kink of a function.
    pub(crate) kinks: Vec<usize>,
    /// Smallest ratio of a pivot to its diagonal element in the last factorisation of the Hessian; 1 if there was none.
    /// It is close to 0 if the likelihood is nearly flat along a direction.
    pub(crate) least_pivot: f64,
}

impl Descent {
    pub(crate) fn value(&self) -> f64 {
        self.likelihood.value()
    }
}

/// Minimises `-ln L`, beginning at `start` after it was moved into the bounds.
///
/// # Errors
/// If `-ln L` is not finite at `start`, and a descent of the relaxed likelihood (in which a parabola replaces the
/// Poisson term of small expected yields) does not reach a point at which `-ln L` is finite.
pub(crate) fn descend(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    mode: Mode,
) -> Result<Descent, FitFailure> {
    let mut theta: Vec<f64> = start.to_vec();
    for p in 0..theta.len() {
        if !problem.fixed[p] {
            theta[p] = theta[p].clamp(problem.lower[p], problem.upper[p]);
        }
    }
    if problem.plan.events.has_totals() {
        return descend_within_walls(worker, problem, theta, mode);
    }
    let mut found = from_finite(worker, problem, theta, mode)?;
    settle_on_kinks(worker, problem, mode, &mut found);
    Ok(found)
}

/// Moves the point `theta` to a point at which `-ln L` is finite, if it is not, and minimises from there.
///
/// # Errors
/// As [`descend`].
pub(super) fn from_finite(
    worker: &mut Worker,
    problem: &Problem<'_>,
    mut theta: Vec<f64>,
    mode: Mode,
) -> Result<Descent, FitFailure> {
    if !is_usable(worker, problem, &theta) && !move_to_usable(worker, problem, &mut theta) {
        // The relaxed likelihood is finite everywhere. Minimising it makes the expected yields of bins with counts
        // positive.
        let relaxed = run(worker, problem, theta, RELAXED_FLOOR, Mode::from(true));
        theta = relaxed.theta;
        if !worker.evaluate(problem, &theta, 0.0).value().is_finite() {
            return Err(not_finite(worker, problem, &theta));
        }
    }
    Ok(run(worker, problem, theta, 0.0, mode))
}

/// Returns whether a descent can start at `theta`. Evaluates `-ln L` there.
fn is_usable(worker: &mut Worker, problem: &Problem<'_>, theta: &[f64]) -> bool {
    let value = worker.evaluate(problem, theta, 0.0).value();
    let curvature = &worker.scratch.curvature[..problem.plan.n_bins()];
    value.is_finite() && curvature.iter().all(|c| c.abs() < MOST_CURVATURE)
}

/// Moves `theta` towards the origin of the fit, until a descent can start there. Returns false, and leaves `theta` as it
/// was, if no descent can start at the origin either, or if the fit is not that of a toy: searches of other fits find lower
/// minima from the minimum of the relaxed likelihood.
fn move_to_usable(worker: &mut Worker, problem: &Problem<'_>, theta: &mut Vec<f64>) -> bool {
    if !problem.physical || problem.origin.is_empty() {
        return false;
    }
    let started_at = theta.clone();
    for part in TOWARDS_ORIGIN {
        for p in (0..theta.len()).filter(|&p| !problem.fixed[p]) {
            let origin = problem.origin[p].clamp(problem.lower[p], problem.upper[p]);
            theta[p] = started_at[p] + part * (origin - started_at[p]);
        }
        if is_usable(worker, problem, theta) {
            return true;
        }
    }
    *theta = started_at;
    false
}

/// Runs the iterations of a descent. With `floor > 0` it minimises the relaxed likelihood, in which a parabola replaces
/// the Poisson term of a bin whose expected yield is below `floor` times its count. It then stops as soon as all bins
/// with counts have positive expected yields.
fn run(worker: &mut Worker, problem: &Problem<'_>, mut theta: Vec<f64>, floor: f64, mode: Mode) -> Descent {
    let (plan, level, tolerance) = (problem.plan, problem.level, problem.edm_tolerance());
    let mut here = worker.evaluate(problem, &theta, floor);
    worker.gradient(problem, &theta);
    let (mut damping, mut indefinite, mut iterations) = (0.0, 0, 0);
    let (mut factored, mut exact) = (false, false);
    let (mut edm, mut last_edm) = (f64::INFINITY, f64::INFINITY);
    let (mut flat, mut least_pivot) = (Vec::new(), 1.0);
    let mut stalled = 0;
    let mut escapes = 0;
    let mut status = FitStatus::NotConverged(Reason::IterationLimit);
    let least =
        if problem.physical && floor == 0.0 { here.value().min(0.0) + here.least } else { f64::NEG_INFINITY };
    'descent: while iterations < mode.iterations {
        iterations += 1;
        if problem.is_cancelled() {
            status = STUCK;
            break;
        }
        classify(worker, problem, &theta);
        let endless = iterations > FIRST_CHECK && falls_without_end(worker, problem, &theta);
        if here.value() < least || endless {
            status = FitStatus::NotConverged(Reason::Unbounded);
            break;
        }
        let reusable = !problem.curvature_is_free()
            && factored
            && exact
            && damping == 0.0
            && worker.active == worker.factored_active
            && worker.side == worker.factored_side;
        let mut fresh = false;
        if reusable {
            let (slope, last) = (&worker.slope, &worker.last_slope);
            worker.memory.push(
                theta.iter().zip(&worker.trial).map(|(now, before)| now - before),
                slope.iter().zip(last).map(|(now, before)| now - before),
            );
            edm = step(level, plan, worker, &theta);
        }
        if !reusable || !(edm <= GOOD_CONTRACTION * last_edm) {
            fresh = true;
            // The first iteration of a cold start does not try the exact Hessian.
            let mut exactness = if mode.cold && iterations == 1 { 0.0 } else { 1.0 };
            exact = exactness > 0.0;
            loop {
                let point = Point {
                    theta: &theta,
                    data: problem.data,
                    active: &worker.active,
                    side: &worker.side,
                    exactness,
                    damping,
                    tether: problem.tether(),
                };
                worker.spent += worker.prices.factorisation;
                assemble(
                    level,
                    plan,
                    &plan.structure.layout,
                    point,
                    &mut worker.scratch,
                    &mut worker.curvature,
                );
                match factor(level, &plan.structure.layout, &mut worker.curvature) {
                    Factored::Positive { flat: found, least } => {
                        (flat, least_pivot) = (found, least);
                        break;
                    }
                    // After many Gauss-Newton steps the exact Hessian is used again, because it follows a curved
                    // valley better. Damping makes it positive definite.
                    Factored::Indefinite if exactness > 0.0 && indefinite > PATIENCE && damping < 1e3 => {
                        exact = false;
                        damping = (damping * 10.0).max(1e-8);
                    }
                    Factored::Indefinite if exactness > 0.0 => {
                        if indefinite > PATIENCE {
                            damping = 0.0;
                        }
                        exactness = 0.0;
                        exact = false;
                        indefinite += 1;
                    }
                    // If elements of the matrix are not finite, no damping makes it positive definite.
                    Factored::Indefinite if damping > MOST_DAMPING => {
                        (edm, status) = (f64::INFINITY, STUCK);
                        break 'descent;
                    }
                    Factored::Indefinite => damping = (damping * 10.0).max(1e-6),
                }
            }
            worker.factored_active.copy_from_slice(&worker.active);
            worker.factored_side.copy_from_slice(&worker.side);
            factored = true;
            worker.memory.clear();
            edm = step(level, plan, worker, &theta);
        }
        let pushed = push_flat(worker, problem, &theta, &flat);
        let beaten = |known: f64| here.value() - EDM_MARGIN * edm >= known - LOWER_BY;
        if exact && !pushed && edm <= FORESEEABLE && mode.beat.is_some_and(beaten) {
            status = STUCK;
            break;
        }
        if floor > 0.0
            && worker.scratch.events.bad.is_none()
            && worker.scratch.lambda[..plan.n_bins()]
                .iter()
                .zip(&problem.data.main)
                .all(|(&l, &n)| n <= 0.0 || l > 0.0)
        {
            break;
        }
        if edm <= tolerance && !pushed && (damping == 0.0 || !exact) {
            if mode.verify && exact && !fresh {
                // The certificate must come from the Hessian at this point, which the next iteration factors.
                factored = false;
                continue;
            }
            if exact {
                status = FitStatus::Converged;
                if edm > LAST_STEP.min(tolerance) && floor == 0.0 {
                    last_step(worker, problem, &mut theta, &mut here, &mut edm);
                }
                break;
            }
            // The first iteration of a cold start has not used the exact Hessian yet.
            if mode.cold && iterations == 1 {
                continue;
            }
            // The point is stationary but not a minimum. The descent leaves it along a direction of negative
            // curvature.
            escapes += 1;
            let escaped = if escapes > 5 { None } else { escape(worker, problem, &theta, here) };
            let Some((point, value)) = escaped else {
                status = STUCK;
                break;
            };
            (theta, here) = (point, value);
            worker.evaluate(problem, &theta, floor);
            worker.gradient(problem, &theta);
            factored = false;
            continue;
        }
        // Smaller steps would have to move a parameter between two neighbouring numbers.
        // A large damping would make the EDM too small.
        let certain = exact && damping < 1.0 && !pushed && floor == 0.0;
        if certain && edm > tolerance && edm <= NEIGHBOURS * edm_of_rounding(worker, &theta) {
            status = STUCK;
            break;
        }
        last_edm = edm;
        worker.last_slope.copy_from_slice(&worker.slope);

        // Backtracking line search along the step.
        let descent: f64 = worker.slope.iter().zip(&worker.step).map(|(g, d)| g * d).sum();
        let noise = 8.0 * f64::EPSILON * here.scale;
        let mut t = 1.0;
        let mut accepted = None;
        let outliers = worker.scratch.events.outliers();
        for attempt in 0..12 {
            worker.scratch.events.set_caution((attempt < CAUTIOUS_TRIALS).then_some(outliers));
            let there = try_step(worker, problem, &theta, t, floor);
            let change = there.value() - here.value();
            let enough = 1e-4 * t * descent + noise;
            if there.value().is_finite() && change <= enough {
                accepted = Some(there);
                break;
            }
            if floor == 0.0 && there.value().is_finite() && attempt < CURVED_TRIALS && iterations > PATIENCE {
                factored = false;
                if let Some(corrected) = curve_step(worker, problem, &theta, here.value() + enough) {
                    accepted = Some(corrected);
                    break;
                }
            }
            // The new length is at the minimum of the parabola through both values and the slope. It is limited to
            // between 0.1 and 0.5 of the last length.
            let parabola =
                if change.is_finite() { -0.5 * descent * t * t / (change - descent * t) } else { 0.0 };
            t = if parabola.is_nan() { 0.1 * t } else { parabola.clamp(0.1 * t, 0.5 * t) };
        }
        worker.scratch.events.set_caution(None);
        match accepted {
            Some(there) => {
                let gain = here.value() - there.value();
                std::mem::swap(&mut theta, &mut worker.trial);
                here = there;
                worker.gradient(problem, &theta);
                if t == 1.0 {
                    damping = if damping > 1e-5 { damping * 0.1 } else { 0.0 };
                }
                // Counts the steps whose gain is not larger than rounding errors.
                if gain <= noise && edm < 1e3 * noise.max(tolerance) {
                    stalled += 1;
                    if stalled > 6 {
                        status = STUCK;
                        break;
                    }
                } else {
                    stalled = 0;
                }
            }
            None => {
                worker.evaluate(problem, &theta, floor);
                worker.gradient(problem, &theta);
                if fresh {
                    damping = (damping * 10.0).max(1e-4);
                    if damping > MOST_DAMPING {
                        status = STUCK;
                        break;
                    }
                }
                factored = false;
                last_edm = f64::INFINITY;
            }
        }
    }
    Descent {
        theta,
        likelihood: here,
        edm,
        status,
        iterations,
        indefinite,
        flat,
        least_pivot,
        walls: None,
        kinks: Vec::new(),
    }
}

/// Returns the EDM (estimated distance to the minimum) of the worst case in which every parameter is as close to the
/// minimum as a double can be: half of the distance between two doubles away.
fn edm_of_rounding(worker: &Worker, theta: &[f64]) -> f64 {
    let of = |p: usize| {
        let distance = 0.5 * (theta[p].abs().next_up() - theta[p].abs());
        0.5 * worker.curvature.scale[p] * distance * distance
    };
    (0..theta.len()).filter(|&p| worker.active[p]).map(of).sum()
}

/// Evaluates `-ln L` at `theta` plus the fraction `part` of the current step, after this point was moved into the
/// bounds. Writes the point to `worker.trial`.
fn try_step(worker: &mut Worker, problem: &Problem<'_>, theta: &[f64], part: f64, floor: f64) -> Likelihood {
    let mut trial = std::mem::take(&mut worker.trial);
    for p in 0..theta.len() {
        trial[p] = if worker.active[p] {
            (theta[p] + part * worker.step[p]).clamp(worker.box_lower[p], worker.box_upper[p])
        } else {
            theta[p]
        };
    }
    let there = worker.evaluate(problem, &trial, floor);
    worker.trial = trial;
    there
}

/// Takes the current step, and computes the EDM (estimated distance to the minimum) at its end with the same factor of
/// the Hessian. If the EDM does not become smaller, `theta`, `here` and `edm` do not change.
fn last_step(
    worker: &mut Worker,
    problem: &Problem<'_>,
    theta: &mut [f64],
    here: &mut Likelihood,
    edm: &mut f64,
) {
    let there = try_step(worker, problem, theta, 1.0, 0.0);
    let trial = std::mem::take(&mut worker.trial);
    if there.value() <= here.value() + 8.0 * f64::EPSILON * here.scale {
        worker.gradient(problem, &trial);
        classify(worker, problem, &trial);
        if worker.active == worker.factored_active && worker.side == worker.factored_side {
            let nearer = step(problem.level, problem.plan, worker, &trial);
            if nearer.abs() < *edm {
                *edm = nearer.abs();
                *here = there;
                theta.copy_from_slice(&trial);
            }
        }
    }
    worker.trial = trial;
}

/// Extends the step along those flat directions (without curvature) in which `-ln L` has a slope. The extension ends at
/// the bounds, or at ten times the size of the parameter. Returns whether there is such a direction.
fn push_flat(worker: &mut Worker, problem: &Problem<'_>, theta: &[f64], flat: &[usize]) -> bool {
    let n = theta.len();
    let mut pushed = false;
    for &p in flat {
        if !worker.active[p] {
            continue;
        }
        // The pivot of `p` is frozen. Therefore the solution for the unit vector of `p` is the flat direction itself.
        worker.unit.fill(0.0);
        worker.unit[p] = 1.0;
        solve(
            problem.level,
            &problem.plan.structure.layout,
            &mut worker.curvature,
            &worker.unit,
            &mut worker.newton,
        );
        worker.unit.fill(0.0);
        let own = worker.newton[p];
        if own == 0.0 || !own.is_finite() {
            continue;
        }
        let slope: f64 = (0..n).map(|q| worker.slope[q] * worker.newton[q] / own).sum();
        let reach = 1.0 + theta[p].abs();
        let expected: f64 = worker.scratch.lambda[..problem.plan.n_bins()].iter().map(|l| l.abs()).sum();
        if slope.abs() * reach <= 1e-9 + 64.0 * f64::EPSILON * expected {
            continue;
        }
        let mut length = 10.0 * reach;
        for q in (0..n).filter(|&q| worker.active[q]) {
            let move_q = -slope.signum() * worker.newton[q] / own;
            let room =
                if move_q > 0.0 { worker.box_upper[q] - theta[q] } else { worker.box_lower[q] - theta[q] };
            if move_q != 0.0 {
                length = length.min(room / move_q);
            }
        }
        if length > 0.0 {
            for q in (0..n).filter(|&q| worker.active[q]) {
                let to = worker.step[q] - slope.signum() * length * worker.newton[q] / own;
                worker.step[q] = to.clamp(worker.box_lower[q] - theta[q], worker.box_upper[q] - theta[q]);
            }
            pushed = true;
        }
    }
    pushed
}
