//! Styles of pictures: titles, names, axes, colours and what is left out. Commands read them from TOML files.

mod events;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use wildmatch::WildMatch;

use crate::FitResult;
pub use events::{Axis, Colour};

/// How pictures are drawn. What is missing is as without a style.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Style {
    /// Title of the picture.
    pub title: Option<String>,
    /// Subtitle of the picture.
    pub subtitle: Option<String>,
    /// Name of the experiment.
    pub experiment: Option<String>,
    /// Energy of the collisions.
    pub energy: Option<String>,
    /// Integrated luminosity.
    pub luminosity: Option<String>,
    /// Whether events and CLs have a logarithmic axis.
    pub log: bool,
    /// Number of panels next to each other.
    pub columns: Option<usize>,
    /// Largest number of rows of a ranking.
    pub max_rows: Option<usize>,
    /// Smallest size of a correlation with another parameter for which a parameter is in the matrix.
    pub threshold: Option<f64>,
    /// Names or patterns of the parameters, or of the channels of yields, that are drawn; all if empty.
    pub include: Vec<String>,
    /// Names or patterns of those that are left out.
    pub exclude: Vec<String>,
    /// What stands in pictures for names of parameters, samples, channels and labels.
    pub names: BTreeMap<String, String>,
    /// Horizontal axes of channels, by their names.
    pub axes: BTreeMap<String, Axis>,
    /// Ends of the axes of ratios.
    pub ratio: Option<[f64; 2]>,
    /// Whether a PDF has a page for each channel.
    pub pages: bool,
    /// Largest number of background samples with a colour of their own.
    pub max_samples: Option<usize>,
    /// How samples are drawn.
    pub components: Option<ns_viz::Components>,
    /// Colours of samples and groups, by their names.
    pub colours: BTreeMap<String, Colour>,
    /// Groups of samples that are drawn as one: names or patterns by the name of the group.
    pub groups: BTreeMap<String, Vec<String>>,
    /// Ranges of the horizontal axes of channels in which no data are drawn.
    pub blind: BTreeMap<String, Vec<(f64, f64)>>,
    /// Order of the rows of pulls.
    pub sort: Sort,
}

/// Orders of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Sort {
    /// That of the model.
    #[default]
    Model,
    /// By the names.
    Name,
    /// The largest pull first.
    Pull,
    /// The strongest constraint first.
    Constraint,
}

/// Why a style does not fit a picture.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum StyleError {
    /// All names are left out.
    #[error("none of the {n} names is drawn; correct 'include' and 'exclude'")]
    NothingLeft {
        /// Number of names.
        n: usize,
    },
    /// A table names a channel that is not there.
    #[error("{key}: there is no channel '{name}'; there are {}", known.join(", "))]
    NoSuchChannel {
        /// Name of the table.
        key: &'static str,
        /// Name of the channel.
        name: String,
        /// Names of the channels that are there.
        known: Vec<String>,
    },
    /// The edges of bins are not those of the channel's bins.
    #[error("axis of '{channel}': {given} edges; {bins} bins have {} edges in rising order", bins + 1)]
    Edges {
        /// Name of the channel.
        channel: String,
        /// Number of edges.
        given: usize,
        /// Number of bins.
        bins: usize,
    },
    /// A blinded range is empty.
    #[error("blind: '{channel}': the range from {from} to {to} is empty; give two rising numbers")]
    EmptyRange {
        /// Name of the channel.
        channel: String,
        /// Lower end.
        from: f64,
        /// Upper end.
        to: f64,
    },
    /// The axis of ratios has no length.
    #[error("ratio from {low} to {high}; give two rising numbers")]
    Ratio {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// Names cannot be replaced.
    #[error("names cannot be replaced: {0}")]
    Names(String),
}

impl Style {
    /// Whether a name is drawn.
    fn keeps(&self, name: &str) -> bool {
        self.keeps_any(&[name])
    }

    /// Returns whether something with several names is drawn, such as a systematic on a sample of a channel: one of them is
    /// included, and none is excluded.
    #[must_use]
    pub fn keeps_any(&self, names: &[&str]) -> bool {
        let is_included = self.include.is_empty() || names.iter().any(|name| matches(&self.include, name));
        is_included && !names.iter().any(|name| matches(&self.exclude, name))
    }

    /// Puts the rows of pulls into their order.
    pub(crate) fn sort(&self, rows: &mut [ns_viz::PullRow]) {
        let size = |value: Option<f64>| value.filter(|x| x.is_finite()).map(f64::abs);
        match self.sort {
            Sort::Model => {}
            Sort::Name => rows.sort_by(|a, b| a.parameter.cmp(&b.parameter)),
            // Rows without a number come last.
            Sort::Pull => {
                rows.sort_by(|a, b| size(b.pull).unwrap_or(-1.0).total_cmp(&size(a.pull).unwrap_or(-1.0)))
            }
            Sort::Constraint => rows.sort_by(|a, b| {
                let last = f64::INFINITY;
                size(a.constraint).unwrap_or(last).total_cmp(&size(b.constraint).unwrap_or(last))
            }),
        }
    }

    /// The line with experiment, energy and luminosity; empty without them.
    fn label(&self) -> String {
        let energy = self.energy.as_ref().map(|energy| format!(r"$\sqrt{{s}}$ = {energy}"));
        let parts = [self.experiment.clone(), energy, self.luminosity.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Leaves out the rows that are not drawn.
    ///
    /// # Errors
    /// [`StyleError`] if none is left.
    pub fn keep<R>(&self, rows: &mut Vec<R>, name: impl Fn(&R) -> &String) -> Result<(), StyleError> {
        let before = rows.len();
        rows.retain(|row| self.keeps(name(row)));
        self.check(before, rows.len())
    }

    /// Leaves out parameters of a covariance.
    ///
    /// # Errors
    /// [`StyleError`] if none is left.
    pub(crate) fn keep_correlated(&self, fit: &mut FitResult) -> Result<(), StyleError> {
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

    fn check(&self, before: usize, after: usize) -> Result<(), StyleError> {
        if before > 0 && after == 0 {
            return Err(StyleError::NothingLeft { n: before });
        }
        Ok(())
    }

    /// Replaces titles and names in a picture.
    ///
    /// # Errors
    /// [`StyleError`] if a picture cannot be converted.
    pub fn applied<P: Serialize + DeserializeOwned>(&self, picture: P) -> Result<P, StyleError> {
        let wrong = |error: serde_json::Error| StyleError::Names(error.to_string());
        let label = self.label();
        if self.names.is_empty() && self.title.is_none() && self.subtitle.is_none() && label.is_empty() {
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
            if !label.is_empty() {
                let own = keys.get("subtitle").and_then(Value::as_str).unwrap_or_default();
                let both = if own.is_empty() { label } else { format!("{label} · {own}") };
                keys.insert("subtitle".to_owned(), Value::String(both));
            }
        }
        serde_json::from_value(value).map_err(wrong)
    }

    fn rename(&self, value: &mut Value) {
        /// Keys of pictures whose values are words of ours.
        const CHOICES: [&str; 2] = ["components", "kept"];
        match value {
            Value::String(text) => {
                if let Some(name) = self.names.get(text.as_str()) {
                    text.clone_from(name);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.rename(item)),
            Value::Object(entries) => {
                let names = entries.iter_mut().filter(|(key, _)| !CHOICES.contains(&key.as_str()));
                names.for_each(|(_, item)| self.rename(item));
            }
            _ => {}
        }
    }
}

/// Whether a name is one of the patterns.
fn matches(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| WildMatch::new(pattern).matches(name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn style(value: serde_json::Value) -> Style {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn labels_stand_before_the_subtitle() {
        let style = style(serde_json::json!({"experiment": "ATLAS", "energy": "13 TeV",
            "luminosity": r"139 fb$^{-1}$", "names": {"mu": r"$\mu$"}}));
        let pulls = ns_viz::Pulls {
            subtitle: "interrupted".into(),
            rows: vec![ns_viz::PullRow { parameter: "mu".into(), ..Default::default() }],
            ..Default::default()
        };
        let pulls = style.applied(pulls).unwrap();
        assert_eq!(pulls.subtitle, r"ATLAS, $\sqrt{s}$ = 13 TeV, 139 fb$^{-1}$ · interrupted");
        assert_eq!(pulls.rows[0].parameter, r"$\mu$");
    }

    #[test]
    fn pulls_are_sorted() {
        let row = |name: &str, pull: Option<f64>| ns_viz::PullRow {
            parameter: name.into(),
            pull,
            constraint: pull,
            ..Default::default()
        };
        let rows = [row("b", Some(0.5)), row("a", None), row("c", Some(-0.8))];
        for (sort, wanted) in [("model", "bac"), ("name", "abc"), ("pull", "cba"), ("constraint", "bca")] {
            let mut rows = rows.to_vec();
            style(serde_json::json!({"sort": sort})).sort(&mut rows);
            assert_eq!(rows.iter().map(|row| row.parameter.as_str()).collect::<String>(), wanted, "{sort}");
        }
        assert!(serde_json::from_value::<Style>(serde_json::json!({"sort": "size"})).is_err());
    }
}
