//! `POST /v1/upper-limit`: observed and expected CLs upper limits, asymptotic or with toys.

use ns_inference::{LimitOptions, ToyLimitOptions, Work, picture, upper_limit, upper_limit_toys};

use super::run::{limited, no_picture};
use super::{Analysis, Answer, Run, body};
use crate::memory::of_work;
use crate::problem::ServerError;

/// Number of scan points in the picture of a limit, as on the command line.
const DRAWN: usize = 41;

/// Largest number of points of a scan, as on the command line.
const MOST_POINTS: u64 = 100_000;

/// Largest number of toys of each hypothesis at one tested value. The limit exists because the statistics of
/// toys are kept in memory.
const MOST_TOYS: u64 = 10_000_000;

body! {
    /// Body of the request for CLs upper limits.
    UpperLimitBody {
        /// Options of asymptotic limits.
        #[serde(default)]
        #[schema(value_type = Option<Object>)]
        options: Option<LimitOptions>,
        /// Options of limits with toys. A request gives either these options or `options`.
        #[serde(default)]
        #[schema(value_type = Option<Object>)]
        toys: Option<ToyLimitOptions>,
    }
}

impl Analysis for UpperLimitBody {
    const NAME: &'static str = "upper-limit";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let mut options = match (&self.toys, &self.options) {
            (Some(_), Some(_)) => {
                let reason = "give either `options`, or `toys` for limits with toys".to_owned();
                return Err(ServerError::Body { pointer: "/toys".to_owned(), reason });
            }
            (Some(toys), None) => {
                limited("the number of toys", toys.n_toys, MOST_TOYS)?;
                let work = Work::toys_of_limit(toys.n_toys);
                let mut opened = run.open(&self.model, self.device, work)?;
                let results =
                    run.for_each_poi(&mut opened, (self.device, work), |model, session, control| {
                        upper_limit_toys(model, session, toys, control)
                    })?;
                return run.answer_each(opened.with_data(&toys.fit.data), &results, |_| no_picture());
            }
            (None, options) => options.clone().unwrap_or_default(),
        };
        if run.picture && options.scan.is_empty() {
            options.auto_scan = options.auto_scan.or(Some(DRAWN));
        }
        limited("the number of points", options.auto_scan.unwrap_or(0) as u64, MOST_POINTS)?;
        let mut opened = run.open(&self.model, self.device, Work::Limit)?;
        let points = options.auto_scan.unwrap_or(0).max(options.scan.len()) as u64;
        // Each point has fits to the observed data and to the Asimov data.
        let scan = of_work(Work::Scan { points: 2 * points }, opened.model().parameters.len() as u64);
        run.reserve(&mut opened, scan)?;
        let work = (self.device, Work::Limit);
        let results = run.for_each_poi(&mut opened, work, |model, session, control| {
            upper_limit(model, session, &options, control)
        })?;
        run.answer_each(opened.with_data(&options.fit.data), &results, |result| {
            Some(picture::limit(result).unwrap_or_default().draw())
        })
    }
}
