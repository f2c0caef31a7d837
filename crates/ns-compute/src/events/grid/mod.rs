//! Adaptive grids over the fit ranges of a channel. The nodes of a grid are those of Gauss rules in boxes. The boxes
//! are small where a density of the channel varies quickly, and are halved until the rules integrate all functions
//! that the likelihood of Asimov data needs.

mod first;
mod functionals;
mod gauss;
mod lowest;
mod tree;
mod values;

use ns_core::LogProbError;

use self::first::first_boxes;
use self::functionals::{Functionals, LOGS};
use self::tree::{Tree, most_boxes};
pub(super) use self::values::{Evaluator, Values};
use super::channel::ChannelPlan;
use super::channel_sum::ChannelMemory;
use crate::simd::Level;

/// Largest number of nodes of a grid.
const MOST_NODES: usize = 100_000;

/// About the expected number of events of a node that only keeps fits from negative densities.
const NO_EVENTS: f64 = 1e-7;

/// Largest error of the first integration of the terms, as a fraction of each integral.
const ROUGH: f64 = 0.01;

/// What a channel computes from the parameters: the values that it uses, and the amplitudes of its terms.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) locals: Vec<f64>,
    pub(super) amplitudes: Vec<f64>,
}

impl Point {
    /// Returns the point for which the memory of a channel is prepared.
    pub(super) fn of(memory: &ChannelMemory) -> Self {
        Self { locals: memory.locals.clone(), amplitudes: memory.amplitude_values.clone() }
    }
}

/// Nodes over the fit ranges of a channel.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    /// One column per observable.
    pub(super) columns: Vec<Vec<f64>>,
    /// The volume that belongs to each node.
    pub(super) volumes: Vec<f64>,
    /// Estimated error of twice `-ln L` of Asimov data on this grid.
    pub(super) error: f64,
}

/// Returns a grid for Asimov data with the density at `point`, for fits that visit `point` and `visited`. `total` is
/// the expected number of events.
///
/// # Errors
/// If a density that is not a formula cannot be evaluated.
pub(super) fn grid(
    level: Level,
    plan: &ChannelPlan,
    point: &Point,
    visited: &[Point],
    total: f64,
) -> Result<Grid, LogProbError> {
    let points: Vec<&Point> = std::iter::once(point).chain(visited).collect();
    let most = most_boxes(plan.observables);
    let mut boxes = first_boxes(plan, &points);
    let mut tree = Tree::new(Evaluator::new(level, plan, points), plan.observables, plan.rounding());
    let (mut integrals, mut squares) = tree.integrals(&boxes)?;
    if !plan.has_formulas() {
        // Nothing is known about where a density without a formula varies quickly.
        let mut functionals = Functionals::of_terms(&integrals[0], ROUGH);
        let cells = tree.refine(boxes, &mut functionals, (most, MOST_NODES))?;
        boxes = cells.into_iter().map(|cell| cell.sides).collect();
        (integrals, squares) = tree.integrals(&boxes)?;
    }
    // The squares are in units of the amplitudes.
    let sum: f64 = integrals[0].iter().zip(&point.amplitudes).map(|(p, a)| p * a).sum();
    let events = if sum > 0.0 { total / sum } else { 0.0 };
    for (square, p) in squares.iter_mut().zip(&integrals[0]) {
        *square /= p * p * events;
    }
    let volume: f64 =
        plan.boxes.iter().map(|sides| sides.iter().map(|(lo, hi)| hi - lo).product::<f64>()).sum();
    let mut functionals = Functionals::new(point, &integrals, &squares, (total, volume));
    let mut negative = Vec::new();
    let can_be_negative = |point: &Point| point.amplitudes.iter().any(|a| *a < 0.0);
    if plan.has_formulas() && visited.iter().any(can_be_negative) {
        negative = tree.lowest(&boxes)?;
    }
    for (other, lowest) in negative.iter().enumerate() {
        functionals.lift(other, lowest.ratio);
    }
    let cells = tree.refine(boxes, &mut functionals, (most, MOST_NODES))?;
    let (mut columns, mut volumes, error) = tree.nodes(&cells, MOST_NODES);
    // Nodes that keep fits from points where the density is negative between the other nodes.
    for lowest in negative.iter().filter(|lowest| lowest.ratio < 0.0) {
        columns.iter_mut().zip(&lowest.at).for_each(|(column, x)| column.push(*x));
        volumes.push(NO_EVENTS * volume / total);
    }
    Ok(Grid { columns, volumes, error: 2.0 * LOGS * error })
}
