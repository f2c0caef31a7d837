//! Models in archives: which file is the model, and how it is read.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::ModelSource;
use crate::build::{ConfigOptions, build_config_in};
use crate::datacard::{Card, CardOptions};
use crate::files::{Archive, ArchiveError, Files, Member, cut, inside};
use crate::histfactory;
use crate::hs3::EventSources;
use crate::pyhf::{DigestCheck, Patch, WorkspaceError};
use crate::recognise::{Format, SourceText};

/// Largest number of names in a message.
const NAMES: usize = 100;

impl Archive {
    /// Returns the file that is the model, by its name or else by the contents of all files, and what it is.
    ///
    /// # Errors
    /// [`ArchiveError::NoMember`], [`ArchiveError::NoModel`] and [`ArchiveError::Choose`].
    pub fn model(&self, name: Option<&str>) -> Result<(&Path, Format), ArchiveError> {
        let shown = |path: &Path| path.display().to_string();
        let members = || self.members().keys().take(NAMES).map(|path| shown(path)).collect();
        if let Some(name) = name {
            let found = inside(Path::new(name)).and_then(|path| self.members().get_key_value(&path));
            let Some((path, member)) = found else {
                return Err(ArchiveError::NoMember { name: cut(name), members: members() });
            };
            return Ok((path, Format::of(self.content(member)?)));
        }
        let mut models = Vec::new();
        for (path, member) in self.members().iter().filter(|(path, _)| !is_aside(path)) {
            // Compressed files that cannot be a model are not unpacked.
            if may_be_model(member)
                && let Some(format) = model_format(self.content(member)?)
            {
                models.push((path.as_path(), format));
            }
        }
        let mut models = models.into_iter();
        let Some(first) = models.next() else { return Err(ArchiveError::NoModel { members: members() }) };
        let others: Vec<String> = models.take(NAMES).map(|(path, _)| shown(path)).collect();
        if others.is_empty() {
            return Ok(first);
        }
        let candidates = std::iter::once(shown(first.0)).chain(others).collect();
        Err(ArchiveError::Choose { candidates })
    }
}

impl ModelSource {
    /// Reads the model of an archive in any format: a workspace, an HS3 model that contains its events, XML of HistFactory, a
    /// datacard, or a configuration, with the files of the archive that it names. `file` is its name in the archive; without it the
    /// only model is taken. `card` has the options of a datacard. Patches are for workspaces.
    ///
    /// # Errors
    /// [`WorkspaceError::Archived`]; [`WorkspaceError::CardOption`] for options of a datacard with another format, and for a datacard
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
            let built = build_config_in(files, path, ConfigOptions::default())?;
            let json = built.workspace.to_string().into_bytes();
            Ok(SourceText { json, format, warnings: built.warnings, axes: built.axes.as_found() })
        }
        _ => {
            // What is read of JSON is counted by who reads it.
            let bytes = match files {
                Files::Packed(archive) => archive.bytes_of(path).map(<[u8]>::to_vec),
                Files::Disk => None,
            };
            SourceText::from_bytes(bytes.unwrap_or_default())
        }
    }
}

/// Whether a file is one that macOS adds beside each file of an archive.
fn is_aside(path: &Path) -> bool {
    let starts = |part: &std::ffi::OsStr| {
        part == "__MACOSX" || part.to_str().is_some_and(|name| name.starts_with("._"))
    };
    path.iter().any(starts)
}

/// Whether the beginning of a file may be that of a model.
fn may_be_model(member: &Member) -> bool {
    !matches!(Format::of(&member.head()), Format::Root | Format::Unknown)
}

/// Returns the format of a file that is a model by itself.
fn model_format(bytes: &[u8]) -> Option<Format> {
    #[derive(Deserialize)]
    struct Keys {
        channels: Option<IgnoredAny>,
        distributions: Option<IgnoredAny>,
    }
    let format = Format::of(bytes);
    let is_model = match format {
        Format::Datacard | Format::Trex | Format::Cabinetry => true,
        // The other files of HistFactory describe a channel.
        Format::Xml => bytes.windows(12).any(|window| window == b"<Combination"),
        Format::Json => serde_json::from_slice::<Keys>(bytes)
            .is_ok_and(|keys| keys.channels.is_some() || keys.distributions.is_some()),
        _ => false,
    };
    is_model.then_some(format)
}
