//! Reads the templates of a configuration: histograms of ROOT files, and histograms that are filled from columns.

mod columns;
mod files;
mod fill;
mod formula;
mod histograms;

use std::path::PathBuf;

use super::describe::Template;
use super::fields::Reader;
use crate::files::{Files, Folder};

/// A template that is to be read.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// Line of the configuration that asks for it.
    pub(super) line: usize,
    /// What it is, for messages.
    pub(super) what: String,
    pub(super) source: Source,
}

/// Where a template comes from. Names of files are as in the configuration.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// A histogram in a ROOT file. With `outside`, what is outside of its bins belongs to the outer bins.
    Histogram { file: String, path: String, outside: bool },
    /// Columns of events.
    Columns(ColumnSource),
}

/// How a histogram is filled from columns.
#[derive(Debug, Clone, Default)]
pub(super) struct ColumnSource {
    /// Names of files, in which `*` and `?` stand for other characters.
    pub(super) files: Vec<String>,
    pub(super) tree: Option<String>,
    pub(super) variable: String,
    pub(super) weight: Option<String>,
    pub(super) filter: Option<String>,
    pub(super) edges: Vec<f64>,
    /// Whether a quotient with the divisor 0 is 0, as in ROOT. Otherwise it is infinite or no number.
    pub(super) root_division: bool,
    /// Whether events below the first edge belong to the first bin, and those above the last edge to the last bin.
    /// Otherwise they are left out.
    pub(super) outside: bool,
}

/// Memory, in bytes, of a template without bins and of each of its bins, until it is read.
const TEMPLATE: u64 = 512;
const BIN: u64 = 24;

/// What the templates of a configuration may need. Files in an archive have a limit, of which each template takes its part before
/// it is made.
pub(super) struct Room<'a> {
    files: &'a Files,
    is_full: bool,
}

impl<'a> Room<'a> {
    pub(super) fn new(files: &'a Files) -> Self {
        Self { files, is_full: false }
    }

    /// Returns whether one more template with so many bins may be made.
    pub(super) fn take(&mut self, bins: usize) -> bool {
        self.is_full |= !self.files.charge(TEMPLATE + BIN * bins as u64);
        !self.is_full
    }

    /// Reports that templates were left out.
    pub(super) fn close(self, reader: &mut Reader) {
        if self.is_full {
            reader.error(
                1,
                "The configuration has more templates and bins than the limits of archives allow.".to_owned(),
                "Build the workspace with `nextstat build` and send that, or give the server more memory.",
            );
        }
    }
}

/// A template, and the edges of its bins.
#[derive(Debug, Clone)]
pub(super) struct Filled {
    pub(super) template: Template,
    pub(super) edges: Vec<f64>,
    /// Contents below the first bin and above the last one that the template does not contain.
    pub(super) beyond: [f64; 2],
}

impl Filled {
    /// Adds up the bins between edges. What is left over is beyond the bins, or belongs to the outer bins.
    pub(super) fn regroup(&mut self, ends: &[usize], outside: bool) {
        let (Some(&first), Some(&last)) = (ends.first(), ends.last()) else { return };
        let grouped = |values: &[f64]| -> Vec<f64> {
            ends.windows(2)
                .map(|pair| match pair {
                    [from, to] => values.get(*from..*to).unwrap_or_default().iter().sum(),
                    _ => 0.0,
                })
                .collect()
        };
        let beyond = |values: &[f64]| -> [f64; 2] {
            [values.get(..first), values.get(last..)].map(|part| part.unwrap_or_default().iter().sum())
        };
        let template = &mut self.template;
        let left = beyond(&template.values);
        let mut values = grouped(&template.values);
        let ends_of = |values: &mut [f64], add: [f64; 2]| {
            if let Some(value) = values.first_mut() {
                *value += add[0];
            }
            if let Some(value) = values.last_mut() {
                *value += add[1];
            }
        };
        let mut variances = template.variances.as_deref().map(grouped);
        if outside {
            ends_of(&mut values, left);
            if let (Some(variances), Some(old)) = (&mut variances, &template.variances) {
                ends_of(variances, beyond(old));
            }
        } else {
            self.beyond[0] += left[0];
            self.beyond[1] += left[1];
        }
        template.values = values;
        template.variances = variances;
        self.edges = ends.iter().filter_map(|i| self.edges.get(*i)).copied().collect();
    }
}

/// Reads templates. What cannot be read is `None`, and a problem of the report.
pub(super) fn read(requests: &[Request], folder: Folder<'_>, reader: &mut Reader) -> Vec<Option<Filled>> {
    let mut filled = vec![None; requests.len()];
    let mut histograms = histograms::Histograms::of(folder.files);
    for (request, place) in requests.iter().zip(&mut filled) {
        if let Source::Histogram { file, path, outside } = &request.source {
            match histograms.read(&found(folder, file), path, *outside) {
                Ok(histogram) => *place = Some(histogram),
                Err(fault) => {
                    reader.error(request.line, format!("{}: {}", request.what, fault.message), fault.remedy);
                }
            }
        }
    }
    columns::read(requests, folder, reader, &mut filled);
    filled
}

/// Why a template cannot be read, and a remedy.
#[derive(Debug, Clone)]
struct Fault {
    message: String,
    remedy: String,
}

/// The place of a file: in the folder of the configuration, or else where the program runs.
fn found(folder: Folder<'_>, name: &str) -> PathBuf {
    let near = folder.path.join(name);
    let here = PathBuf::from(name);
    let is_here = *folder.files == Files::Disk && !near.exists() && here.exists();
    if is_here { here } else { near }
}
