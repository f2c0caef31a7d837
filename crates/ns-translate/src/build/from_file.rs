//! Builds workspaces from configuration files.

use std::path::Path;

use super::describe::Pruning;
use super::error::BuildError;
use super::fields::Reader;
use super::places::Place;
use super::sources::Trees;
use super::{Built, build_named, cabinetry, yaml};
use crate::pyhf::Report;

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
}

/// Builds the workspace of a configuration of cabinetry.
///
/// Relative paths in it begin in its folder; a file that is not there is looked for where the program runs. `trees` reads
/// trees of ROOT files; without it, ntuples are Parquet files.
///
/// # Errors
/// [`BuildError::Read`], or [`BuildError::Invalid`] with all problems of the file and of the templates that it names.
pub fn build_config(
    path: &Path,
    options: ConfigOptions,
    trees: Option<&dyn Trees>,
) -> Result<Built, BuildError> {
    let failed = |source| BuildError::Read { path: path.to_owned(), source };
    if std::fs::metadata(path).map_err(failed)?.len() > LARGEST {
        let error = std::io::Error::other("it is larger than 64 MiB");
        return Err(failed(error));
    }
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let name = path.display().to_string();
    let what = format!("configuration {name}");
    let mut reader = Reader { file: name, report: Report::default() };
    let invalid = |report| BuildError::Invalid { what: what.clone(), report };
    let root = match yaml::read(&text) {
        Ok(root) => root,
        Err(error) => {
            reader.error(error.line, error.message, error.remedy);
            return Err(invalid(reader.report));
        }
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let Some(read) = cabinetry::read(&root, folder, trees, &mut reader) else {
        return Err(invalid(reader.report));
    };
    if reader.report.has_errors() {
        return Err(invalid(reader.report));
    }
    let mut description = read.description.clone();
    let pruning = &mut description.pruning;
    pruning.normalisation = options.pruning.normalisation.or(pruning.normalisation);
    pruning.shape = options.pruning.shape.or(pruning.shape);
    description.mc_threshold = options.mc_threshold.unwrap_or(description.mc_threshold);
    let Reader { file, report } = reader;
    let place = |place: Place<'_>| format!("{file}:{} ({place})", read.line(place));
    build_named(&description, &what, report, &place)
}
