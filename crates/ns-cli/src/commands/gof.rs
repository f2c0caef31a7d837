//! `nextstat gof`: saturated goodness of fit.

use clap::Args;
use ns_inference::present::significant;
use ns_inference::{GoodnessResult, Work, goodness_of_fit, goodness_of_fit_toys};

use super::hypotest_toys::with_error;
use crate::args::{ExecutionArgs, ModelArgs, OutputArgs, whole};
use crate::data_args::DataArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::table;

/// Flags of `gof`.
#[derive(Debug, Args)]
pub(crate) struct GofArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Find the p-value with so many toys too
    #[arg(long, help_heading = "Toys", value_name = "N", allow_negative_numbers = true, value_parser = whole, alias = "n-toys")]
    toys: Option<u64>,
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
    let work = args.toys.map_or(Work::Test, |toys| Work::Toys { toys, fits: 1 });
    let job = Job::open(&args.model, &args.execution, &args.output, work)?;
    let options = args.data.options(&job.model)?;
    let what = if args.toys.is_some() { "toys" } else { "fit" };
    let result = job.work(what, |model, session, control| match args.toys {
        None => goodness_of_fit(model, session, &options, control),
        Some(n_toys) => {
            goodness_of_fit_toys(model, session, &options, n_toys, args.execution.seed(), control)
        }
    })?;
    let exit = match (result.toys.as_ref().is_some_and(|toys| toys.interrupted), result.converged) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Failed,
    };
    job.finish(&result, &result.warnings, |_| report(&result))?;
    Ok(exit)
}

/// The p-value with toys, where they were asked for.
fn with_toys(result: &GoodnessResult) -> String {
    let Some(toys) = &result.toys else { return String::new() };
    let rate = toys.toys_per_s.map_or_else(String::new, |rate| format!(", {rate:.0} toys/s"));
    format!(
        "\np-value with toys {} ({} toys, {} not converged, {} failed, seed {}{rate})",
        with_error(result.p_value_toys, result.p_value_toys_error),
        toys.n_toys,
        toys.n_nonconverged,
        toys.n_error,
        toys.seed,
    )
}

/// The test as a table.
fn report(result: &GoodnessResult) -> String {
    format!(
        "goodness of fit against the saturated model\n\
         chi2 {}, {} ({}, {} without a constraint)\n\
         p-value {}{}\n\
         twice_nll {} at the best fit, {} saturated",
        significant(result.chi2),
        match result.ndof {
            1 => "1 degree of freedom".to_owned(),
            n => format!("{n} degrees of freedom"),
        },
        table::count(result.n_bins, "bin"),
        table::count(result.n_unconstrained, "free parameter"),
        result.p_value.map_or_else(|| "none".to_owned(), significant),
        with_toys(result),
        significant(result.twice_nll),
        significant(result.twice_nll_saturated),
    )
}
