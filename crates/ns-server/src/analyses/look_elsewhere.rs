//! `POST /v1/look-elsewhere`: the significance of a signal that was searched at many places.

use ns_inference::{LookElsewhereOptions, look_elsewhere, picture};

use super::run::limited;
use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

/// Largest number of places.
const MOST_POINTS: u64 = 10_000;

body! {
    /// Body of the request for a search at many places.
    LookElsewhereBody {
        /// Options of the search; `param` is required.
        #[schema(value_type = Object)]
        options: LookElsewhereOptions,
    }
}

impl Analysis for LookElsewhereBody {
    const NAME: &'static str = "look-elsewhere";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        limited("the number of places", self.options.points as u64, MOST_POINTS)?;
        let opened = run.open(&self.model, self.device, self.options.work())?;
        let result = look_elsewhere(opened.model(), &opened.session, &self.options, run.control())?;
        let opened = opened.with_data(&self.options.fit.data);
        run.answer(opened, &result, || Some(picture::look_elsewhere(&result).draw()))
    }
}
