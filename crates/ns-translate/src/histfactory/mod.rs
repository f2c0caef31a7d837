//! HistFactory's XML with its ROOT files: combination file, channel files, histograms.
//!
//! What is read has the meaning that ROOT gives to it. It becomes a workspace of pyhf where that can say the same, and an
//! HS3 model otherwise.

mod asimov;
mod describe;
mod hs3;
mod read;
mod settle;
mod view;
mod workspace;
mod write;
mod xml;

use std::collections::HashSet;
use std::path::Path;

pub use crate::xml_error::{HistFactoryError, Place};
pub use write::{COMBINATION, Exported, write};

use crate::Axes;
use crate::files::Files;
use crate::pyhf::{Problem, Severity};

/// What was read from HistFactory XML.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// A workspace of pyhf, or an HS3 model, as JSON.
    pub json: Vec<u8>,
    /// Why it is an HS3 model, in words; `None` for a workspace.
    pub obstacle: Option<String>,
    /// Warnings, with the place in the XML as path.
    pub warnings: Vec<Problem>,
    /// The axes of the histograms of the channels.
    pub axes: Axes,
}

/// Whether a text is XML: its first letter is `<`.
#[must_use]
pub fn is_xml(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'<')
}

/// Reads a combination file, the channel files that it names, and their histograms.
///
/// Relative paths in the XML begin in the folder of the combination file, in one of the four folders above it, or in the folder
/// in which the program runs; the first in which the file exists is taken, and tried first from then on.
///
/// # Errors
/// [`HistFactoryError`], with file, line and element.
pub fn read(path: &Path) -> Result<Imported, HistFactoryError> {
    read_in(&Files::Disk, path)
}

/// Reads like [`read`], with files that may be in an archive. Relative paths then begin in the folder of the combination file or in
/// those above it.
pub(crate) fn read_in(files: &Files, path: &Path) -> Result<Imported, HistFactoryError> {
    let (mut combination, lumi, groups) = described(files, path)?;
    let mut notes = std::mem::take(&mut combination.notes);
    lumi_note(&combination, lumi, &mut notes);
    let measurements = combination.measurements.clone();
    let mut views = Vec::new();
    for measurement in &measurements {
        views.push(view::View::of(measurement, &groups, &mut notes)?);
    }
    let data = asimov::data(&combination, lumi, &groups, &views, &mut notes)?;
    combination.notes = notes;
    let obstacle = workspace::obstacle(&combination, &groups, &views);
    let document = match &obstacle {
        None => workspace::write(&combination, lumi, &groups, &views, &data),
        Some(_) => hs3::write(&combination, lumi, &groups, &views, &data),
    };
    let axis = |channel: &describe::Channel| Some((channel.name.clone(), channel.axis.clone()?));
    let axes = combination.channels.iter().filter_map(axis).collect();
    Ok(Imported { json: document.to_string().into_bytes(), obstacle, warnings: combination.notes, axes })
}

/// Reads a combination file like [`read`] and writes it again as one folder, with the measurement of this name or all, and the
/// channels that `keep` takes. Nothing of the meaning is lost on the way.
///
/// # Errors
/// Those of [`read`], and [`HistFactoryError::NotWritten`] for a function of factors that only channels have that are left out.
pub fn copy(
    path: &Path,
    measurement: Option<&str>,
    keep: &dyn Fn(&str) -> bool,
) -> Result<Exported, HistFactoryError> {
    let (mut combination, lumi, mut groups) = described(&Files::Disk, path)?;
    combination.measurements.retain(|own| measurement.is_none_or(|name| own.name == name));
    if combination.channels.iter().any(|channel| !keep(&channel.name)) {
        combination.channels.retain(|channel| keep(&channel.name));
        let samples = combination.channels.iter().flat_map(|channel| &channel.samples);
        let factors: HashSet<String> =
            samples.flat_map(|sample| &sample.modifiers).map(|modifier| modifier.name.clone()).collect();
        combination.functions.retain(|function| factors.contains(&function.name));
        groups = settle::Groups::of(&combination, lumi)?;
    }
    write::copy(&combination, lumi, &groups)
}

/// Reads a description, whether samples scale with the luminosity that do not say it, and the parameters.
fn described(
    files: &Files,
    path: &Path,
) -> Result<(describe::Combination, bool, settle::Groups), HistFactoryError> {
    let combination = read::combination(&text(files, path)?, files, path)?;
    let lumi = view::lumi_matters(&combination);
    let groups = settle::Groups::of(&combination, lumi)?;
    Ok((combination, lumi, groups))
}

/// Warns of samples that scale with the luminosity because the file does not say otherwise.
fn lumi_note(combination: &describe::Combination, lumi: bool, notes: &mut Vec<Problem>) {
    let silent =
        combination.channels.iter().flat_map(|channel| &channel.samples).find(|sample| sample.lumi.is_none());
    if let Some(sample) = silent.filter(|_| lumi) {
        notes.push(Problem {
            severity: Severity::Warning,
            path: sample.place.to_string(),
            message: format!(
                "The sample '{}' does not say NormalizeByTheory: it scales with the luminosity, as in HistFactory. pyhf takes the \
                 opposite. The same holds for all samples that do not say it.",
                sample.name
            ),
            remedy: "Write NormalizeByTheory=\"True\" or \"False\" in each <Sample>.".to_owned(),
        });
    }
}

/// Reads a text. Bytes that are no UTF-8 are read as Latin-1.
fn text(files: &Files, path: &Path) -> Result<String, HistFactoryError> {
    let bytes = files.text(path).map_err(|error| HistFactoryError::Read {
        path: path.to_owned(),
        source: std::io::Error::other(error.to_string()),
    })?;
    let bytes = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => rest.to_vec(),
        None => bytes,
    };
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().map(|&b| char::from(b)).collect()))
}
