//! Finds out from the structure of a model whether its likelihood may have several minima.

use ns_core::{Effect, Model, Modifier};

/// Returns whether `-ln L` may have several minima. This requires events, a parameter with an effect that is not linear,
/// or two parameters whose effects multiply each other.
pub(crate) fn may_have_several_minima(model: &Model) -> bool {
    let is_free = |m: &&Modifier| {
        m.effect.per_bin()
            || m.function().is_some()
            || model.parameters.get(m.first).is_some_and(|p| !p.fixed)
    };
    !model.event_channels.is_empty()
        || model.penalties.iter().any(|penalty| penalty.form.correlations().is_none())
        || model.channels.iter().flat_map(|channel| &channel.samples).any(|sample| {
            let bent = |m: &Modifier| match &m.effect {
                Effect::HistoSys { lo, hi } => {
                    lo.iter().zip(hi).zip(&sample.nominal).any(|((lo, hi), nominal)| lo + hi != 2.0 * nominal)
                }
                Effect::NormSys { .. } | Effect::Function { .. } => true,
                _ => false,
            };
            let adds = |m: &Modifier| matches!(m.effect, Effect::HistoSys { .. });
            let factors = sample.modifiers.iter().filter(is_free).filter(|m| !adds(m)).count();
            let shifts = sample.modifiers.iter().filter(is_free).any(adds);
            factors + usize::from(shifts) > 1 || sample.modifiers.iter().filter(is_free).any(bent)
        })
}
