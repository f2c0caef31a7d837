//! Uncertainties of fits of weighted events.
//!
//! If events have weights, the inverse Hessian `V` is not the covariance matrix of the parameters: an event with
//! weight 2 carries less information than two events. The asymptotically correct matrix is the *sandwich* `V D V`,
//! where `D` is the covariance matrix of the gradient (C. Langenbruch, Eur. Phys. J. C 82 (2022) 393,
//! arXiv:1911.01303). The correction *SumW2* is `V H' V`, as in RooFit's `SumW2Error`. `H'` is the Hessian of `-ln L`
//! with squared weights ([`SquaredWeights::Hessian`]). This correction is correct only for weights that do not depend
//! on the observables.

use std::sync::Arc;

use ns_core::{Covariance, Data, FitOutcome, Inactive, Model, Session, SquaredWeights};

use crate::InferenceError;
use crate::options::{FitData, WeightedUncertainties};

/// Warning of analyses other than fits. Their intervals, p-values and uncertainties are right only if all event
/// weights are 1.
pub(crate) const NOT_COUNTED: &str = "the events have weights: intervals, p-values and uncertainties here suppose the likelihood of \
     counted events, and are only right for weights of 1; `fit` has uncertainties for weighted events";

/// Returns whether an event of the data has a weight other than 1. Contents of bins and Asimov data are counts and
/// have no weights.
pub(crate) fn has_weights(model: &Model, data: &Data, kind: &FitData) -> bool {
    if matches!(kind, FitData::Asimov { .. }) {
        return false;
    }
    let given = &data.counts(model).events;
    let tables = if given.is_empty() { &model.observed.events } else { given };
    model.event_channels.iter().zip(tables).any(|(channel, table)| {
        channel.binning.is_none() && table.weights.as_ref().is_some_and(|w| w.iter().any(|w| *w != 1.0))
    })
}

/// Replaces the covariance of `outcome`, which is the inverse Hessian, by the covariance of weighted events that
/// `method` gives. Updates the uncertainties. Does nothing if the outcome has no covariance. Returns a warning if the
/// uncertainties differ from those of the inverse Hessian.
///
/// # Errors
/// If the device fails.
pub(crate) fn correct(
    session: &dyn Session,
    data: &Data,
    outcome: &mut FitOutcome,
    method: WeightedUncertainties,
) -> Result<Option<String>, InferenceError> {
    let form = match method {
        WeightedUncertainties::Hesse => return Ok(None),
        WeightedUncertainties::Sandwich => SquaredWeights::Scores,
        WeightedUncertainties::SumW2 => SquaredWeights::Hessian,
    };
    let Some(inverse) = &outcome.covariance else { return Ok(None) };
    let Some(middle) = session.squared_weights(data, &outcome.parameters, form)? else { return Ok(None) };
    let n = inverse.n;
    let half = product(&inverse.values, &middle, n);
    let values = product(&half, &inverse.values, n);
    let mut ratios: Vec<f64> = Vec::new();
    for (i, sigma) in outcome.uncertainties.iter_mut().enumerate() {
        let flat = outcome.inactive.iter().any(|(j, why)| *j == i && *why == Inactive::Flat);
        let variance = values.get(i * (n + 1)).copied().filter(|v| *v > 0.0 && !flat);
        let before = *sigma;
        *sigma = sigma.and(variance.map(f64::sqrt));
        ratios.extend(
            sigma.zip(before).map(|(after, before)| after / before).filter(|ratio| ratio.is_finite()),
        );
    }
    outcome.covariance = Some(Arc::new(Covariance { n, values }));
    Ok(compared(&ratios, method))
}

/// Returns a warning if the uncertainties of weighted events differ by more than a tenth from those of the inverse
/// Hessian. `ratios` has the quotient of the two for each parameter.
fn compared(ratios: &[f64], method: WeightedUncertainties) -> Option<String> {
    let smallest = ratios.iter().copied().min_by(f64::total_cmp)?;
    let largest = ratios.iter().copied().max_by(f64::total_cmp)?;
    let shown = match (format!("{smallest:.2}"), format!("{largest:.2}")) {
        (a, b) if a == b => a,
        (a, b) => format!("{a} to {b}"),
    };
    (smallest < 0.9 || largest > 1.1).then(|| {
        format!(
            "the events have weights: the uncertainties ({method}) are {shown} times those of the inverse Hessian, which \
             RooFit reports unless it is told otherwise"
        )
    })
}

/// Returns the product of the matrices `a` and `b`. Each has `n` rows and columns and is stored row by row.
fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for ((row, to), _) in a.chunks_exact(n.max(1)).zip(out.chunks_exact_mut(n.max(1))).zip(0..n) {
        for (x, other) in row.iter().zip(b.chunks_exact(n.max(1))).filter(|(x, _)| **x != 0.0) {
            to.iter_mut().zip(other).for_each(|(to, y)| *to += x * y);
        }
    }
    out
}
