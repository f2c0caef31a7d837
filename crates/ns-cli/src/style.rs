//! Styles of pictures, from a TOML file.

use std::collections::BTreeMap;
use std::path::Path;

use ns_inference::FitResult;
use ns_viz::Yields;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wildmatch::WildMatch;

use crate::error::CliError;

/// How pictures are drawn. What is missing is as without a style.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Style {
    /// Title of the picture.
    pub(crate) title: Option<String>,
    /// Subtitle of the picture.
    pub(crate) subtitle: Option<String>,
    /// Whether events and CLs have a logarithmic axis.
    pub(crate) log: bool,
    /// Number of panels next to each other.
    pub(crate) columns: Option<usize>,
    /// Largest number of rows of a ranking.
    pub(crate) max_rows: Option<usize>,
    /// Names or patterns of the parameters, or of the channels of yields, that are drawn; all if empty.
    pub(crate) include: Vec<String>,
    /// Names or patterns of those that are left out.
    pub(crate) exclude: Vec<String>,
    /// What stands in pictures for names of parameters, samples, channels and labels.
    pub(crate) names: BTreeMap<String, String>,
    /// Horizontal axes of channels, by their names.
    pub(crate) axes: BTreeMap<String, Axis>,
}

/// The horizontal axis of a channel.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Axis {
    /// Title, with the unit.
    title: Option<String>,
    /// Edges of the bins; 0, 1, 2 and so on if empty.
    edges: Vec<f64>,
}

impl Style {
    /// Reads a style.
    ///
    /// # Errors
    /// [`CliError::Usage`] if the file cannot be read, is no TOML, or has an unknown key.
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        let wrong = |why: String| CliError::Usage(format!("--style {}: {}", path.display(), why.trim_end()));
        let text =
            std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        toml::from_str(&text).map_err(|error| wrong(error.to_string()))
    }

    /// Whether a name is drawn.
    fn keeps(&self, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| WildMatch::new(pattern).matches(name));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }

    /// Leaves out the rows that are not drawn.
    ///
    /// # Errors
    /// [`CliError::Usage`] if none is left.
    pub(crate) fn keep<R>(&self, rows: &mut Vec<R>, name: impl Fn(&R) -> &String) -> Result<(), CliError> {
        let before = rows.len();
        rows.retain(|row| self.keeps(name(row)));
        self.check(before, rows.len())
    }

    /// Leaves out parameters of a covariance.
    ///
    /// # Errors
    /// [`CliError::Usage`] if none is left.
    pub(crate) fn keep_correlated(&self, fit: &mut FitResult) -> Result<(), CliError> {
        let kept: Vec<bool> = fit.parameter_names.iter().map(|name| self.keeps(name)).collect();
        if let Some(matrix) = &mut fit.covariance {
            let n = matrix.n;
            for (i, value) in matrix.values.iter_mut().enumerate() {
                let drawn = |k: usize| kept.get(k).copied().unwrap_or(false);
                // Parameters without a variance are not drawn.
                if n > 0 && !(drawn(i / n) && drawn(i % n)) {
                    *value = 0.0;
                }
            }
        }
        self.check(kept.len(), kept.iter().filter(|kept| **kept).count())
    }

    /// Sets the axes of channels.
    ///
    /// # Errors
    /// [`CliError::Usage`] for a channel that is not there, and edges that are not those of its bins.
    pub(crate) fn set_axes(&self, picture: &mut Yields) -> Result<(), CliError> {
        let wrong =
            |name: &str, why: String| Err(CliError::Usage(format!("--style: axis of '{name}': {why}")));
        for (name, axis) in &self.axes {
            let Some(channel) = picture.channels.iter_mut().find(|channel| channel.name == *name) else {
                if self.keeps(name) {
                    let known: Vec<&str> = picture.channels.iter().map(|c| c.name.as_str()).collect();
                    return wrong(name, format!("there is no such channel; there are {}", known.join(", ")));
                }
                continue;
            };
            let bins = channel.data.len().max(channel.uncertainty.len());
            if !axis.edges.is_empty() {
                let rising = axis.edges.iter().zip(axis.edges.iter().skip(1)).all(|(a, b)| a < b);
                if axis.edges.len() != bins + 1 || !rising {
                    let n = axis.edges.len();
                    return wrong(
                        name,
                        format!("{n} edges; {bins} bins have {} edges in rising order", bins + 1),
                    );
                }
                channel.bin_edges.clone_from(&axis.edges);
            }
            if let Some(title) = &axis.title {
                channel.x_title.clone_from(title);
            }
        }
        Ok(())
    }

    fn check(&self, before: usize, after: usize) -> Result<(), CliError> {
        if before > 0 && after == 0 {
            return Err(CliError::Usage(format!(
                "--style: none of the {before} names is drawn; correct 'include' and 'exclude'"
            )));
        }
        Ok(())
    }

    /// Replaces titles and names in a picture.
    ///
    /// # Errors
    /// [`CliError::Usage`] if a picture cannot be converted.
    pub(crate) fn applied<P: Serialize + DeserializeOwned>(&self, picture: P) -> Result<P, CliError> {
        let wrong = |error: serde_json::Error| CliError::Usage(format!("--style: {error}"));
        if self.names.is_empty() && self.title.is_none() && self.subtitle.is_none() {
            return Ok(picture);
        }
        let mut value = serde_json::to_value(picture).map_err(wrong)?;
        self.rename(&mut value);
        if let Value::Object(keys) = &mut value {
            for (key, text) in [("title", &self.title), ("subtitle", &self.subtitle)] {
                if let Some(text) = text {
                    keys.insert(key.to_owned(), Value::String(text.clone()));
                }
            }
        }
        serde_json::from_value(value).map_err(wrong)
    }

    fn rename(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(name) = self.names.get(text.as_str()) {
                    text.clone_from(name);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.rename(item)),
            Value::Object(entries) => entries.values_mut().for_each(|item| self.rename(item)),
            _ => {}
        }
    }
}
