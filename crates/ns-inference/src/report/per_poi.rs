//! Results of an analysis of each parameter of interest, in one object.

use ns_core::Model;
use serde::Serialize;

/// The results of an analysis of each parameter of interest of a model. Serialises to the JSON that commands write for models
/// with several of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PerPoi<'a, R> {
    /// Names of the parameters of interest, in the order of the model.
    pub pois: Vec<String>,
    /// The results, in the order of `pois`. After an interruption the last ones are missing.
    pub results: &'a [R],
}

impl<'a, R> PerPoi<'a, R> {
    /// Joins the results for the parameters of interest of `model`, in their order.
    #[must_use]
    pub fn new(model: &Model, results: &'a [R]) -> Self {
        Self { pois: model.poi_names().map(str::to_owned).collect(), results }
    }
}
