//! `nextstat yields`: computes the expected yields of every channel and sample with their uncertainties.
//! Shows the data next to them.

use std::path::{Path, PathBuf};

use clap::Args;
use ns_core::Model;
use ns_inference::picture::Kind;
use ns_inference::{Extrapolated, Work, YieldsAt, expected_yields, fitted_yields};

use crate::args::ModelArgs;
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::event_plot::EventPlotArgs;
use crate::job::Job;
use crate::plot::{PlotArgs, Plots};
use crate::start::{self, StartPoint};

/// Flags of `yields`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --prefit and --at the model is fitted, and the uncertainties are those of the fit's \
    covariance. Before the fit, and at given values, they are the widths of the constraints: a parameter without one \
    contributes nothing. The result of `nextstat fit` in a file brings its covariance along; parameters that the fit did \
    not contain, for example because it was a fit of other channels, have the widths of their constraints."
)]
pub(crate) struct YieldsArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Predict at the initial parameters, before any fit
    #[arg(long, help_heading = "Yields", conflicts_with = "at")]
    prefit: bool,
    /// Point to predict at: bestfit, init (the initial parameters), values in a JSON file as for --init, or
    /// the values of some parameters, with the others at their initial values; NAME=V is repeatable
    #[arg(long, help_heading = "Yields", value_name = "FILE|NAME=V,...")]
    at: Vec<String>,
    /// Show every bin in the table; the JSON always has them
    #[arg(long, help_heading = "Yields")]
    per_bin: bool,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
    /// Draw all channels with one bin for each
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    plot_summary: Option<PathBuf>,
    #[command(flatten)]
    events: EventPlotArgs,
}

const SUMMARY: &str = "--plot-summary";

/// Point at which yields are predicted.
enum Point {
    BestFit,
    Init,
    Given(Vec<f64>),
    Fit(Extrapolated),
}

/// Runs the command. If the fit did not converge, its yields are written and the command ends with
/// [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, a likelihood that is not finite,
/// or a result that cannot be written.
pub(crate) fn run(args: &YieldsArgs) -> Result<Exit, CliError> {
    let files = [("--plot", args.plot.path()), (SUMMARY, args.plot_summary.as_deref())];
    let style = args.events.styled(args.plot.style()?);
    let plots = Plots::open_each(args.run.output.output.as_deref(), files, &["--plot"], style)?;
    // Only the best fit needs observations, unless it is that of Asimov data.
    let is_given = args.prefit || args.at.first().is_some_and(|word| word != "bestfit");
    let job =
        Job::open_for(&args.model, &args.run, Work::Fit, is_given || args.run.data.needs_no_observations())?;
    let pictures = (args.plot.wanted(), args.plot_summary.is_some());
    args.events.check(&job.model, pictures, "--plot FILE")?;
    let options = args.run.data.options(&job.model)?;
    let point = point(args, &job.model)?;
    let (result, interrupted) = job.work("yields", |model, session, control| {
        let at = match &point {
            Point::Init => YieldsAt::Prefit,
            Point::Given(point) => YieldsAt::Given(point, None),
            Point::Fit(fit) => YieldsAt::Extrapolated(fit),
            Point::BestFit => {
                return fitted_yields(model, session, &options, control);
            }
        };
        Ok((expected_yields(model, session, &options, at)?, false))
    })?;
    let exit = Exit::of(interrupted, result.converged);
    job.finish_with(&result, &result.warnings, result.parts(args.per_bin), || {
        result.data_tables(args.per_bin)
    })?;
    plots.finish(exit, |asked| {
        let kind = if asked.flag == SUMMARY { Kind::Summary } else { Kind::Yields };
        args.events.draw(asked, kind, result.clone(), None)
    })
}

/// Returns the point that `--prefit` or `--at` names. Without these flags, returns the best fit.
fn point(args: &YieldsArgs, model: &Model) -> Result<Point, CliError> {
    if args.prefit {
        return Ok(Point::Init);
    }
    match args.at.as_slice() {
        [] => Ok(Point::BestFit),
        [word] if word == "bestfit" => Ok(Point::BestFit),
        [word] if word == "init" => Ok(Point::Init),
        [file] if !file.contains('=') || Path::new(file).is_file() => {
            Ok(match start::read_point(Path::new(file), model)? {
                StartPoint::Values(point) => Point::Given(point),
                StartPoint::Fit(fit) => Point::Fit(fit),
            })
        }
        texts => Ok(Point::Given(named(texts, model)?)),
    }
}

/// Parses comma-separated lists of `NAME=V` into a point. All other parameters have their initial values. A
/// name may contain commas, because a comma ends an item only if the item contains `=`.
fn named(texts: &[String], model: &Model) -> Result<Vec<f64>, CliError> {
    let mut values: Vec<(String, f64)> = Vec::new();
    for text in texts {
        let mut rest = String::new();
        for part in text.split(',') {
            rest.push_str(part);
            let Some((name, value)) = rest.rsplit_once('=') else {
                rest.push(',');
                continue;
            };
            let wrong = || CliError::Usage(format!("--at {text}: '{value}' is not a finite number"));
            let number = value.trim().parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(wrong)?;
            let name = name.trim().to_owned();
            if let Some((_, other)) = values.iter().find(|(known, other)| *known == name && *other != number)
            {
                return Err(CliError::Usage(format!("--at: {name} cannot be both {other} and {number}")));
            }
            values.push((name, number));
            rest.clear();
        }
        if !rest.is_empty() {
            return Err(CliError::Usage(format!(
                "--at {text}: expected NAME=VALUE, for example mu=1; a file, bestfit and init stand alone"
            )));
        }
    }
    start::by_name(values, model).map_err(|error| CliError::Usage(format!("--at: {error}")))
}
