//! Manifests of flows. A manifest names the graph files of a flow and describes their inputs. Its JSON schema is
//! `docs/flow-manifest.schema.json`.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::FlowError;

/// The format of manifests that this version of NextStat reads.
const FORMAT: &str = "nextstat-flow/1";

/// Distribution of the random numbers that are the input of a sampler.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum BaseName {
    Normal,
    Uniform,
}

/// A graph: the path of its file, and the SHA-256 hash of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GraphFile {
    pub(super) file: String,
    pub(super) sha256: String,
}

/// The graph file of a sampler, and the random numbers that the sampler needs: their distribution, and their number
/// per event.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SamplerFile {
    pub(super) file: String,
    pub(super) sha256: String,
    pub(super) base: BaseName,
    pub(super) numbers: usize,
}

/// The contents of a manifest file, with one field per key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    format: String,
    pub(super) name: String,
    #[serde(default, rename = "description")]
    _description: Option<String>,
    pub(super) features: Vec<String>,
    #[serde(default)]
    pub(super) context: Vec<String>,
    support: Vec<(Option<f64>, Option<f64>)>,
    pub(super) log_prob: GraphFile,
    pub(super) sampler: Option<SamplerFile>,
    pub(super) context_gradient: Option<GraphFile>,
    #[serde(default)]
    pub(super) finite_differences: Vec<f64>,
}

/// A manifest whose values have been checked, and the path of its file.
#[derive(Debug, Clone)]
pub(super) struct Checked {
    pub(super) manifest: Manifest,
    pub(super) path: PathBuf,
    /// Lower and upper end of the support for each feature.
    pub(super) support: Vec<(f64, f64)>,
    /// SHA-256 hash of the manifest file. The manifest contains the hashes of the graphs.
    pub(super) digest: String,
}

impl Checked {
    /// Reads a manifest and checks its values.
    pub(super) fn read(path: &Path) -> Result<Self, FlowError> {
        let text = std::fs::read(path).map_err(|cause| FlowError::Read { path: path.to_owned(), cause })?;
        let mut reader = serde_json::Deserializer::from_slice(&text);
        let of =
            |place: String, cause: String| FlowError::Manifest { manifest: path.to_owned(), place, cause };
        let manifest: Manifest = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| of(error.path().to_string(), error.inner().to_string()))?;
        reader.end().map_err(|error| of("the end".to_owned(), error.to_string()))?;
        let support = manifest.support.iter();
        let support =
            support.map(|(lo, hi)| (lo.unwrap_or(f64::NEG_INFINITY), hi.unwrap_or(f64::INFINITY))).collect();
        let checked = Self { manifest, path: path.to_owned(), support, digest: hash(&text) };
        checked.check()?;
        Ok(checked)
    }

    fn bad(&self, place: impl Into<String>, problem: String, remedy: &str) -> FlowError {
        let (manifest, place, remedy) = (self.path.clone(), place.into(), remedy.to_owned());
        FlowError::Value { manifest, place, problem, remedy }
    }

    fn check(&self) -> Result<(), FlowError> {
        let of = &self.manifest;
        if of.format != FORMAT {
            let problem = format!("the format is '{}', and '{FORMAT}' is read", of.format);
            return Err(self.bad("format", problem, "Export the flow with this version of NextStat"));
        }
        for (place, names) in [("features", &of.features), ("context", &of.context)] {
            let twice = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name));
            if let Some((i, name)) = twice {
                let problem = format!("'{name}' is named twice");
                return Err(self.bad(format!("{place}[{i}]"), problem, "Name each one once"));
            }
            if let Some(i) = names.iter().position(String::is_empty) {
                return Err(self.bad(
                    format!("{place}[{i}]"),
                    "a name is empty".to_owned(),
                    "Give it a name",
                ));
            }
        }
        if of.features.is_empty() {
            return Err(self.bad("features", "there is no feature".to_owned(), "Name at least one"));
        }
        if of.support.len() != of.features.len() {
            let problem = format!("there are {} ranges for {} features", of.support.len(), of.features.len());
            return Err(self.bad(
                "support",
                problem,
                "Write [lower, upper] per feature, null where there is no end",
            ));
        }
        if let Some(i) = self.support.iter().position(|(lo, hi)| !(lo < hi)) {
            let problem = "the range is empty".to_owned();
            return Err(self.bad(
                format!("support[{i}]"),
                problem,
                "Write the lower end before the upper one",
            ));
        }
        if let Some(sampler) = &of.sampler
            && sampler.numbers == 0
        {
            let problem = "the sampler takes no random number".to_owned();
            return Err(self.bad("sampler.numbers", problem, "Write how many it takes per event"));
        }
        let steps = &of.finite_differences;
        if of.context.is_empty() && !steps.is_empty() {
            let problem = "a flow without context has steps of differences by the context".to_owned();
            return Err(self.bad("finite_differences", problem, "Remove them, or name the context"));
        }
        if !steps.is_empty() && steps.len() != of.context.len() {
            let problem =
                format!("there are {} steps for {} numbers of the context", steps.len(), of.context.len());
            return Err(self.bad("finite_differences", problem, "Write one step per number of the context"));
        }
        if let Some(i) = steps.iter().position(|step| !(step.is_finite() && *step > 0.0)) {
            let problem = "a step is not positive".to_owned();
            return Err(self.bad(format!("finite_differences[{i}]"), problem, "Write a positive step"));
        }
        if !of.context.is_empty() && of.context_gradient.is_none() && steps.is_empty() {
            let problem =
                "a flow with context has neither the graph 'context_gradient' nor 'finite_differences'";
            return Err(self.bad("context", problem.to_owned(), "Add one of them"));
        }
        if of.context.is_empty() && of.context_gradient.is_some() {
            let problem = "a flow without context has a graph of its derivatives by the context".to_owned();
            return Err(self.bad("context_gradient", problem, "Remove it, or name the context"));
        }
        Ok(())
    }

    /// Returns the path and the content of a graph file of the manifest. Checks the hash of the content.
    pub(super) fn graph(
        &self,
        place: &str,
        file: &str,
        sha256: &str,
    ) -> Result<(PathBuf, Vec<u8>), FlowError> {
        let outside = || FlowError::Outside {
            manifest: self.path.clone(),
            place: format!("{place}.file"),
            file: file.to_owned(),
        };
        let named = Path::new(file);
        if file.is_empty()
            || !named.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
        {
            return Err(outside());
        }
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let read = |path: &Path, cause| FlowError::Read { path: path.to_owned(), cause };
        let folder = folder.canonicalize().map_err(|cause| read(folder, cause))?;
        let joined = folder.join(named);
        let path = joined.canonicalize().map_err(|cause| read(&joined, cause))?;
        if !path.starts_with(&folder) {
            return Err(outside());
        }
        let bytes = std::fs::read(&path).map_err(|cause| read(&path, cause))?;
        let actual = hash(&bytes);
        if !actual.eq_ignore_ascii_case(sha256) {
            return Err(FlowError::Digest {
                manifest: self.path.clone(),
                place: format!("{place}.sha256"),
                file: file.to_owned(),
                actual,
                expected: sha256.to_owned(),
            });
        }
        Ok((path, bytes))
    }
}

/// Returns the SHA-256 hash of `bytes` as hexadecimal text.
pub(super) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
