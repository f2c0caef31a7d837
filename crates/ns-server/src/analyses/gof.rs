//! `POST /v1/gof`: saturated goodness of fit.

use ns_inference::{FitOptions, Work, goodness_of_fit, goodness_of_fit_toys};

use super::run::no_picture;
use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

body! {
    /// Body of the request for a goodness-of-fit test.
    GofBody {
        /// Options of the fit.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: FitOptions,
        /// Number of toys for the p-value; without it, the p-value is asymptotic only.
        #[serde(default)]
        n_toys: Option<u64>,
        /// Seed of the toys.
        #[serde(default)]
        seed: u64,
    }
}

impl Analysis for GofBody {
    const NAME: &'static str = "gof";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let work = self.n_toys.map_or(Work::Test, |toys| Work::Toys { toys, fits: 1 });
        let opened = run.open(&self.model, self.device, work)?;
        let (model, session, control) = (opened.model(), &opened.session, run.control());
        let result = match self.n_toys {
            None => goodness_of_fit(model, session, &self.options, control),
            Some(n_toys) => goodness_of_fit_toys(model, session, &self.options, n_toys, self.seed, control),
        }?;
        run.answer(opened, &result, no_picture)
    }
}
