//! `POST /v1/combine`: combines workspaces into one.

use ns_translate::pyhf::{Combine, Workspace, to_text};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{Analysis, Answer, Run, of_workspaces};
use crate::body::read_workspace;
use crate::problem::ServerError;

/// Body of the request: the workspaces to combine, from left to right.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CombineBody {
    /// Two workspaces or more, in pyhf's JSON.
    #[schema(value_type = Vec<Object>)]
    workspaces: Vec<Box<RawValue>>,
    /// The rule by which parts with the same name are combined.
    #[serde(default)]
    #[schema(value_type = Object)]
    options: Combine,
}

impl Analysis for CombineBody {
    const NAME: &'static str = "combine";

    fn reads(&self, text: &[u8], _limit: u64) -> u64 {
        of_workspaces(text)
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let mut combined: Option<Workspace> = None;
        for (i, text) in self.workspaces.iter().enumerate() {
            let pointer = format!("/workspaces/{i}");
            let right = read_workspace(text, &pointer)?;
            combined = Some(match combined {
                None => right,
                Some(left) => {
                    let edited = left.combine(&right, self.options);
                    edited.map_err(|source| ServerError::Workspace { pointer, source })?.workspace
                }
            });
        }
        match combined.filter(|_| self.workspaces.len() > 1) {
            Some(workspace) => run.plain(to_text(&workspace)?),
            None => Err(ServerError::Body {
                pointer: "/workspaces".to_owned(),
                reason: "give two workspaces or more".to_owned(),
            }),
        }
    }
}
