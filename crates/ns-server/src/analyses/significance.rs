//! `POST /v1/significance`: observed and expected significance of a discovery.

use ns_inference::{FitOptions, Work, significance};

use super::run::no_picture;
use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

body! {
    /// Body of the request for the significance of a discovery.
    SignificanceBody {
        /// Options of the fits.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: FitOptions,
    }
}

impl Analysis for SignificanceBody {
    const NAME: &'static str = "significance";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let mut opened = run.open(&self.model, self.device, Work::Test)?;
        let results =
            run.for_each_poi(&mut opened, (self.device, Work::Test), |model, session, control| {
                significance(model, session, &self.options, control)
            })?;
        run.answer_each(opened.with_data(&self.options.data), &results, |_| no_picture())
    }
}
