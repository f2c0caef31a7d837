//! What a compiled model tells the optimiser: where further minima may be, and how small an EDM has to be.

use ns_core::{Constraint, Effect, Model, Sample};

use super::Nonlinearity;

/// The certificate: estimated distance to the minimum, in NLL units.
pub(crate) const EDM_TOLERANCE: f64 = 1e-12;

/// The EDM of a certificate where free factors multiply each other: the slope by one goes with the other, which may be a
/// thousandth of what it was where the metric was taken. The EDM is then a millionth of what it should be.
const EDM_OF_PRODUCTS: f64 = 1e-6 * EDM_TOLERANCE;

/// Whether some sample has two factors that nothing constrains.
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

/// Which parameters can have further minima, and the tolerance of a certificate.
#[derive(Debug, Clone)]
pub(crate) struct SearchPolicy {
    /// Parameters with an asymmetric effect: the other sign may hide a second minimum.
    pub(crate) asymmetric: Vec<bool>,
    /// Those whose asymmetric effect is strong enough for a second minimum between smooth pieces.
    pub(crate) nonlinear: Vec<bool>,
    /// The asymmetric parts of all effects.
    pub(crate) nonlinearity: Nonlinearity,
    /// Asymmetric effects are so many and strong that second minima are common.
    pub(crate) strongly_nonlinear: bool,
    /// The EDM of a certificate, where it is measured with a metric from elsewhere.
    pub(crate) edm_tolerance: f64,
}

impl SearchPolicy {
    /// The policy for `model`. Which parameters are `asymmetric` is filled in where terms are compiled.
    pub(super) fn new(model: &Model) -> Self {
        let n = model.parameters.len();
        let nonlinearity = Nonlinearity::new(model);
        Self {
            asymmetric: vec![false; n],
            nonlinear: (0..n).map(|p| nonlinearity.is_nonlinear(p)).collect(),
            strongly_nonlinear: nonlinearity.is_strong(),
            nonlinearity,
            edm_tolerance: if multiplies_free_factors(model) { EDM_OF_PRODUCTS } else { EDM_TOLERANCE },
        }
    }
}
