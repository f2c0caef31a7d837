//! Searches for the lowest minimum by descents from several starting points.
//!
//! The first descent ends in the valley of its starting point. Further methods begin at its minimum: `flips`, `sides` and
//! `lines` vary single parameters, `factors` varies free scale factors, and `combinations` varies many parameters at
//! once. `places` moves narrow peaks, `vanished` tries values of parameters that have no effect at the best point, and
//! `shapes` starts from scattered shapes of densities. `restarts` tries combinations around other minima, and
//! `whole_box` all values within the bounds of small models. See `docs/numerics/minima.md`.

mod additive;
mod around_best;
mod attempt;
mod budget;
mod combinations;
mod elsewhere;
mod factors;
mod flips;
mod lines;
mod places;
mod recover;
mod restarts;
mod scatter;
mod shapes;
mod sides;
mod single_parameter;
mod vanished;
mod whole_box;

use ns_core::{FitFailure, InverseHessian, Search};

use super::descend::{Mode, descend};
use super::neighbour::approach;
use super::{Problem, Worker};
use around_best::{MOST_STRAIN, always, look_around};
pub(super) use attempt::BestSoFar;
use attempt::{attempt, attempt_below, runaway};
use budget::ALWAYS;
pub(crate) use budget::{Budget, TIMES as BUDGET_TIMES};
use elsewhere::elsewhere;
use lines::strain;
use places::search_places;
use recover::recover_minimum;
pub(crate) use scatter::MOST_FREE;
use shapes::{scatters_shapes, search_functions, search_shapes};
use vanished::search_vanished;
use whole_box::attempt_shifted;

/// Largest number of parameters of a small model, in which a few more descents take only microseconds.
const SMALL_MODEL: usize = 24;

/// Minimises `-ln L` from `start` and, depending on `effort`, from further points. If `cold` is true, `start` is far
/// from any minimum. `metric` is the inverse Hessian of a nearby fit, or `None` if there is no such fit.
///
/// # Errors
/// If no starting point has a finite likelihood.
pub(super) fn search(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    further: &[Vec<f64>],
    effort: Search,
    cold: bool,
    metric: Option<&InverseHessian>,
) -> Result<BestSoFar, FitFailure> {
    worker.prices.price_events(problem);
    worker.spent = 0.0;
    let first = match metric
        .filter(|_| !problem.curvature_is_free())
        .map(|metric| approach(worker, problem, start, metric))
    {
        None => descend(worker, problem, start, Mode::from(cold)),
        Some(Ok(descent)) => Ok(descent),
        Some(Err(reached)) => descend(worker, problem, &reached, Mode::from(false)),
    };
    let mut found = match first {
        Ok(best) => BestSoFar::new(best),
        Err(failure) => {
            // Any further starting point with a finite likelihood can be the first.
            let mut other = further.iter().filter_map(|s| descend(worker, problem, s, Mode::from(true)).ok());
            let best = other.next().or_else(|| elsewhere(worker, problem, start));
            BestSoFar::new(best.ok_or(failure)?)
        }
    };
    if effort == Search::Local {
        return Ok(found);
    }
    let first = worker.spent;
    let milliseconds = always(worker, problem, &found);
    found.budget = Budget::after(first, milliseconds, worker.spent);
    let of_search = found.budget;
    for other in further {
        if !problem.physical {
            let begin = worker.spent;
            attempt(worker, problem, other, &mut found);
            found.budget.postpone(worker.spent - begin);
        } else if !found.is_spent(worker) {
            attempt_below(worker, problem, other, &mut found);
        }
    }
    let small = !problem.physical && start.len() <= SMALL_MODEL && !scatters_shapes(problem);
    if small {
        attempt_shifted(worker, problem, start, &mut found);
    }
    let begin = worker.spent;
    let fell = runaway(&found.best);
    if fell && !problem.physical {
        recover_minimum(worker, problem, start, &mut found);
    }
    // If bins have a negative expected yield at the best point, there is no search around it.
    if runaway(&found.best) || found.best.value() < found.best.likelihood.least {
        return Ok(found);
    }
    search_places(worker, problem, start, effort, &mut found);
    // Both have limits of their own.
    found.budget.postpone(worker.spent - begin);
    if fell {
        // What a descent without a minimum cost says nothing of what a search may cost.
        let sane = strain(worker, problem, &found.best.theta) < MOST_STRAIN;
        found.budget =
            if sane { Budget::UNLIMITED } else { Budget::after(worker.spent, ALWAYS, worker.spent) };
    } else if problem.physical {
        // The starting points that all toys share have had a budget of their own.
        found.budget = of_search.again(worker.spent);
    }
    search_vanished(worker, problem, &mut found);
    // If `metric` is given, the nearby fit has already searched all values within the bounds.
    look_around(worker, problem, start, Search::Standard, metric.is_some(), &mut found);
    search_shapes(worker, problem, effort, &mut found);
    search_functions(worker, problem, effort, &mut found);
    // The default search comes first. A thorough search thus never ends at a higher minimum than the default search.
    if effort == Search::Thorough {
        found.budget = Budget::UNLIMITED;
        if !small {
            attempt_shifted(worker, problem, start, &mut found);
        }
        look_around(worker, problem, start, Search::Thorough, false, &mut found);
    }
    Ok(found)
}
