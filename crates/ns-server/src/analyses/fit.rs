//! `POST /v1/fit`: maximum-likelihood fit with uncertainties.

use ns_core::{Control, Search};
use ns_inference::fit::MOST_WITH_COVARIANCE;
use ns_inference::{FitData, FitOptions, Work, fit, picture, postfit_yields, prefit_yields};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Analysis, Answer, Run, body};
use crate::models::Models;
use crate::problem::ServerError;

body! {
    /// Body of the request for a fit.
    FitBody {
        /// Options of the fit.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: FitOptions,
        /// Selects which picture is drawn, if the request asks for a picture.
        #[serde(default)]
        picture: FitPicture,
    }
}

/// The pictures that can be drawn of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FitPicture {
    /// Pulls and constraints.
    #[default]
    Pulls,
    /// The correlation matrix.
    Correlation,
    /// Correlations of the parameters of interest.
    #[serde(rename = "poi_correlation")]
    PoiCorrelation,
    /// Expected and observed events before the fit.
    Prefit,
    /// Expected and observed events after the fit.
    Postfit,
}

impl FitBody {
    /// Returns whether this is an ordinary fit: to the observed data, without MINOS, and without the thorough
    /// search. Ordinary fits of a model take similar times.
    fn is_plain(&self) -> bool {
        let options = &self.options;
        let has_profiles = !options.minos.is_empty() || options.derived_profile;
        options.search != Search::Thorough && !has_profiles && options.data == FitData::Observed
    }
}

impl Analysis for FitBody {
    const NAME: &'static str = "fit";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn is_brief(&self, models: &Models) -> bool {
        self.is_plain() && models.kept(&self.model).is_some_and(|model| model.fit_is_brief(self.device))
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let opened = run.open(&self.model, self.device, Work::Fit)?;
        let (compiled, session) = (opened.compiled.clone(), &opened.session);
        let model = &compiled.model;
        let mut options = self.options.clone();
        let drawn = run.picture && self.picture == FitPicture::Correlation;
        options.covariance = drawn || (options.covariance && model.parameters.len() <= MOST_WITH_COVARIANCE);
        // A single fit reports no progress, as on the command line.
        let control = Control { observer: None, ..run.control() };
        let mut result = fit(model, session, &options, control)?;
        let matrix = result.take_large_covariance(None);
        let whole = || {
            let mut whole = result.clone();
            whole.covariance = whole.covariance.or(matrix);
            whole
        };
        let draw = || -> Result<ns_viz::Drawing, ServerError> {
            Ok(match self.picture {
                FitPicture::Pulls => picture::pulls(&result).draw()?,
                FitPicture::Correlation => picture::correlation(&whole(), None).unwrap_or_default().draw()?,
                FitPicture::PoiCorrelation => match picture::poi_correlation(&result) {
                    Some(matrix) => matrix.draw()?,
                    None => {
                        let reason =
                            "the fit has no two parameters of interest; name them with `poi`".to_owned();
                        return Err(ServerError::Body { pointer: "/picture".to_owned(), reason });
                    }
                },
                FitPicture::Prefit => picture::yields(&prefit_yields(model, session, &options)?).draw()?,
                FitPicture::Postfit => {
                    picture::yields(&postfit_yields(model, session, &options, &whole())?).draw()?
                }
            })
        };
        if self.is_plain() && !run.picture {
            compiled.record_fit(run.account.used());
        }
        let drawing = run.picture.then(draw).transpose()?;
        run.answer(opened.with_data(&self.options.data), &result, || drawing.map(Ok::<_, ServerError>))
    }
}
