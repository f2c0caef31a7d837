//! [`Hs3`]: an HS3 file that was read, from which models are made.

use ns_core::Model;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::pyhf::diagnose::{explain_syntax, report_duplicate_keys};
use crate::pyhf::problem::{Problem, Report};
use crate::pyhf::{ModelOptions, WorkspaceError};

use super::document::Document;
use super::index::Index;
use super::{build, check, choose, read};

/// An HS3 file with a valid structure.
#[derive(Debug, Clone, PartialEq)]
pub struct Hs3 {
    document: Document,
    /// Problems that were found when the file was read.
    notes: Report,
}

/// The keys by which an HS3 file is known.
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

/// Returns whether a JSON text is an HS3 file: it has an `hs3_version`, or distributions or likelihoods and no
/// channels.
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
    /// If the text is not JSON, or not an HS3 file: the error has all problems, also those of the contents.
    pub fn from_slice(text: &[u8]) -> Result<Self, WorkspaceError> {
        let tree: Value = serde_json::from_slice(text).map_err(|error| explain_syntax(text, &error))?;
        let mut notes = Report::default();
        report_duplicate_keys(text, &mut notes);
        let document = read::read(&tree, &mut notes);
        drop(tree);
        let index = Index::new(&document, &mut notes);
        check::check(&index, &mut notes);
        if notes.has_errors() {
            return Err(WorkspaceError::Invalid { report: notes });
        }
        Ok(Self { document, notes })
    }

    /// Returns the names of the analyses, in the order of the file; those of the likelihoods if there are no
    /// analyses.
    #[must_use]
    pub fn analysis_names(&self) -> Vec<String> {
        choose::choices(&self.document).into_iter().map(|choice| choice.name).collect()
    }

    /// Returns all errors and warnings, for every analysis.
    #[must_use]
    pub fn validate(&self) -> Vec<Problem> {
        let mut report = self.notes.clone();
        let index = Index::new(&self.document, &mut Report::default());
        for choice in choose::choices(&self.document) {
            let mut own = Report::default();
            build::build(&index, &choice, None, &mut own);
            own.problems.retain(|problem| !report.problems.contains(problem));
            report.extend(own);
        }
        report.problems
    }

    /// Makes the model of one analysis, that of [`ModelOptions::measurement`].
    ///
    /// # Errors
    /// [`WorkspaceError::ChooseAnalysis`] if there is none of this name, or none was named and it is not clear
    /// which one is meant; [`WorkspaceError::Invalid`] with every problem that concerns the analysis, among
    /// them everything that is not supported.
    pub fn model(&self, options: &ModelOptions) -> Result<Model, WorkspaceError> {
        let choice = choose::choose(&self.document, options.measurement.as_deref())?;
        let mut report = self.notes.clone();
        let index = Index::new(&self.document, &mut Report::default());
        match build::build(&index, &choice, options.poi.as_deref(), &mut report) {
            Some(model) => Ok(model),
            None => Err(WorkspaceError::Invalid { report }),
        }
    }
}
