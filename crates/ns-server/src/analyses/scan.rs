//! `POST /v1/scan`: profile likelihood in one or two parameters.

use ns_inference::{ScanAxis, ScanOptions, picture, scan};

use super::run::limited;
use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

/// Largest number of points of a scan.
const MOST_POINTS: u64 = 1_000_000;

body! {
    /// Body of the request for a scan of the profile likelihood.
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
        let points = |axis: &ScanAxis| axis.values.as_ref().map_or(axis.points, Vec::len) as u64;
        let second = self.options.second.as_ref().map_or(1, points);
        let points = points(&self.options.first).saturating_mul(second);
        limited("the number of points", points, MOST_POINTS)?;
        let mut opened = run.open(&self.model, self.device, self.options.work())?;
        if self.options.first.param.is_some() || self.options.second.is_some() {
            let result = scan(opened.model(), &opened.session, &self.options, run.control())?;
            let opened = opened.with_data(&self.options.fit.data);
            return run.answer(opened, &result, || Some(picture::scan(&result).draw()));
        }
        let work = (self.device, self.options.work());
        let results = run.for_each_poi(&mut opened, work, |model, session, control| {
            scan(model, session, &self.options, control)
        })?;
        run.answer_each(opened.with_data(&self.options.fit.data), &results, |result| {
            Some(picture::scan(result).draw())
        })
    }
}
