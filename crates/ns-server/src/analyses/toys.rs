//! `POST /v1/toys`: fits of toys that are generated at known parameter values.

use ns_inference::FitToysOptions;
use ns_inference::toys::store::run_saved;
use ns_inference::toys::{FitToysSummary, FitToysTest};

use super::run::no_picture;
use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

body! {
    /// Body of the request for a study of fits to toys.
    ToysBody {
        /// Options of the study.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: FitToysOptions,
    }
}

impl Analysis for ToysBody {
    const NAME: &'static str = "toys";
    const SAVES: bool = true;

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let saving = run.saving()?;
        let opened = run.open(&self.model, self.device, self.options.work())?;
        let (model, session, control) = (opened.model(), &opened.session, run.control());
        let test = FitToysTest::prepare(model, session, &self.options, control)?;
        let mut summary = FitToysSummary::new(test.header());
        let done = run_saved(saving, test, self.options.batch, (model, session), control, &mut summary)?;
        let mut result = summary.finish();
        result.toys_per_s = done.toys_per_s;
        result.interrupted = done.interrupted;
        result.warnings.extend(done.warnings(false));
        run.answer(opened.with_data(&self.options.fit.data), &result, no_picture)
    }
}
