//! `POST /v1/ranking`: impact of every nuisance parameter on each parameter of interest.

use std::sync::Arc;

use ns_inference::report::PerPoi;
use ns_inference::{RankingOptions, picture, rankings};
use ns_viz::{JointRanking, Ranking};

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
        let results = rankings(opened.model(), &opened.session, &self.options, run.control())?;
        let max_rows = Some(self.options.top.unwrap_or(picture::MOST_RANKED));
        let opened = opened.with_data(&self.options.fit.data);
        if let [result] = results.as_slice() {
            return run
                .answer(opened, result, || Some(Ranking { max_rows, ..picture::ranking(result) }.draw()));
        }
        let compiled = Arc::clone(&opened.compiled);
        run.answer(opened, &PerPoi::new(&compiled.model, &results), || {
            Some(JointRanking { max_rows, ..picture::joint_ranking(&results) }.draw())
        })
    }
}
