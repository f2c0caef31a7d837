//! Patches: JSON Patch files and members of pyhf patchsets, which are applied to workspaces.

mod apply;
mod argument;
mod background;
mod digest;
mod direct;
mod patchset;
mod signals;

use serde_json::Value;

use super::error::WorkspaceError;
use super::mark::without_mark;
use super::problem::Report;

pub(super) use apply::Copies;
pub use argument::PatchArgument;
pub use background::Background;
pub use digest::DigestAlgorithm;
pub(super) use digest::digest_of;
pub use patchset::Patchset;
pub use signals::{Signal, SignalGrid};

/// Whether the digests in a patchset must match the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DigestCheck {
    /// A digest that does not match is an error, as in pyhf.
    #[default]
    Verify,
    /// The digests are ignored.
    Skip,
}

/// A patch that can be applied to a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    /// Origin of the patch for messages: the file and, for a patchset, the name of the patch.
    origin: String,
    operations: json_patch::Patch,
    /// Digests of the workspace for which the patch was made, as pairs of algorithm and hexadecimal text.
    digests: Vec<(String, String)>,
    /// Warnings from reading the patch.
    notes: Report,
    /// Memory that copies may need, in bytes.
    most_copied: u64,
}

impl Patch {
    /// Reads a JSON Patch (an array of operations).
    ///
    /// `origin` is the name of the patch in messages.
    ///
    /// # Errors
    /// If the text is not JSON or not an array of operations.
    pub fn from_slice(text: &[u8], origin: &str) -> Result<Self, WorkspaceError> {
        let mut report = Report::default();
        let text = without_mark(text, &mut report);
        let value: Value =
            serde_json::from_slice(text).map_err(|error| apply::syntax_error(text, &error, origin))?;
        apply::read_operations(&value, origin).map(|operations| Self {
            origin: origin.to_owned(),
            operations,
            digests: Vec::new(),
            notes: report.of_file(origin),
            most_copied: apply::MOST_COPIED,
        })
    }

    /// Limits the memory that the `copy` operations may need, in bytes. If several patches are applied to a document,
    /// the smallest of their limits holds for all copies together. The limit is 500 MB by default.
    #[must_use]
    pub fn copying_at_most(self, bytes: u64) -> Self {
        Self { most_copied: bytes, ..self }
    }

    /// Returns the memory that copies may need, in bytes.
    pub(super) fn most_copied(&self) -> u64 {
        self.most_copied
    }

    /// Returns the origin of the patch: the file and, for a patchset, the name of the patch.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the warnings from reading the file. Each JSON pointer begins with the name of the file.
    pub(crate) fn notes(&self) -> &Report {
        &self.notes
    }

    /// Returns the number of operations.
    #[must_use]
    pub fn n_operations(&self) -> usize {
        self.operations.len()
    }

    /// Returns a digest of the operations, as 64 hexadecimal digits. Patches with the same operations have the same
    /// digest, whatever their names.
    #[must_use]
    pub fn digest(&self) -> String {
        // The operations of a patch are JSON, so the conversion to JSON cannot fail.
        digest_of(&serde_json::to_value(&self.operations).unwrap_or(Value::Null), DigestAlgorithm::Sha256)
    }

    /// Compares the digests in the patchset with the digests of `workspace`, if the patchset has digests. No
    /// patch may have been applied to the workspace before.
    ///
    /// # Errors
    /// [`WorkspaceError::DigestMismatch`] if a digest differs.
    pub fn verify(&self, workspace: &Value, check: DigestCheck) -> Result<(), WorkspaceError> {
        if check == DigestCheck::Skip {
            return Ok(());
        }
        for (algorithm, expected) in &self.digests {
            let Some(actual) = digest::digest(workspace, algorithm) else { continue };
            if !actual.eq_ignore_ascii_case(expected) {
                return Err(WorkspaceError::DigestMismatch {
                    origin: self.origin.clone(),
                    algorithm: algorithm.clone(),
                    expected: expected.clone(),
                    actual,
                });
            }
        }
        Ok(())
    }

    /// Applies every operation to `workspace`. After an error, the operations before the failed one stay
    /// applied.
    ///
    /// # Errors
    /// [`WorkspaceError::Patch`], which names the operation that failed.
    pub fn apply(&self, workspace: &mut Value) -> Result<(), WorkspaceError> {
        self.apply_counted(workspace, &mut Copies::up_to(self.most_copied))
    }

    /// Applies every operation to `workspace`, like [`Self::apply`]. `copies` counts what several patches copy.
    pub(super) fn apply_counted(
        &self,
        workspace: &mut Value,
        copies: &mut Copies,
    ) -> Result<(), WorkspaceError> {
        apply::apply(&self.operations, workspace, &self.origin, copies)
    }
}
