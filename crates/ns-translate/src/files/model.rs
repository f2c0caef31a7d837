//! Models in archives.

use std::path::Path;
use std::sync::Arc;

use super::{Archive, Files};
use crate::ModelSource;
use crate::build::{ConfigOptions, build_config_in};
use crate::datacard::{Card, CardOptions};
use crate::histfactory;
use crate::hs3::EventSources;
use crate::pyhf::{DigestCheck, Patch, WorkspaceError};
use crate::recognise::{Format, SourceText};

impl ModelSource {
    /// Reads the model of an archive in any format: a workspace, an HS3 model that contains its events, XML of HistFactory, a
    /// datacard, or a configuration, with the files of the archive that it names. `file` is its name in the archive; without it the
    /// only model is taken. `card` has the options of a datacard. Patches are for workspaces.
    ///
    /// # Errors
    /// [`WorkspaceError::Archive`]; [`WorkspaceError::CardOption`] for options of a datacard with another format, and for a datacard
    /// with patches; the errors of the format.
    pub fn from_archive(
        archive: &Arc<Archive>,
        file: Option<&str>,
        patches: &[Patch],
        check: DigestCheck,
        card: Option<CardOptions>,
    ) -> Result<Self, WorkspaceError> {
        let (path, format) = archive.model(file)?;
        let files = Files::Packed(Arc::clone(archive));
        let for_cards = |message: &str| WorkspaceError::CardOption {
            message: format!("{message}: '{}'.", path.display()),
            remedy: "Leave it out.".to_owned(),
        };
        if format == Format::Datacard {
            if !patches.is_empty() {
                return Err(for_cards("A patch was given, but the model is a datacard"));
            }
            let options = CardOptions { files, ..card.unwrap_or_default() };
            return Ok(Self::Card(Box::new(Card::read(path, &options)?)));
        }
        if card.is_some() {
            return Err(for_cards("An option of datacards was given, but the model is none"));
        }
        let text = source_text(&files, path, format)?;
        Self::from_text(text, patches, check, &EventSources::default())
    }
}

fn source_text(files: &Files, path: &Path, format: Format) -> Result<SourceText, WorkspaceError> {
    match format {
        Format::Xml => {
            let imported = histfactory::read_in(files, path)?;
            Ok(SourceText::of_xml(imported))
        }
        Format::Trex | Format::Cabinetry => {
            let built = build_config_in(files, path, ConfigOptions::default()).map_err(Box::new)?;
            let json = built.workspace.to_string().into_bytes();
            Ok(SourceText { json, format, warnings: built.warnings })
        }
        _ => {
            // What is read of JSON is counted by who reads it.
            let bytes = match files {
                Files::Packed(archive) => archive.get(path).map(|bytes| bytes.to_vec()),
                Files::Disk => None,
            };
            SourceText::from_bytes(bytes.unwrap_or_default())
        }
    }
}
