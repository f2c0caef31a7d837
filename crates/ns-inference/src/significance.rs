//! Significance of a discovery: how unlikely the data are without a signal.
//!
//! The test is that of [`crate::hypotest()`] with the statistic q0 (equation 12 of arXiv:1007.1727). The p-value of q0
//! is `p0`, and the significance `Z` is the square root of q0. The expected values are computed from Asimov data, i.e.
//! from the data expected with the parameter of interest at 1.

use ns_core::{Control, Model, Session};
use serde::{Deserialize, Serialize};

use crate::analysis::Analysis;
use crate::hypotest::{TestStatistic, begin};
use crate::normal::upper_tail;
use crate::present::significant;
use crate::{FitOptions, InferenceError};

/// The result of a test for a discovery. Serialises to the JSON of `nextstat significance`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct SignificanceResult {
    /// Name of the parameter of interest.
    pub param: String,
    /// Observed p-value of the background-only hypothesis; `None` if `q0` is not finite.
    pub p0: Option<f64>,
    /// Observed significance in standard deviations: the square root of `q0`. `None` if `q0` is not finite.
    pub z: Option<f64>,
    /// Median expected p-value for a signal of strength 1; `None` if it does not exist.
    pub p0_expected: Option<f64>,
    /// Expected significance, which corresponds to `p0_expected`, in standard deviations; `None` if it does not exist.
    pub z_expected: Option<f64>,
    /// Observed value of the test statistic q0.
    pub q0: f64,
    /// Best-fit value of the parameter of interest.
    pub mu_hat: f64,
    /// Estimated error of the expected q0, which comes from the numerical integration of expected events. `None` if the
    /// model has no event channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub asimov_error: Option<f64>,
    /// Whether every fit of the test converged.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

/// Tests the background-only hypothesis with the statistic q0.
///
/// # Errors
/// The errors of [`crate::hypotest()`].
pub fn significance(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    control: Control<'_>,
) -> Result<SignificanceResult, InferenceError> {
    let analysis = Analysis::new(model, session, options, control)?;
    let (mut tester, tested) = begin(analysis, TestStatistic::Q0, 0.0, "a significance")?;
    let name = tester.name().to_owned();
    let mu_hat = tester.best_value();
    if mu_hat <= 0.0 {
        let place = if mu_hat < 0.0 { "is below 0" } else { "is at its lower bound" };
        let best = significant(mu_hat);
        tester.notes.push(format!("the best fit {name} = {best} {place}: no excess, so Z is 0 and p0 0.5"));
    }
    let number = |q: f64| q.is_finite().then(|| (upper_tail(q.sqrt()), q.sqrt()));
    let (observed, expected) = (number(tested.q), number(tested.q_asimov));
    Ok(SignificanceResult {
        param: name,
        p0: observed.map(|x| x.0),
        z: observed.map(|x| x.1),
        p0_expected: expected.map(|x| x.0),
        z_expected: expected.map(|x| x.1),
        q0: tested.q,
        mu_hat,
        asimov_error: tester.asimov_error(),
        converged: tester.converged,
        warnings: tester.notes,
    })
}
