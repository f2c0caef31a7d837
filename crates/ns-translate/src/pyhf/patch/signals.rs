//! The signals of a grid: many patches of one background.

use ns_core::Model;
use serde_json::Value;
use wildmatch::WildMatch;

use super::{Background, DigestCheck, Patch, Patchset};
use crate::pyhf::edit::ChannelSelection;
use crate::pyhf::error::WorkspaceError;
use crate::pyhf::workspace::ModelOptions;

/// A background with the patches of many signals. Patches of a patchset stay text until their model is made, so that
/// hundreds of signals need little memory. Several threads may make models at the same time.
#[derive(Debug, Clone)]
pub struct SignalGrid<'a> {
    background: Background,
    patches: Patches<'a>,
    signals: Vec<Signal>,
}

#[derive(Debug, Clone)]
enum Patches<'a> {
    Set(Patchset<'a>),
    List(Vec<Patch>),
}

/// A signal of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// Name of the patch.
    pub name: String,
    /// The labels of the patchset with the values of this patch, which are numbers or texts. Empty if the patch is not
    /// from a patchset.
    pub values: Vec<(String, Value)>,
    /// Position among all patches.
    index: usize,
}

impl<'a> SignalGrid<'a> {
    /// Takes all patches of a patchset. Compares the digests of the patchset with the background, once.
    ///
    /// # Errors
    /// [`WorkspaceError::DigestMismatch`] if a digest differs; [`WorkspaceError::Patch`] if the first patch cannot be
    /// read.
    pub fn of_patchset(
        background: Background,
        set: Patchset<'a>,
        check: DigestCheck,
    ) -> Result<Self, WorkspaceError> {
        if let Some(first) = set.names().first() {
            background.verify(&set.patch(first)?, check)?;
        }
        let signal = |(index, (name, values)): (usize, (&str, &[Value]))| Signal {
            name: name.to_owned(),
            values: set.labels().iter().cloned().zip(values.iter().cloned()).collect(),
            index,
        };
        let signals = set.names().into_iter().zip(set.values()).enumerate().map(signal).collect();
        Ok(Self { background, patches: Patches::Set(set), signals })
    }

    /// Takes patches with their names.
    #[must_use]
    pub fn of_patches(background: Background, patches: Vec<(String, Patch)>) -> Self {
        let (names, patches): (Vec<String>, Vec<Patch>) = patches.into_iter().unzip();
        let signal = |(index, name)| Signal { name, values: Vec::new(), index };
        let signals = names.into_iter().enumerate().map(signal).collect();
        Self { background, patches: Patches::List(patches), signals }
    }

    /// Keeps the signals that one of `patterns` matches, in their order. A pattern is a name, in which `*` stands for
    /// any characters and `?` for one, or the comma-separated values of a signal (`700,400`). Without patterns all
    /// signals are kept.
    ///
    /// # Errors
    /// [`WorkspaceError::NoSuchPatch`] if a pattern matches no signal.
    pub fn chosen<S: AsRef<str>>(mut self, patterns: &[S]) -> Result<Self, WorkspaceError> {
        if patterns.is_empty() {
            return Ok(self);
        }
        let mut kept = vec![false; self.signals.len()];
        for pattern in patterns.iter().map(AsRef::as_ref) {
            let wild = WildMatch::new(pattern);
            let mut any = false;
            for (kept, signal) in kept.iter_mut().zip(&self.signals) {
                if signal.name == pattern || wild.matches(&signal.name) || wild.matches(&values_of(signal)) {
                    (*kept, any) = (true, true);
                }
            }
            if !any {
                return Err(WorkspaceError::NoSuchPatch {
                    origin: match &self.patches {
                        Patches::Set(set) => set.origin().to_owned(),
                        Patches::List(_) => "the patches given".to_owned(),
                    },
                    name: pattern.to_owned(),
                    available: self.signals.iter().map(|signal| signal.name.clone()).collect(),
                });
            }
        }
        let mut flags = kept.into_iter();
        self.signals.retain(|_| flags.next().unwrap_or(false));
        Ok(self)
    }

    /// Returns the background.
    #[must_use]
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// Returns the labels of the values of all signals; empty if the patches are not from a patchset.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        match &self.patches {
            Patches::Set(set) => set.labels(),
            Patches::List(_) => &[],
        }
    }

    /// Returns the signals.
    #[must_use]
    pub fn signals(&self) -> &[Signal] {
        &self.signals
    }

    /// Returns the patch of a signal.
    ///
    /// # Errors
    /// [`WorkspaceError::Patch`] if the patch cannot be read.
    pub fn patch(&self, signal: &Signal) -> Result<Patch, WorkspaceError> {
        let missing = || WorkspaceError::NoSuchPatch {
            origin: "the patches given".to_owned(),
            name: signal.name.clone(),
            available: self.signals.iter().map(|signal| signal.name.clone()).collect(),
        };
        match &self.patches {
            Patches::Set(set) => set.patch(&signal.name),
            Patches::List(list) => list.get(signal.index).cloned().ok_or_else(missing),
        }
    }

    /// Makes the model of a signal.
    ///
    /// # Errors
    /// If the patch does not fit the background, a channel of `selection` does not exist, the patched workspace has no valid
    /// model, or the correlations of `options` do not suit it.
    pub fn model(
        &self,
        signal: &Signal,
        options: &ModelOptions,
        selection: &ChannelSelection,
    ) -> Result<Model, WorkspaceError> {
        let workspace = self.background.patched(&self.patch(signal)?)?;
        let whole = selection.is_everything();
        let workspace = if whole { workspace } else { workspace.select_channels(selection)? };
        let mut model = workspace.model(options)?;
        options.correlations.apply(&mut model)?;
        Ok(model)
    }
}

/// Returns the values of a signal as text: `700,400`.
fn values_of(signal: &Signal) -> String {
    let text = |(_, value): &(String, Value)| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    signal.values.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &[u8] = include_bytes!("../../../../../tests/fixtures/background_only.json");
    const PATCHSET: &[u8] = include_bytes!("../../../../../tests/fixtures/patchset.json");

    fn grid() -> SignalGrid<'static> {
        let background = Background::from_slice(WORKSPACE).unwrap();
        let set = Patchset::from_slice(PATCHSET, "patchset.json").unwrap();
        SignalGrid::of_patchset(background, set, DigestCheck::Verify).unwrap()
    }

    fn names(grid: &SignalGrid<'_>) -> Vec<String> {
        grid.signals().iter().map(|signal| signal.name.clone()).collect()
    }

    #[test]
    fn patterns_choose_signals_by_name_or_by_values() {
        assert_eq!(names(&grid().chosen::<&str>(&[]).unwrap()), names(&grid()));
        assert_eq!(names(&grid().chosen(&["gluino_1400*"]).unwrap()), ["gluino_1400_200"]);
        assert_eq!(
            names(&grid().chosen(&["1600,*", "*_200"]).unwrap()),
            ["gluino_1400_200", "gluino_1600_400"]
        );
        let error = grid().chosen(&["squark*"]).unwrap_err().to_string();
        assert!(error.contains("squark*") && error.contains("gluino_1400_200"), "{error}");
    }

    #[test]
    fn models_of_signals_are_those_of_single_patches() {
        let grid = grid();
        assert_eq!(grid.labels(), ["m_gluino", "m_lsp"]);
        for signal in grid.signals() {
            let patch = grid.patch(signal).unwrap();
            let single = crate::pyhf::Workspace::from_slice_patched(
                WORKSPACE,
                std::slice::from_ref(&patch),
                DigestCheck::Verify,
            );
            let options = ModelOptions::default();
            let (ours, theirs) = (
                grid.model(signal, &options, &ChannelSelection::default()).unwrap(),
                single.unwrap().model(&options).unwrap(),
            );
            assert_eq!(ours.digest(), theirs.digest());
            let listed = SignalGrid::of_patches(
                Background::from_slice(WORKSPACE).unwrap(),
                vec![("a".to_owned(), patch)],
            );
            let same = listed.model(&listed.signals()[0], &options, &ChannelSelection::default()).unwrap();
            assert_eq!(same.digest(), theirs.digest());
        }
    }
}
