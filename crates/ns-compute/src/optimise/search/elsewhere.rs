//! Finds a starting point at which all counts and events are possible.

use super::super::descend::{Descent, Mode, descend};
use super::super::{Problem, Worker};
use super::scatter::{Scatter, scattered};

/// Number of points that are tried.
const TRIES: usize = 256;

/// No more points are tried after this number of points with a finite `-ln L`.
const ENOUGH: usize = 8;

/// Tries points within the bounds, and descends from the best of them. In models with event channels, their parameters are
/// anywhere within the bounds: a density that ends at a parameter has no slope for events beyond its end, and so no descent
/// leads back. In other models all parameters are scattered around `start`. Returns `None` if `-ln L` is infinite at all
/// points.
pub(super) fn elsewhere(worker: &mut Worker, problem: &Problem<'_>, start: &[f64]) -> Option<Descent> {
    let events = &problem.plan.events;
    let of_channels = events.parameters().take(events.n_channels()).flatten();
    let mut parameters: Vec<usize> = of_channels.copied().filter(|&p| !problem.fixed[p]).collect();
    parameters.sort_unstable();
    parameters.dedup();
    parameters.retain(|&p| problem.lower[p].is_finite() && problem.upper[p].is_finite());
    let mut scatter = Scatter::new(0xE7E);
    let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
    for index in 0..TRIES {
        if problem.is_cancelled() || found.len() >= ENOUGH {
            break;
        }
        let mut point;
        if parameters.is_empty() {
            point = scattered(problem, start, index);
        } else {
            // Every second point moves one parameter alone.
            let alone = (index % 2 == 0).then(|| parameters[index / 2 % parameters.len()]);
            point = start.to_vec();
            for &p in parameters.iter().filter(|&&p| alone.is_none_or(|alone| alone == p)) {
                let u = 0.5 * (scatter.uniform() + 1.0);
                point[p] = problem.lower[p] + u * (problem.upper[p] - problem.lower[p]);
            }
        }
        let value = worker.evaluate(problem, &point, 0.0).value();
        if value.is_finite() {
            found.push((value, point));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.iter().find_map(|(_, point)| descend(worker, problem, point, Mode::from(true)).ok())
}
