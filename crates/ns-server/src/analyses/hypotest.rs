//! `POST /v1/hypotest`: asymptotic hypothesis test of one value of the parameter of interest, or test of a point in several
//! parameters by the likelihood ratio.

use ns_inference::present::count;
use ns_inference::{HypotestOptions, PointOptions, TestStatistic, hypotest, hypotest_point};

use super::run::{Opened, limited, no_picture};
use super::{Analysis, Answer, Run, body};
use crate::body::Tested;
use crate::memory::of_kept_toys;
use crate::problem::ServerError;

/// Largest number of toys of a test of a point. Their statistics are kept in memory.
const MOST_TOYS: u64 = 100_000_000;

body! {
    /// Body of the request for a hypothesis test.
    HypotestBody {
        /// Tested value of the parameter of interest, or a point: an object of names and values, or a list of the values of all
        /// parameters of interest.
        mu: Tested,
        /// Options of the test. A point has no `test_stat`.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: HypotestOptions,
        /// Number of toys that are drawn at a point; none by default.
        #[serde(default)]
        n_toys: Option<u64>,
        /// Seed of the toys; 0 by default.
        #[serde(default)]
        seed: u64,
    }
}

impl HypotestBody {
    /// Returns the values of a tested point by name; `None` for a single value of the only parameter of interest.
    fn point(&self, opened: &Opened) -> Result<Option<Vec<(String, f64)>>, ServerError> {
        let names: Vec<&str> = opened.model().poi_names().collect();
        let values = match &self.mu {
            Tested::Named(values) => return Ok(Some(values.clone())),
            Tested::Value(_) if names.len() < 2 => return Ok(None),
            Tested::Value(value) => vec![*value],
            Tested::InOrder(values) => values.clone(),
        };
        if values.len() != names.len() || values.is_empty() {
            let reason = format!(
                "`mu` has {}, and the model has {} ({}); give the values by name, or choose one parameter with `poi`",
                count(values.len(), "value"),
                match names.len() {
                    1 => "1 parameter of interest".to_owned(),
                    n => format!("{n} parameters of interest"),
                },
                names.join(", ")
            );
            return Err(ServerError::Body { pointer: "/mu".to_owned(), reason });
        }
        Ok(Some(names.into_iter().map(str::to_owned).zip(values).collect()))
    }
}

impl Analysis for HypotestBody {
    const NAME: &'static str = "hypotest";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let n_toys = self.n_toys.unwrap_or(0);
        limited("the number of toys", n_toys, MOST_TOYS)?;
        let fit = &self.options.fit;
        let options = PointOptions::default().fit(fit.clone()).n_toys(self.n_toys).seed(self.seed);
        let mut opened = run.open(&self.model, self.device, options.work())?;
        let wrong = |key: &str, reason: &str| {
            Err(ServerError::Body { pointer: key.to_owned(), reason: reason.to_owned() })
        };
        match (self.point(&opened)?, &self.mu) {
            (Some(point), _) => {
                if self.options.statistic != TestStatistic::default() {
                    return wrong(
                        "/options/test_stat",
                        "the statistic is one-sided, and a point has no side; leave it out, or test one parameter with `poi`",
                    );
                }
                run.reserve(&mut opened, of_kept_toys(n_toys))?;
                let result =
                    hypotest_point(opened.model(), &opened.session, &point, &options, run.control())?;
                run.answer(opened.with_data(&fit.data), &result, no_picture)
            }
            (None, Tested::Value(mu)) if self.n_toys.is_none() => {
                let result = hypotest(opened.model(), &opened.session, *mu, &self.options, run.control())?;
                run.answer(opened.with_data(&fit.data), &result, no_picture)
            }
            (None, _) => wrong(
                "/n_toys",
                "toys are those of a point (`mu` with names); toys of the statistics qtilde, q and q0 are those of /v1/hypotest-toys",
            ),
        }
    }
}
