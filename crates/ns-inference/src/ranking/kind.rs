//! Finds the types of the modifiers (`normsys`, `staterror`, ...) that use each parameter.

use ns_core::Model;

/// Returns one list per parameter: the types of the modifiers that use the parameter, without repetition. The names
/// of the types are those of pyhf.
pub(super) fn kinds(model: &Model) -> Vec<Vec<&'static str>> {
    let mut kinds: Vec<Vec<&'static str>> = vec![Vec::new(); model.parameters.len()];
    for channel in &model.channels {
        for modifier in channel.samples.iter().flat_map(|sample| &sample.modifiers) {
            let kind = modifier.effect.type_name();
            for p in model.acting_parameters(modifier, channel.n_bins) {
                if let Some(list) = kinds.get_mut(p).filter(|list| !list.contains(&kind)) {
                    list.push(kind);
                }
            }
        }
    }
    kinds
}

/// Returns whether a parameter with the modifier types `kinds` describes the limited size of the simulation.
pub(super) fn is_mc_statistical(kinds: &[&str]) -> bool {
    kinds.iter().any(|kind| matches!(*kind, "staterror" | "shapesys"))
}
