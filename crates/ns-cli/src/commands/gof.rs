//! `nextstat gof`: saturated goodness of fit.

use clap::Args;
use ns_inference::present::significant;
use ns_inference::{GoodnessResult, goodness_of_fit};

use crate::args::{ExecutionArgs, ModelArgs, OutputArgs};
use crate::data_args::DataArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::table;

/// Flags of `gof`.
#[derive(Debug, Args)]
pub(crate) struct GofArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    execution: ExecutionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command. A result on a fit that did not converge is written and ends in [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not there, a likelihood that is not
/// finite, or a result that cannot be written.
pub(crate) fn run(args: &GofArgs) -> Result<Exit, CliError> {
    let job = Job::open(&args.model, &args.execution, &args.output)?;
    let options = args.data.options(&job.model)?;
    let result =
        job.work("fit", |model, session, control| goodness_of_fit(model, session, &options, control))?;
    let exit = if result.converged { Exit::Done } else { Exit::Failed };
    job.finish(&result, &result.warnings, |_| report(&result))?;
    Ok(exit)
}

/// The test for people.
fn report(result: &GoodnessResult) -> String {
    format!(
        "goodness of fit against the saturated model\n\
         chi2 {}, {} ({}, {} without a constraint)\n\
         p-value {}\n\
         twice_nll {} at the best fit, {} saturated",
        significant(result.chi2),
        match result.ndof {
            1 => "1 degree of freedom".to_owned(),
            n => format!("{n} degrees of freedom"),
        },
        table::count(result.n_bins, "bin"),
        table::count(result.n_unconstrained, "free parameter"),
        result.p_value.map_or_else(|| "none".to_owned(), significant),
        significant(result.twice_nll),
        significant(result.twice_nll_saturated),
    )
}
