//! `nextstat gof`: saturated goodness of fit.

use clap::Args;
use ns_inference::{Work, goodness_of_fit, goodness_of_fit_toys};

use crate::args::{ModelArgs, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;

/// Flags of `gof`.
#[derive(Debug, Args)]
pub(crate) struct GofArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Also find the p-value with N toys
    #[arg(long, help_heading = "Toys", value_name = "N", value_parser = whole, alias = "n-toys")]
    toys: Option<u64>,
    #[command(flatten)]
    run: RunArgs,
}

/// Runs the command. If the fit did not converge, the result is written and the command ends with
/// [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not there, a likelihood that is not
/// finite, or a result that cannot be written.
pub(crate) fn run(args: &GofArgs) -> Result<Exit, CliError> {
    let work = args.toys.map_or(Work::Test, |toys| Work::Toys { toys, fits: 1 });
    let job = Job::open(&args.model, &args.run, work)?;
    let options = args.run.data.options(&job.model)?;
    let what = if args.toys.is_some() { "toys" } else { "fit" };
    let result = job.work(what, |model, session, control| match args.toys {
        None => goodness_of_fit(model, session, &options, control),
        Some(n_toys) => {
            goodness_of_fit_toys(model, session, &options, n_toys, args.run.execution.seed(), control)
        }
    })?;
    job.finish(&result, &result.warnings, result.parts())?;
    Ok(Exit::of(result.toys.as_ref().is_some_and(|toys| toys.interrupted), result.converged))
}
