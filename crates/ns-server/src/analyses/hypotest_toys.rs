//! `POST /v1/hypotest-toys`: hypothesis test of one value of the parameter of interest with toys.

use ns_inference::HypotestToysOptions;
use ns_inference::toys::store::run_saved;
use ns_inference::toys::{Summary, ToyTest};

use super::run::{limited, no_picture};
use super::{Analysis, Answer, Run, body};
use crate::memory::of_kept_toys;
use crate::problem::ServerError;

/// Largest number of toys of a request. The number is limited because the test statistics of toys are kept in memory.
const MOST_KEPT: u64 = 100_000_000;

body! {
    /// Body of the request for a hypothesis test with toys.
    HypotestToysBody {
        /// Tested value of the parameter of interest.
        mu: f64,
        /// Options of the test.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: HypotestToysOptions,
    }
}

impl Analysis for HypotestToysBody {
    const NAME: &'static str = "hypotest-toys";
    const SAVES: bool = true;

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        if self.options.expected_set {
            limited("the number of toys with `expected_set`", self.options.n_toys, MOST_KEPT)?;
        }
        let saving = run.saving()?;
        let mut opened = run.open(&self.model, self.device, self.options.work())?;
        if opened.has_several_pois() {
            return Err(opened.must_choose("a test with toys is about"));
        }
        if self.options.expected_set {
            run.reserve(&mut opened, of_kept_toys(self.options.n_toys))?;
        }
        let (model, session, control) = (opened.model(), &opened.session, run.control());
        let test = ToyTest::prepare(model, session, self.mu, &self.options, control)?;
        let mut summary = Summary::new(test.header()).expected_set(self.options.expected_set);
        let done = run_saved(saving, test, self.options.batch, (model, session), control, &mut summary)?;
        let mut result = summary.finish();
        result.toys_per_s = done.toys_per_s;
        result.interrupted = done.interrupted;
        result.warnings.extend(done.warnings(false));
        run.answer(opened.with_data(&self.options.fit.data), &result, no_picture)
    }
}
