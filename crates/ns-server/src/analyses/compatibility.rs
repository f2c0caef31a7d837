//! `POST /v1/compatibility`: tests whether all channels have the same value of the parameter of interest.

use ns_inference::{CompatibilityOptions, compatibility, picture};

use super::run::limited;
use super::{Analysis, Answer, Run, body};
use crate::memory::of_kept_toys;
use crate::problem::ServerError;

/// Largest number of toys. The statistics of all toys are in memory, once for each model.
const MOST_TOYS: u64 = 10_000_000;

body! {
    /// Body of the request for a test of the compatibility of channels.
    CompatibilityBody {
        /// Options of the test: `n_toys`, `seed`, `leave_out`, `fit`.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: CompatibilityOptions,
    }
}

impl Analysis for CompatibilityBody {
    const NAME: &'static str = "compatibility";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let toys = self.options.n_toys.unwrap_or(0);
        limited("the number of toys", toys, MOST_TOYS)?;
        let mut opened = run.open(&self.model, self.device, self.options.work())?;
        // The model with a value per channel, and the one without a channel.
        let _models = run.room_for(2, &opened.compiled)?;
        let _toys = run.models.room(2 * of_kept_toys(toys))?;
        let further = run.further(self.device);
        let work = (self.device, self.options.work());
        let results = run.for_each_poi(&mut opened, work, |model, session, control| {
            compatibility(model, session, &self.options, &further, control)
        })?;
        run.answer_each(opened.with_data(&self.options.fit.data), &results, |result| {
            Some(picture::compatibility(result).draw())
        })
    }
}
