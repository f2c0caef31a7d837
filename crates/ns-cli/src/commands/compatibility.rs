//! `nextstat compatibility`: tests whether all channels have the same value of the parameter of interest.

use clap::Args;
use ns_core::{Control, Model, Session};
use ns_inference::reread::AnyResult;
use ns_inference::{CompatibilityOptions, CompatibilityResult, compatibility};

use crate::args::{ModelArgs, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::plot::{PlotArgs, drawn, first};

/// Flags of `compatibility`.
#[derive(Debug, Args)]
#[command(
    after_help = "The statistic is the likelihood ratio of a fit with a common value and a fit with a value per channel. \
    Channels that do not depend on the parameter constrain the nuisance parameters in both."
)]
pub(crate) struct CompatibilityArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Also find the p-value with N toys, drawn at the best fit with a common value
    #[arg(long, help_heading = "Toys", value_name = "N", value_parser = whole, alias = "n-toys")]
    toys: Option<u64>,
    /// Also find the common value of the other channels, for each channel
    #[arg(long, help_heading = "Test")]
    leave_out: bool,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Runs the command. If a fit did not converge, the command ends with [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a parameter of interest that cannot be split by channel, a device that is not
/// available, a likelihood that is not finite, or a result that cannot be written.
pub(crate) fn run(args: &CompatibilityArgs) -> Result<Exit, CliError> {
    let plots = args.plot.open(args.run.output.output.as_deref())?;
    let options = CompatibilityOptions::default()
        .n_toys(args.toys)
        .seed(args.run.execution.seed())
        .leave_out(args.leave_out);
    let job = Job::open(&args.model, &args.run, options.work())?;
    plots.only_one(&job)?;
    let options = options.fit(args.run.data.options(&job.model)?);
    let execution = args.run.execution.execution();
    let work = |model: &Model, session: &dyn Session, control: Control<'_>| {
        compatibility(model, session, &options, &execution, control)
    };
    let mut results = job.work_for_each_poi("compatibility", work)?;
    for result in &mut results {
        result.warnings.extend(plots.font_warning(&job.model));
    }
    let missing = results.len() < job.model.pois.len();
    let interrupted = missing || results.iter().any(|result| result.interrupted);
    let exit = Exit::of(interrupted, results.iter().all(|result| result.converged));
    job.finish_for_each_poi(&results, |r| &r.warnings, CompatibilityResult::parts, |_| Vec::new())?;
    plots.finish(exit, |asked| drawn(asked, "", &first(&results, AnyResult::Compatibility)))
}
