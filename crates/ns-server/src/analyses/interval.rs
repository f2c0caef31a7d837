//! `POST /v1/interval`: the confidence interval of a parameter, with toys or by the chi2 law.

use ns_inference::{IntervalOptions, interval, picture};

use super::run::limited;
use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

/// Largest number of values that are tested before the ends are searched.
const MOST_POINTS: u64 = 10_000;

body! {
    /// Body of the request for a confidence interval.
    IntervalBody {
        /// Options of the interval; with `n_toys` it is that of Feldman and Cousins.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: IntervalOptions,
    }
}

impl Analysis for IntervalBody {
    const NAME: &'static str = "interval";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        limited("the number of points", self.options.points as u64, MOST_POINTS)?;
        let mut opened = run.open(&self.model, self.device, self.options.work())?;
        if self.options.param.is_some() {
            let result = interval(opened.model(), &opened.session, &self.options, run.control())?;
            let opened = opened.with_data(&self.options.fit.data);
            return run
                .answer(opened, &result, || Some(picture::interval(&result).unwrap_or_default().draw()));
        }
        let work = (self.device, self.options.work());
        let results = run.for_each_poi(&mut opened, work, |model, session, control| {
            interval(model, session, &self.options, control)
        })?;
        run.answer_each(opened.with_data(&self.options.fit.data), &results, |result| {
            Some(picture::interval(result).unwrap_or_default().draw())
        })
    }
}
