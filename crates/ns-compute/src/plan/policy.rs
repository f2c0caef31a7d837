//! Properties of a compiled model that guide the optimiser: which parameters can have further minima, and how
//! small the EDM of a minimum must be.

use ns_core::{Constraint, Effect, Model, Sample};

use super::{LANES, Nonlinearity, Numbers, Structure};

/// Largest EDM (estimated distance to the minimum, in units of `-ln L`) of a certified minimum.
pub(crate) const EDM_TOLERANCE: f64 = 1e-12;

/// Largest EDM of a certified minimum if free factors multiply each other and the metric comes from another
/// point. The derivative of `-ln L` with respect to one factor is proportional to the other factor. At the
/// minimum the other factor may be a thousand times smaller than at the point of the metric. The measured EDM
/// is then a millionth of the true EDM.
const EDM_OF_PRODUCTS: f64 = 1e-6 * EDM_TOLERANCE;

/// Returns whether some sample has two free factors without a constraint.
fn multiplies_free_factors(model: &Model) -> bool {
    let is_free = |index: usize| {
        model.parameters.get(index).is_some_and(|p| !p.fixed && matches!(p.constraint, Constraint::None))
    };
    let multiplies = |sample: &Sample| {
        let factors = sample.modifiers.iter().filter(|modifier| {
            matches!(modifier.effect, Effect::NormFactor | Effect::ShapeFactor) && is_free(modifier.first)
        });
        factors.count() > 1
    };
    model.channels.iter().flat_map(|channel| &channel.samples).any(multiplies)
}

/// For which parameters the optimiser looks for further minima, and the largest EDM of a certified minimum.
/// All fields except the EDM depend on the numbers of the model and are determined anew when data replace
/// these numbers.
#[derive(Debug, Clone)]
pub(crate) struct SearchPolicy {
    /// Whether each parameter has an asymmetric effect: a second minimum may lie at its opposite sign.
    pub(crate) asymmetric: Vec<bool>,
    /// Whether the asymmetric effect of each parameter is strong enough for a second minimum under smooth
    /// interpolation codes.
    pub(crate) nonlinear: Vec<bool>,
    /// The asymmetric parts of the effects of all parameters.
    pub(crate) nonlinearity: Nonlinearity,
    /// Whether asymmetric effects are so many and so strong that second minima are common.
    pub(crate) strongly_nonlinear: bool,
    /// Largest EDM of a certified minimum if it is measured with a metric from another point.
    pub(crate) edm_tolerance: f64,
}

/// Returns the largest EDM of a certified minimum when the EDM is measured with a metric that was computed at
/// another point.
pub(super) fn edm_tolerance(model: &Model) -> f64 {
    if multiplies_free_factors(model) { EDM_OF_PRODUCTS } else { EDM_TOLERANCE }
}

impl SearchPolicy {
    /// Returns the policy for these numbers.
    pub(super) fn new(structure: &Structure, numbers: &Numbers, edm_tolerance: f64) -> Self {
        let n = structure.table.init.len();
        let nonlinearity = Nonlinearity::new(structure, numbers);
        Self {
            asymmetric: asymmetric(structure, numbers),
            nonlinear: (0..n).map(|p| nonlinearity.is_nonlinear(p)).collect(),
            strongly_nonlinear: nonlinearity.is_strong(),
            nonlinearity,
            edm_tolerance,
        }
    }
}

/// Returns whether each parameter has an asymmetric effect.
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
