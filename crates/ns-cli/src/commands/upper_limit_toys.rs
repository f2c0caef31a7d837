//! `nextstat upper-limit --toys`: CLs upper limit without asymptotic formulae.

use ns_inference::present::significant;
use ns_inference::{ToyLimitOptions, ToyLimitResult, upper_limit_toys};

use super::hypotest_toys::with_error;
use super::upper_limit::BAND;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::table;

/// Runs the command. A result without any limit ends in [`Exit::Failed`].
///
/// # Errors
/// As `upper-limit` without toys.
pub(super) fn run(job: Job, options: &ToyLimitOptions) -> Result<Exit, CliError> {
    let result =
        job.work("toys", |model, session, control| upper_limit_toys(model, session, options, control))?;
    let found = result.observed.is_some() || result.expected.iter().any(Option::is_some);
    let exit = match (result.interrupted, found) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Failed,
    };
    job.finish(&result, &result.warnings, |_| report(&result))?;
    Ok(exit)
}

/// The limits as a table.
fn report(result: &ToyLimitResult) -> String {
    let mut t = table::table(&["", "limit"], &[1]);
    t.add_row(vec!["observed".to_owned(), with_error(result.observed, result.observed_error)]);
    for ((limit, error), label) in result.expected.iter().zip(&result.expected_error).zip(BAND) {
        t.add_row(vec![format!("expected {label}"), with_error(*limit, *error)]);
    }
    let mut points = table::table(&[&result.param, "CLs", "CLs+b", "CLb"], &[0, 1, 2, 3]);
    let number = |x: Option<f64>| x.map_or_else(|| "none".to_owned(), significant);
    for point in &result.points {
        let cls = with_error(point.cls, point.cls_error);
        points.add_row(vec![significant(point.mu), cls, number(point.clsb), number(point.clb)]);
    }
    let rate = result.toys_per_s.map_or_else(String::new, |rate| format!(", {rate:.0} toys/s"));
    format!(
        "upper limit on {} at {} % confidence, CLs with {} and toys\n{}\nvalues tested\n{}\n\
         best fit {} = {}, asymptotic limit {}\n{} toys of each hypothesis at {}, seed {}{rate}",
        result.param,
        significant(100.0 * result.cl),
        result.test_stat,
        table::text(&t),
        table::text(&points),
        result.param,
        significant(result.mu_hat),
        number(result.observed_asymptotic),
        result.n_toys,
        table::count(result.n_evaluations, "value"),
        result.seed,
    )
}
