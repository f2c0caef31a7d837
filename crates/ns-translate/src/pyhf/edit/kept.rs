//! Which effects of systematics an operation left in a workspace.

use std::collections::{HashMap, HashSet};

use super::super::document::{Document, ModifierType};
use super::super::workspace::Workspace;

/// The effect of a systematic on a sample of a channel, before and after an operation. A normsys changes the
/// normalisation, a histosys the shape.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptEffect {
    /// Name of the channel.
    pub channel: String,
    /// Name of the sample.
    pub sample: String,
    /// Name of the systematic.
    pub systematic: String,
    /// Whether the normsys is still there; `None` if there was none.
    pub normalisation: Option<bool>,
    /// Whether the histosys is still there; `None` if there was none.
    pub shape: Option<bool>,
}

impl Workspace {
    /// Returns the effects of all systematics of this workspace, and which of them `edited` still has. `edited` is the
    /// result of an operation that does not rename anything.
    #[must_use]
    pub fn effects_kept(&self, edited: &Self) -> Vec<KeptEffect> {
        let left: HashSet<Key<'_>> = keys(&edited.document).collect();
        let mut places: HashMap<[&str; 3], usize> = HashMap::new();
        let mut effects: Vec<KeptEffect> = Vec::new();
        for key in keys(&self.document) {
            let (names, kind) = key;
            let place = *places.entry(names).or_insert_with(|| {
                let [channel, sample, systematic] = names.map(str::to_owned);
                effects.push(KeptEffect { channel, sample, systematic, normalisation: None, shape: None });
                effects.len() - 1
            });
            if let Some(effect) = effects.get_mut(place) {
                let part =
                    if kind == ModifierType::NormSys { &mut effect.normalisation } else { &mut effect.shape };
                *part = Some(left.contains(&key));
            }
        }
        effects
    }
}

/// Names of channel, sample and systematic, and the type of the modifier.
type Key<'a> = ([&'a str; 3], ModifierType);

/// All modifiers that are systematics with templates or factors.
fn keys(document: &Document) -> impl Iterator<Item = Key<'_>> {
    document.channels.iter().flat_map(|channel| {
        channel.samples.iter().flat_map(move |sample| {
            sample.modifiers.iter().filter_map(move |modifier| {
                let kind = modifier.effect.kind();
                matches!(kind, ModifierType::NormSys | ModifierType::HistoSys)
                    .then_some(([channel.name.as_str(), sample.name.as_str(), modifier.name.as_str()], kind))
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pyhf::Prune;

    #[test]
    fn pruned_effects_are_not_kept() {
        let text = br#"{"version": "1.0.0", "channels": [{"name": "SR", "samples": [{"name": "bkg", "data": [50.0, 50.0],
            "modifiers": [{"name": "mu", "type": "normfactor", "data": null},
                          {"name": "jes", "type": "normsys", "data": {"lo": 0.999, "hi": 1.001}},
                          {"name": "jes", "type": "histosys", "data": {"lo_data": [40.0, 60.0], "hi_data": [60.0, 40.0]}},
                          {"name": "lumi", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}}]}]}],
            "observations": [{"name": "SR", "data": [50.0, 50.0]}],
            "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}]}"#;
        let workspace = Workspace::from_slice(text).unwrap();
        let pruned = workspace.prune(&Prune { norm_threshold: Some(0.01), ..Prune::default() }).unwrap();
        let found: Vec<_> = workspace
            .effects_kept(&pruned.workspace)
            .into_iter()
            .map(|effect| (effect.systematic, effect.normalisation, effect.shape))
            .collect();
        let wanted = [("jes".to_owned(), Some(false), Some(true)), ("lumi".to_owned(), Some(true), None)];
        assert_eq!(found, wanted);
    }
}
