//! `nextstat significance`: discovery test, observed and expected.

use clap::Args;
use ns_inference::present::significant;
use ns_inference::{SignificanceResult, Work, significance};

use crate::args::{ExecutionArgs, ModelArgs, OutputArgs};
use crate::data_args::DataArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::table;

/// Flags of `significance`.
#[derive(Debug, Args)]
pub(crate) struct SignificanceArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    execution: ExecutionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command. A result on fits that did not converge is written and ends in [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not there, a likelihood that is not
/// finite, or a result that cannot be written.
pub(crate) fn run(args: &SignificanceArgs) -> Result<Exit, CliError> {
    let job = Job::open(&args.model, &args.execution, &args.output, Work::Test)?;
    let options = args.data.options(&job.model)?;
    let result =
        job.work("test", |model, session, control| significance(model, session, &options, control))?;
    let exit = if result.converged { Exit::Done } else { Exit::Failed };
    job.finish(&result, &result.warnings, |_| report(&result))?;
    Ok(exit)
}

/// The significance as a table.
fn report(result: &SignificanceResult) -> String {
    let number = |x: Option<f64>| x.map_or_else(|| "none".to_owned(), significant);
    let mut t = table::table(&["", "p0", "Z"], &[1, 2]);
    t.add_row(vec!["observed".to_owned(), number(result.p0), number(result.z)]);
    t.add_row(vec!["expected".to_owned(), number(result.p0_expected), number(result.z_expected)]);
    format!(
        "discovery test of {} = 0\n{}\nq0 {}, best fit {} = {}",
        result.param,
        table::text(&t),
        significant(result.q0),
        result.param,
        significant(result.mu_hat),
    )
}
