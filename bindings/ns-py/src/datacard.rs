//! `nextstat.load_datacard`: models of datacards of CMS Combine.

use std::path::{PathBuf, absolute};

use ns_translate::Format;
use ns_translate::pyhf::ModelOptions;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::device::Memory;
use crate::load::{Names, ready};
use crate::model::{Model, Origin};
use crate::recipe::Recipe;
use crate::warn::warn;
use crate::work::released;

/// Reads a datacard of CMS Combine and builds its model, with Combine's conventions (docs/datacards.md).
///
/// `source` is the path of a card, which may be compressed with gzip. `mass` is the value of `$MASS`. `map` is a map of
/// `multiSignalModel` or a list of them, such as `".*/ggH:r_ggH[1,0,20]"`; without it, `r` in 0 to 20 multiplies all
/// signals. `channels` names the channels to use, and `mask` the channels to leave out. `mc_stats` says what `autoMCStats`
/// becomes: Combine's parameters with "combine", the default, or "staterror" or "ignore". `poi` names the parameters of
/// interest, by default those of `map`. `memory` is the largest memory that fits of the model may use, as in `load_workspace`.
/// A pickle of the model contains the path and the options, so the card and its files must be there when it is restored.
///
/// Raises `WorkspaceError` with every problem of the card, or `OSError` if a file cannot be read.
#[pyfunction]
#[pyo3(signature = (source, *, mass = None, map = None, channels = None, mask = None, mc_stats = None, poi = None,
                    memory = None))]
pub(crate) fn load_datacard(
    py: Python<'_>,
    source: PathBuf,
    mass: Option<f64>,
    map: Option<Names>,
    channels: Option<Names>,
    mask: Option<Names>,
    mc_stats: Option<String>,
    poi: Option<Names>,
    memory: Option<Memory>,
) -> PyResult<Model> {
    let memory = memory.map(Memory::bytes).transpose()?;
    let format = Format::of_file(&source);
    if matches!(format, Format::Json | Format::Xml) {
        return Err(PyTypeError::new_err(format!(
            "{} is no datacard; read it with load_workspace",
            source.display()
        )));
    }
    let recipe = Recipe {
        nextstat_datacard: absolute(&source)?,
        mass,
        map: map.map(Names::list).unwrap_or_default(),
        channels: channels.map(Names::list),
        mask: mask.map(Names::list).unwrap_or_default(),
        mc_stats,
    };
    let options = ModelOptions { pois: poi.map(Names::list).unwrap_or_default(), ..ModelOptions::default() };
    let text = PyBytes::new(py, crate::pickle::written(&recipe)?.as_bytes()).unbind();
    let model = released(py, || {
        let origin = Origin::new(recipe.source()?, options, None).with_text(text);
        origin.model()
    })?;
    let model = ready(py, model.map(|model| model.within(memory)))?;
    warn(py, model.inner.warnings.iter().map(String::as_str))?;
    Ok(model)
}
