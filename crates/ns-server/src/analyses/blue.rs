//! `POST /v1/blue`: combines given results to the best linear unbiased estimate.

use std::collections::{BTreeMap, BTreeSet};

use ns_inference::blue::{Correlation, GivenResult};
use ns_inference::report::to_json;
use ns_inference::{BlueError, BlueInput, blue};
use serde::Deserialize;
use utoipa::ToSchema;

use super::run::limited;
use super::{Analysis, Answer, Run};
use crate::problem::ServerError;

/// Largest numbers of results and of sources of uncertainty.
const MOST_RESULTS: u64 = 300;
const MOST_SOURCES: u64 = 1000;

/// Largest number of elements of the covariances of all sources.
const MOST_ELEMENTS: u64 = 1_000_000;

/// Number of further matrices that are made at a time: that of all sources and its factor, correlations, and eigenvectors.
const MATRICES: u64 = 8;

/// Body of the request: what the file of the command contains.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlueBody {
    /// The results: objects with `name`, `value`, `uncertainties` by source and perhaps `quantity`.
    #[schema(value_type = Vec<Object>)]
    results: Vec<GivenResult>,
    /// The correlation of each source: a number for all results, or a matrix.
    #[serde(default)]
    #[schema(value_type = Object)]
    correlations: BTreeMap<String, Correlation>,
}

impl Analysis for BlueBody {
    const NAME: &'static str = "blue";

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let sources: BTreeSet<&str> =
            self.results.iter().flat_map(|result| result.uncertainties.keys().map(String::as_str)).collect();
        let (results, sources) = (self.results.len() as u64, sources.len() as u64);
        limited("the number of results", results, MOST_RESULTS)?;
        limited("the number of sources", sources, MOST_SOURCES)?;
        let elements = results * results * sources;
        limited("the number of elements of the covariances", elements, MOST_ELEMENTS)?;
        let _matrices = run.models.room(8 * (elements + MATRICES * results * results))?;
        let input = BlueInput { results: self.results.clone(), correlations: self.correlations.clone() };
        let result = blue(&input).map_err(|error| {
            let pointer = match &error {
                BlueError::Missing(_) | BlueError::UnknownSource(_) | BlueError::BadMatrix { .. } => {
                    "/correlations"
                }
                _ => "/results",
            };
            ServerError::Body { pointer: pointer.to_owned(), reason: error.to_string() }
        })?;
        run.plain(to_json(&result)?)
    }
}
