//! `nextstat look-elsewhere`: finds the significance of a signal that was searched at many places.

use clap::Args;
use ns_inference::reread::AnyResult;
use ns_inference::{LookElsewhereOptions, look_elsewhere};

use crate::args::{ModelArgs, real, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::plot::{PlotArgs, drawn};

/// Flags of `look-elsewhere`.
#[derive(Debug, Args)]
#[command(
    after_help = "The probability of an excess anywhere follows from the number of places at which q0 rises through a low \
    level (Gross, Vitells, arXiv:1005.1891). It is counted in the data, or with --toys N in toys without signal. The toys \
    also give the fraction with a larger excess."
)]
pub(crate) struct LookElsewhereArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Parameter that says where the signal is, such as a mass
    #[arg(long, help_heading = "Places", value_name = "NAME")]
    param: String,
    /// First place [default: the lower bound of the parameter]
    #[arg(long, help_heading = "Places", value_name = "X", allow_hyphen_values = true, value_parser = real)]
    start: Option<f64>,
    /// Last place [default: the upper bound of the parameter]
    #[arg(long, help_heading = "Places", value_name = "X", allow_hyphen_values = true, value_parser = real)]
    stop: Option<f64>,
    /// Number of places
    #[arg(long, help_heading = "Places", value_name = "N", default_value_t = 61)]
    points: u32,
    /// Value of q0 whose crossings are counted
    #[arg(long, help_heading = "Places", value_name = "Q", default_value_t = 0.5, value_parser = real)]
    level: f64,
    /// Count in N toys without signal, not in the data
    #[arg(long, help_heading = "Toys", value_name = "N", value_parser = whole, alias = "n-toys")]
    toys: Option<u64>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Runs the command. If a fit did not converge, or crossings are hidden between the places, the command ends with
/// [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, a likelihood that is not finite, or a result
/// that cannot be written.
pub(crate) fn run(args: &LookElsewhereArgs) -> Result<Exit, CliError> {
    let plots = args.plot.open(args.run.output.output.as_deref())?;
    let options = LookElsewhereOptions::along(args.param.clone())
        .start(args.start)
        .stop(args.stop)
        .points(args.points as usize)
        .level(args.level)
        .n_toys(args.toys)
        .seed(args.run.execution.seed());
    let job = Job::open(&args.model, &args.run, options.work())?;
    let options = options.fit(args.run.data.options(&job.model)?);
    let mut result =
        job.work("search", |model, session, control| look_elsewhere(model, session, &options, control))?;
    result.warnings.extend(plots.font_warning(&job.model));
    let exit = Exit::of(result.interrupted, result.converged);
    job.finish(&result, &result.warnings, result.parts())?;
    plots.finish(exit, |asked| drawn(asked, "", &AnyResult::LookElsewhere(result.clone())))
}
