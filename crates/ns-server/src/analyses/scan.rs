//! `POST /v1/scan`: profile likelihood in one or two parameters.

use ns_inference::{ScanOptions, picture, scan};

use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

body! {
    /// A scan of the profile likelihood.
    ScanBody {
        /// Options of the scan.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: ScanOptions,
    }
}

impl Analysis for ScanBody {
    const NAME: &'static str = "scan";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let opened = run.open(&self.model, self.device, self.options.work())?;
        let result = scan(opened.model(), &opened.session, &self.options, run.control())?;
        run.answer(opened, &result, || Some(picture::scan(&result).draw()))
    }
}
