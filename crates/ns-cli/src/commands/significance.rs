//! `nextstat significance`: computes the observed and the expected significance of a discovery.

use clap::Args;
use ns_inference::{Work, significance};

use crate::args::ModelArgs;
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;

/// Flags of `significance`.
#[derive(Debug, Args)]
pub(crate) struct SignificanceArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Runs the command. If a fit did not converge, the result is written and the command ends with
/// [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, a likelihood that is not finite,
/// or a result that cannot be written.
pub(crate) fn run(args: &SignificanceArgs) -> Result<Exit, CliError> {
    let job = Job::open(&args.model, &args.run, Work::Test)?;
    let options = args.run.data.options(&job.model)?;
    let results = job.work_for_each_poi("test", |model, session, control| {
        significance(model, session, &options, control)
    })?;
    let interrupted = results.len() < job.model.pois.len();
    let converged = results.iter().all(|result| result.converged);
    job.finish_for_each_poi(&results, |r| &r.warnings, |r| r.parts(), |_| Vec::new())?;
    Ok(Exit::of(interrupted, converged))
}
