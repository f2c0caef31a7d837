//! Studies of the bias, pulls and coverage of fitted parameters. Toys are drawn at one point in parameter space and
//! fitted. The true values of the parameters are therefore known.
//!
//! A study has the same three stages as a hypothesis test with toys: prepare, run the toys, summarise them.

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

/// Fits toys and compares the fitted values with the true values, at which the toys were drawn. Computes bias, pulls
/// and coverage.
///
/// # Errors
/// The errors of [`FitToysTest::prepare`] and [`FitToysTest::run`]. Also [`InferenceError::Cancelled`] if the caller
/// stopped the work before the first toy. If the caller stops the work later, the result contains the toys finished
/// so far, and `interrupted` is true.
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
