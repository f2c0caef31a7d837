//! `POST /v1/injection`: toys at several values of a parameter, and the bias of their fits, as `nextstat toys --inject`.

use ns_inference::{InjectionOptions, injection, picture};

use super::run::limited;
use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

/// Largest number of injected values.
const MOST_VALUES: u64 = 10_000;

body! {
    /// Body of the request for an injection test.
    InjectionBody {
        /// Options of the test: `values`, `n_toys`, `param`, `seed`, ...
        #[serde(default)]
        #[schema(value_type = Object)]
        options: InjectionOptions,
    }
}

impl Analysis for InjectionBody {
    const NAME: &'static str = "injection";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        limited("the number of values", self.options.values.len() as u64, MOST_VALUES)?;
        let opened = run.open(&self.model, self.device, self.options.work())?;
        let result = injection(opened.model(), &opened.session, &self.options, run.control())?;
        run.answer(opened.with_data(&self.options.fit.data), &result, || {
            Some(picture::injection(&result).draw())
        })
    }
}
