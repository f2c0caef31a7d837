//! `POST /v1/simplify`: makes a simplified likelihood of the signal regions.

use ns_core::{Control, Covariance, Model, Session};
use ns_inference::report::to_json;
use ns_inference::simplify::{Compared, compare, n_bins};
use ns_inference::{Extrapolated, FitResult, SessionOpener, SimplifyOptions, SimplifyResult, simplify};
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::run::{limited, no_picture};
use super::{Analysis, Answer, Run, body};
use crate::models::Further;
use crate::problem::ServerError;

/// Largest number of draws times bins. All draws are in memory.
const MOST_NUMBERS: u64 = 50_000_000;

/// Memory of a draw besides its numbers, and of an element of the correlation matrix with all that is made of it, in bytes.
const DRAW: u64 = 16;
const ELEMENT: u64 = 400;

body! {
    /// Body of the request for a simplified likelihood.
    SimplifyBody {
        /// Options: `channels`, `n_draws`, `seed`, `third_moments`.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: SimplifyOptions,
        /// Result of a fit of other channels with its covariance, as `/v1/fit` returns it. The nuisance parameters have its
        /// values and its covariance; without it they have their values and constraints before any fit.
        #[serde(default)]
        #[schema(value_type = Option<Object>)]
        at: Option<FitResult>,
        /// Whether limits and best fits are compared with those of the full model; true by default.
        #[serde(default = "yes")]
        validation: bool,
    }
}

fn yes() -> bool {
    true
}

/// A simplified likelihood.
#[derive(Serialize, ToSchema)]
pub(crate) struct Simplified<'a> {
    #[serde(flatten)]
    result: &'a SimplifyResult,
    /// The simplified likelihood as a workspace. The command writes it to a file, and the key is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    workspace: Option<&'a Value>,
}

impl SimplifyBody {
    /// Returns the values and the covariance of all parameters, with warnings about them.
    fn point(&self, model: &Model) -> Result<(Vec<f64>, Covariance, Vec<String>), ServerError> {
        let carried = match &self.at {
            None => Extrapolated::new(model, &[], &[], Some(&Covariance { n: 0, values: Vec::new() }))?,
            Some(fit) => Extrapolated::new(
                model,
                &fit.parameter_names,
                &fit.bestfit,
                Some(fit.covariance.as_ref().ok_or_else(|| {
                    ServerError::Body {
                        pointer: "/at/covariance".to_owned(),
                        reason:
                            "the fit has no covariance; ask `/v1/fit` for it with the option `covariance`"
                                .to_owned(),
                    }
                })?),
            )?,
        };
        let notes = if self.at.is_some() { carried.warnings(model) } else { Vec::new() };
        Ok((carried.parameters, carried.covariance.unwrap_or(Covariance { n: 0, values: Vec::new() }), notes))
    }
}

impl Analysis for SimplifyBody {
    const NAME: &'static str = "simplify";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let options = &self.options;
        let opened = run.open(&self.model, self.device, options.work())?;
        let bins = n_bins(opened.model(), options)? as u64;
        let numbers = options.n_draws.saturating_mul(bins);
        limited("the number of draws times bins", numbers, MOST_NUMBERS)?;
        let draws = numbers.saturating_mul(8).saturating_add(options.n_draws.saturating_mul(DRAW));
        let _draws = run.models.room(draws.saturating_add(bins * bins * ELEMENT))?;
        let (point, covariance, notes) = self.point(opened.model())?;
        let (model, session, control) = (opened.model(), &opened.session, run.control());
        let mut result = simplify(model, session, (&point, &covariance), options, control)?;
        if self.validation {
            result.validation = compared((model, session), &result, &run.further(self.device), control)?;
        }
        result.warnings.extend(notes);
        let answer = Simplified { result: &result, workspace: Some(&result.workspace) };
        run.answer(opened, &answer, no_picture)
    }
}

/// Compares best fits and limits of the full and of the simplified model.
fn compared(
    full: (&Model, &dyn Session),
    made: &SimplifyResult,
    further: &Further<'_>,
    control: Control<'_>,
) -> Result<Vec<Compared>, ServerError> {
    let wrong = |source| ServerError::Workspace { pointer: "/model".to_owned(), source };
    let workspace = Workspace::from_slice(&to_json(&made.workspace)?).map_err(wrong)?;
    let model = workspace.model(&ModelOptions::default()).map_err(wrong)?;
    let simple = further.open(&model, Some(ns_core::Device::Cpu))?;
    Ok(compare([full, (&model, simple.as_ref())], &made.param, control)?)
}
