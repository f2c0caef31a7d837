//! Searches for lower minima around the best known minimum.

use ns_core::Search;

use super::super::prices::Nanoseconds;
use super::super::{Problem, Worker};
use super::attempt::BestSoFar;
use super::budget::{ALWAYS, Budget, Method, OF_STRAINED, OF_STRONG};
use super::combinations::{Effort, combinations};
use super::factors::factors;
use super::flips::{flips, mirror_strong_pulls};
use super::lines::{Along, lines, strain};
use super::restarts::{Restarts, restarts};
use super::scatter::MOST_FREE;
use super::sides::sides;
use super::whole_box::{crossings, search_whole_box};

/// Largest number of free parameters of a model for which combinations of many parameters are tried. In larger models a
/// descent takes too long.
const MOST_COMBINED: usize = 400;

/// Largest number of rounds of a search. A round varies single parameters and then combinations of parameters. A
/// further round begins only if a lower minimum was found.
const MOST_ROUNDS: usize = 5;

/// Limits of the search along single parameters, if the effort of the search is the default.
const FEW_LINES: Along = Along { all: false, parameters: 64, rise: 5.0, descents: 100 };
/// Limits of the search along single parameters, if the effort of the search is thorough.
const MANY_LINES: Along = Along { all: true, parameters: 256, rise: 10.0, descents: 400 };

/// If [`strain`] (a measure of nonlinearity at the minimum) is at least this number, the default search tries free
/// factors and combinations of parameters, and starts from scattered points. The first value is for models of up to
/// [`MIDDLING`] free parameters. The second value is for larger models with smooth interpolation codes, and the third
/// for larger models with kinks.
const LEAST_STRAIN: [f64; 3] = [2.5, 4.0, 2.7];
/// Largest number of free parameters of a model for which the first value of [`LEAST_STRAIN`] is used.
const MIDDLING: usize = 100;

/// Beyond this strain the numbers of the model have no meaning, and no search makes the fit better: models with yields of 1e300,
/// in which an upper limit has thousands of fits.
pub(super) const MOST_STRAIN: f64 = 1e6;

/// Largest number of parameters that the default search fixes at the negative of their value at the minimum, one
/// parameter at a time, in models with kinks.
const FEW_CROSSINGS: usize = 48;

/// Largest number of free parameters of a model whose descents are so short that all values within the bounds are searched
/// again in a neighbouring fit, with at least [`FEWEST_STARTS`] descents from scattered points. Not in toys.
const TINIEST_MODEL: usize = 10;
const FEWEST_STARTS: usize = 32;
/// The same where other minima are common, and in a thorough search.
const MANY_STARTS: usize = 128;

/// Returns the part of the budget that does not depend on the price of the first descent. It is larger where the best minimum so
/// far, or the model, shows that there are often other minima. With kinks each side may have a minimum of its own, and small
/// models may have minima far apart.
pub(super) fn always(worker: &mut Worker, problem: &Problem<'_>, found: &BestSoFar) -> Nanoseconds {
    let free = problem.fixed.iter().filter(|fixed| !**fixed).count();
    let small = free <= MOST_FREE;
    let strong = Budget::is_of_strong(problem.plan, free);
    if strong && (small || problem.plan.structure.has_kinks) {
        return OF_STRONG;
    }
    if !(strong || (small && !problem.physical)) || !is_strained(worker, problem, &found.best.theta) {
        return ALWAYS;
    }
    if strong { OF_STRONG } else { OF_STRAINED }
}

/// Searches for lower minima around the best minimum, with the methods that `effort` allows. If `neighbour` is true,
/// the minimum is close to that of an earlier fit, whose search covered all values within the bounds. The default
/// search then does not start from scattered points.
pub(super) fn look_around(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    effort: Search,
    neighbour: bool,
    found: &mut BestSoFar,
) {
    let toy = problem.physical;
    // The best minimum is not far below the saturated model. Descents that fall far below it are stopped: they have
    // bins with negative expected yields.
    let inside = &Problem { physical: true, ..problem.clone() };
    let kinks = problem.plan.structure.has_kinks;
    if !kinks {
        mirror_strong_pulls(worker, inside, found);
    }
    let free = problem.fixed.iter().filter(|fixed| !**fixed).count();
    let combined = !toy && problem.plan.policy.strongly_nonlinear && free <= MOST_COMBINED;
    let thorough = effort == Search::Thorough;
    let (along, tries) = match thorough {
        true => (MANY_LINES, Effort::THOROUGH),
        // Each side of a kink may have its own minimum.
        false => (Along { all: kinks, ..FEW_LINES }, Effort::standard(problem)),
    };
    let mut elsewhere = !neighbour;
    let mut flipped = found.improved;
    for _ in 0..MOST_ROUNDS {
        turn(worker, inside, effort, found);
        flipped = found.improved;
        if !toy {
            found.begin(worker, Method::Lines);
            lines(worker, inside, along, found);
        }
        if combined && kinks {
            found.begin(worker, Method::Crossings);
            crossings(worker, inside, if thorough { 256 } else { FEW_CROSSINGS }, found);
        }
        if !combined || (neighbour && kinks) {
            break;
        }
        let alone = found.improved;
        let least = LEAST_STRAIN[if free <= MIDDLING { 0 } else { 1 + usize::from(kinks) }];
        let strained = thorough || strain(worker, inside, &found.best.theta.clone()) >= least;
        if strained {
            let combine = thorough || (kinks && free <= MIDDLING);
            found.begin(worker, Method::Factors);
            factors(worker, inside, combine, found);
            found.begin(worker, Method::Combinations);
            combinations(worker, inside, tries, found);
        }
        if elsewhere && found.improved == alone && strained {
            elsewhere = false;
            found.begin(worker, Method::Restarts);
            restarts(worker, inside, start, Restarts::of(effort, kinks), found);
        }
        if found.improved == alone {
            break;
        }
    }
    let tiniest = !toy && free <= TINIEST_MODEL;
    let more =
        !toy && free <= MOST_FREE && (thorough || is_strained(worker, inside, &found.best.theta.clone()));
    let fewest = match (tiniest, more) {
        (true, true) => MANY_STARTS,
        (true, false) => FEWEST_STARTS,
        _ => 0,
    };
    let how = (neighbour && !tiniest, fewest, more);
    search_whole_box(worker, if toy { problem } else { inside }, start, how, found);
    // The last minimum may have been found after the sign changes of its round. Without kinks there is rarely a
    // minimum at the opposite sign.
    if kinks && found.improved > flipped {
        turn(worker, inside, effort, found);
    }
}

/// Returns whether other minima are common in a small model with this minimum.
fn is_strained(worker: &mut Worker, problem: &Problem<'_>, theta: &[f64]) -> bool {
    (LEAST_STRAIN[0]..MOST_STRAIN).contains(&strain(worker, problem, theta))
}

/// Tries single parameters at the opposite sign.
fn turn(worker: &mut Worker, problem: &Problem<'_>, effort: Search, found: &mut BestSoFar) {
    found.begin(worker, Method::Flips);
    if problem.plan.structure.has_kinks && effort != Search::Thorough {
        sides(worker, problem, found);
    } else {
        flips(worker, problem, found, effort);
    }
}
