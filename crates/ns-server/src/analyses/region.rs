//! `POST /v1/region`: the confidence region of two parameters, with toys or by the chi2 law.

use ns_inference::{RegionOptions, picture, region};

use super::run::limited;
use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

/// Largest product of the numbers of directions and of points in each of them. The search adds directions where the border bends
/// and at corners of the bounds, up to 4000 in all. They are not known before; the time limit of the server ends a long search.
const MOST_POINTS: u64 = 10_000;

body! {
    /// Body of the request for a confidence region.
    RegionBody {
        /// Options of the region; with `n_toys` it is that of Feldman and Cousins.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: RegionOptions,
    }
}

impl Analysis for RegionBody {
    const NAME: &'static str = "region";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let points = (self.options.directions as u64).saturating_mul(self.options.points as u64);
        limited("the number of points", points, MOST_POINTS)?;
        let opened = run.open(&self.model, self.device, self.options.work())?;
        let result = region(opened.model(), &opened.session, &self.options, run.control())?;
        let opened = opened.with_data(&self.options.fit.data);
        run.answer(opened, &result, || Some(picture::region(&result).draw()))
    }
}
