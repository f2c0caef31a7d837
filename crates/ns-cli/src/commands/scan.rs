//! `nextstat scan`: scans the profile likelihood in one or two parameters.

use clap::Args;
use ns_core::{Control, Model, Session};
use ns_inference::reread::AnyResult;
use ns_inference::{ScanAxis, ScanOptions, ScanResult, scan};

use crate::args::{ModelArgs, real};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::plot::{PlotArgs, drawn, first};

/// Flags of `scan`.
#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Parameter to scan [default: each parameter of interest]
    #[arg(long, help_heading = "Scan", value_name = "NAME")]
    param: Option<String>,
    /// First value [default: 3 uncertainties below the best fit (in two parameters: beyond the contour of 95 %), or
    /// the bound]
    #[arg(long, help_heading = "Scan", value_name = "V", value_parser = real)]
    start: Option<f64>,
    /// Last value [default: as far above the best fit, or the bound]
    #[arg(long, help_heading = "Scan", value_name = "V", value_parser = real)]
    stop: Option<f64>,
    /// Number of equally spaced values
    #[arg(long, help_heading = "Scan", value_name = "N", default_value_t = 21,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    points: u32,
    /// Second parameter, for a scan in two parameters
    #[arg(long, help_heading = "Scan", value_name = "NAME")]
    param2: Option<String>,
    /// First value of the second parameter
    #[arg(long, help_heading = "Scan", value_name = "V", requires = "param2")]
    start2: Option<f64>,
    /// Last value of the second parameter
    #[arg(long, help_heading = "Scan", value_name = "V", requires = "param2")]
    stop2: Option<f64>,
    /// Number of values of the second parameter [default: 21]
    #[arg(long, help_heading = "Scan", value_name = "N", requires = "param2",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    points2: Option<u32>,
    /// Confidence levels of the contours of two parameters, or of the intervals of one [default: 0.683 and 0.95 in two
    /// parameters; the rise of twice_nll by 1 and 4 in one]
    #[arg(long, help_heading = "Scan", value_name = "P,...", value_delimiter = ',', value_parser = real)]
    levels: Vec<f64>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Runs the command. An interrupted scan is written with the points that were finished. If the result is not
/// usable ([`ns_inference::ScanResult::usable`]), the command ends with [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, a likelihood that is not finite,
/// or a result that cannot be written.
pub(crate) fn run(args: &ScanArgs) -> Result<Exit, CliError> {
    let plots = args.plot.open(args.run.output.output.as_deref())?;
    let axis = args.param.as_ref().map_or_else(ScanAxis::default, ScanAxis::param);
    let axis = axis.range(args.start, args.stop).points(args.points as usize);
    let mut options = ScanOptions::new(axis).levels(args.levels.clone());
    if let Some(name) = &args.param2 {
        let points = args.points2.unwrap_or(21) as usize;
        let second = ScanAxis::param(name).range(args.start2, args.stop2).points(points);
        options = options.second(second);
    }
    let job = Job::open(&args.model, &args.run, options.work())?;
    let options = options.fit(args.run.data.options(&job.model)?);
    let work =
        |model: &Model, session: &dyn Session, control: Control<'_>| scan(model, session, &options, control);
    if args.param.is_some() || args.param2.is_some() {
        let mut result = job.work("scan", work)?;
        result.warnings.extend(plots.font_warning(&job.model));
        let exit = Exit::of(result.interrupted, result.usable());
        job.finish_with(&result, &result.warnings, result.parts(), || result.data_tables())?;
        return plots.finish(exit, |asked| drawn(asked, "", &AnyResult::Scan(result.clone())));
    }
    plots.only_one(&job)?;
    let mut results = job.work_for_each_poi("scan", work)?;
    for result in &mut results {
        result.warnings.extend(plots.font_warning(&job.model));
    }
    let missing = results.len() < job.model.pois.len();
    let interrupted = missing || results.iter().any(|result| result.interrupted);
    let exit = Exit::of(interrupted, results.iter().all(ScanResult::usable));
    job.finish_for_each_poi(&results, |r| &r.warnings, |r| r.parts(), |r| r.data_tables())?;
    plots.finish(exit, |asked| drawn(asked, "", &first(&results, AnyResult::Scan)))
}
