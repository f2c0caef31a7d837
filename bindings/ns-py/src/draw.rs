//! The part of `nextstat.draw` in Rust. The Python side reads results and styles.

use std::path::PathBuf;

use ns_inference::YieldsResult;
use ns_inference::picture::{Draw, DrawError, Style};
use ns_inference::reread::AnyResult;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::picture::{self, Picture};

/// Draws a result, given as JSON, in a style, given as JSON or TOML. Saves the picture if `path` is given.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn _draw(
    py: Python<'_>,
    json: &str,
    kind: String,
    style: &str,
    in_toml: bool,
    titles: (Option<String>, Option<String>),
    labels: Vec<String>,
    before: Option<&str>,
    path: Option<PathBuf>,
) -> PyResult<Picture> {
    picture::check(path.as_deref())?;
    let result =
        AnyResult::from_slice(json.as_bytes()).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let before = before.map(|text| read::<YieldsResult>("before", text)).transpose()?;
    let mut style: Style = if in_toml {
        toml::from_str(style).map_err(|error| PyValueError::new_err(format!("style: {error}")))?
    } else {
        read("style", style)?
    };
    style.title = titles.0.or(style.title);
    style.subtitle = titles.1.or(style.subtitle);
    let draw = Draw { kind, style, labels, before, ..Draw::default() };
    match draw.draw(&result) {
        Err(DrawError::Picture(error)) => picture::finish(py, Err(error), path),
        Err(error) => Err(PyValueError::new_err(error.to_string())),
        Ok(drawing) => picture::finish(py, Ok(drawing), path),
    }
}

fn read<T: DeserializeOwned>(argument: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("{argument}: {error}")))
}
