//! What the parts of a fit cost. A search adds up the prices, and not the time that has passed, so that its result is
//! the same on every machine.

use std::sync::Arc;

use ns_core::EventTable;

use super::Problem;
use crate::plan::Plan;

/// Nanoseconds on one thread of a CPU with 256-bit vectors, as an estimate.
pub(super) type Nanoseconds = f64;

/// Price of a call, whatever its size.
const CALL: Nanoseconds = 150.0;
/// Price of one operation (`Plan::operations`) of an evaluation with its gradient.
const OPERATION: Nanoseconds = 0.25;
/// Price of one multiplication of a factorisation or of a product of matrices.
const MULTIPLICATION: Nanoseconds = 0.25;
/// Price of one multiplication in the solution of a linear system, which reads each number of the factor once.
const OF_SOLUTION: Nanoseconds = 0.3;
/// Price of a density at one event.
const DENSITY: Nanoseconds = 10.0;

/// Price of the density of an external program (a neural network) at one event.
const EXTERNAL: Nanoseconds = 1000.0;

/// Estimated times of the parts of a fit of one model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prices {
    /// One evaluation of `-ln L`, or of its gradient at the same point.
    pub(super) evaluation: Nanoseconds,
    /// The Hessian and its factorisation.
    pub(super) factorisation: Nanoseconds,
    /// One linear system with the factor of the Hessian.
    pub(super) solution: Nanoseconds,
    /// One evaluation without events.
    of_bins: Nanoseconds,
}

impl Prices {
    pub(super) fn new(plan: &Plan) -> Self {
        let layout = &plan.structure.layout;
        let of_bins = CALL + 0.5 * OPERATION * plan.operations() as f64;
        let elements: usize =
            layout.components.iter().map(|c| c.columns * c.dense.len() + c.columns * c.local.len()).sum();
        let border = layout.border.len();
        Self {
            evaluation: of_bins,
            factorisation: CALL + MULTIPLICATION * layout.multiplications,
            solution: CALL + OF_SOLUTION * (2 * elements + border * border) as f64,
            of_bins,
        }
    }

    /// Sets the price of an evaluation for the events of `problem`.
    pub(super) fn price_events(&mut self, problem: &Problem<'_>) {
        let (events, tables) = (&problem.plan.events, &problem.data.events);
        let all = || tables.iter().map(|table: &Arc<EventTable>| table.len() as f64).sum::<f64>();
        let densities = events.densities_per_evaluation(tables);
        self.evaluation = self.of_bins
            + match densities {
                Some(densities) => DENSITY * densities as f64,
                None => EXTERNAL * all(),
            };
    }

    /// Price of `count` multiplications of a dense matrix.
    pub(super) fn multiplications(count: f64) -> Nanoseconds {
        MULTIPLICATION * count
    }
}
