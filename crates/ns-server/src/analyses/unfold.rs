//! `POST /v1/unfold`: finds the distribution of the truth from the data.

use ns_inference::unfold::{Regularisation, Strength};
use ns_inference::{UnfoldOptions, picture, unfold};
use serde::Deserialize;
use utoipa::ToSchema;

use super::run::limited;
use super::{Analysis, Answer, Run, body};
use crate::memory::of_covariances;
use crate::problem::ServerError;

/// Largest number of scanned strengths.
const MOST_POINTS: u64 = 10_000;

/// Memory of an element of the matrices of a scanned strength, in bytes: that of the fit and that of the factors.
const ELEMENT: u64 = 4 * 8;

body! {
    /// Body of the request for unfolding.
    UnfoldBody {
        /// Options of unfolding; `truth` is required: the factors of the truth bins.
        #[schema(value_type = Object)]
        options: UnfoldOptions,
        /// Selects which picture is drawn, if the request asks for a picture.
        #[serde(default)]
        picture: UnfoldPicture,
    }
}

/// The pictures that can be drawn of unfolded data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UnfoldPicture {
    /// The unfolded distribution with its prediction.
    #[default]
    Unfolded,
    /// The scanned strengths of the penalty.
    Strengths,
}

impl UnfoldBody {
    /// Returns the number of strengths that are scanned.
    fn scanned(&self) -> u64 {
        let is_given = matches!(self.options.tau, Strength::Given(_));
        if is_given || self.options.regularisation == Regularisation::None {
            0
        } else {
            self.options.points as u64
        }
    }
}

impl Analysis for UnfoldBody {
    const NAME: &'static str = "unfold";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let options = &self.options;
        let wrong = |pointer: &str, reason: &str| ServerError::Body {
            pointer: pointer.to_owned(),
            reason: reason.to_owned(),
        };
        if options.regularisation == Regularisation::None && options.tau != Strength::default() {
            let reason = "there is no penalty; give `regularisation` (tikhonov or curvature), or no `tau`";
            return Err(wrong("/options/tau", reason));
        }
        limited("the number of strengths", options.points as u64, MOST_POINTS)?;
        let opened = run.open(&self.model, self.device, options.work())?;
        // The fits of neighbouring strengths, and the one that is reported.
        let _models = run.room_for(3, &opened.compiled)?;
        let parameters = opened.model().parameters.len() as u64;
        let matrices = parameters.saturating_mul(parameters).saturating_mul(ELEMENT);
        let scan = self.scanned().saturating_mul(matrices).saturating_add(of_covariances(1, parameters));
        let _scan = run.models.room(scan)?;
        let further = run.further(self.device);
        let result = unfold(opened.model(), &opened.session, options, &further, run.control())?;
        let drawing = match self.picture {
            _ if !run.picture => None,
            UnfoldPicture::Unfolded => Some(picture::unfolded(&result).draw()?),
            UnfoldPicture::Strengths => {
                let nothing =
                    "no strengths were scanned; give `regularisation`, and `tau` as l-curve or correlation";
                let strengths = picture::strengths(&result).ok_or_else(|| wrong("/picture", nothing))?;
                Some(strengths.draw()?)
            }
        };
        let opened = opened.with_data(&options.fit.data);
        run.answer(opened, &result, || drawing.map(Ok::<_, ServerError>))
    }
}
