//! Histograms of ROOT files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ns_root::{RootError, RootFile};

use super::{Fault, Filled};
use crate::build::describe::Template;
use crate::files::Files;
use crate::pyhf::names::quoted;

/// The files that are open.
#[derive(Debug)]
pub(super) struct Histograms {
    files: Files,
    open: HashMap<PathBuf, Result<RootFile, Fault>>,
}

impl Histograms {
    pub(super) fn of(files: &Files) -> Self {
        Self { files: files.clone(), open: HashMap::new() }
    }

    /// Reads a histogram of one dimension. With `outside`, what is outside of its bins is added to the outer bins.
    pub(super) fn read(&mut self, file: &Path, path: &str, outside: bool) -> Result<Filled, Fault> {
        let source = self.open.entry(file.to_owned()).or_insert_with_key(|file| {
            self.files.root(file).map_err(|error| Fault {
                message: sentence(&error),
                remedy: "Correct the paths in the configuration.".to_owned(),
            })
        });
        let root = source.as_ref().map_err(Clone::clone)?;
        let path: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let path = path.join("/");
        let histogram = root.histogram(&path).map_err(|error| Fault {
            message: sentence(&error),
            remedy: "Correct the paths in the configuration, if another histogram is meant.".to_owned(),
        })?;
        let fault = |message: String, remedy: &str| Fault { message, remedy: remedy.to_owned() };
        let [axis] = histogram.axes.as_slice() else {
            return Err(fault(
                format!("The histogram {} has two dimensions.", quoted(&path)),
                "Write its bins as a histogram of one dimension.",
            ));
        };
        let mut values = histogram.contents();
        // Without squared weights the entries are counts.
        let mut variances = histogram.sumw2().unwrap_or_else(|| values.iter().map(|v| v.abs()).collect());
        let mut beyond = [histogram.underflow(), histogram.overflow()].map(Option::unwrap_or_default);
        if outside {
            let squares = histogram.cells_sumw2().map_or(beyond, |cells| {
                [cells.first(), cells.last()].map(|square| square.copied().unwrap_or_default())
            });
            let ends = [0, values.len().saturating_sub(1)];
            for ((at, content), square) in ends.into_iter().zip(&mut beyond).zip(squares) {
                if let (Some(value), Some(variance)) = (values.get_mut(at), variances.get_mut(at)) {
                    *value += std::mem::take(content);
                    *variance += square.abs();
                }
            }
        }
        if let Some(bin) = values.iter().chain(&variances).position(|x| !x.is_finite()) {
            let bin = bin % values.len() + 1;
            return Err(fault(
                format!("The histogram {} is not finite in bin {bin}.", quoted(&path)),
                "Correct the histogram.",
            ));
        }
        let variances = variances.into_iter().map(f64::abs).collect();
        let template = Template { values, variances: Some(variances) };
        Ok(Filled { template, edges: axis.edges.clone(), beyond })
    }
}

/// The message of an error with a full stop at its end.
fn sentence(error: &RootError) -> String {
    let text = error.to_string();
    if text.ends_with(['.', '?']) { text } else { text + "." }
}
