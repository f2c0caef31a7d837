//! [`Workspace`]: a workspace that was read. Models are built from it.

use std::io::Read;
use std::path::Path;

use ns_core::{Device, Interpolation, Model};
use serde_json::Value;

use super::build::build;
use super::declare::{Declared, declare};
use super::document::{Document, Measurement};
use super::error::WorkspaceError;
use super::input::{read_file, read_from};
use super::interest::{self, Interest};
use super::mark::without_mark;
use super::names::{nearest, quoted};
use super::patch::{DigestCheck, Patch};
use super::problem::{Problem, Report};
use super::settings::resolve;
use super::tolerate::remove_copies;
use super::{functions, impossible, names, rules};
use crate::{Axes, CorrelationTables};

/// Options for making a model from a workspace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelOptions {
    /// Name of the measurement; `None` stands for the first measurement.
    pub measurement: Option<String>,
    /// Interpolation codes; by default the smooth codes.
    pub interpolation: Interpolation,
    /// Names of the parameters of interest, also as lists separated by commas. An empty vector stands for those of the
    /// measurement.
    pub pois: Vec<String>,
    /// Device on which the log-densities of flows are evaluated. The CPU evaluates them if the device is `auto`, or
    /// if this build has no provider of ONNX Runtime for the device. Workspaces have no flows.
    pub flows: Device,
    /// Whether channels of a workspace may lack observed counts. [`Model::unobserved`] then names them. Asimov data and
    /// yields before a fit need no observations.
    pub unobserved: bool,
    /// Correlations between the constraints of parameters, in addition to those of the file.
    pub correlations: CorrelationTables,
    /// Titles and edges of the bins of channels, for pictures and tables.
    pub axes: Axes,
}

/// A pyhf workspace with a valid structure. [`Workspace::validate`] and [`Workspace::model`] check its
/// contents.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub(crate) document: Document,
    /// Warnings about parts that were corrected or left out when the workspace was read.
    pub(crate) notes: Report,
    /// Origins of the patches that were applied, for error messages.
    pub(crate) patches: Vec<String>,
    /// The axes of the histograms from which a workspace was made.
    pub(crate) axes: Axes,
}

/// Workspaces are equal if their contents are equal. Positions in the file, warnings and applied patches do
/// not matter.
impl PartialEq for Workspace {
    fn eq(&self, other: &Self) -> bool {
        let (mut a, mut b) = (self.document.clone(), other.document.clone());
        a.number();
        b.number();
        a == b
    }
}

/// Writes the workspace in pyhf's format, with the keys in a fixed order.
impl serde::Serialize for Workspace {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.document.serialize(serializer)
    }
}

impl Workspace {
    /// Makes a workspace without patches and without warnings.
    pub(crate) fn of(document: Document) -> Self {
        Self { document, notes: Report::default(), patches: Vec::new(), axes: Axes::default() }
    }

    /// Makes a workspace from a document that was read. Of several equal items with the same name, the first
    /// is kept.
    pub(super) fn read((mut document, mut notes): (Document, Report)) -> Self {
        remove_copies(&mut document, &mut notes);
        Self { document, notes, patches: Vec::new(), axes: Axes::default() }
    }

    /// Reads a file, which may be compressed, or a member of an archive, as described for [`read_file`].
    ///
    /// # Errors
    /// If the file cannot be read, is not JSON, or does not have the structure of a workspace. The error
    /// lists all problems, including those of the contents.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        Self::from_slice(&read_file(path.as_ref())?)
    }

    /// Reads all text that `reader` provides, for example standard input.
    ///
    /// # Errors
    /// The errors of [`Workspace::from_path`].
    pub fn from_reader(reader: impl Read) -> Result<Self, WorkspaceError> {
        Self::from_slice(&read_from(reader, "the input")?)
    }

    /// Reads JSON text in UTF-8.
    ///
    /// # Errors
    /// The errors of [`Workspace::from_path`], apart from errors of reading the file.
    pub fn from_slice(text: &[u8]) -> Result<Self, WorkspaceError> {
        if let Some(workspace) = Self::quick(text) {
            return Ok(workspace);
        }
        let mut notes = Report::default();
        let text = without_mark(text, &mut notes);
        super::diagnose::read_text(text, notes).map(Self::read)
    }

    /// Reads text that follows pyhf's schema. Returns `None` for any other text. The caller then reads the
    /// text again and collects its problems.
    pub(crate) fn quick(text: &[u8]) -> Option<Self> {
        let mut notes = Report::default();
        let document = serde_json::from_slice(without_mark(text, &mut notes)).ok()?;
        Some(Self::read((document, notes)))
    }

    /// Converts a JSON value, for example a patched document, to a workspace.
    ///
    /// # Errors
    /// If the value does not have the structure of a workspace.
    pub fn from_value(value: Value) -> Result<Self, WorkspaceError> {
        match serde::Deserialize::deserialize(&value) {
            Ok(document) => Ok(Self::read((document, Report::default()))),
            Err(_) => super::diagnose::read_tree(value, Report::default()).map(Self::read),
        }
    }

    /// Reads JSON text, applies patches to it in their order, and checks the result.
    ///
    /// The digests of a patchset are compared with those of the text before any patch is applied.
    ///
    /// # Errors
    /// The errors of [`Workspace::from_slice`]; [`WorkspaceError::DigestMismatch`] if a digest differs;
    /// [`WorkspaceError::Patch`] if an operation does not fit the workspace; [`WorkspaceError::AfterPatch`]
    /// if the result is not a workspace.
    pub fn from_slice_patched(
        text: &[u8],
        patches: &[Patch],
        check: DigestCheck,
    ) -> Result<Self, WorkspaceError> {
        if patches.is_empty() {
            return Self::from_slice(text);
        }
        let (value, report) = super::written::patched(text, patches, check)?;
        let origins = patches.iter().map(|patch| patch.origin().to_owned()).collect();
        Ok(Self::from_patched_value(value, origins)?.after_notes(report))
    }

    /// Puts warnings before those of [`Self::reading_warnings`].
    pub(crate) fn after_notes(mut self, mut notes: Report) -> Self {
        notes.extend(std::mem::take(&mut self.notes));
        Self { notes, ..self }
    }

    /// Makes the workspace of a patched document. Errors include the names of the patches.
    pub(crate) fn from_patched_value(value: Value, patches: Vec<String>) -> Result<Self, WorkspaceError> {
        match Self::from_value(value) {
            Ok(workspace) => Ok(Self { patches, ..workspace }),
            Err(error) => Err(error.after(&patches)),
        }
    }

    /// Reads a file and applies patches to it.
    ///
    /// # Errors
    /// The errors of [`Workspace::from_path`] and [`Workspace::from_slice_patched`].
    pub fn from_path_patched(
        path: impl AsRef<Path>,
        patches: &[Patch],
        check: DigestCheck,
    ) -> Result<Self, WorkspaceError> {
        Self::from_slice_patched(&read_file(path.as_ref())?, patches, check)
    }

    /// Returns the warnings about parts that were corrected or left out when the workspace was read.
    /// [`Self::to_value`] does not contain these warnings.
    #[must_use]
    pub fn reading_warnings(&self) -> &[Problem] {
        &self.notes.problems
    }

    /// Replaces the warnings of [`Self::reading_warnings`]. A workspace that is restored from the result of
    /// [`Self::to_value`] needs this method, because that result has no warnings.
    #[must_use]
    pub fn with_reading_warnings(mut self, warnings: Vec<Problem>) -> Self {
        self.notes = Report { problems: warnings, omitted: 0 };
        self
    }

    /// Returns the axes of the histograms from which the workspace was made; empty for a workspace of a file. They are no part
    /// of the workspace's JSON.
    #[must_use]
    pub fn axes(&self) -> &Axes {
        &self.axes
    }

    /// Returns the workspace as a JSON value, in pyhf's format.
    #[must_use]
    pub fn to_value(&self) -> Value {
        // The conversion of numbers, strings and arrays to a JSON tree cannot fail.
        serde_json::to_value(&self.document).unwrap_or(Value::Null)
    }

    /// Returns the names of the measurements, in the order of the file.
    #[must_use]
    pub fn measurement_names(&self) -> Vec<&str> {
        self.document.measurements.iter().map(|m| m.name.as_str()).collect()
    }

    /// Returns the workspace with only the measurement of this name, and with these parameters of interest, if any are given.
    #[must_use]
    pub fn of_measurement(&self, name: &str, pois: Option<Vec<String>>) -> Self {
        let mut out = self.clone();
        out.document.measurements.retain(|measurement| measurement.name == name);
        if let Some(pois) = pois {
            for measurement in &mut out.document.measurements {
                measurement.config.poi = Interest::new(pois.clone());
            }
        }
        out
    }

    /// Returns all errors and warnings of the workspace, for every measurement, with the default interpolation codes.
    #[must_use]
    pub fn validate(&self) -> Vec<Problem> {
        self.validate_with(Interpolation::default())
    }

    /// Returns all errors and warnings of the workspace, for every measurement, if models have the given interpolation
    /// codes.
    #[must_use]
    pub fn validate_with(&self, interpolation: Interpolation) -> Vec<Problem> {
        self.report(interpolation).problems
    }

    /// Returns the problems of [`Workspace::validate_with`], with the number of errors that were not kept.
    fn report(&self, interpolation: Interpolation) -> Report {
        let mut report = self.notes.clone();
        report.extend(validate_document(&self.document, interpolation, true));
        report
    }

    /// Makes the model of one measurement.
    ///
    /// # Errors
    /// [`WorkspaceError::NoSuchMeasurement`] if there is no measurement with this name;
    /// [`WorkspaceError::BadPoi`] if the parameter in the options cannot be a parameter of interest;
    /// [`WorkspaceError::Invalid`] with every problem that concerns this measurement.
    ///
    /// For a patched workspace the error is inside a [`WorkspaceError::AfterPatch`].
    pub fn model(&self, options: &ModelOptions) -> Result<Model, WorkspaceError> {
        self.model_of(options).map_err(|error| error.after(&self.patches))
    }

    fn model_of(&self, options: &ModelOptions) -> Result<Model, WorkspaceError> {
        let measurement = self.measurement(options.measurement.as_deref())?;
        let mut report = self.notes.clone();
        if options.measurement.is_none() && self.document.measurements.len() > 1 {
            report.warn(
                "/measurements".to_owned(),
                format!(
                    "The workspace has {} measurements; the first one, {}, is used.",
                    self.document.measurements.len(),
                    quoted(&measurement.name)
                ),
                "Choose one by name to be sure.",
            );
        }
        rules::check(&self.document, options.interpolation.normsys, &mut report);
        if !options.unobserved {
            rules::check_observed(&self.document, &mut report);
        }
        let declared = declare(&self.document, &mut report);
        let chosen = self::chosen(&options.pois, measurement, &declared)?;
        let measurement = chosen.as_ref().unwrap_or(measurement);
        let resolution = resolve(&self.document, measurement, &declared, &mut report);
        if !report.has_errors() {
            functions::check_start(&self.document, measurement, &declared, &resolution, &mut report);
        }
        if report.has_errors() {
            return Err(WorkspaceError::Invalid { report });
        }
        Ok(build(&self.document, measurement, &declared, &resolution, options.interpolation, &report))
    }

    fn measurement(&self, name: Option<&str>) -> Result<&Measurement, WorkspaceError> {
        let measurements = &self.document.measurements;
        let found = match name {
            None => measurements.first(),
            Some(name) => measurements.iter().find(|m| m.name == name),
        };
        found.ok_or_else(|| WorkspaceError::NoSuchMeasurement {
            name: name.unwrap_or_default().to_owned(),
            available: measurements.iter().map(|m| m.name.clone()).collect(),
        })
    }
}

/// Returns all problems of a workspace given as JSON text: errors of structure and contents, and warnings. If
/// the text is not valid JSON, the syntax error is the only problem.
#[must_use]
pub fn validate_slice(text: &[u8]) -> Report {
    match Workspace::from_slice(text) {
        Ok(workspace) => workspace.report(Interpolation::default()),
        Err(WorkspaceError::Invalid { report }) => report,
        Err(error) => {
            let mut report = Report::default();
            match error {
                WorkspaceError::Syntax { line, column, path, message, remedy } => report.error(
                    path,
                    format!("Not valid JSON at line {line}, column {column}: {message}"),
                    remedy,
                ),
                other => report.error(String::new(), other.to_string(), ""),
            }
            report
        }
    }
}

/// Checks the contents of a document for every measurement. If `complete` is false, the document may have been read only in
/// part.
pub(crate) fn validate_document(document: &Document, interpolation: Interpolation, complete: bool) -> Report {
    let mut report = Report::default();
    rules::check(document, interpolation.normsys, &mut report);
    rules::check_observed(document, &mut report);
    let declared = declare(document, &mut report);
    let mut resolutions = Vec::with_capacity(document.measurements.len());
    for measurement in &document.measurements {
        resolutions.push(resolve(document, measurement, &declared, &mut report));
    }
    if complete && !report.has_errors() {
        for (measurement, resolution) in document.measurements.iter().zip(&resolutions) {
            functions::check_start(document, measurement, &declared, resolution, &mut report);
        }
        impossible::check(document, &declared, &resolutions, &mut report);
    }
    report
}

/// Returns a copy of the measurement with the parameters of interest that the options name; `None` if they name none.
///
/// # Errors
/// [`WorkspaceError::BadPoi`] for a list with an empty name or a double, and for a name that is no scalar parameter.
fn chosen(
    lists: &[String],
    measurement: &Measurement,
    declared: &[Declared],
) -> Result<Option<Measurement>, WorkspaceError> {
    let bad = |name: &str, message: String, remedy: String| WorkspaceError::BadPoi {
        name: name.to_owned(),
        message,
        remedy,
    };
    let scalars: Vec<&str> = declared.iter().filter(|d| d.kind.scalar()).map(|d| d.name.as_str()).collect();
    let names = interest::wanted(lists, |name| declared.iter().any(|d| d.name == name), &scalars)
        .map_err(|list| bad(&list.name, list.message, list.remedy))?;
    for name in &names {
        let Some(set) = declared.iter().find(|d| d.name == *name) else {
            let scalars = declared.iter().filter(|d| d.kind.scalar()).map(|d| d.name.as_str());
            let remedy = nearest(name, declared.iter().map(|d| d.name.as_str())).map_or_else(
                || names::list("The scalar parameters are", &scalars.collect::<Vec<_>>()),
                |near| format!("Did you mean {}?", quoted(near)),
            );
            return Err(bad(name, "no modifier has this name.".to_owned(), remedy));
        };
        if set.kind.n() != 1 {
            let message = format!("it has {} elements, one per bin.", set.kind.n());
            return Err(bad(name, message, "Choose a scalar parameter.".to_owned()));
        }
    }
    Ok((!names.is_empty()).then(|| {
        let mut copy = measurement.clone();
        copy.config.poi = Interest::new(names);
        copy
    }))
}
