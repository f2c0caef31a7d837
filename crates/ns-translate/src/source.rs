//! A file from which models are built, in any supported format.

use std::path::Path;

use ns_core::{Interpolation, Model};

use crate::datacard::Card;
use crate::hs3::{EventSources, Hs3, is_hs3};
use crate::pyhf::axes::Axes;
use crate::pyhf::{
    Background, ChannelSelection, DigestCheck, ModelOptions, Patch, Problem, Workspace, WorkspaceError,
};
use crate::recognise::{Format, SourceText, must_be_json};

/// A pyhf workspace, an HS3 model or a datacard. The contents of the file decide which of them it is.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelSource {
    /// A pyhf workspace.
    Pyhf(Workspace),
    /// An HS3 model.
    Hs3(Hs3),
    /// A datacard of CMS Combine.
    Card(Box<Card>),
}

impl ModelSource {
    /// Reads JSON text.
    ///
    /// # Errors
    /// The errors of [`Workspace::from_slice`] and [`Hs3::from_slice`].
    pub fn from_slice(text: &[u8]) -> Result<Self, WorkspaceError> {
        Self::from_slice_patched(text, &[], DigestCheck::Verify)
    }

    /// Reads JSON text and applies patches. Patches are supported for workspaces only.
    ///
    /// # Errors
    /// The errors of [`Workspace::from_slice_patched`] and [`Hs3::from_slice`]; [`WorkspaceError::NotForHs3`]
    /// for an HS3 file with patches.
    pub fn from_slice_patched(
        text: &[u8],
        patches: &[Patch],
        check: DigestCheck,
    ) -> Result<Self, WorkspaceError> {
        Self::with_events(text, patches, check, &EventSources::default())
    }

    /// Reads JSON text like [`Self::from_slice_patched`]. `sources` provides events for the data sets of an
    /// HS3 file.
    ///
    /// # Errors
    /// The errors of [`Self::from_slice_patched`] and [`Hs3::with_events`];
    /// [`WorkspaceError::EventsForWorkspace`] if the caller gives events for a workspace, because its data are
    /// counts.
    pub fn with_events(
        text: &[u8],
        patches: &[Patch],
        check: DigestCheck,
        sources: &EventSources,
    ) -> Result<Self, WorkspaceError> {
        must_be_json(text)?;
        if !sources.given.is_empty() && !is_hs3(text) {
            return Err(WorkspaceError::EventsForWorkspace);
        }
        // Most files are workspaces that follow the schema. Only other files are read a second time.
        if patches.is_empty()
            && let Some(workspace) = Workspace::quick(text)
        {
            return Ok(Self::Pyhf(workspace));
        }
        if !is_hs3(text) {
            return Workspace::from_slice_patched(text, patches, check).map(Self::Pyhf);
        }
        if !patches.is_empty() {
            return Err(WorkspaceError::NotForHs3 {
                what: "a patch",
                remedy: "Change the file, or leave the patch out.",
            });
        }
        Hs3::with_events(text, sources).map(Self::Hs3)
    }

    /// Reads JSON text as a background for the patches of many signals.
    ///
    /// # Errors
    /// The errors of [`Background::from_slice`]; [`WorkspaceError::NotForHs3`] for an HS3 file.
    pub fn background(text: &[u8]) -> Result<Background, WorkspaceError> {
        must_be_json(text)?;
        if is_hs3(text) {
            return Err(WorkspaceError::NotForHs3 {
                what: "a patchset",
                remedy: "Give the background as a pyhf workspace.",
            });
        }
        Background::from_slice(text)
    }

    /// Reads a file of any format like [`Self::with_events`]. Returns also what the format is.
    ///
    /// # Errors
    /// The errors of [`SourceText::read`] and [`Self::with_events`].
    pub fn read_path(
        path: &Path,
        patches: &[Patch],
        check: DigestCheck,
        sources: &EventSources,
    ) -> Result<(Self, Format), WorkspaceError> {
        let text = SourceText::read(path)?;
        let format = text.format;
        Ok((Self::from_text(text, patches, check, sources)?, format))
    }

    /// Makes the source of a text that was read. The warnings of the text become those of the source.
    ///
    /// # Errors
    /// The errors of [`Self::with_events`].
    pub fn from_text(
        text: SourceText,
        patches: &[Patch],
        check: DigestCheck,
        sources: &EventSources,
    ) -> Result<Self, WorkspaceError> {
        let mut source = Self::with_events(&text.json, patches, check, sources)?;
        match &mut source {
            Self::Pyhf(workspace) => workspace.axes = text.axes,
            Self::Hs3(hs3) => hs3.axes = text.axes,
            Self::Card(_) => {}
        }
        let mut warnings = text.warnings;
        warnings.extend_from_slice(source.reading_warnings());
        Ok(source.with_reading_warnings(warnings))
    }

    /// Returns the name of the format, as results show it.
    #[must_use]
    pub fn format(&self) -> &'static str {
        match self {
            Self::Pyhf(_) => "pyhf workspace",
            Self::Hs3(_) => "HS3 model",
            Self::Card(_) => "datacard",
        }
    }

    /// Returns the names of the measurements of a workspace, or of the analyses of an HS3 file. A datacard has one, with the
    /// name of its file.
    #[must_use]
    pub fn measurement_names(&self) -> Vec<String> {
        match self {
            Self::Pyhf(workspace) => workspace.measurement_names().into_iter().map(str::to_owned).collect(),
            Self::Hs3(hs3) => hs3.analysis_names(),
            Self::Card(card) => vec![card.name().to_owned()],
        }
    }

    /// Returns the names of all channels.
    #[must_use]
    pub fn channel_names(&self) -> Vec<&str> {
        match self {
            Self::Pyhf(workspace) => workspace.channel_names(),
            Self::Hs3(hs3) => hs3.channel_names(),
            Self::Card(card) => card.channel_names(),
        }
    }

    /// Returns the source without the channels that the selection leaves out.
    ///
    /// # Errors
    /// If a channel does not exist, is both kept and left out, or if no channel is left.
    pub fn select_channels(self, selection: &ChannelSelection) -> Result<Self, WorkspaceError> {
        match self {
            Self::Pyhf(workspace) => workspace.select_channels(selection).map(Self::Pyhf),
            Self::Hs3(hs3) => hs3.select_channels(selection).map(Self::Hs3),
            Self::Card(card) => Ok(Self::Card(Box::new(card.selected(selection)?))),
        }
    }

    /// Returns all errors and warnings, for every measurement or analysis, if models have these interpolation codes.
    #[must_use]
    pub fn validate(&self, interpolation: Interpolation) -> Vec<Problem> {
        match self {
            Self::Pyhf(workspace) => workspace.validate_with(interpolation),
            Self::Hs3(hs3) => hs3.validate(),
            Self::Card(card) => card.validate(),
        }
    }

    /// Makes the model of one measurement or analysis.
    ///
    /// # Errors
    /// The errors of [`Workspace::model`] and [`Hs3::model`], [`WorkspaceError::Correlations`] for correlations that do
    /// not suit the model, and [`WorkspaceError::Axes`] for axes that do not.
    pub fn model(&self, options: &ModelOptions) -> Result<Model, WorkspaceError> {
        let mut model = match self {
            Self::Pyhf(workspace) => {
                let mut model = workspace.model(options)?;
                workspace.axes.apply(&mut model)?;
                model
            }
            Self::Hs3(hs3) => {
                let mut model = hs3.model(options)?;
                hs3.axes.apply(&mut model)?;
                model
            }
            Self::Card(card) => card.model_of(options)?,
        };
        options.correlations.apply(&mut model)?;
        options.axes.apply(&mut model)?;
        Ok(model)
    }

    /// Returns the workspace or the HS3 file as JSON text, without channels that were left out.
    ///
    /// # Errors
    /// If the text cannot be written. A datacard cannot.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        match self {
            Self::Pyhf(workspace) => serde_json::to_vec(workspace),
            Self::Hs3(hs3) => hs3.to_json(),
            Self::Card(_) => Err(serde::ser::Error::custom("a datacard cannot be written as JSON")),
        }
    }

    /// Returns the warnings about parts that were corrected or left out when a workspace was read.
    /// [`Self::to_json`] writes the corrected parts, without these warnings.
    #[must_use]
    pub fn reading_warnings(&self) -> &[Problem] {
        match self {
            Self::Pyhf(workspace) => workspace.reading_warnings(),
            Self::Hs3(_) => &[],
            Self::Card(card) => card.reading_warnings(),
        }
    }

    /// Returns the axes of the histograms that were converted. They are no part of [`Self::to_json`]. `None` for a datacard, which
    /// reads its histograms.
    #[must_use]
    pub fn axes(&self) -> Option<&Axes> {
        match self {
            Self::Pyhf(workspace) => Some(workspace.axes()),
            Self::Hs3(hs3) => Some(&hs3.axes),
            Self::Card(_) => None,
        }
    }

    /// Replaces the warnings of [`Self::reading_warnings`].
    #[must_use]
    pub fn with_reading_warnings(self, warnings: Vec<Problem>) -> Self {
        match self {
            Self::Pyhf(workspace) => Self::Pyhf(workspace.with_reading_warnings(warnings)),
            other => other,
        }
    }
}
