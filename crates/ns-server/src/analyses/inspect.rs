//! `POST /v1/inspect`: channels, samples, parameters and modifiers of a workspace.

use ns_inference::report::{Report, RunInfo, to_json};
use ns_translate::Contents;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Analysis, Answer, Run};
use crate::body::ModelBody;
use crate::problem::ServerError;

/// Body of the request: a model whose contents are listed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InspectBody {
    /// The model.
    pub(crate) model: ModelBody,
}

impl Analysis for InspectBody {
    const NAME: &'static str = "inspect";

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let compiled = run.models.get(&self.model)?;
        // The model is built again, and its contents are listed.
        let _copy = run.models.room(compiled.of_copy())?;
        let (contents, model) = Contents::inspect(&compiled.workspace, &compiled.options)
            .map_err(|source| self.model.wrong(source))?;
        let ran = RunInfo::without_session(run.started).about(&model, compiled.digest.clone());
        run.plain(to_json(&Report { result: &contents, ran, parts: Vec::new() })?)
    }
}
