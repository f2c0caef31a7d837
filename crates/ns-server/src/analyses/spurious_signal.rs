//! `POST /v1/spurious-signal`: finds the signal that a model finds in backgrounds without signal.

use std::sync::Arc;

use ns_core::Model;
use ns_inference::{SpuriousOptions, picture, spurious_signal};
use serde::Deserialize;
use utoipa::ToSchema;

use super::run::limited;
use super::{Analysis, Answer, Run, body};
use crate::body::ModelBody;
use crate::models::Compiled;
use crate::problem::ServerError;

/// Largest product of the numbers of places and of backgrounds.
const MOST_POINTS: u64 = 10_000;

body! {
    /// Body of the request for a test of spurious signals.
    SpuriousSignalBody {
        /// The backgrounds: models with the channels of `model` and another description of what is not signal.
        backgrounds: Vec<Background>,
        /// Options of the test; `param` is required.
        #[schema(value_type = Object)]
        options: SpuriousOptions,
    }
}

/// A background.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Background {
    /// Name of the background.
    name: String,
    /// The model.
    model: ModelBody,
}

impl Analysis for SpuriousSignalBody {
    const NAME: &'static str = "spurious-signal";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let points = (self.options.points as u64).saturating_mul(self.backgrounds.len() as u64);
        limited("the number of places times backgrounds", points, MOST_POINTS)?;
        let opened = run.open(&self.model, self.device, self.options.work())?;
        let compiled = |(i, background): (usize, &Background)| {
            run.models.get(&background.model).map_err(|error| error.under(&format!("/backgrounds/{i}")))
        };
        let models: Vec<Arc<Compiled>> =
            self.backgrounds.iter().enumerate().map(compiled).collect::<Result<_, _>>()?;
        // One background at a time has a session of its own.
        let largest = models.iter().max_by_key(|model| model.bytes());
        let _session = largest.map(|model| run.room_for(1, model)).transpose()?;
        let names = self.backgrounds.iter().map(|background| background.name.clone());
        let backgrounds: Vec<(String, &Model)> =
            names.zip(models.iter().map(|compiled| &compiled.model)).collect();
        let further = run.further(self.device);
        let control = run.control();
        let result =
            spurious_signal(opened.model(), &opened.session, &backgrounds, &self.options, &further, control)?;
        let opened = opened.with_data(&self.options.fit.data);
        run.answer(opened, &result, || Some(picture::spurious(&result).draw()))
    }
}
