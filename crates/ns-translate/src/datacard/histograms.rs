//! Histograms of the files that a card names.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ns_root::{RootError, RootFile};

use super::lines::number;
use crate::Axis;
use crate::files::Files;
use crate::pyhf::names::{nearest, quoted};

/// Contents and squared uncertainties of the bins.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Histogram {
    pub(super) contents: Vec<f64>,
    pub(super) squares: Vec<f64>,
    /// The axis, if the file says what it is.
    pub(super) axis: Option<Axis>,
}

impl Histogram {
    /// Returns the sum of the contents.
    pub(super) fn integral(&self) -> f64 {
        self.contents.iter().sum()
    }
}

/// Why a histogram cannot be had: what is wrong, and a remedy.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub(super) message: String,
    pub(super) remedy: String,
    /// Whether the whole file is concerned.
    pub(super) of_file: bool,
}

/// The files that were opened.
#[derive(Debug)]
pub(super) struct Opened {
    files: Files,
    open: HashMap<PathBuf, Result<Source, Trouble>>,
}

/// Files of templates, by their kind.
#[derive(Debug)]
enum Source {
    Root(RootFile),
    /// A table of text, by the name of the histogram.
    Table(HashMap<String, Histogram>),
}

impl Opened {
    pub(super) fn new(files: &Files) -> Self {
        Self { files: files.clone(), open: HashMap::new() }
    }

    /// Returns a histogram; `None` if the file does not have it.
    pub(super) fn histogram(
        &mut self,
        folder: &Path,
        file: &str,
        object: &str,
    ) -> Result<Option<Histogram>, Trouble> {
        let source = self.open.entry(folder.join(file)).or_insert_with_key(|path| open(&self.files, path));
        match source {
            Err(trouble) => Err(trouble.clone()),
            Ok(Source::Table(table)) => Ok(table.get(object).cloned()),
            Ok(Source::Root(file)) => match file.histogram(object) {
                Ok(histogram) => of_root(&histogram).map(Some),
                Err(RootError::Missing { .. }) => Ok(None),
                Err(error) => Err(Trouble {
                    message: format!("{error}"),
                    remedy: "Correct the 'shapes' line, if another histogram is meant.".to_owned(),
                    of_file: false,
                }),
            },
        }
    }

    /// Returns the name of a histogram of the file that is spelt nearly like this one.
    pub(super) fn near(&self, folder: &Path, file: &str, object: &str) -> Option<String> {
        match self.open.get(&folder.join(file))? {
            Ok(Source::Table(table)) => nearest(object, table.keys().map(String::as_str)).map(str::to_owned),
            Ok(Source::Root(file)) => match file.histogram(object) {
                Err(RootError::Missing { nearest, .. }) => nearest,
                _ => None,
            },
            Err(_) => None,
        }
    }
}

/// Returns the bins of a histogram of ROOT.
fn of_root(histogram: &ns_root::Histogram) -> Result<Histogram, Trouble> {
    let trouble = |message: String, remedy: &str| {
        let message = format!("The histogram {} {message}.", quoted(&histogram.name));
        Trouble { message, remedy: remedy.to_owned(), of_file: false }
    };
    if histogram.axes.len() != 1 {
        return Err(trouble(
            "has two dimensions".to_owned(),
            "Write its bins as a histogram of one dimension.",
        ));
    }
    let contents = histogram.contents();
    let squares = histogram.errors().iter().map(|e| e * e).collect();
    match contents.iter().position(|x| !x.is_finite()) {
        Some(bin) => Err(trouble(format!("is not finite in bin {}", bin + 1), "Correct the histogram.")),
        None => {
            let axis = histogram.axes.first().and_then(Axis::of_root);
            Ok(Histogram { contents, squares, axis })
        }
    }
}

fn open(files: &Files, path: &Path) -> Result<Source, Trouble> {
    let trouble =
        |message: String, remedy: &str| Trouble { message, remedy: remedy.to_owned(), of_file: true };
    if files.is_root(path).unwrap_or(false) {
        return files.root(path).map(Source::Root).map_err(|error| {
            trouble(format!("{error}"), "Correct its name in the 'shapes' line, if another file is meant.")
        });
    }
    let text = files.text(path).map_err(|error| {
        trouble(
            format!("The file of templates cannot be read: {error}."),
            "Correct its name in the 'shapes' line.",
        )
    })?;
    match String::from_utf8(text) {
        Ok(text) => table(&text).map(Source::Table).map_err(|(line, message)| {
            trouble(
                format!("{}:{line}: {message}", path.display()),
                "A table has the columns channel, process, systematic, bin, sum_w and sum_ww, in this order.",
            )
        }),
        Err(_) => Err(trouble(
            format!("{} is neither a ROOT file nor a table of text.", path.display()),
            "Name a ROOT file with histograms, or a table with commas.",
        )),
    }
}

/// Reads a table with one line per bin, as pandas writes it. The histograms are named `channel:process:systematic`, and
/// the nominal ones also `channel:process`. Errors have the line.
fn table(text: &str) -> Result<HashMap<String, Histogram>, (usize, String)> {
    const COLUMNS: [&str; 6] = ["channel", "process", "systematic", "bin", "sum_w", "sum_ww"];
    let mut lines = text.lines().enumerate();
    let header: Vec<&str> = lines.next().map_or("", |(_, line)| line).split(',').map(str::trim).collect();
    if header != COLUMNS {
        return Err((1, format!("The first line is not '{}'.", COLUMNS.join(","))));
    }
    let mut table: HashMap<String, Histogram> = HashMap::new();
    for (i, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields == [""] {
            continue;
        }
        let &[channel, process, systematic, _, content, square] = fields.as_slice() else {
            return Err((i + 1, format!("The line has {} fields instead of 6.", fields.len())));
        };
        let (Some(content), Some(square)) = (number(content), number(square).filter(|s| *s >= 0.0)) else {
            return Err((
                i + 1,
                format!("{} and {} are no numbers of a bin.", quoted(content), quoted(square)),
            ));
        };
        let mut names = vec![format!("{channel}:{process}:{systematic}")];
        if systematic == "nominal" {
            names.push(format!("{channel}:{process}"));
        }
        for name in names {
            let histogram = table.entry(name).or_default();
            histogram.contents.push(content);
            histogram.squares.push(square);
        }
    }
    Ok(table)
}
