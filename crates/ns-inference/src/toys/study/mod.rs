//! Fits of toys drawn at one point, whose true parameters are known.
//!
//! The stages are those of a toy-based test: prepare, run, summary.

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

/// Fits toys and compares the values found with those they were drawn at: bias, pulls, coverage.
///
/// # Errors
/// As [`FitToysTest::prepare`] and [`FitToysTest::run`]; [`InferenceError::Cancelled`] if the caller stopped
/// the work before the first toy. Later, what is done is counted and `interrupted` is set.
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
