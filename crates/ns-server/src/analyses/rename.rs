//! `POST /v1/rename`: renames parts of a workspace.

use ns_translate::pyhf::{Rename, to_text};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{Analysis, Answer, Run, of_workspaces};
use crate::body::read_workspace;
use crate::problem::ServerError;

/// Body of the request: a workspace, and new names for its parts.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenameBody {
    /// Workspace in pyhf's JSON.
    #[schema(value_type = Object)]
    workspace: Box<RawValue>,
    /// The new names of the parts, by their old names.
    #[serde(default)]
    #[schema(value_type = Object)]
    options: Rename,
}

impl Analysis for RenameBody {
    const NAME: &'static str = "rename";

    fn reads(&self, text: &[u8], _limit: u64) -> u64 {
        of_workspaces(text)
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let workspace = read_workspace(&self.workspace, "/workspace")?;
        let edited = workspace
            .rename(&self.options)
            .map_err(|source| ServerError::Workspace { pointer: "/workspace".to_owned(), source })?;
        run.plain(to_text(&edited.workspace)?)
    }
}
