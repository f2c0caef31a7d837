//! `nextstat region`: finds the confidence region of two parameters, with toys or by the chi2 law.

use std::path::PathBuf;

use clap::Args;
use ns_core::{Control, Model, Session};
use ns_inference::interval::region_saved;
use ns_inference::reread::AnyResult;
use ns_inference::row_file::RowFile;
use ns_inference::{RegionOptions, ToyNuisance, region};

use crate::args::{ModelArgs, real, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::output::distinct;
use crate::plot::{PlotArgs, drawn};

/// Flags of `region`.
#[derive(Debug, Args)]
#[command(
    after_help = "With --toys the region is that of Feldman and Cousins: a point is inside if more than 1 - CL of the toys \
    drawn there have a likelihood ratio of at least the observed one. Without --toys the chi2 law takes the place of the \
    toys. The border is searched along lines from the best fit."
)]
pub(crate) struct RegionArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// First parameter [default: the first parameter of interest]
    #[arg(long, help_heading = "Region", value_name = "NAME")]
    param: Option<String>,
    /// Second parameter [default: the next parameter of interest]
    #[arg(long, help_heading = "Region", value_name = "NAME")]
    param2: Option<String>,
    /// Confidence level
    #[arg(long, help_heading = "Region", value_name = "CL", default_value_t = 0.95, value_parser = real)]
    cl: f64,
    /// Number of directions from the best fit; more are added where the border bends
    #[arg(long, help_heading = "Region", value_name = "N", default_value_t = 16)]
    directions: u32,
    /// Largest accepted error of the border, in units of its distance from the best fit by the chi2 law
    #[arg(long, help_heading = "Region", value_name = "X", default_value_t = 0.05, value_parser = real)]
    precision: f64,
    /// Draw up to N toys at every tested point; points near the border get all of them
    #[arg(long, help_heading = "Toys", value_name = "N", value_parser = whole, alias = "n-toys")]
    toys: Option<u64>,
    /// Nuisance parameters at which toys are drawn: their best fit at the tested value, that of the free fit, or draws from
    /// their posterior
    #[arg(long, help_heading = "Toys", value_name = "profiled|plug-in|posterior", default_value_t, requires = "toys", value_parser = str::parse::<ToyNuisance>)]
    nuisance: ToyNuisance,
    /// Number of points that are tested in each direction before the border is searched
    #[arg(long, help_heading = "Toys", value_name = "N", default_value_t = 6, requires = "toys")]
    points: u32,
    /// Save the counts of all toys in a JSON file
    #[arg(long, help_heading = "Toys", value_name = "FILE", requires = "toys")]
    save: Option<PathBuf>,
    /// Continue a saved run: toys in the file are not made again
    #[arg(long, help_heading = "Toys", requires = "save")]
    resume: bool,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Runs the command. If a fit did not converge, or the border is not known to the accepted error, the command ends with
/// [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, a likelihood that is not finite, a saved file of
/// another run, or a result that cannot be written.
pub(crate) fn run(args: &RegionArgs) -> Result<Exit, CliError> {
    let result_file = args.run.output.output.as_deref();
    let plots = args.plot.open(result_file)?;
    distinct([("--output", result_file), ("--plot", args.plot.path()), ("--save", args.save.as_deref())])?;
    let file = args.save.as_ref().map(|path| RowFile::claim(path, args.resume)).transpose()?;
    let options = RegionOptions::default()
        .param(args.param.clone())
        .param2(args.param2.clone())
        .cl(args.cl)
        .directions(args.directions as usize)
        .precision(args.precision)
        .n_toys(args.toys)
        .nuisance(args.nuisance)
        .points(args.points as usize)
        .seed(args.run.execution.seed());
    let job = Job::open(&args.model, &args.run, options.work())?;
    let options = options.fit(args.run.data.options(&job.model)?);
    let mut result = if let Some(file) = file {
        job.work("toys", |model, session, control| region_saved(model, session, &options, file, control))?
    } else {
        let find = |model: &Model, session: &dyn Session, control: Control<'_>| {
            region(model, session, &options, control)
        };
        job.work("toys", find)?
    };
    result.warnings.extend(plots.font_warning(&job.model));
    let exit = Exit::of(result.interrupted, result.converged);
    job.finish(&result, &result.warnings, result.parts())?;
    plots.finish(exit, |asked| drawn(asked, "", &AnyResult::Region(result.clone())))
}
