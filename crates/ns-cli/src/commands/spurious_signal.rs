//! `nextstat spurious-signal`: finds the signal that a model finds in backgrounds without signal.

use std::path::PathBuf;

use clap::Args;
use ns_core::Model;
use ns_inference::reread::AnyResult;
use ns_inference::{SpuriousOptions, spurious_signal};

use crate::args::{ModelArgs, real};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::load;
use crate::plot::{PlotArgs, drawn};

/// Flags of `spurious-signal`.
#[derive(Debug, Args)]
#[command(
    after_help = "Each background is a model with the channels of MODEL and another description of what is not signal. It is fitted \
    to the data in its file without signal (its parameter of interest at 0). The data that it then expects are fitted with MODEL, \
    with the signal at each place. A background of single events should have the signal too, so that the expected events are \
    dense enough where it is narrow."
)]
pub(crate) struct SpuriousArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// A model with another background, perhaps with a name; repeatable
    #[arg(long, help_heading = "Backgrounds", value_name = "[NAME=]FILE", required = true, value_parser = background)]
    background: Vec<(String, PathBuf)>,
    /// Largest accepted ratio of the spurious signal to its uncertainty
    #[arg(long, help_heading = "Backgrounds", value_name = "RATIO", default_value_t = 0.2, value_parser = real)]
    limit: f64,
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
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Parses a background: a name and a file, or a file whose name is the name.
fn background(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_owned(), file.into())),
        Some(_) => Err("give NAME=FILE, or FILE".to_owned()),
        None => Ok((text.to_owned(), text.into())),
    }
}

/// Runs the command. If a fit did not converge, the command ends with [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid model, a background without the channels of the model, a device that is not available, or a
/// result that cannot be written.
pub(crate) fn run(args: &SpuriousArgs) -> Result<Exit, CliError> {
    let plots = args.plot.open(args.run.output.output.as_deref())?;
    let options = SpuriousOptions::along(args.param.clone())
        .start(args.start)
        .stop(args.stop)
        .points(args.points as usize)
        .limit(args.limit);
    let models: Vec<(String, Model)> = args
        .background
        .iter()
        .map(|(name, file)| Ok((name.clone(), load::plain(file, None)?)))
        .collect::<Result<_, CliError>>()?;
    let job = Job::open(&args.model, &args.run, options.work())?;
    let options = options.fit(args.run.data.options(&job.model)?);
    let execution = args.run.execution.execution();
    let backgrounds: Vec<(String, &Model)> =
        models.iter().map(|(name, model)| (name.clone(), model)).collect();
    let mut result = job.work("spurious signal", |model, session, control| {
        spurious_signal(model, session, &backgrounds, &options, &execution, control)
    })?;
    result.warnings.extend(plots.font_warning(&job.model));
    let exit = Exit::of(false, result.converged);
    job.finish(&result, &result.warnings, result.parts())?;
    plots.finish(exit, |asked| drawn(asked, "", &AnyResult::Spurious(result.clone())))
}
