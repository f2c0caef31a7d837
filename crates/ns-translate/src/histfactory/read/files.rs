//! Finds the files that XML names, and reads histograms.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ns_root::{Histogram, RootError, RootFile};

use crate::files::Files;
use crate::histfactory::xml::Element;
use crate::pyhf::{Problem, Severity};
use crate::xml_error::HistFactoryError;

/// How many folders above that of the combination file are tried.
const ABOVE: usize = 4;

/// The folders in which relative paths may begin, and the ROOT files that are open.
#[derive(Debug)]
pub(super) struct Inputs {
    pub(super) source: Files,
    /// In the order in which they are tried.
    bases: Vec<PathBuf>,
    open: HashMap<PathBuf, RootFile>,
    pub(super) notes: Vec<Problem>,
}

/// Where a histogram is, as an element says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address<'a> {
    pub(super) file: Option<&'a str>,
    pub(super) folder: &'a str,
    pub(super) name: Option<&'a str>,
}

impl Inputs {
    /// For the XML of a combination file.
    ///
    /// HistFactory itself takes relative paths from the folder in which it runs, which is mostly one above the XML.
    pub(super) fn of(files: &Files, combination: &Path) -> Self {
        let own = combination.parent().unwrap_or(Path::new(""));
        let mut bases = vec![own.to_owned()];
        let full = match files {
            Files::Disk => std::path::absolute(own).unwrap_or_else(|_| own.to_owned()),
            Files::Packed(_) => own.to_owned(),
        };
        bases.extend(full.ancestors().skip(1).take(ABOVE).map(Path::to_owned));
        bases.push(PathBuf::new());
        Self { source: files.clone(), bases, open: HashMap::new(), notes: Vec::new() }
    }

    /// Finds a file that an element names. The folder in which one was found is tried first for the next.
    pub(super) fn find(&mut self, path: &str, element: Element<'_>) -> Result<PathBuf, HistFactoryError> {
        let tried: Vec<PathBuf> =
            self.bases.iter().map(|base| base.join(path.trim_start_matches("./"))).collect();
        let found = tried.iter().position(|path| self.source.is_file(path));
        match found.and_then(|i| tried.get(i).cloned().map(|path| (i, path))) {
            Some((i, found)) => {
                if !Path::new(path).is_absolute() {
                    self.bases.get_mut(..=i).unwrap_or_default().rotate_right(1);
                }
                Ok(found)
            }
            None => {
                let mut tried = tried;
                tried.dedup();
                let (place, element) = (element.place(), element.shown());
                Err(HistFactoryError::NoFile { place, element, path: path.to_owned(), tried })
            }
        }
    }

    /// Reads the histogram of an address, which `element` needs.
    pub(super) fn histogram(
        &mut self,
        address: Address<'_>,
        element: Element<'_>,
    ) -> Result<Histogram, HistFactoryError> {
        let missing = |what: &str| {
            let remedy = format!("Add '{what}' to the element, or to the sample or the channel around it.");
            element.error(format!("Its histogram has no {what}."), remedy)
        };
        let file = address.file.filter(|file| !file.is_empty()).ok_or_else(|| missing("InputFile"))?;
        let name = address.name.filter(|name| !name.is_empty()).ok_or_else(|| missing("HistoName"))?;
        let path = self.find(file, element)?;
        let refused = |source: RootError| HistFactoryError::Root {
            place: element.place(),
            element: element.shown(),
            source: Box::new(source),
        };
        if !self.open.contains_key(&path) {
            let file = self.source.root(&path).map_err(refused)?;
            self.open.insert(path.clone(), file);
        }
        let Some(file) = self.open.get(&path) else { return Err(missing("InputFile")) };
        let folder = address.folder.trim_matches('/');
        if folder.is_empty() {
            return file.histogram(name).map_err(refused);
        }
        match file.histogram(&format!("{folder}/{name}")) {
            Err(missing @ RootError::Missing { .. }) => {
                // pyhf takes such a histogram too.
                let histogram = file.histogram(name).map_err(|_| refused(missing))?;
                self.notes.push(Problem {
                    severity: Severity::Warning,
                    path: element.place().to_string(),
                    message: format!(
                        "{}: '{folder}' has no histogram '{name}', so the one at the top of {} is taken.",
                        element.shown(),
                        path.display()
                    ),
                    remedy: "Write HistoPath=\"\" if that is meant.".to_owned(),
                });
                Ok(histogram)
            }
            other => other.map_err(refused),
        }
    }
}
