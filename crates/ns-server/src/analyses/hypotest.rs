//! `POST /v1/hypotest`: asymptotic hypothesis test of one value of the parameter of interest.

use ns_inference::{HypotestOptions, Work, hypotest};

use super::run::no_picture;
use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

body! {
    /// Body of the request for an asymptotic hypothesis test.
    HypotestBody {
        /// Tested value of the parameter of interest.
        mu: f64,
        /// Options of the test.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: HypotestOptions,
    }
}

impl Analysis for HypotestBody {
    const NAME: &'static str = "hypotest";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let opened = run.open(&self.model, self.device, Work::Test)?;
        let result = hypotest(opened.model(), &opened.session, self.mu, &self.options, run.control())?;
        run.answer(opened.with_data(&self.options.fit.data), &result, no_picture)
    }
}
