//! `POST /v1/decorrelate`: makes a parameter of a workspace independent parameters.

use ns_translate::pyhf::{Decorrelate, to_text};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{Analysis, Answer, Run, of_workspaces};
use crate::body::read_workspace;
use crate::problem::ServerError;

/// Body of the request: a workspace, and the places that get a parameter of their own.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecorrelateBody {
    /// Workspace in pyhf's JSON.
    #[schema(value_type = Object)]
    workspace: Box<RawValue>,
    /// The modifiers (`modifier`) and the places (`by`: `channel`, `sample` or an object with the key `regions`).
    #[schema(value_type = Object)]
    options: Decorrelate,
}

impl Analysis for DecorrelateBody {
    const NAME: &'static str = "decorrelate";

    fn reads(&self, text: &[u8], _limit: u64) -> u64 {
        of_workspaces(text)
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let workspace = read_workspace(&self.workspace, "/workspace")?;
        let edited = workspace
            .decorrelate(&self.options)
            .map_err(|source| ServerError::Workspace { pointer: "/workspace".to_owned(), source })?;
        run.plain(to_text(&edited.workspace)?)
    }
}
