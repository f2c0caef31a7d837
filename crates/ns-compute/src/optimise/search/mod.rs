//! The search for the lowest minimum, which chooses the starting points of descents.
//!
//! The first descent ends in the valley of its starting point. From there `flips` and `lines` look along
//! single parameters, `factors` along free scale factors, `combinations` at many parameters at once,
//! `restarts` around other minima, and `search_whole_box` in the whole box of small models. See
//! `docs/numerics.md`.

mod additive;
mod around_best;
mod attempt;
mod combinations;
mod factors;
mod flips;
mod lines;
mod recover;
mod restarts;
mod scatter;
mod single_parameter;
mod whole_box;

use ns_core::{FitFailure, InverseHessian, Search};

use super::descend::{Mode, descend};
use super::neighbour::approach;
use super::{Problem, Worker};
use around_best::look_around;
use attempt::{BestSoFar, attempt, runaway};
use recover::recover_minimum;
pub(crate) use scatter::MOST_FREE;
use whole_box::attempt_shifted;

/// Largest number of parameters of a model in which a few more descents cost only microseconds.
const SMALL_MODEL: usize = 24;

/// Minimises from `start` and, depending on `effort`, from further points. `cold` says that `start` is far
/// from any minimum; `metric` is the inverse Hessian of a nearby fit.
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
            // Any further starting point with a finite likelihood is good enough to begin with.
            let mut other = further.iter().filter_map(|s| descend(worker, problem, s, Mode::from(true)).ok());
            let Some(best) = other.next() else { return Err(failure) };
            BestSoFar::new(best)
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
        recover_minimum(worker, problem, start, &mut found);
    }
    // There is no search around a point at which bins have a negative expected yield.
    if runaway(&found.best) || found.best.value() < found.best.likelihood.least {
        return Ok(found);
    }
    // With `metric`, the nearby fit has searched the whole box before.
    look_around(worker, problem, start, Search::Standard, metric.is_some(), &mut found);
    // The default search comes first, so that a thorough search never ends at a higher minimum than the
    // default one.
    if effort == Search::Thorough {
        if !small {
            attempt_shifted(worker, problem, start, &mut found);
        }
        look_around(worker, problem, start, Search::Thorough, false, &mut found);
    }
    Ok(found)
}
