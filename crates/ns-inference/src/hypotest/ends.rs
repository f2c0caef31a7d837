//! Makes additional fits in which a parameter that ended at a bound starts at its opposite bound.
//!
//! A parameter without a constraint has no natural scale for the distance of additional starting points. If such a
//! parameter ends at a bound, another local minimum may lie near its opposite bound. No descent from the minimum at the
//! bound leads to this other minimum.

use std::sync::Arc;

use ns_core::{Constraint, FitOutcome, FitRequest, FitTask, Inactive, OutcomeParts, Start};

use super::profile::{Effort, Profile};
use crate::InferenceError;
use crate::analysis::Analysis;

/// Builds one request for each unconstrained parameter that ended at a bound in `fit`. The request is a copy of
/// `request` in which this parameter starts at its opposite bound. There is no request for the POI.
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
    /// In a small model, searches for a lower minimum with the profiled parameter fixed at `value`. The search makes
    /// fits in which another parameter that ended at a bound starts at its opposite bound. The results of these fits
    /// are added to the profile.
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
