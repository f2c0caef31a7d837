//! `POST /v1/yields`: expected yields of every channel and sample, and the data beside them.

use ns_inference::options::Point;
use ns_inference::{FitOptions, Work, YieldsAt, expected_yields, fitted_yields, picture};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

body! {
    /// Expected yields.
    YieldsBody {
        /// Options of the fit.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: FitOptions,
        /// Point at which the yields are predicted.
        #[serde(default)]
        at: YieldsPoint,
    }
}

/// Point at which yields are predicted: `"bestfit"`, `"init"`, or `{"point": VALUES}` with a list of all values or
/// an object of names and values.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum YieldsPoint {
    /// The best fit.
    #[default]
    BestFit,
    /// The initial parameters.
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
        run.answer(opened, &result, || Some(picture::yields(&result).draw()))
    }
}
