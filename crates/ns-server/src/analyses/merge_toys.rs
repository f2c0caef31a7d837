//! `POST /v1/merge-toys`: computes the result of a run of toys from the files of its shards.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ns_inference::merge::{MergeOptions, merge_toys};
use ns_inference::report::{Report, to_json};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::{Analysis, Answer, Run};
use crate::problem::ServerError;

/// Body of the request: files with toys of one run. The files are merged.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MergeToysBody {
    /// Files that the command line wrote with `--save`, in any order, each encoded in base64.
    #[schema(value_type = Vec<String>)]
    files: Vec<ToyFile>,
    /// Options of the merge.
    #[serde(default)]
    #[schema(value_type = Object)]
    options: MergeOptions,
    /// Time in seconds after which the request becomes a job. If the key is absent, the server's default is
    /// used.
    #[serde(default, deserialize_with = "crate::body::seconds")]
    #[schema(value_type = Option<f64>)]
    wait_s: Option<f64>,
}

/// The content of a file. In JSON it is encoded in base64.
struct ToyFile(Vec<u8>);

impl std::fmt::Debug for ToyFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl<'de> Deserialize<'de> for ToyFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = STANDARD.decode(text).map_err(|error| {
            serde::de::Error::custom(format!("no base64: {error}; send the content of the file in base64"))
        })?;
        Ok(Self(bytes))
    }
}

impl Analysis for MergeToysBody {
    const NAME: &'static str = "merge-toys";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let wrong = |reason: String| ServerError::Body { pointer: "/files".to_owned(), reason };
        if self.files.is_empty() {
            return Err(wrong("give one file or more".to_owned()));
        }
        let unwritten = |source| ServerError::Disk { source };
        let folder = tempfile::tempdir().map_err(unwritten)?;
        let mut files: Vec<PathBuf> = Vec::new();
        for (i, ToyFile(bytes)) in self.files.iter().enumerate() {
            let path = folder.path().join(i.to_string());
            std::fs::write(&path, bytes).map_err(unwritten)?;
            files.push(path);
        }
        let merged = merge_toys(&files, self.options)
            .map_err(|error| wrong(in_body(&error.to_string(), folder.path())))?;
        let ran = merged.run_info(run.started);
        run.plain(to_json(&Report { result: &merged.result, ran, parts: Vec::new() })?)
    }
}

/// Replaces paths of files in a message by JSON pointers into the body of the request.
fn in_body(message: &str, folder: &Path) -> String {
    message.replace(&format!("{}/", folder.display()), "/files/")
}
