//! Studies of parameters: fits of toys that are drawn at one point, so that the true parameter values are
//! known.
//!
//! A study has the stages of a toy-based test: prepare, run, summary.

mod options;
mod result;
mod run;
mod summary;

use ns_core::{Control, Model, Session};

pub use options::{FitToysOptions, GeneratingPoint};
pub use result::{FitToysResult, ParameterStudy};
pub use run::STUDY_HYPOTHESIS;
pub use summary::FitToysSummary;

use crate::InferenceError;
use crate::toys::FitToysTest;

/// Fits toys and compares the fitted values with the values at which the toys were drawn: bias, pulls, coverage.
///
/// # Errors
/// The errors of [`FitToysTest::prepare`] and [`FitToysTest::run`]; [`InferenceError::Cancelled`] if the caller
/// stopped the work before the first toy. If the caller stops the work later, the result has the toys done so far,
/// and `interrupted` is set.
pub fn fit_toys(
    model: &Model,
    session: &dyn Session,
    options: &FitToysOptions,
    control: Control<'_>,
) -> Result<FitToysResult, InferenceError> {
    let test = FitToysTest::prepare(model, session, options, control)?;
    let mut summary = FitToysSummary::new(test.header());
    let run = test.run_all(control, &mut summary)?;
    summary.ended(run);
    Ok(summary.finish())
}
