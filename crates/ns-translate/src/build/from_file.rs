//! Builds workspaces from configuration files.

use std::path::Path;

use super::describe::{Description, McConstraint, Pruning};
use super::error::BuildError;
use super::fields::Reader;
use super::places::Place;
use super::{Built, build_named, cabinetry, trex, yaml};
use crate::files::{Files, Folder};
use crate::pyhf::Report;
use crate::recognise::Format;

/// Largest configuration that is read, in bytes.
const LARGEST: u64 = 64 << 20;

/// What is decided beside a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ConfigOptions {
    /// Which small effects are left out. What is `None` is as the configuration says.
    pub pruning: Pruning,
    /// Relative uncertainty of a bin up to which it gets no parameter for the statistics of its simulation. `None` is as
    /// the configuration says.
    pub mc_threshold: Option<f64>,
    /// Constraint of these parameters. `None` is as the configuration says: Gaussian in cabinetry, and Poisson by default in
    /// TRExFitter.
    pub mc_constraint: Option<McConstraint>,
}

/// A configuration that was read, by the program that it is for.
enum Source {
    Cabinetry(cabinetry::Read),
    Trex(trex::Read),
}

impl Source {
    fn description(&self) -> &Description {
        match self {
            Self::Cabinetry(read) => &read.description,
            Self::Trex(read) => &read.description,
        }
    }

    fn line(&self, place: Place<'_>) -> usize {
        match self {
            Self::Cabinetry(read) => read.line(place),
            Self::Trex(read) => read.line(place),
        }
    }
}

/// Builds the workspace of a configuration of cabinetry or TRExFitter, which are told apart by their contents.
///
/// Relative paths in it begin in its folder; a file that is not there is looked for where the program runs. Ntuples are
/// trees of ROOT files, or Parquet files.
///
/// # Errors
/// [`BuildError::Read`], [`BuildError::OtherFormat`], or [`BuildError::Invalid`] with all problems of the file and of the templates that it names.
pub fn build_config(path: &Path, options: ConfigOptions) -> Result<Built, BuildError> {
    build_config_in(&Files::Disk, path, options)
}

/// Builds like [`build_config`], with files that may be in an archive. Ntuples are then trees of ROOT files.
pub(crate) fn build_config_in(
    files: &Files,
    path: &Path,
    options: ConfigOptions,
) -> Result<Built, BuildError> {
    let failed = |source| BuildError::Read { path: path.to_owned(), source };
    let bytes = match files {
        Files::Disk => {
            if std::fs::metadata(path).map_err(failed)?.len() > LARGEST {
                let error = std::io::Error::other("it is larger than 64 MiB");
                return Err(failed(error));
            }
            std::fs::read(path).map_err(failed)?
        }
        Files::Packed(_) => {
            files.text(path).map_err(|error| failed(std::io::Error::other(error.to_string())))?
        }
    };
    let format = Format::of(&bytes);
    // JSON is YAML too. Of a file that is nothing else, the reader of YAML says what is missing.
    if !matches!(format, Format::Trex | Format::Cabinetry | Format::Json | Format::Unknown) {
        return Err(BuildError::OtherFormat { path: path.to_owned(), what: format.name() });
    }
    let text = String::from_utf8(bytes).map_err(|error| failed(std::io::Error::other(error.utf8_error())))?;
    let name = path.display().to_string();
    let what = format!("configuration {name}");
    let mut reader = Reader { file: name, report: Report::default() };
    let invalid = |report| BuildError::Invalid { what: what.clone(), report };
    let folder = Folder { files, path: path.parent().unwrap_or(Path::new("")) };
    let read = if format == Format::Trex {
        trex::read(&text, folder, &mut reader).map(Source::Trex)
    } else {
        match yaml::read(&text) {
            Ok(root) => cabinetry::read(&root, folder, &mut reader).map(Source::Cabinetry),
            Err(error) => {
                reader.error(error.line, error.message, error.remedy);
                None
            }
        }
    };
    let Some(read) = read else { return Err(invalid(reader.report)) };
    if reader.report.has_errors() {
        return Err(invalid(reader.report));
    }
    let mut description = read.description().clone();
    let pruning = &mut description.pruning;
    pruning.normalisation = options.pruning.normalisation.or(pruning.normalisation);
    pruning.shape = options.pruning.shape.or(pruning.shape);
    description.mc_constraint = options.mc_constraint.unwrap_or(description.mc_constraint);
    description.mc_threshold = options.mc_threshold.unwrap_or(description.mc_threshold);
    let Reader { file, report } = reader;
    let place = |place: Place<'_>| format!("{file}:{} ({place})", read.line(place));
    build_named(&description, &what, report, &place)
}
