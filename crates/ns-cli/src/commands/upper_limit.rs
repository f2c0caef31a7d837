//! `nextstat upper-limit`: computes the observed and the expected CLs upper limits.

use clap::Args;
use ns_inference::reread::AnyResult;
use ns_inference::{
    LimitOptions, LimitResult, TestStatistic, ToyLimitOptions, ToyLimitResult, Work, upper_limit,
    upper_limit_toys,
};
use ns_translate::pyhf::is_pattern;

use super::hypotest::statistics;
use super::limit_grid::{Grid, GridArgs};
use crate::args::{ModelArgs, real, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::plot::{PlotArgs, drawn, first};

/// Flags of `upper-limit`.
#[derive(Debug, Args)]
pub(crate) struct UpperLimitArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Confidence level
    #[arg(long, help_heading = "Limit", value_name = "CL", default_value_t = 0.95, value_parser = real)]
    cl: f64,
    /// Size of the test, another way to give the confidence level: `--alpha 0.05` is `--cl 0.95`
    #[arg(long, help_heading = "Limit", value_name = "ALPHA", conflicts_with = "cl", value_parser = alpha)]
    alpha: Option<f64>,
    /// Test statistic: qtilde or q
    #[arg(long, help_heading = "Limit", value_name = "NAME", default_value = "qtilde", value_parser = statistics(),
          hide_possible_values = true)]
    test_stat: TestStatistic,
    /// Find only the expected limits
    #[arg(long, help_heading = "Limit")]
    expected: bool,
    /// Find only the observed limit
    #[arg(long, help_heading = "Limit", conflicts_with = "expected")]
    observed: bool,
    /// Use N toys of each hypothesis at every tested value instead of asymptotic formulae
    #[arg(long, help_heading = "Limit", value_name = "N", value_parser = whole,
          alias = "n-toys", conflicts_with_all = ["expected", "scan_start", "scan_stop", "plot"])]
    toys: Option<u64>,
    /// Also find CLs at the points of a grid, and take this as its first value
    #[arg(long, help_heading = "Limit", value_name = "MU", requires = "scan_stop", value_parser = real)]
    scan_start: Option<f64>,
    /// Last value of the grid
    #[arg(long, help_heading = "Limit", value_name = "MU", requires = "scan_start", value_parser = real)]
    scan_stop: Option<f64>,
    /// Number of points of the grid; with --plot and without --scan-start, of a grid that covers the limits
    #[arg(long, help_heading = "Limit", value_name = "N", default_value_t = 41,
          value_parser = clap::value_parser!(u32).range(2..=100_000))]
    scan_points: u32,
    #[command(flatten)]
    grid: GridArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
    /// Draw CLs on a logarithmic axis
    #[arg(long, help_heading = "Output", requires = "plot")]
    plot_log: bool,
}

/// Parses the value of `--alpha`.
fn alpha(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|alpha| *alpha > 0.0 && *alpha < 0.5);
    value.ok_or_else(|| "alpha is 1 - CL; give a number between 0 and 0.5, for example 0.05".to_owned())
}

impl UpperLimitArgs {
    /// Returns the confidence level, from `--alpha` or `--cl`.
    fn cl(&self) -> f64 {
        self.alpha.map_or(self.cl, |alpha| 1.0 - alpha)
    }
}

/// Runs the command. A limit is null, with a warning, if CLs does not cross 1 - CL within the bounds of the
/// parameter of interest. If a fit did not converge, or no limit was found, the command ends with
/// [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, a likelihood that is not finite,
/// or a result that cannot be written.
pub(crate) fn run(args: &UpperLimitArgs) -> Result<Exit, CliError> {
    let grid = grid(args)?;
    let plots = args.plot.open(args.run.output.output.as_deref())?.logarithmic(args.plot_log);
    let options = LimitOptions::default()
        .statistic(args.test_stat)
        .cl(args.cl())
        .expected_only(args.expected)
        .observed_only(args.observed);
    if args.grid.patchset.is_some() {
        let poi = &args.model.poi;
        if poi.len() > 1 || poi.iter().any(|list| list.contains(',') || is_pattern(list)) {
            return Err(CliError::Usage(
                "--patchset finds the limits of one parameter of interest; give one name with --poi"
                    .to_owned(),
            ));
        }
        return Grid { args: &args.grid, model: &args.model, run: &args.run, options, plots }.run();
    }
    let work = match args.toys {
        None => Work::Limit,
        Some(toys) => Work::toys_of_limit(toys),
    };
    let job = Job::open(&args.model, &args.run, work)?;
    if let Some(n_toys) = args.toys {
        let options = ToyLimitOptions::default()
            .fit(args.run.data.options(&job.model)?)
            .statistic(args.test_stat)
            .cl(args.cl())
            .expected(!args.observed)
            .n_toys(n_toys)
            .seed(args.run.execution.seed());
        return with_toys(job, &options);
    }
    plots.only_one(&job)?;
    let options = options
        .fit(args.run.data.options(&job.model)?)
        .scan(grid)
        .auto_scan(args.plot.wanted().then_some(args.scan_points as usize));
    let mut results = job.work_for_each_poi("limit", |model, session, control| {
        upper_limit(model, session, &options, control)
    })?;
    for result in &mut results {
        result.warnings.extend(plots.font_warning(&job.model));
    }
    let missing = results.len() < job.model.pois.len();
    let interrupted = missing || results.iter().any(|result| result.interrupted);
    let found = |r: &LimitResult| r.observed.is_some() || r.expected.iter().any(Option::is_some);
    let exit = Exit::of(interrupted, results.iter().all(|result| result.converged && found(result)));
    job.finish_for_each_poi(&results, |r| &r.warnings, |r| r.parts(&options), |r| r.data_tables())?;
    plots.finish(exit, |asked| drawn(asked, "", &first(&results, AnyResult::Limit)))
}

/// Computes the limits with toys and writes them. If no limit was found, the command ends with
/// [`Exit::Failed`].
fn with_toys(job: Job, options: &ToyLimitOptions) -> Result<Exit, CliError> {
    let results = job.work_for_each_poi("toys", |model, session, control| {
        upper_limit_toys(model, session, options, control)
    })?;
    let missing = results.len() < job.model.pois.len();
    let interrupted = missing || results.iter().any(|result| result.interrupted);
    let found = |r: &ToyLimitResult| r.observed.is_some() || r.expected.iter().any(Option::is_some);
    let all_found = results.iter().all(found);
    job.finish_for_each_poi(&results, |r| &r.warnings, |r| r.parts(), |_| Vec::new())?;
    Ok(Exit::of(interrupted, all_found))
}

/// Returns the equally spaced values of the grid on which CLs is computed, both ends included. Without `--scan-start`
/// the list is empty.
fn grid(args: &UpperLimitArgs) -> Result<Vec<f64>, CliError> {
    let (Some(start), Some(stop)) = (args.scan_start, args.scan_stop) else { return Ok(Vec::new()) };
    if !(start.is_finite() && stop.is_finite() && start < stop) {
        return Err(CliError::Usage(format!(
            "--scan-start {start} must lie below --scan-stop {stop}, and both must be finite"
        )));
    }
    let last = f64::from(args.scan_points - 1);
    Ok((0..args.scan_points)
        .map(|i| if i + 1 == args.scan_points { stop } else { start + (stop - start) * f64::from(i) / last })
        .collect())
}
