//! Titles and bin edges of the horizontal axes of channels, for which workspaces of pyhf have no place.

mod edit;
mod root;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ns_core::Model;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::names::{list, quoted};
use super::{WorkspaceError, file_of, read_file};

/// The end of the name of the file that has the axes of the workspace beside it.
const BESIDE: &str = ".axes.json";

/// The horizontal axis of a channel. What is `None` is not known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with a title or edges")]
pub struct Axis {
    /// Title, with the unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Edges of the bins in rising order, one more than there are bins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<Vec<f64>>,
}

/// The horizontal axes of channels, by the names of the channels.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Axes {
    channels: BTreeMap<String, Axis>,
    /// Why the file of axes beside the workspace was not read.
    #[serde(skip)]
    unread: Option<String>,
    /// Whether they were found and not given. Axes that do not suit the model are then left out.
    #[serde(skip)]
    found: bool,
}

/// The reason why axes cannot be read, or do not suit a model.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum AxesError {
    /// The text has another form.
    #[error(
        "axes: {message}; give a table for each channel, in TOML or JSON, with a title or edges: [SR] title = \"m [GeV]\", \
         edges = [0, 50, 100]"
    )]
    Form {
        /// What is wrong, with its place.
        message: String,
    },
    /// Edges do not rise.
    #[error(
        "axes: the edges of channel {} do not rise; give finite numbers in rising order",
        quoted(channel)
    )]
    Order {
        /// Name of the channel.
        channel: String,
    },
    /// There are other edges than those of the channel's bins.
    #[error("axes: channel {} has {bins} bins and {given} edges; give {} edges in rising order", quoted(channel), bins + 1)]
    Edges {
        /// Name of the channel.
        channel: String,
        /// Number of edges.
        given: usize,
        /// Number of bins.
        bins: usize,
    },
}

impl FromIterator<(String, Axis)> for Axes {
    fn from_iter<T: IntoIterator<Item = (String, Axis)>>(axes: T) -> Self {
        Self { channels: axes.into_iter().collect(), ..Self::default() }
    }
}

impl Axes {
    /// Reads a text: tables by channel with the keys `title` and `edges`, in JSON or TOML.
    ///
    /// # Errors
    /// [`AxesError::Form`] for other contents.
    pub fn from_slice(text: &[u8]) -> Result<Self, AxesError> {
        let wrong = |message: String| AxesError::Form { message: message.trim_end().to_owned() };
        let text =
            std::str::from_utf8(text).map_err(|error| wrong(format!("the text is not UTF-8 ({error})")))?;
        let text = text.trim_start_matches('\u{feff}');
        if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| wrong(format!("the JSON has another form ({error})")))
        } else {
            toml::from_str(text).map_err(|error| wrong(format!("the TOML has another form ({error})")))
        }
    }

    /// Reads a file like [`Self::from_slice`].
    ///
    /// # Errors
    /// The errors of [`read_file`], and [`WorkspaceError::Axes`].
    pub fn read(path: &Path) -> Result<Self, WorkspaceError> {
        Ok(Self::from_slice(&read_file(path)?)?)
    }

    /// Returns the file in which the axes of a workspace are: `search.axes.json` beside `search.json` or `search.json.gz`.
    /// `None` for a path without a name.
    #[must_use]
    pub fn place_beside(workspace: &Path) -> Option<PathBuf> {
        let name = Path::new(workspace.file_name()?);
        let name = if name.extension().is_some_and(|end| end == "gz") {
            name.file_stem()?
        } else {
            name.as_os_str()
        };
        let mut name = Path::new(name).file_stem()?.to_owned();
        name.push(BESIDE);
        Some(workspace.with_file_name(name))
    }

    /// Reads the axes beside a workspace, if they are there; those of a member of an archive are a member, too. If they
    /// cannot be read, a warning of the model says so.
    #[must_use]
    pub fn beside(workspace: &Path) -> Self {
        let Some(path) = Self::place_beside(workspace) else { return Self::default() };
        let in_archive = file_of(&path) != path;
        if !in_archive && !path.is_file() {
            return Self::default();
        }
        match Self::read(&path) {
            Ok(axes) => Self { found: true, ..axes },
            Err(WorkspaceError::Member { .. }) if in_archive => Self::default(),
            Err(error) => {
                Self { unread: Some(format!("{} is not read: {error}", path.display())), ..Self::default() }
            }
        }
    }

    /// Returns why the axes beside a workspace could not be read.
    #[must_use]
    pub fn unread(&self) -> Option<&str> {
        self.unread.as_deref()
    }

    /// Returns the axes as if they had been found beside a workspace: those that do not suit a model are left out.
    #[must_use]
    pub fn as_found(self) -> Self {
        Self { found: true, ..self }
    }

    /// Returns the axes by the names of the channels.
    #[must_use]
    pub fn channels(&self) -> &BTreeMap<String, Axis> {
        &self.channels
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// Returns the axes as JSON that [`Self::from_slice`] reads; `None` if there are none.
    #[must_use]
    pub fn to_json(&self) -> Option<String> {
        if self.is_empty() { None } else { serde_json::to_string_pretty(&self.channels).ok() }
    }

    /// Sets the axes of the channels of a model. A name that no channel has is a warning of the model, because channels may
    /// have been left out.
    ///
    /// # Errors
    /// [`AxesError::Edges`] if the edges of a channel are not those of its bins.
    pub fn apply(&self, model: &mut Model) -> Result<(), AxesError> {
        model.warnings.extend(self.unread.clone());
        for (name, axis) in &self.channels {
            let Some(channel) = model.channels.iter_mut().find(|channel| channel.name == *name) else {
                if !self.found {
                    let known: Vec<&str> =
                        model.channels.iter().map(|channel| channel.name.as_str()).collect();
                    let known = list("The channels of bins are", &known);
                    model
                        .warnings
                        .push(format!("axes: there is no channel {} of bins. {known}", quoted(name)));
                }
                continue;
            };
            if let Some(edges) = &axis.edges {
                let rising = edges.iter().zip(edges.iter().skip(1)).all(|(low, high)| low < high);
                let finite = edges.iter().all(|edge| edge.is_finite());
                let bins = channel.n_bins;
                let wrong = if edges.len() != bins + 1 {
                    Some(AxesError::Edges { channel: name.clone(), given: edges.len(), bins })
                } else {
                    (!rising || !finite).then(|| AxesError::Order { channel: name.clone() })
                };
                if let Some(wrong) = wrong {
                    if !self.found {
                        return Err(wrong);
                    }
                    model.warnings.push(format!("the axes beside the workspace are not its own: {wrong}"));
                    continue;
                }
                channel.axis.edges.clone_from(edges);
            }
            if let Some(title) = &axis.title {
                channel.axis.title.clone_from(title);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_file_beside_a_workspace_has_its_name() {
        for (workspace, axes) in [
            ("a/search.json", "a/search.axes.json"),
            ("search.v2.json.gz", "search.v2.axes.json"),
            ("search", "search.axes.json"),
        ] {
            assert_eq!(Axes::place_beside(Path::new(workspace)), Some(PathBuf::from(axes)));
        }
        assert_eq!(Axes::place_beside(Path::new("/")), None);
    }

    #[test]
    fn toml_and_json_say_the_same() {
        let toml = b"[SR]\ntitle = \"m\"\nedges = [0, 1.5]\n[CR]\ntitle = \"n\"\n";
        let json = br#"{"SR": {"title": "m", "edges": [0, 1.5]}, "CR": {"title": "n"}}"#;
        let axes = Axes::from_slice(json).unwrap();
        assert_eq!(Axes::from_slice(toml).unwrap(), axes);
        assert_eq!(Axes::from_slice(axes.to_json().unwrap().as_bytes()).unwrap(), axes);
        let error = Axes::from_slice(b"SR = 3").unwrap_err().to_string();
        assert!(error.contains("a table with a title or edges"), "{error}");
        for wrong in [&b"SR = 3"[..], b"[SR]\nedge = [0, 1]", b"{\"SR\": [0, 1]}", b"\xff"] {
            assert!(Axes::from_slice(wrong).unwrap_err().to_string().starts_with("axes: "));
        }
    }
}
