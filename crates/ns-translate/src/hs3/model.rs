//! [`Hs3`]: an HS3 file that was read, from which models are built.

use std::collections::BTreeSet;
use std::sync::Arc;

use ns_core::{Device, Interpolation, Model};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::pyhf::axes::Axes;
use crate::pyhf::diagnose::{explain_syntax, report_duplicate_keys};
use crate::pyhf::problem::{Problem, Report};
use crate::pyhf::{ChannelSelection, ModelOptions, WorkspaceError};

use super::document::{Data, Document, Named, Origin};
use super::index::Index;
use super::sources::EventSources;
use super::{build, check, choose, jumps, read};

/// An HS3 file with a valid structure.
#[derive(Debug, Clone, PartialEq)]
pub struct Hs3 {
    document: Document,
    /// The text of the file, in JSON.
    text: Arc<[u8]>,
    /// Names of the channels that are left out of the models.
    omitted: BTreeSet<String>,
    /// Problems found when the file was read.
    notes: Report,
    /// The axes of the histograms from which the file was made.
    pub(crate) axes: Axes,
}

/// The keys that distinguish an HS3 file from a workspace.
#[derive(Deserialize)]
struct Keys {
    metadata: Option<Metadata>,
    distributions: Option<IgnoredAny>,
    likelihoods: Option<IgnoredAny>,
    channels: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Metadata {
    hs3_version: Option<IgnoredAny>,
}

/// Returns whether a JSON text is an HS3 file, and not a workspace. An HS3 file has an `hs3_version`, or it has
/// distributions or likelihoods and no channels.
#[must_use]
pub fn is_hs3(text: &[u8]) -> bool {
    let Ok(keys) = serde_json::from_slice::<Keys>(text) else { return false };
    let version = keys.metadata.is_some_and(|metadata| metadata.hs3_version.is_some());
    version || (keys.channels.is_none() && (keys.distributions.is_some() || keys.likelihoods.is_some()))
}

impl Hs3 {
    /// Reads JSON text.
    ///
    /// # Errors
    /// If the text is not JSON or not an HS3 file. The error has all problems, including problems of the contents.
    pub fn from_slice(text: &[u8]) -> Result<Self, WorkspaceError> {
        Self::with_events(text, &EventSources::default())
    }

    /// Reads JSON text. `sources` provides events that are not in the text.
    ///
    /// # Errors
    /// The errors of [`Self::from_slice`], and if events cannot be read.
    pub fn with_events(text: &[u8], sources: &EventSources) -> Result<Self, WorkspaceError> {
        let tree: Value = serde_json::from_slice(text).map_err(|error| explain_syntax(text, &error))?;
        let mut notes = Report::default();
        report_duplicate_keys(text, &mut notes);
        let document = read::read(&tree, sources, &mut notes);
        drop(tree);
        let index = Index::new(&document, &mut notes);
        check::check(&index, &mut notes);
        if notes.has_errors() {
            return Err(WorkspaceError::InvalidHs3 { report: notes });
        }
        Ok(Self { document, text: Arc::from(text), omitted: BTreeSet::new(), notes, axes: Axes::default() })
    }

    pub(super) fn document(&self) -> &Document {
        &self.document
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the names of the analyses, in the order of the file. For a file without analyses, returns the
    /// names of the likelihoods.
    #[must_use]
    pub fn analysis_names(&self) -> Vec<String> {
        choose::choices(&self.document).into_iter().map(|choice| choice.name).collect()
    }

    /// Returns the file as JSON text, without the channels that were left out. Events from other sources are
    /// included in the text.
    ///
    /// # Errors
    /// If the text cannot be written.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let from_elsewhere = |data: &&Named<Data>| {
            matches!(data.content, Data::Unbinned { origin: Origin::File | Origin::Given, .. })
        };
        if self.omitted.is_empty() && !self.document.data.iter().any(|data| from_elsewhere(&data)) {
            return Ok(self.text.to_vec());
        }
        let mut tree: Value = serde_json::from_slice(&self.text)?;
        for data in self.document.data.iter().filter(from_elsewhere) {
            if let (Some(Value::Object(place)), Data::Unbinned { columns, weights, .. }) =
                (tree.pointer_mut(&data.path), &data.content)
            {
                place.remove("nextstat.source");
                place.insert("entries".to_owned(), entries(columns));
                if let Some(weights) = weights {
                    place.insert("weights".to_owned(), json!(weights[..]));
                }
            }
        }
        let likelihoods = tree.get_mut("likelihoods").and_then(Value::as_array_mut);
        for likelihood in likelihoods.into_iter().flatten() {
            let names =
                likelihood.get("distributions").and_then(Value::as_array).cloned().unwrap_or_default();
            let stays = |i: usize| {
                names.get(i).and_then(Value::as_str).is_some_and(|name| !self.omitted.contains(name))
            };
            for key in ["distributions", "data"] {
                if let Some(items) = likelihood.get_mut(key).and_then(Value::as_array_mut) {
                    let mut i = 0;
                    items.retain(|_| {
                        i += 1;
                        stays(i - 1)
                    });
                }
            }
        }
        serde_json::to_vec(&tree)
    }

    /// Returns the names of the channels of all likelihoods. A channel is a distribution with data.
    #[must_use]
    pub fn channel_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.document.likelihoods.iter().flat_map(|likelihood| &likelihood.content.distributions)
        {
            if !names.contains(&name.value.as_str()) && !self.omitted.contains(&name.value) {
                names.push(&name.value);
            }
        }
        names
    }

    /// Returns the file with the selected channels. Constraint terms that are factors of removed channels, and of no
    /// other channel, are removed too.
    ///
    /// # Errors
    /// [`WorkspaceError::NoSuchChannel`] if a channel does not exist, or none is left.
    pub fn select_channels(mut self, selection: &ChannelSelection) -> Result<Self, WorkspaceError> {
        let known: Vec<String> = self.channel_names().into_iter().map(str::to_owned).collect();
        let named = selection.keep.iter().flatten().chain(&selection.mask);
        let missing = named.into_iter().find(|name| !known.contains(name));
        if let Some(name) = missing {
            return Err(WorkspaceError::NoSuchChannel { name: name.clone(), available: known });
        }
        let kept = |name: &String| selection.keep.as_ref().is_none_or(|keep| keep.contains(name));
        let stays = |name: &String| kept(name) && !selection.mask.contains(name);
        if !known.iter().any(stays) {
            return Err(WorkspaceError::NoSuchChannel { name: String::new(), available: known });
        }
        for likelihood in &mut self.document.likelihoods {
            let content = &mut likelihood.content;
            let pairs: Vec<_> = std::mem::take(&mut content.distributions)
                .into_iter()
                .zip(std::mem::take(&mut content.data))
                .filter(|(name, _)| stays(&name.value))
                .collect();
            (content.distributions, content.data) = pairs.into_iter().unzip();
        }
        self.omitted.extend(known.into_iter().filter(|name| !stays(name)));
        Ok(self)
    }

    /// Returns all errors and warnings, for every analysis.
    #[must_use]
    pub fn validate(&self) -> Vec<Problem> {
        let mut report = self.notes.clone();
        let index = Index::new(&self.document, &mut Report::default());
        for choice in choose::choices(&self.document) {
            let mut own = Report::default();
            if let Some(model) = build::build(&index, &choice, (&[], Device::Cpu), &mut own) {
                jumps::warn(&index, &model, &mut own);
            }
            own.problems.retain(|problem| !report.problems.contains(problem));
            report.extend(own);
        }
        report.problems
    }

    /// Makes the model of the analysis that [`ModelOptions::measurement`] names.
    ///
    /// # Errors
    /// [`WorkspaceError::ChooseAnalysis`] if there is no analysis of this name, or if no name was given and several
    /// analyses are possible; [`WorkspaceError::InvalidHs3`] with every problem that concerns the analysis, including
    /// parts that are not supported.
    pub fn model(&self, options: &ModelOptions) -> Result<Model, WorkspaceError> {
        if options.interpolation != Interpolation::default() {
            return Err(WorkspaceError::NotForHs3 {
                what: "an interpolation code",
                remedy: "The file says how its modifiers are interpolated; leave the code out.",
            });
        }
        let choice = choose::choose(&self.document, options.measurement.as_deref())?;
        let mut report = self.notes.clone();
        let index = Index::new(&self.document, &mut Report::default());
        match build::build(&index, &choice, (options.pois.as_slice(), options.flows), &mut report) {
            Some(model) => Ok(model),
            None => Err(WorkspaceError::InvalidHs3 { report }),
        }
    }
}

/// Returns events in the format of HS3: one array of numbers per event.
pub(super) fn entries(columns: &[Arc<[f64]>]) -> Value {
    let n = columns.first().map_or(0, |column| column.len());
    let event = |i: usize| columns.iter().map(|column| json!(column.get(i))).collect::<Vec<Value>>();
    Value::Array((0..n).map(|i| Value::Array(event(i))).collect())
}
