//! `POST /v1/yields`: expected yields of every channel and sample, with the data.

use ns_inference::options::Point;
use ns_inference::{FitOptions, Work, YieldsAt, expected_yields, fitted_yields, picture};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

body! {
    /// Body of the request for expected yields.
    YieldsBody {
        /// Options of the fit.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: FitOptions,
        /// Parameter values at which the yields are predicted.
        #[serde(default)]
        at: YieldsPoint,
    }
}

/// Parameter values at which yields are predicted: `"bestfit"`, `"init"`, or `{"point": VALUES}`. `VALUES` is
/// a list of all values, or an object with names and values.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum YieldsPoint {
    /// The best fit.
    #[default]
    BestFit,
    /// The start values of the model.
    Init,
    /// Given values.
    #[schema(value_type = Object)]
    Point(Point),
}

impl Analysis for YieldsBody {
    const NAME: &'static str = "yields";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let opened = run.open(&self.model, self.device, Work::Fit)?;
        let (model, session) = (opened.model(), &opened.session);
        let result = match &self.at {
            YieldsPoint::BestFit => fitted_yields(model, session, &self.options, run.control())?.0,
            YieldsPoint::Init => expected_yields(model, session, &self.options, YieldsAt::Prefit)?,
            YieldsPoint::Point(point) => {
                let point = point.values(model)?;
                expected_yields(model, session, &self.options, YieldsAt::Given(&point, None))?
            }
        };
        run.answer(opened.with_data(&self.options.data), &result, || Some(picture::yields(&result).draw()))
    }
}
