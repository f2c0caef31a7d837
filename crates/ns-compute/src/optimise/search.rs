//! Which start points deserve a descent.

use ns_core::{Covariance, FitFailure, FitStatus, Reason, Search};

use super::descend::{Descent, Mode, descend};
use super::lines::Surroundings;
use super::neighbour::approach;
use super::scatter::{Census, MOST_FREE, MOST_STARTS, Scatter, may_have_several_minima, scattered};
use super::{Problem, Worker};
use crate::shared_constants::{MOST_FLIPS, MOST_FLIPS_BETWEEN_KINKS, MOST_RISE, MOST_RISE_BETWEEN_KINKS};

/// Models so small that a few more descents cost microseconds.
const SMALL_MODEL: usize = 24;

/// Iterations of all scattered descents, about.
const MOST_SCATTERED_ITERATIONS: usize = 1500;

/// A descent that is one of many: it gives up early.
const SHORT: Mode = Mode { iterations: 60, ..Mode::from(false) };

/// The best of several descents, with totals over all of them.
pub(super) struct Found {
    pub(super) best: Descent,
    pub(super) iterations: usize,
    pub(super) improved: usize,
    census: Census,
}

impl Found {
    fn new(best: Descent) -> Self {
        let mut census = Census::default();
        census.count(best.value());
        Self { iterations: best.iterations, best, improved: 0, census }
    }
}

/// Minimises from `start` (`cold`: far from any minimum) and, as `effort` asks, from elsewhere.
///
/// # Errors
/// If no start point has a finite likelihood.
pub(super) fn search(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    further: &[Vec<f64>],
    effort: Search,
    cold: bool,
    metric: Option<&Covariance>,
) -> Result<Found, FitFailure> {
    let first = match metric.map(|metric| approach(worker, problem, start, metric)) {
        None => descend(worker, problem, start, Mode::from(cold)),
        Some(Ok(descent)) => Ok(descent),
        Some(Err(reached)) => descend(worker, problem, &reached, Mode::from(false)),
    };
    let mut found = match first {
        Ok(best) => Found::new(best),
        Err(failure) => {
            // Any finite point will do as a beginning.
            let mut other = further.iter().filter_map(|s| descend(worker, problem, s, Mode::from(true)).ok());
            let Some(best) = other.next() else { return Err(failure) };
            Found::new(best)
        }
    };
    if effort == Search::Local {
        return Ok(found);
    }
    for other in further {
        attempt(worker, problem, other, &mut found);
    }
    let small = !problem.physical && start.len() <= SMALL_MODEL;
    if small {
        attempt_shifted(worker, problem, start, &mut found);
    }
    if runaway(&found.best) && !problem.physical {
        back(worker, problem, start, &mut found);
    }
    if runaway(&found.best) {
        return Ok(found);
    }
    look_around(worker, problem, start, Search::Standard, &mut found);
    // What the default search does comes first, so that a thorough one is never above it.
    if effort == Search::Thorough {
        if !small {
            attempt_shifted(worker, problem, start, &mut found);
        }
        look_around(worker, problem, start, Search::Thorough, &mut found);
    }
    Ok(found)
}

/// Looks for a minimum that is one, where the descents so far ran away.
fn back(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], found: &mut Found) {
    for index in 0..MOST_STARTS {
        let start = scattered(problem, start, index);
        short_attempt(worker, problem, &start, found);
        if !runaway(&found.best) {
            return;
        }
    }
}

/// Looks for lower minima around the best one, by every means that `effort` allows.
fn look_around(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], effort: Search, found: &mut Found) {
    if !problem.plan.has_kinks {
        mirror_strong_pulls(worker, problem, found);
    }
    flips(worker, problem, found, effort);
    if !problem.physical {
        let (most_rise, most) = match effort {
            Search::Thorough => (10.0, 400),
            _ => (5.0, 100),
        };
        let all = effort == Search::Thorough;
        lines(
            worker,
            problem,
            Along {
                all,
                parameters: if all { 4 * MOST_CHOSEN } else { MOST_CHOSEN },
                rise: most_rise,
                descents: most,
            },
            found,
        );
        let free = problem.fixed.iter().filter(|fixed| !**fixed).count();
        if problem.plan.bent && free <= MOST_HOPPING {
            hops(worker, problem, effort == Search::Thorough, found);
        }
    }
    everywhere(worker, problem, start, found);
}

/// Free parameters whose bend gives the data something to gain at `theta`; `all`: everything that bends.
///
/// The curvature of `-ln L` along a parameter is 1 from its constraint, something positive from the data, and
/// `f''(alpha) sum_b r_b A_b` from its bend. The second derivative `f''` of code 4p lies between 3.75 and -1.25: without a sum below
/// -0.27 or above 0.8 no parameter has a second minimum by itself, and none of them is worth a look. Where one is, others
/// may go with it that gain half as much. Kinks have barriers of any height.
fn promising(worker: &mut Worker, problem: &Problem<'_>, theta: &[f64], all: bool) -> Vec<usize> {
    let plan = problem.plan;
    let able = |p: usize| plan.bendable[p] && !problem.fixed[p];
    if !(0..theta.len()).any(able) {
        return Vec::new();
    }
    worker.evaluate(problem, theta, 0.0);
    let slopes = &worker.scratch.slope;
    let beyond = |p: usize, share: f64| {
        let pull = plan.bends.pull(p, slopes);
        let (least, most) = if plan.has_kinks { (-0.15, 0.15) } else { (-0.25, 0.75) };
        pull < share * least || pull > share * most
    };
    if !all && !(0..theta.len()).any(|p| able(p) && beyond(p, 1.0)) {
        return Vec::new();
    }
    let mut chosen: Vec<usize> = (0..theta.len())
        .filter(|&p| able(p) && ((all && plan.bends.amount[p] > 0.2) || beyond(p, 0.5)))
        .collect();
    // A model may have thousands: the most promising ones then.
    let strength = |p: usize| plan.bends.pull(p, slopes).abs();
    chosen.sort_by(|&a, &b| strength(b).total_cmp(&strength(a)));
    chosen
}

/// How far a search along single parameters goes.
#[derive(Clone, Copy)]
struct Along {
    /// Every parameter that bends, not only the promising ones.
    all: bool,
    /// Parameters at most.
    parameters: usize,
    /// Points that rise by more deserve no descent.
    rise: f64,
    /// Descents at most.
    descents: usize,
}

/// What a thorough search does around the end of each hop.
const AFTER_A_HOP: Along = Along { all: false, parameters: 12, rise: 3.0, descents: 6 };

/// Descends from the lowest points along single parameters, again around every new minimum.
fn lines(worker: &mut Worker, problem: &Problem<'_>, along: Along, found: &mut Found) {
    let mut descents = 0;
    let mut failed: Vec<(usize, bool)> = Vec::new();
    loop {
        let minimum = found.best.theta.clone();
        let mut chosen = promising(worker, problem, &minimum, along.all);
        chosen.truncate(along.parameters);
        if chosen.is_empty() {
            return;
        }
        let Some(mut around) = Surroundings::new(worker, problem, &minimum) else { return };
        let mut candidates = Vec::new();
        for p in chosen {
            if problem.is_cancelled() {
                return;
            }
            around.look_along(worker, problem, p, along.rise, &mut candidates);
        }
        candidates.sort_by(|a, b| a.rise.total_cmp(&b.rise));
        let mut improved = false;
        for candidate in candidates {
            let key =
                (candidate.parameter, candidate.theta[candidate.parameter] > minimum[candidate.parameter]);
            if descents >= along.descents {
                return;
            }
            if failed.contains(&key) {
                continue;
            }
            descents += 1;
            if attempt_below(worker, problem, &candidate.theta, found) {
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

/// Parameters that are followed by themselves at most; a thorough search takes four times as many.
const MOST_CHOSEN: usize = 64;

/// Free parameters of the largest model in which hops are made: in larger ones a descent takes too long.
const MOST_HOPPING: usize = 400;

/// Hops without success before the default search ends, and a thorough one.
const FEW_HOPS: usize = 40;
const HOPS: usize = 80;

/// Hops in the smallest models.
const LEAST_HOPS: usize = 10;

/// What the data have to gain from all bends together (in the units of [`promising`]) before the default search hops.
const LEAST_STRENGTH: f64 = 2.0;

/// How far above the best minimum the end of a hop may lie to be followed along single parameters.
const NEAR: f64 = 3.0;

/// Moves many bent parameters at once and goes down from there; stays where that is lower (basin hopping: Wales and Doye,
/// J. Phys. Chem. A 101 (1997) 5111). A thorough search follows single parameters from the end of every hop as well.
fn hops(worker: &mut Worker, problem: &Problem<'_>, thorough: bool, found: &mut Found) {
    let free = problem.fixed.iter().filter(|fixed| !**fixed).count();
    let most = if thorough || problem.plan.has_kinks { HOPS } else { FEW_HOPS };
    let most = most.min(free.max(LEAST_HOPS));
    let mut draw = Scatter::new(0xB0F);
    let mut failures = 0;
    let mut chosen = promising(worker, problem, &found.best.theta, thorough);
    let slopes = &worker.scratch.slope;
    let strength: f64 = chosen.iter().map(|&p| problem.plan.bends.pull(p, slopes).abs()).sum();
    if !thorough && !problem.plan.has_kinks && strength < LEAST_STRENGTH {
        return;
    }
    while failures < most && chosen.len() > 1 && !problem.is_cancelled() {
        let trial = hop(problem, &found.best.theta, &chosen, failures, &mut draw);
        failures += 1;
        let lower = if thorough {
            let Ok(end) = descend(worker, problem, &trial, SHORT) else { continue };
            if end.value() > found.best.value() + NEAR {
                found.iterations += end.iterations;
                continue;
            }
            let mut local = Found::new(end);
            lines(worker, problem, AFTER_A_HOP, &mut local);
            let (iterations, last) = (local.iterations, local.best.iterations);
            let lower = take(local.best, found);
            found.iterations += iterations - last;
            lower
        } else {
            attempt_below(worker, problem, &trial, found)
        };
        if lower {
            failures = 0;
            chosen = promising(worker, problem, &found.best.theta, thorough);
        }
    }
}

/// Where hop number `index` around `theta` goes: two or three of the chosen parameters mirrored, or a share of them mirrored
/// or drawn anew, free factors with them.
fn hop(problem: &Problem<'_>, theta: &[f64], chosen: &[usize], index: usize, draw: &mut Scatter) -> Vec<f64> {
    let mut trial = theta.to_vec();
    let mut put = |p: usize, to: f64| trial[p] = to.clamp(problem.lower[p], problem.upper[p]);
    let mut unit = || 0.5 * (draw.uniform() + 1.0);
    let share = match index % 4 {
        0 | 2 => {
            for _ in 0..2 + index / 4 % 2 {
                let p = chosen[((chosen.len() as f64 * unit()) as usize).min(chosen.len() - 1)];
                put(p, -theta[p]);
            }
            return trial;
        }
        1 => 0.25,
        _ => 0.8,
    };
    for &p in chosen {
        let (number, to) = (unit(), 4.0 * unit() - 2.0);
        if number < share {
            put(p, if number < 0.5 * share { -theta[p] } else { to });
        }
    }
    for p in 0..theta.len() {
        if !problem.fixed[p] && !problem.plan.constrained[p] && unit() < share {
            put(p, problem.plan.table.init[p] * (4.0 * unit() - 2.0).exp());
        }
    }
    trial
}

/// From all asymmetric parameters moved by a width up and down, and from free factors lower and higher: products of them
/// have several valleys.
fn attempt_shifted(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], found: &mut Found) {
    let plan = problem.plan;
    let ways: [(&[bool], bool, f64, f64); 4] = [
        (&plan.asymmetric, true, 1.0, 1.0),
        (&plan.asymmetric, true, 1.0, -1.0),
        (&plan.constrained, false, 0.3, 0.0),
        (&plan.constrained, false, 3.0, 0.0),
    ];
    for (marked, wanted, factor, shift) in ways {
        let mut other = start.to_vec();
        for p in 0..other.len() {
            if !problem.fixed[p] && marked[p] == wanted {
                other[p] = (factor * other[p] + shift).clamp(problem.lower[p], problem.upper[p]);
            }
        }
        if other != start {
            attempt(worker, problem, &other, found);
        }
    }
}

/// Small models: beyond the other side of each asymmetric parameter, and all over the box.
fn everywhere(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], found: &mut Found) {
    let free = problem.fixed.iter().filter(|&&fixed| !fixed).count();
    if free > MOST_FREE || !may_have_several_minima(problem) {
        return;
    }
    for p in 0..start.len() {
        if problem.plan.asymmetric[p] && !problem.fixed[p] && !problem.is_cancelled() {
            cross(worker, problem, p, found);
        }
    }
    let most = found.iterations + MOST_SCATTERED_ITERATIONS;
    for index in 0..MOST_STARTS {
        if found.census.is_complete() || found.iterations > most || problem.is_cancelled() {
            break;
        }
        let start = scattered(problem, start, index);
        short_attempt(worker, problem, &start, found);
    }
}

/// Holds one parameter on its other side (near 0: on either) until the others have followed, then
/// lets it go.
fn cross(worker: &mut Worker, problem: &Problem<'_>, p: usize, found: &mut Found) {
    let mut held = problem.clone();
    held.fixed[p] = true;
    let value = found.best.theta[p];
    let sides: &[f64] = if value.abs() < 0.5 { &[1.0, -1.0] } else { &[-value] };
    for far in sides {
        let mut trial = found.best.theta.clone();
        trial[p] = far.clamp(problem.lower[p], problem.upper[p]);
        if let Ok(other) = descend(worker, &held, &trial, SHORT) {
            found.iterations += other.iterations;
            short_attempt(worker, problem, &other.theta, found);
        }
    }
}

/// Like `attempt`, but gives up early on what is slow and not lower.
fn short_attempt(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], found: &mut Found) {
    let Ok(other) = descend(worker, problem, start, SHORT) else { return };
    if other.status != FitStatus::Converged && other.value() < found.best.value() {
        found.iterations += other.iterations;
        attempt(worker, problem, &other.theta, found);
    } else {
        take(other, found);
    }
}

/// Where an asymmetric parameter is pulled by more than its width, all such pulls are mirrored at
/// once: a second minimum often has several of them on their other side.
fn mirror_strong_pulls(worker: &mut Worker, problem: &Problem<'_>, found: &mut Found) {
    let mut trial = found.best.theta.clone();
    let mut mirrored = false;
    for p in 0..trial.len() {
        if problem.plan.bendable[p] && !problem.fixed[p] && trial[p].abs() > 1.0 {
            trial[p] = (-trial[p]).clamp(problem.lower[p], problem.upper[p]);
            mirrored = true;
        }
    }
    if mirrored {
        attempt(worker, problem, &trial, found);
    }
}

/// Descends from `start` and keeps the result if it is lower.
fn attempt(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], found: &mut Found) -> bool {
    let Ok(other) = descend(worker, problem, start, Mode::from(false)) else { return false };
    take(other, found)
}

/// The same for one of many starts around the best minimum, most of which lead back to it: it ends as soon as that is
/// foreseeable.
fn attempt_below(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], found: &mut Found) -> bool {
    let mode = Mode { beat: Some(found.best.value()), ..Mode::from(false) };
    let Ok(other) = descend(worker, problem, start, mode) else { return false };
    if other.status != FitStatus::Converged && other.value() >= found.best.value() {
        found.iterations += other.iterations;
        return false;
    }
    take(other, found)
}

/// Whether a descent left for where there is no minimum.
fn runaway(descent: &Descent) -> bool {
    descent.status == FitStatus::NotConverged(Reason::Unbounded)
}

/// Keeps the end of a descent if it is lower than the best one.
fn take(other: Descent, found: &mut Found) -> bool {
    found.iterations += other.iterations;
    found.census.count(other.value());
    let noise = 64.0 * f64::EPSILON * other.likelihood.scale + 1e-10;
    let better = match (runaway(&other), runaway(&found.best)) {
        // A certified minimum is an answer, however far down an unphysical slope leads elsewhere.
        (false, true) => other.status == FitStatus::Converged,
        (true, false) => found.best.status != FitStatus::Converged,
        _ => {
            other.value() < found.best.value() - noise
                || (other.status == FitStatus::Converged
                    && found.best.status != FitStatus::Converged
                    && other.value() < found.best.value() + noise)
        }
    };
    if better {
        found.best = other;
        found.improved += 1;
    }
    better
}

/// Tries the other side of pulled parameters whose effect is not the mirror image of itself.
///
/// A flipped point is worth a descent if it lies low, and lower than a single valley would
/// have it: a parabola rises four times as much to `-alpha` as to 0. At kinks
/// every low point counts, since each orthant may have a minimum of its own.
fn flips(worker: &mut Worker, problem: &Problem<'_>, found: &mut Found, effort: Search) {
    let plan = problem.plan;
    // How far above the minimum a flipped point may lie, and how many descents are made.
    let (threshold, most) = match (effort, plan.has_kinks) {
        (Search::Thorough, true) => (10.0, 1024),
        (Search::Thorough, false) => (10.0, 64),
        (_, true) => (MOST_RISE_BETWEEN_KINKS, MOST_FLIPS_BETWEEN_KINKS),
        (_, false) => (MOST_RISE, MOST_FLIPS),
    };
    let every_valley = plan.has_kinks || effort == Search::Thorough;
    let smallest = if every_valley { 0.0 } else { 0.25 };
    let mut descents = 0;
    let mut tried = vec![false; found.best.theta.len()];
    loop {
        let lowest = found.best.value();
        let mut trial = found.best.theta.clone();
        let mut candidates: Vec<(f64, usize)> = Vec::new();
        for p in 0..tried.len() {
            if problem.is_cancelled() {
                return;
            }
            let value = found.best.theta[p];
            let able = if every_valley { plan.asymmetric[p] } else { plan.bendable[p] };
            if tried[p] || problem.fixed[p] || !able || value == 0.0 || value.abs() < smallest {
                continue;
            }
            let mut rise = |to: f64| {
                trial[p] = to.clamp(problem.lower[p], problem.upper[p]);
                let rise = worker.evaluate(problem, &trial, 0.0).value() - lowest;
                trial[p] = value;
                rise
            };
            let mirrored = rise(-value);
            if mirrored < threshold && (every_valley || mirrored < 1.5 * rise(0.0)) {
                candidates.push((mirrored, p));
            } else {
                tried[p] = true;
            }
        }
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut improved = false;
        for (_, p) in candidates {
            if descents >= most {
                return;
            }
            tried[p] = true;
            descents += 1;
            let mut trial = found.best.theta.clone();
            trial[p] = (-trial[p]).clamp(problem.lower[p], problem.upper[p]);
            let lower = if plan.has_kinks {
                attempt_below(worker, problem, &trial, found)
            } else {
                attempt(worker, problem, &trial, found)
            };
            if lower {
                // Around a new minimum between kinks every side counts anew.
                if plan.has_kinks {
                    tried.fill(false);
                }
                improved = true;
                break;
            }
        }
        if !improved {
            return;
        }
    }
}
