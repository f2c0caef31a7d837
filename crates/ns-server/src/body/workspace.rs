//! Workspaces and patches in the body of a request.

use ns_translate::ModelSource;
use ns_translate::pyhf::{ChannelSelection, DigestCheck, Patch, Patchset, Workspace, WorkspaceError};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::archive::{self, CardFields};
use crate::memory::of_json;
use crate::problem::ServerError;

/// A workspace and the patches that are applied to it.
#[derive(Debug, Clone)]
pub(crate) struct WorkspaceBody<'a> {
    /// The workspace, or the archive that it is in.
    pub(crate) text: ModelText<'a>,
    /// Patches, applied in order.
    pub(crate) patches: &'a [PatchBody],
    /// Whether the digests of patchsets must match the workspace.
    pub(crate) digest_check: bool,
    /// Names of the channels to use; all if empty.
    pub(crate) channels: &'a [String],
    /// Names of the channels to leave out.
    pub(crate) mask: &'a [String],
}

/// A model as it is in the body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ModelText<'a> {
    /// A workspace or an HS3 model.
    Json(&'a RawValue),
    /// A file in base64.
    Archive {
        /// The text in base64.
        packed: &'a str,
        /// Path of the model in the archive.
        file: Option<&'a str>,
        /// Options of a datacard.
        card: CardFields<'a>,
    },
}

/// A patch: a JSON Patch, or one patch of a patchset.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PatchBody {
    /// Operations of a JSON Patch (RFC 6902).
    #[schema(value_type = Option<Vec<Object>>)]
    pub(crate) patch: Option<Box<RawValue>>,
    /// A patchset. A request gives either this patchset or `patch`.
    #[schema(value_type = Option<Object>)]
    pub(crate) patchset: Option<Box<RawValue>>,
    /// Name of the patch in the patchset.
    pub(crate) name: Option<String>,
}

impl PatchBody {
    /// Reads the patch. `pointer` is the JSON pointer to the patch in the body, for error messages. The copies of all
    /// patches together may need `most_copied` bytes.
    fn read(&self, pointer: &str, most_copied: u64) -> Result<Patch, ServerError> {
        let failed = |source| ServerError::Workspace { pointer: pointer.to_owned(), source };
        let body =
            |reason: &str| ServerError::Body { pointer: pointer.to_owned(), reason: reason.to_owned() };
        let read = match (&self.patch, &self.patchset, &self.name) {
            (Some(patch), None, None) => Patch::from_slice(patch.get().as_bytes(), "patch").map_err(failed),
            (None, Some(set), Some(name)) => {
                let set = Patchset::from_slice(set.get().as_bytes(), "patchset").map_err(failed)?;
                set.patch(name).map_err(failed)
            }
            _ => Err(body("give either `patch`, or `patchset` with the `name` of one of its patches")),
        };
        read.map(|patch| patch.copying_at_most(most_copied))
    }
}

/// Memory, in bytes, that the copies of the patches of a request may need even if its workspace is small.
const COPIED: u64 = 4 << 20;

/// Memory of the copies of the name of a channel, in a list and in a set, in bytes, without its text.
const NAME: u64 = 128;

impl WorkspaceBody<'_> {
    /// Returns the memory, in bytes, that the copies of the patches may need: as much as the workspace, or [`COPIED`].
    /// `limit` is the memory of the server.
    fn most_copied(&self, limit: u64) -> u64 {
        let own = match self.text {
            ModelText::Json(text) => of_json(text.get().as_bytes()),
            ModelText::Archive { .. } => COPIED,
        };
        own.max(COPIED).min(limit / 8)
    }

    /// Returns an upper estimate of the memory, in bytes, that reading the workspace and compiling its model need.
    /// `limit` is the memory of the server.
    pub(crate) fn memory(&self, limit: u64) -> u64 {
        let of =
            |text: &Option<Box<RawValue>>| text.as_ref().map_or(0, |text| of_json(text.get().as_bytes()));
        let patches: u64 = self.patches.iter().map(|patch| of(&patch.patch) + of(&patch.patchset)).sum();
        let copies = if self.patches.is_empty() { 0 } else { self.most_copied(limit) };
        let names = self.channels.iter().chain(self.mask);
        let names: u64 = names.map(|name| NAME + 2 * name.len() as u64).sum();
        // The tree of the text, and the workspace with its model, are there at the same time.
        let text = match self.text {
            ModelText::Json(text) => 2 * of_json(text.get().as_bytes()),
            ModelText::Archive { packed, .. } => archive::memory(packed, limit),
        };
        text + 2 * copies + patches + names
    }

    /// Reads the model, applies its patches, and selects channels. `pointer` is the JSON pointer to the object
    /// that contains it, for error messages. `limit` is the memory of the server.
    ///
    /// # Errors
    /// If a patch cannot be read, or an archive is not base64 or needs too much memory.
    pub(crate) fn read(
        &self,
        pointer: &str,
        limit: u64,
    ) -> Result<Result<ModelSource, WorkspaceError>, ServerError> {
        let most = self.most_copied(limit);
        let place = |(i, patch): (usize, &PatchBody)| patch.read(&format!("{pointer}/patches/{i}"), most);
        let patches: Vec<Patch> = self.patches.iter().enumerate().map(place).collect::<Result<_, _>>()?;
        let check = if self.digest_check { DigestCheck::Verify } else { DigestCheck::Skip };
        let workspace = match self.text {
            ModelText::Json(text) => ModelSource::from_slice_patched(text.get().as_bytes(), &patches, check),
            ModelText::Archive { packed, file, card } => {
                archive::read(packed, file, card, &patches, check, limit)?
            }
        };
        let selection = ChannelSelection {
            keep: (!self.channels.is_empty()).then(|| self.channels.to_vec()),
            mask: self.mask.to_vec(),
        };
        Ok(match workspace {
            Ok(workspace) if !selection.is_everything() => workspace.select_channels(&selection),
            other => other,
        })
    }
}

/// Reads a workspace without patches. `pointer` is the JSON pointer to the workspace in the body, for error
/// messages.
///
/// # Errors
/// If the text is not a valid workspace.
pub(crate) fn read_workspace(text: &RawValue, pointer: &str) -> Result<Workspace, ServerError> {
    Workspace::from_slice(text.get().as_bytes())
        .map_err(|source| ServerError::Workspace { pointer: pointer.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocator::of_thread;
    use crate::body::{ModelBody, ModelReference};

    #[test]
    fn copies_of_the_names_of_channels_are_counted() -> Result<(), Box<dyn std::error::Error>> {
        let names = vec!["\"\""; 10_000].join(",");
        let body: ModelBody =
            serde_json::from_str(&format!("{{\"workspace\": {{}}, \"channels\": [{names}]}}"))?;
        let ModelReference::Workspace(workspace) = body.source()? else { return Err("no workspace".into()) };
        let without = WorkspaceBody { channels: &[], ..workspace.clone() };
        let before = of_thread();
        let copy = workspace.channels.to_vec();
        let made = u64::try_from(of_thread() - before)?;
        let counted = workspace.memory(1 << 30) - without.memory(1 << 30);
        assert!(made <= counted, "{made} of {counted}");
        drop(copy);
        Ok(())
    }
}
