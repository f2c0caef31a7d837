//! Makes further fits that start at the opposite bound of parameters that ended at a bound.
//!
//! A parameter without a constraint has no length scale for further start points. If it ends at a bound,
//! another local minimum may lie near the opposite bound, and no descent from the first minimum leads there.

use std::sync::Arc;

use ns_core::{Constraint, FitOutcome, FitRequest, FitTask, Inactive, OutcomeParts, Start};

use super::profile::{Effort, Profile};
use crate::InferenceError;
use crate::analysis::Analysis;

/// For each unconstrained parameter that `fit` left at a bound, builds a request for the same fit that starts
/// with this parameter at its opposite bound. The POI is left out.
pub(super) fn from_other_ends(
    analysis: &Analysis<'_>,
    poi: usize,
    fit: &FitOutcome,
    request: &FitRequest,
) -> Vec<FitRequest> {
    let mut requests = Vec::new();
    for (index, why) in &fit.inactive {
        let Some(parameter) = analysis.model.parameters.get(*index) else { continue };
        let other = match why {
            Inactive::LowerBound => parameter.bounds.1,
            Inactive::UpperBound => parameter.bounds.0,
            _ => continue,
        };
        if *index == poi || parameter.constraint != Constraint::None || !other.is_finite() {
            continue;
        }
        let mut start = fit.parameters.clone();
        if let Some(x) = start.get_mut(*index) {
            *x = other;
        }
        requests.push(FitRequest {
            start: Start::At(Arc::from(start)),
            search: analysis.base.search,
            ..request.clone()
        });
    }
    requests
}

impl Profile {
    /// In a small model, searches for a lower minimum at `value` from the opposite bounds of parameters at a
    /// bound. Adds the fits to the profile.
    ///
    /// # Errors
    /// The errors of [`Analysis::run`].
    pub(super) fn search_other_ends(
        &mut self,
        analysis: &mut Analysis<'_>,
        value: f64,
    ) -> Result<(), InferenceError> {
        let Some(known) = self.at(value).filter(|_| analysis.is_small()) else { return Ok(()) };
        let request = analysis.conditional(&[(self.parameter, value)], known.fit.parameters.clone());
        let requests = from_other_ends(analysis, self.parameter, &known.fit, &request);
        let tasks: Vec<FitTask> = requests
            .into_iter()
            .map(|request| FitTask { data: self.data.clone(), fits: vec![request], cancel: None })
            .collect();
        for fitted in &analysis.run(&tasks, OutcomeParts::default())? {
            self.learn(value, fitted, Effort::Follow);
        }
        Ok(())
    }
}
