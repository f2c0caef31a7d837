//! Properties of a compiled model that guide the optimiser: the parameters that may have further minima, and the
//! largest EDM (estimated distance to the minimum) of a certified minimum.

use ns_core::{Constraint, Effect, Model, Sample};

use crate::factors::FactorFunctions;

use super::{LANES, Nonlinearity, Numbers, Structure};

/// Largest EDM of a certified minimum. The EDM is the estimated height above the minimum, in units of `-ln L`.
pub(crate) const EDM_TOLERANCE: f64 = 1e-12;

/// Largest EDM of a certified minimum where no step lowers `-ln L`. Rounding errors of `-ln L` or of its gradient, or
/// errors of numerical integrals, are then larger than the distance to the minimum.
pub(crate) const EDM_WITHOUT_PROGRESS: f64 = 1e-10;

/// Largest EDM (estimated distance to the minimum) of a certified minimum if free factors multiply each other and the
/// metric was computed at another point.
///
/// The derivative of `-ln L` with respect to one factor is proportional to the other factor. At the minimum the other
/// factor may be a thousand times smaller than at the point of the metric. The measured EDM is then a millionth of the
/// true EDM.
const EDM_OF_PRODUCTS: f64 = 1e-6 * EDM_TOLERANCE;

/// Returns whether some sample has at least two free factors without a constraint, or a factor that is a function.
fn multiplies_free_factors(model: &Model) -> bool {
    let is_free = |index: usize| {
        model.parameters.get(index).is_some_and(|p| !p.fixed && matches!(p.constraint, Constraint::None))
    };
    let multiplies = |sample: &Sample| {
        let factors = sample.modifiers.iter().filter(|modifier| {
            matches!(modifier.effect, Effect::NormFactor | Effect::ShapeFactor) && is_free(modifier.first)
        });
        factors.count() > 1 || sample.modifiers.iter().any(|modifier| modifier.function().is_some())
    };
    model.channels.iter().flat_map(|channel| &channel.samples).any(multiplies)
}

/// The parameters for which the optimiser searches for further minima, and the largest EDM (estimated distance to the
/// minimum) of a certified minimum. All fields except the EDM depend on the numbers of the model. These fields are
/// determined again when data replace the numbers.
#[derive(Debug, Clone)]
pub(crate) struct SearchPolicy {
    /// For each parameter, whether it has an asymmetric effect. If so, a second minimum may be at the opposite sign of
    /// the parameter.
    pub(crate) asymmetric: Vec<bool>,
    /// For each parameter, whether its asymmetric effect is strong enough for a second minimum in a model with smooth
    /// interpolation codes.
    pub(crate) nonlinear: Vec<bool>,
    /// The asymmetric parts of the effects of all parameters on the expected yields.
    pub(crate) nonlinearity: Nonlinearity,
    /// Whether second minima are common in this model, because it has many strong asymmetric effects.
    pub(crate) strongly_nonlinear: bool,
    /// Largest EDM (estimated distance to the minimum) of a certified minimum, if the EDM is measured with a metric
    /// that was computed at another point.
    pub(crate) edm_tolerance: f64,
}

/// Returns the largest EDM (estimated distance to the minimum) of a certified minimum of this model, if the EDM is
/// measured with a metric that was computed at another point.
pub(super) fn edm_tolerance(model: &Model) -> f64 {
    if multiplies_free_factors(model) { EDM_OF_PRODUCTS } else { EDM_TOLERANCE }
}

impl SearchPolicy {
    /// Returns the search policy for a compiled model with the given structure and numbers.
    pub(super) fn new(
        structure: &Structure,
        numbers: &Numbers,
        factors: &FactorFunctions,
        edm_tolerance: f64,
    ) -> Self {
        let n = structure.table.init.len();
        let nonlinearity = Nonlinearity::new(structure, numbers);
        let mut asymmetric = asymmetric(structure, numbers);
        let mut nonlinear: Vec<bool> = (0..n).map(|p| nonlinearity.is_nonlinear(p)).collect();
        // A function that is not linear may have the same value at several points.
        for p in factors.bent_parameters() {
            (asymmetric[p], nonlinear[p]) = (true, true);
        }
        Self {
            asymmetric,
            nonlinear,
            strongly_nonlinear: nonlinearity.is_strong(),
            nonlinearity,
            edm_tolerance,
        }
    }
}

/// Returns for each parameter whether it has an asymmetric effect.
fn asymmetric(structure: &Structure, numbers: &Numbers) -> Vec<bool> {
    let mut asymmetric = vec![false; structure.table.init.len()];
    for block in &structure.blocks {
        let stride = block.n_lanes * LANES;
        for (i, &p) in structure.hist_param[block.hist.0..block.hist_curved].iter().enumerate() {
            let curve = &numbers.hist_curve[block.curve + i * stride..][..block.n_bins];
            asymmetric[p as usize] |= curve.iter().any(|&a| a != 0.0);
        }
    }
    for run in &structure.norm_runs {
        let terms = numbers.norm_lo[run.start..run.end].iter().zip(&numbers.norm_hi[run.start..run.end]);
        asymmetric[run.param] |= terms.into_iter().any(|(&lo, &hi)| structure.normsys.is_asymmetric(lo, hi));
    }
    asymmetric
}
