//! `POST /v1/sample`: a sample of the posterior. The answer has the summary, without the draws.

use ns_inference::{PosteriorOptions, sample};

use super::run::{limited, no_picture};
use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

/// Largest number of draws of all chains times parameters. All draws are in memory.
const MOST_NUMBERS: u64 = 50_000_000;

body! {
    /// Body of the request for a sample of the posterior.
    SampleBody {
        /// Options of the sample. The server runs one chain after another, so `threads` has no effect.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: PosteriorOptions,
    }
}

impl Analysis for SampleBody {
    const NAME: &'static str = "sample";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let mut opened = run.open(&self.model, self.device, self.options.work())?;
        let options = self.options.clone().threads(1);
        let parameters = opened.model().parameters.len() as u64;
        let draws = (options.chains as u64).saturating_mul(options.draws as u64);
        let numbers = draws.saturating_mul(parameters);
        limited("the number of draws times parameters", numbers, MOST_NUMBERS)?;
        // The draws, and copies of them while R-hat is computed.
        run.reserve(&mut opened, numbers.saturating_mul(2 * 8))?;
        let result = sample(opened.model(), &opened.session, &options, run.control())?;
        run.answer(opened.with_data(&options.fit.data), &result, no_picture)
    }
}
