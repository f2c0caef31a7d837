//! `nextstat gof`: saturated goodness of fit.

use clap::Args;
use ns_inference::goodness::DEFAULT_BINS;
use ns_inference::reread::AnyResult;
use ns_inference::{EventStatistic, Work, event_goodness_of_fit, goodness_of_fit, goodness_of_fit_toys};

use crate::args::{ModelArgs, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::plot::{PlotArgs, drawn};

/// Flags of `gof`.
#[derive(Debug, Args)]
pub(crate) struct GofArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Also find the p-value with N toys
    #[arg(long, help_heading = "Toys", value_name = "N", value_parser = whole, alias = "n-toys")]
    toys: Option<u64>,
    /// Compare with the saturated model (saturated); or events with their density, by chi2 in bins (chi2) or the
    /// distance of Kolmogorov and Smirnov (ks)
    #[arg(long, help_heading = "Statistic", value_name = "WHAT", default_value = "saturated", value_parser = statistic)]
    statistic: Statistic,
    /// Number of bins of each observable for --statistic chi2 [default: 20]
    #[arg(long, help_heading = "Statistic", value_name = "N", value_parser = whole)]
    bins: Option<u64>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
    /// Draw toys on a logarithmic axis
    #[arg(long, help_heading = "Output", requires = "plot")]
    plot_log: bool,
}

/// The statistic of a goodness-of-fit test. `None` means the comparison with the saturated model.
#[derive(Debug, Clone, Copy)]
struct Statistic(Option<EventStatistic>);

/// Parses the value of `--statistic`.
fn statistic(text: &str) -> Result<Statistic, String> {
    if text == "saturated" {
        return Ok(Statistic(None));
    }
    text.parse().map(|statistic| Statistic(Some(statistic)))
}

/// Runs the command. The result is written even if the fit did not converge. The command then ends with
/// [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, a likelihood that is not finite,
/// or a result or picture that cannot be written.
pub(crate) fn run(args: &GofArgs) -> Result<Exit, CliError> {
    let plots = args.plot.open(args.run.output.output.as_deref())?.logarithmic(args.plot_log);
    if args.plot.wanted() && args.toys.is_none() {
        return Err(CliError::Usage("--plot draws the statistic of toys: add --toys N".to_owned()));
    }
    let work = args.toys.map_or(Work::Test, |toys| Work::Toys { toys, fits: 1 });
    let job = Job::open(&args.model, &args.run, work)?;
    let options = args.run.data.options(&job.model)?;
    if args.bins.is_some() && !matches!(args.statistic, Statistic(Some(EventStatistic::Chi2))) {
        return Err(CliError::Usage("--bins is for --statistic chi2 alone".to_owned()));
    }
    if let Statistic(Some(statistic)) = args.statistic {
        let toys = args.toys.map(|n_toys| (n_toys, args.run.execution.seed()));
        let bins = args.bins.map_or(DEFAULT_BINS, |bins| usize::try_from(bins).unwrap_or(usize::MAX));
        let what = if toys.is_some() { "toys" } else { "fit" };
        let mut result = job.work(what, |model, session, control| {
            event_goodness_of_fit(model, session, &options, (statistic, bins), toys, control)
        })?;
        result.warnings.extend(plots.font_warning(&job.model));
        job.finish(&result, &result.warnings, result.parts())?;
        let exit = Exit::of(result.toys.as_ref().is_some_and(|toys| toys.interrupted), result.converged);
        return plots.finish(exit, |asked| drawn(asked, "", &AnyResult::EventGoodness(result.clone())));
    }
    let what = if args.toys.is_some() { "toys" } else { "fit" };
    let mut result = job.work(what, |model, session, control| match args.toys {
        None => goodness_of_fit(model, session, &options, control),
        Some(n_toys) => {
            goodness_of_fit_toys(model, session, &options, n_toys, args.run.execution.seed(), control)
        }
    })?;
    result.warnings.extend(plots.font_warning(&job.model));
    job.finish(&result, &result.warnings, result.parts())?;
    let exit = Exit::of(result.toys.as_ref().is_some_and(|toys| toys.interrupted), result.converged);
    plots.finish(exit, |asked| drawn(asked, "", &AnyResult::Goodness(result.clone())))
}
