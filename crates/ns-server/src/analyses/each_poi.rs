//! Analyses of models with several parameters of interest: one result for each, as on the command line.

use std::sync::atomic::Ordering;

use ns_core::{Control, Device, Model, Session};
use ns_inference::report::PerPoi;
use ns_inference::{InferenceError, Work};
use ns_viz::Drawing;
use serde::Serialize;

use super::Answer;
use super::run::{Opened, Run, no_picture};
use crate::body::ModelBody;
use crate::problem::ServerError;

impl Opened {
    /// Returns whether the model has several parameters of interest.
    pub(super) fn has_several_pois(&self) -> bool {
        self.model().pois.len() > 1
    }

    /// Returns the error of an analysis of one parameter of interest, in a model that has several.
    pub(super) fn must_choose(&self, what: &str) -> ServerError {
        let names: Vec<&str> = self.model().poi_names().collect();
        let reason = format!(
            "{what} one parameter of interest, and there are {}; choose one with `poi`",
            names.join(", ")
        );
        ServerError::Body { pointer: "/model/poi".to_owned(), reason }
    }
}

impl Run<'_> {
    /// Runs `analysis` once for each parameter of interest, which is the first one of the model that `analysis` gets. `opened`
    /// is the model with the session for the first one, and `work` the amount of work for each. After a cancellation fewer
    /// results come back.
    ///
    /// # Errors
    /// If a picture is wanted and there are several parameters of interest, if the analysis fails, or if memory is short.
    pub(super) fn for_each_poi<T>(
        &self,
        opened: &mut Opened,
        (device, work): (Option<Device>, Work),
        analysis: impl Fn(&Model, &dyn Session, Control<'_>) -> Result<T, InferenceError>,
    ) -> Result<Vec<T>, ServerError> {
        if self.picture && opened.has_several_pois() {
            return Err(opened.must_choose("a picture shows"));
        }
        let names: Vec<String> = opened.model().poi_names().map(str::to_owned).collect();
        let further = names.len().saturating_sub(1) as u64;
        self.reserve(opened, opened.reserved().saturating_mul(further))?;
        let mut results = vec![analysis(opened.model(), &opened.session, self.control())?];
        for first in names.iter().skip(1) {
            if self.account.cancel.load(Ordering::Relaxed) {
                break;
            }
            let others = names.iter().filter(|name| *name != first);
            let digests = (opened.compiled.digest.as_str(), opened.compiled.data_digest.as_str());
            let body = ModelBody::of_kept(digests, std::iter::once(first).chain(others).cloned());
            let compiled = self.models.get(&body)?;
            let session = compiled.open(device, work, self.account, self.here)?.session;
            match analysis(&compiled.model, &session, self.control()) {
                Err(InferenceError::Cancelled) => break,
                result => results.push(result?),
            }
        }
        Ok(results)
    }

    /// Returns the answer to a request for an analysis of each parameter of interest. `draw` draws the result for a single
    /// one.
    ///
    /// # Errors
    /// If the results cannot be written or drawn.
    pub(super) fn answer_each<R: Serialize, E>(
        &self,
        opened: Opened,
        results: &[R],
        draw: impl FnOnce(&R) -> Option<Result<Drawing, E>>,
    ) -> Result<Answer, ServerError>
    where
        ServerError: From<E>,
    {
        match results {
            [result] if !opened.has_several_pois() => self.answer(opened, result, || draw(result)),
            several => {
                let compiled = std::sync::Arc::clone(&opened.compiled);
                self.answer::<ServerError>(opened, &PerPoi::new(&compiled.model, several), no_picture)
            }
        }
    }
}
