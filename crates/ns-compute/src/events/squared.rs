//! Computes the derivatives of `-ln L` with squared event weights. They are needed for the uncertainties of fits to
//! weighted events.
//!
//! C. Langenbruch, "Parameter uncertainties in weighted unbinned maximum likelihood fits", Eur. Phys. J. C 82 (2022)
//! 393, arXiv:1911.01303.

use std::sync::Arc;

use ns_core::EventTable;

use super::term::{EventPlan, EventScratch, evaluate_once};
use crate::simd::Level;

/// Evaluates all terms of `-ln L` with the square of each event's weight. A channel whose data are a histogram does
/// not change, because its bins contain counts and not weights. The rates (expected numbers of events) of an extended
/// channel are multiplied by the ratio of the sum of squared weights to the sum of weights.
pub(crate) fn squared_weights(
    level: Level,
    plan: &EventPlan,
    (theta, aux): (&[f64], &[f64]),
    tables: &[Arc<EventTable>],
    scratch: &mut EventScratch,
) {
    let square = |(channel, table): (usize, &Arc<EventTable>)| match &table.weights {
        Some(weights) if !plan.is_binned(channel) => {
            let squares: Arc<[f64]> = weights.iter().map(|w| w * w).collect();
            let ratio = squares.iter().sum::<f64>() / weights.iter().sum::<f64>();
            let columns = table.columns.clone();
            (Arc::new(EventTable { columns, weights: Some(squares) }), ratio)
        }
        _ => (Arc::clone(table), 1.0),
    };
    let (tables, ratios): (Vec<_>, Vec<_>) = tables.iter().enumerate().map(square).unzip();
    scratch.forget();
    evaluate_once(level, plan, (theta, aux), &tables, Some(&ratios), scratch);
}

impl EventScratch {
    /// Moves the part `bends` of each penalty term's Hessian to the part `squares`. `bends` comes from second
    /// derivatives, and the Hessian is assembled without it if `exactness` is 0 (see
    /// [`Point`](crate::curvature::Point)). After this call, it always contains the whole Hessian of the penalty
    /// terms.
    pub(crate) fn penalties_are_certain(&mut self, plan: &EventPlan) {
        for term in self.terms.iter_mut().skip(plan.n_channels()) {
            for (square, bend) in term.squares.iter_mut().zip(&mut term.bends) {
                *square += std::mem::take(bend);
            }
        }
    }
}
