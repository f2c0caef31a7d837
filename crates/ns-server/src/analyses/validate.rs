//! `POST /v1/validate`: lists every problem of a workspace, with its path and a remedy.

use ns_inference::report::{Report, RunInfo, to_json};
use ns_translate::{Contents, ModelSource};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Analysis, Answer, Run};
use crate::body::{ModelBody, ModelReference};
use crate::problem::ServerError;

/// Body of the request: the workspace to check. The result lists the problems of the workspace.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ValidateBody {
    /// The model, given by its workspace.
    pub(crate) model: ModelBody,
}

impl Analysis for ValidateBody {
    const NAME: &'static str = "validate";

    fn reads(&self, _text: &[u8], limit: u64) -> u64 {
        match self.model.source() {
            Ok(ModelReference::Workspace(workspace)) => workspace.memory(limit),
            // A kept model is reserved below, and the error is that of `run`.
            Ok(ModelReference::Digests { .. }) | Err(_) => 0,
        }
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let (read, _copy) = match self.model.source()? {
            ModelReference::Workspace(workspace) => {
                (workspace.read("/model", run.models.memory().limit())?, None)
            }
            ModelReference::Digests { .. } => {
                let compiled = run.models.get(&self.model)?;
                let copy = run.models.room(compiled.of_copy())?;
                (Ok(ModelSource::clone(&compiled.workspace)), Some(copy))
            }
        };
        let (contents, model) =
            Contents::validate(read, &self.model.options()).map_err(|source| self.model.wrong(source))?;
        let ran = RunInfo::without_session(run.started);
        let ran = match &model {
            Some(model) => ran.about(model, model.digest()),
            None => ran,
        };
        run.plain(to_json(&Report { result: &contents, ran, parts: Vec::new() })?)
    }
}
