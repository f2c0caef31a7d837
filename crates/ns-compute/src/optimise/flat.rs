//! Flat directions of the likelihood: directions along which `-ln L` is constant at the minimum.
//!
//! The null space of the exact Hessian, together with the bounds, decides whether there are such directions. If there
//! are, the minimum is a valley. The result is the point of the valley that is nearest to the origin of the fit (the
//! start values, unless the caller gave others). It does not depend on where the descent entered the valley.

use ns_core::{FitStatus, Reason};

use super::active::{classify, on_bound, release_without_slope};
use super::descend::{Descent, Mode, descend};
use super::escape::{Spectrum, escape, spectrum};
use super::finish::NEGATIVE;
use super::null_space::{LEAST_SHARE, shares};
use super::worker::Tether;
use super::{Problem, Worker};
use crate::curvature::{Factored, Point, assemble, factor};
use crate::plan::EDM_TOLERANCE;

/// An eigenvalue of the Hessian, after it was scaled to a unit diagonal, belongs to a flat direction if it is at most
/// this number.
pub(super) const FLAT_FLOOR: f64 = 1e-10;

/// Steps towards a minimum leave out directions with an eigenvalue of at most this number (unit diagonal). Away from
/// the minimum, the eigenvalue of a curved valley is not zero.
const VALLEY_FLOOR: f64 = 1e-6;

/// Largest number of parameters of a model for which the full Hessian is computed to find flat directions.
pub(super) const LARGEST_WHOLE: usize = 3000;

/// A factorisation with a smaller pivot, in units of its diagonal element, is examined for flat directions.
const SMALL_PIVOT: f64 = 1e-4;

/// The curvature of a valley grows with the distance from its floor, which is at most the square root of twice the EDM
/// (estimated distance to the minimum) in units of uncertainties. A pivot counts as clearly positive if it is larger
/// than this number times that distance.
const PIVOT_PER_DISTANCE: f64 = 100.0;

/// A pivot counts as clearly positive at the floor of a valley if it is above this number, in units of its diagonal
/// element.
const CLEAR_PIVOT: f64 = 1e-8;

/// Strengths of the tethers, one after the other, in units of the smallest curvature of the parameters that take part
/// in a flat direction. The last tether shifts the other directions by about this part of the distance from the origin.
const STRENGTHS: [f64; 4] = [1.0, 1e-2, 1e-4, 1e-6];

/// Factor by which the tether of the parameter of interest is stronger, if it cannot keep its value exactly.
const PREFERENCE: f64 = 1e4;

/// A point counts as lower than a valley if its `-ln L` is lower by more than this number of rounding errors.
const LOWER: f64 = 100.0;

/// A factor of a product counts as 0 if its distance from 0, in units of its uncertainty with all other parameters held, is
/// at most this number.
const AT_ZERO: f64 = 1e-5;

/// Largest number of steps to the floor of a valley.
const MOST_STEPS: usize = 6;

/// Steps to the floor of a valley end if the EDM (estimated distance to the minimum) is below this number.
const NO_DISTANCE: f64 = 1e-24;

/// Returns whether the minimum may be a valley. Only then the full Hessian is examined. The gradient and the active
/// parameters of the worker must be those of the minimum.
pub(super) fn may_be_flat(worker: &mut Worker, problem: &Problem<'_>, best: &Descent) -> bool {
    let (plan, theta, n) = (problem.plan, &best.theta, best.theta.len());
    let products = plan.policy.edm_tolerance < EDM_TOLERANCE;
    let examined = match best.status {
        FitStatus::Converged => {
            products
                || !best.flat.is_empty()
                || best.least_pivot < SMALL_PIVOT
                || (0..n).any(|p| worker.active[p] && on_bound(problem, p, theta[p]).is_some())
        }
        FitStatus::NotConverged(ref reason) => *reason == Reason::NoProgress,
    };
    if !examined || n > LARGEST_WHOLE {
        return false;
    }
    let (layout, active, side) = (&plan.structure.layout, &worker.active, &worker.side);
    let data = problem.data;
    let point = Point { theta, data, active, side, exactness: 1.0, damping: 0.0, tether: &[] };
    assemble(problem.level, plan, layout, point, &mut worker.scratch, &mut worker.curvature);
    match factor(problem.level, layout, &mut worker.curvature) {
        Factored::Positive { flat, least } => !flat.is_empty() || !is_clear(least, best.edm),
        Factored::Indefinite => true,
    }
}

/// Returns whether a pivot, in units of its diagonal element, is clearly positive. `edm` is the EDM (estimated distance to
/// the minimum) of the point.
pub(super) fn is_clear(pivot: f64, edm: f64) -> bool {
    pivot > PIVOT_PER_DISTANCE * (2.0 * edm.max(0.0)).sqrt() + CLEAR_PIVOT
}

/// What [`settle`] found.
pub(super) enum Settled {
    /// The minimum is not a valley.
    Sharp,
    /// The minimum is a valley. It was moved to the point of the valley that is nearest to the origin.
    Flat,
    /// On the way to the origin there is a lower minimum, which replaced the other one.
    Lower,
}

/// If the minimum is a valley, moves it to the point of the valley that is nearest to the origin of the fit. The distance
/// counts in units of `1 + |origin|`, over the parameters that take part in flat directions. If possible, the parameter of
/// interest keeps its value at the origin exactly.
pub(super) fn settle(worker: &mut Worker, problem: &Problem<'_>, best: &mut Descent) -> Settled {
    let mut floor = best.clone();
    let Some(mut valley) = polish(worker, problem, &mut floor) else { return Settled::Sharp };
    let members = valley.members();
    if members.is_empty() {
        return Settled::Sharp;
    }
    *best = floor;
    let noise = EDM_TOLERANCE + 64.0 * f64::EPSILON * best.likelihood.scale;
    let highest = best.value() + noise;
    let home: Vec<f64> = (0..best.theta.len())
        .map(|p| {
            let at = if members.contains(&p) { problem.origin[p] } else { best.theta[p] };
            at.clamp(problem.lower[p], problem.upper[p])
        })
        .collect();
    let poi = problem.plan.structure.table.poi.filter(|p| members.contains(p));
    let found = best.theta.clone();
    let without: (Option<usize>, &[f64], &[f64]) = (None, &home, &[]);
    let with_poi = poi.map(|_| (poi, home.as_slice(), &STRENGTHS[..]));
    let attempts =
        [Some(without), with_poi, Some((None, &home, &STRENGTHS)), Some((None, &found, &STRENGTHS[2..]))];
    for (held, start, strengths) in attempts.into_iter().flatten() {
        let theta = tethered(worker, problem, (&members, &valley), held, start.to_vec(), strengths);
        let likelihood = worker.evaluate(problem, &theta, 0.0);
        let mut moved = Descent { theta, likelihood, ..best.clone() };
        if moved.value() < best.value() - LOWER * noise
            && let Ok(lower) = descend(worker, problem, &moved.theta, Mode::from(false))
            && lower.status == FitStatus::Converged
            && lower.value() < best.value() - LOWER * noise
        {
            *best = lower;
            return Settled::Lower;
        }
        // Without a tether, steps to the floor of the valley would not lead to its nearest point.
        if strengths.is_empty() && moved.value() > highest {
            continue;
        }
        let mut with_held = problem.clone();
        held.into_iter().for_each(|p| with_held.fixed[p] = true);
        let Some(there) = polish(worker, &with_held, &mut moved) else { continue };
        if moved.value() <= highest {
            (*best, valley) = (moved, there);
            break;
        }
    }
    if let Some(mut nearer) = nearer_face(worker, problem, (&members, &valley), best, highest)
        && let Some(there) = polish(worker, problem, &mut nearer)
    {
        (*best, valley) = (nearer, there);
    }
    // A flat direction may be one of negative curvature by more than rounding: two parameters of which one has no effect
    // while the other is 0, for example. Lower points lie along it.
    if valley.spectrum.values.iter().any(|value| *value < NEGATIVE) {
        worker.active.copy_from_slice(&valley.active);
        if let Some((point, _)) = escape(worker, problem, &best.theta, best.likelihood)
            && let Ok(lower) = descend(worker, problem, &point, Mode::from(false))
            && lower.status == FitStatus::Converged
            && lower.value() < best.value() - LOWER * noise
        {
            *best = lower;
            return Settled::Lower;
        }
    }
    best.edm = valley.edm;
    if valley.edm <= EDM_TOLERANCE {
        best.status = FitStatus::Converged;
    }
    Settled::Flat
}

/// Descends from `theta` with tethers that draw the members of a valley to their values at the origin, one tether after the
/// other, and returns the last point. The parameter `held` keeps its value.
fn tethered(
    worker: &mut Worker,
    problem: &Problem<'_>,
    (members, valley): (&[usize], &Valley),
    held: Option<usize>,
    mut theta: Vec<f64>,
    strengths: &[f64],
) -> Vec<f64> {
    let poi = problem.plan.structure.table.poi;
    let curvatures = members.iter().map(|&p| (valley.spectrum.scale[p] * unit(problem, p)).powi(2));
    let least = curvatures.filter(|c| *c > 0.0).fold(f64::INFINITY, f64::min);
    let least = if least.is_finite() { least } else { 1.0 };
    let mut problem = problem.clone();
    held.into_iter().for_each(|p| problem.fixed[p] = true);
    for strength in strengths {
        let mut tether = Tether { centre: problem.origin.clone(), strength: vec![0.0; theta.len()] };
        for &p in members {
            let preferred = if poi == Some(p) && members.len() > 1 { PREFERENCE } else { 1.0 };
            tether.strength[p] = strength * least * preferred / unit(&problem, p).powi(2);
        }
        problem.tether = Some(tether);
        match descend(worker, &problem, &theta, Mode::from(false)) {
            Ok(end) => theta = end.theta,
            Err(_) => break,
        }
    }
    theta
}

/// If a product of factors is best at 0, the valley consists of several faces: in each, one factor is 0, and the others are
/// free. Descents find one of them. Returns the point of the nearest face to the origin if it is nearer than `best`.
fn nearer_face(
    worker: &mut Worker,
    problem: &Problem<'_>,
    (members, valley): (&[usize], &Valley),
    best: &Descent,
    highest: f64,
) -> Option<Descent> {
    let poi = problem.plan.structure.table.poi;
    // In its own face, the factor that is 0 has a slope or a curvature, and is not among the members.
    let at_zero =
        |p: &usize| best.theta[*p].abs() * valley.spectrum.scale[*p] <= AT_ZERO && !problem.fixed[*p];
    let zeros = (0..best.theta.len()).filter(|p| !members.contains(p)).filter(at_zero);
    let members: Vec<usize> = members.iter().copied().chain(zeros).collect();
    let distance = |theta: &[f64]| {
        let squares = members.iter().map(|&p| {
            let weight = if poi == Some(p) { PREFERENCE } else { 1.0 };
            weight * ((theta[p] - problem.origin[p]) / unit(problem, p)).powi(2)
        });
        squares.sum::<f64>()
    };
    let mut least = (1.0 - 1e-6) * distance(&best.theta);
    let mut nearest = None;
    for &zero in members.iter().filter(|&&p| problem.lower[p] <= 0.0 && problem.upper[p] >= 0.0) {
        let mut theta = best.theta.clone();
        for &p in &members {
            theta[p] = problem.origin[p].clamp(problem.lower[p], problem.upper[p]);
        }
        theta[zero] = 0.0;
        if distance(&theta) >= least {
            continue;
        }
        let likelihood = worker.evaluate(problem, &theta, 0.0);
        if likelihood.value() <= highest {
            least = distance(&theta);
            nearest = Some(Descent { theta, likelihood, ..best.clone() });
        }
    }
    nearest
}

/// Returns the unit in which the distance of a parameter from the origin counts.
fn unit(problem: &Problem<'_>, p: usize) -> f64 {
    1.0 + problem.origin[p].abs()
}

/// The Hessian at a point of a valley.
struct Valley {
    spectrum: Spectrum,
    /// For each parameter, whether it may move.
    active: Vec<bool>,
    /// EDM (estimated distance to the minimum) over the directions with curvature.
    edm: f64,
}

impl Valley {
    /// Returns the indices of the parameters that take part in flat directions.
    fn members(&self) -> Vec<usize> {
        let share = shares(&self.spectrum, FLAT_FLOOR);
        (0..share.len()).filter(|&p| self.active[p] && share[p] > LEAST_SHARE).collect()
    }
}

/// Moves a minimum to the floor of its valley, as far as rounding allows, and returns the Hessian there. The steps have
/// no component along directions with almost no curvature. Returns `None` if there are no eigenvalues.
fn polish(worker: &mut Worker, problem: &Problem<'_>, best: &mut Descent) -> Option<Valley> {
    let n = best.theta.len();
    let noise = 8.0 * f64::EPSILON * best.likelihood.scale;
    let mut last = f64::INFINITY;
    for round in 1..=MOST_STEPS {
        worker.evaluate(problem, &best.theta, 0.0);
        worker.gradient(problem, &best.theta);
        classify(worker, problem, &best.theta);
        let before = worker.active.clone();
        release_without_slope(worker, problem, &best.theta);
        let active = worker.active.clone();
        // A step to the floor needs the whole gradient, also the slope that counts as zero.
        for p in (0..n).filter(|&p| active[p] && !before[p]) {
            worker.slope[p] = worker.scratch.gradient[p];
        }
        let found = spectrum(worker, problem, &best.theta)?;
        let (mut step, edm) = valley_step(&found, &worker.slope);
        let outwards: Vec<usize> = (0..n)
            .filter(|&p| {
                active[p] && on_bound(problem, p, best.theta[p]).is_some_and(|way| way * step[p] < 0.0)
            })
            .collect();
        if !outwards.is_empty() {
            for &p in &outwards {
                worker.active[p] = false;
            }
            let inside = spectrum(worker, problem, &best.theta)?;
            step = valley_step(&inside, &worker.slope).0;
            worker.active.copy_from_slice(&active);
        }
        let trial: Vec<f64> = (0..n)
            .map(|p| {
                let to = best.theta[p] + step[p];
                let moves = active[p] && !outwards.contains(&p) && to.is_finite();
                if moves { to.clamp(worker.box_lower[p], worker.box_upper[p]) } else { best.theta[p] }
            })
            .collect();
        let there = worker.evaluate(problem, &trial, 0.0);
        let better = edm < 0.1 * last && there.value() <= best.value() + noise;
        if round == MOST_STEPS || !better || edm < NO_DISTANCE {
            worker.evaluate(problem, &best.theta, 0.0);
            worker.gradient(problem, &best.theta);
            return Some(Valley { spectrum: found, active, edm });
        }
        last = edm;
        best.theta = trial;
        best.likelihood = there;
    }
    None
}

/// Returns the Newton step in the directions with an eigenvalue above [`VALLEY_FLOOR`], and the EDM (estimated distance
/// to the minimum) over these directions.
fn valley_step(spectrum: &Spectrum, gradient: &[f64]) -> (Vec<f64>, f64) {
    let n = gradient.len();
    let (mut step, mut edm) = (vec![0.0; n], 0.0);
    for (k, &value) in spectrum.values.iter().enumerate().filter(|(_, value)| **value > VALLEY_FLOOR) {
        let vector = &spectrum.vectors[k * n..(k + 1) * n];
        let slope: f64 = vector.iter().zip(gradient).map(|(v, g)| v * g).sum();
        edm += 0.5 * slope * slope / value;
        for (to, v) in step.iter_mut().zip(vector) {
            *to -= slope / value * v;
        }
    }
    (step, edm)
}
