//! Tries combinations: points at which many parameters have new values at once. Descents start from the combinations
//! with the lowest `-ln L`.

use super::super::{Problem, Worker};
use super::additive::Additive;
use super::attempt::{BestSoFar, attempt_below};
use super::scatter::Scatter;

/// How many combinations (points with many changed parameters) are drawn, and how many descents are made, in one
/// round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// Number of combinations that are drawn in a round.
    drawn: usize,
    /// Number of descents in a round. They start from the combinations with the lowest `-ln L`.
    descents: usize,
}

impl Effort {
    pub(super) const THOROUGH: Self = Self { drawn: 300, descents: 200 };
    /// Few combinations and descents, for searches that try combinations around each of many minima.
    pub(super) const FEW: Self = Self { drawn: 8, descents: 4 };
    pub(super) const SOME: Self = Self { drawn: 16, descents: 8 };

    /// Returns the numbers of the default search. They are larger for models with kinks, because each side of a kink
    /// may have a minimum of its own.
    pub(super) fn standard(problem: &Problem<'_>) -> Self {
        if problem.plan.structure.has_kinks {
            Self { drawn: 60, descents: 30 }
        } else {
            Self { drawn: 40, descents: 16 }
        }
    }
}

/// Largest number of rounds. A further round begins only if a lower minimum was found.
const MOST_ROUNDS: usize = 10;

/// Number of sweeps over all parameters in the simulated annealing that draws one combination.
const SWEEPS: usize = 20;

/// A parameter counts as linear if the asymmetric part of its effect is below this number. The asymmetric part is
/// measured in statistical errors and summed over the bins.
const LEAST_NONLINEARITY: f64 = 0.02;

/// Draws many combinations of parameter values and descends from those with the lowest `-ln L`. Repeats this around
/// every lower minimum that is found.
pub(super) fn combinations(
    worker: &mut Worker,
    problem: &Problem<'_>,
    effort: Effort,
    found: &mut BestSoFar,
) {
    let plan = problem.plan;
    let amount = &plan.policy.nonlinearity.amount;
    let able = |&p: &usize| !problem.fixed[p] && plan.policy.asymmetric[p] && amount[p] > LEAST_NONLINEARITY;
    let mut nonlinear: Vec<usize> = (0..problem.fixed.len()).filter(able).collect();
    nonlinear.sort_by(|&a, &b| amount[b].total_cmp(&amount[a]));
    let mut draw = Scatter::new(0xADD);
    for _ in 0..MOST_ROUNDS {
        let minimum = found.best.theta.clone();
        if Additive::price(worker, problem, nonlinear.len()) > 0.5 * found.left(worker) {
            return;
        }
        let Some(model) = Additive::new(worker, problem, &minimum, &nonlinear) else { return };
        let mut points: Vec<(f64, Vec<f64>)> = Vec::new();
        let mut seen: Vec<Vec<i8>> = Vec::new();
        for index in 0..effort.drawn {
            if problem.is_cancelled() {
                return;
            }
            if found.left(worker) < model.price_of_drawing(SWEEPS) {
                break;
            }
            // In every second combination, one parameter is forced to have the opposite sign. The most nonlinear
            // parameter is the first.
            let forced = (index % 2 == 1).then_some(index / 2 % model.len());
            worker.spent += model.price_of_drawing(SWEEPS);
            let combination = model.anneal(SWEEPS, forced, &mut draw);
            let point = model.point(problem, &minimum, &combination);
            // Combinations with the same signs usually lead to the same minimum.
            let signs =
                nonlinear.iter().map(|&p| i8::from(point[p] > 0.0) - i8::from(point[p] < 0.0)).collect();
            if seen.contains(&signs) {
                continue;
            }
            seen.push(signs);
            points.push((worker.evaluate(problem, &point, 0.0).value(), point));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let lower = points.iter().take(effort.descents).any(|(_, point)| {
            !problem.is_cancelled() && !found.is_spent(worker) && attempt_below(worker, problem, point, found)
        });
        if !lower {
            return;
        }
    }
}
