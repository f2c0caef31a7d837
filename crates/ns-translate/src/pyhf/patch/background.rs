//! A workspace to which many patches are applied, one at a time.

use serde_json::Value;

use super::digest::{DigestAlgorithm, digest_of};
use super::{Copies, DigestCheck, Patch, direct};
use crate::pyhf::document::Document;
use crate::pyhf::error::WorkspaceError;
use crate::pyhf::problem::Report;
use crate::pyhf::workspace::Workspace;
use crate::pyhf::written::tree;

/// A background-only workspace for the patches of a patchset. The text is parsed once, and its digests are computed
/// once. What a patch leaves as it is, is not read again. Several threads may apply patches at the same time.
#[derive(Debug, Clone)]
pub struct Background {
    pub(super) value: Value,
    /// The workspace, if it has the form of pyhf's schema without any patch.
    pub(super) document: Option<Document>,
    notes: Report,
}

impl Background {
    /// Reads JSON text.
    ///
    /// # Errors
    /// [`WorkspaceError::Syntax`] if the text is not JSON; [`WorkspaceError::Invalid`] if an object has a key twice.
    pub fn from_slice(text: &[u8]) -> Result<Self, WorkspaceError> {
        let (value, notes) = tree(text)?;
        let document = serde::Deserialize::deserialize(&value).ok();
        Ok(Self { value, document, notes })
    }

    /// Compares the digests in the patchset of `patch` with those of this workspace. One call is enough for all patches
    /// of a patchset.
    ///
    /// # Errors
    /// [`WorkspaceError::DigestMismatch`] if a digest differs.
    pub fn verify(&self, patch: &Patch, check: DigestCheck) -> Result<(), WorkspaceError> {
        patch.verify(&self.value, check)
    }

    /// Returns the names of the channels, in the order of the file. Channels without a name are left out.
    #[must_use]
    pub fn channel_names(&self) -> Vec<&str> {
        let channels = self.value.get("channels").and_then(Value::as_array);
        channels.into_iter().flatten().filter_map(|channel| channel.get("name")?.as_str()).collect()
    }

    /// Returns the SHA-256 digest of the workspace, as pyhf computes it: 64 hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        digest_of(&self.value, DigestAlgorithm::Sha256)
    }

    /// Returns the workspace with one patch. Digests are not compared ([`Self::verify`] does this).
    ///
    /// # Errors
    /// [`WorkspaceError::Patch`] if an operation does not fit the workspace; [`WorkspaceError::AfterPatch`] if the
    /// result is not a workspace.
    pub fn patched(&self, patch: &Patch) -> Result<Workspace, WorkspaceError> {
        let mut notes = self.notes.clone();
        notes.extend(patch.notes().clone());
        let patches = vec![patch.origin().to_owned()];
        let read = self.document.as_ref();
        let workspace = match read.and_then(|read| direct::applied(&patch.operations, &self.value, read)) {
            Some(document) => Workspace { patches, ..Workspace::read((document, Report::default())) },
            None => {
                let mut value = self.value.clone();
                patch.apply_counted(&mut value, &mut Copies::up_to(patch.most_copied()))?;
                Workspace::from_patched_value(value, patches)?
            }
        };
        Ok(workspace.after_notes(notes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &[u8] = include_bytes!("../../../../../tests/fixtures/background_only.json");
    const PATCHSET: &[u8] = include_bytes!("../../../../../tests/fixtures/patchset.json");

    #[test]
    fn patches_give_the_workspaces_that_single_patches_give() {
        let background = Background::from_slice(WORKSPACE).unwrap();
        let set = super::super::Patchset::from_slice(PATCHSET, "patchset.json").unwrap();
        for name in set.names() {
            let patch = set.patch(name).unwrap();
            background.verify(&patch, DigestCheck::Verify).unwrap();
            let single =
                Workspace::from_slice_patched(WORKSPACE, std::slice::from_ref(&patch), DigestCheck::Verify);
            assert_eq!(background.patched(&patch).unwrap(), single.unwrap());
        }
    }

    #[test]
    fn digests_tell_workspaces_and_patches_apart() {
        let background = Background::from_slice(WORKSPACE).unwrap();
        let set = super::super::Patchset::from_slice(PATCHSET, "patchset.json").unwrap();
        let digests: Vec<String> = set.names().iter().map(|name| set.patch(name).unwrap().digest()).collect();
        assert!(digests.iter().all(|digest| digest.len() == 64), "{digests:?}");
        assert_ne!(digests[0], digests[1]);
        assert_eq!(set.patch(set.names()[0]).unwrap().digest(), digests[0]);
        let other = Background::from_slice(br#"{"channels": []}"#).unwrap();
        assert_ne!(background.digest(), other.digest());
        let patch = set.patch(set.names()[0]).unwrap();
        assert!(other.verify(&patch, DigestCheck::Verify).is_err());
        assert!(other.verify(&patch, DigestCheck::Skip).is_ok());
    }

    #[test]
    fn a_patch_that_does_not_fit_names_itself() {
        let background = Background::from_slice(br#"{"channels": []}"#).unwrap();
        let patch = Patch::from_slice(br#"[{"op": "remove", "path": "/samples"}]"#, "p.json").unwrap();
        let error = background.patched(&patch).unwrap_err().to_string();
        assert!(error.contains("p.json"), "{error}");
    }
}
