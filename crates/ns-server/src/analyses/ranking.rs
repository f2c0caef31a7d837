//! `POST /v1/ranking`: impact of every nuisance parameter on the parameter of interest.

use ns_inference::{RankingOptions, picture, ranking};
use ns_viz::Ranking;

use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

body! {
    /// Body of the request for a ranking of nuisance parameters.
    RankingBody {
        /// Options of the ranking.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: RankingOptions,
    }
}

impl Analysis for RankingBody {
    const NAME: &'static str = "ranking";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let opened = run.open(&self.model, self.device, self.options.work())?;
        let result = ranking(opened.model(), &opened.session, &self.options, run.control())?;
        run.answer(opened.with_data(&self.options.fit.data), &result, || {
            let max_rows = Some(self.options.top.unwrap_or(picture::MOST_RANKED));
            Some(Ranking { max_rows, ..picture::ranking(&result) }.draw())
        })
    }
}
