//! `POST /v1/prune`: removes parts of a workspace.

use ns_translate::pyhf::{Prune, to_text};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{Analysis, Answer, Run, of_workspaces};
use crate::body::read_workspace;
use crate::problem::ServerError;

/// Body of the request: a workspace, and the parts to remove from it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PruneBody {
    /// Workspace in pyhf's JSON.
    #[schema(value_type = Object)]
    workspace: Box<RawValue>,
    /// The parts to remove.
    #[serde(default)]
    #[schema(value_type = Object)]
    options: Prune,
}

impl Analysis for PruneBody {
    const NAME: &'static str = "prune";

    fn reads(&self, text: &[u8], _limit: u64) -> u64 {
        of_workspaces(text)
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let workspace = read_workspace(&self.workspace, "/workspace")?;
        let edited = workspace
            .prune(&self.options)
            .map_err(|source| ServerError::Workspace { pointer: "/workspace".to_owned(), source })?;
        run.plain(to_text(&edited.workspace)?)
    }
}
