//! Everything that is tried around the best minimum.

use ns_core::Search;

use super::super::{Problem, Worker};
use super::attempt::Found;
use super::combinations::{Effort, combinations};
use super::everywhere::{crossings, everywhere};
use super::factors::factors;
use super::flips::{flips, mirror_strong_pulls};
use super::lines::{Along, is_strained, lines};

/// Free parameters of the largest model in which combinations are tried: in larger ones a descent takes too long.
const MOST_COMBINED: usize = 400;

/// Rounds over single parameters and combinations: each begins at a lower minimum.
const MOST_ROUNDS: usize = 5;

/// Along single parameters, in the default search and in a thorough one.
const FEW_LINES: Along = Along { all: false, parameters: 64, rise: 5.0, descents: 100 };
const MANY_LINES: Along = Along { all: true, parameters: 256, rise: 10.0, descents: 400 };

/// Parameters that the default search holds on their other side, in models with kinks.
const FEW_CROSSINGS: usize = 24;

/// Looks for lower minima around the best one, by every means that `effort` allows.
pub(super) fn look_around(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    effort: Search,
    found: &mut Found,
) {
    let toy = problem.physical;
    // The best minimum is not far below the saturated model. Descents that go there, where bins have negative expected
    // yields, are stopped.
    let inside = &Problem { physical: true, ..problem.clone() };
    if !problem.plan.has_kinks {
        mirror_strong_pulls(worker, inside, found);
    }
    let free = problem.fixed.iter().filter(|fixed| !**fixed).count();
    let combined = !toy && problem.plan.bent && free <= MOST_COMBINED;
    let thorough = effort == Search::Thorough;
    let (along, tries) = match thorough {
        true => (MANY_LINES, Effort::THOROUGH),
        // Every side of a kink may have a minimum of its own.
        false => (Along { all: problem.plan.has_kinks, ..FEW_LINES }, Effort::standard(problem)),
    };
    for _ in 0..MOST_ROUNDS {
        flips(worker, inside, found, effort);
        if !toy {
            lines(worker, inside, along, found);
        }
        if combined && problem.plan.has_kinks {
            crossings(worker, inside, if thorough { 256 } else { FEW_CROSSINGS }, found);
        }
        let alone = found.improved;
        let always = thorough || problem.plan.has_kinks;
        if combined && (always || is_strained(worker, inside, &found.best.theta.clone())) {
            factors(worker, inside, thorough, found);
            combinations(worker, inside, tries, found);
        }
        if found.improved == alone {
            break;
        }
    }
    everywhere(worker, if toy { problem } else { inside }, start, found);
}
