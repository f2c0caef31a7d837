//! `nextstat interval`: finds the confidence interval of a parameter, with toys or by the chi2 law.

use std::path::PathBuf;

use clap::Args;
use ns_core::{Control, Model, Session};
use ns_inference::interval::interval_saved;
use ns_inference::reread::AnyResult;
use ns_inference::row_file::RowFile;
use ns_inference::{IntervalOptions, IntervalResult, ToyNuisance, interval};

use crate::args::{ModelArgs, real, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::output::distinct;
use crate::plot::{PlotArgs, drawn, first};

/// Flags of `interval`.
#[derive(Debug, Args)]
#[command(
    after_help = "With --toys the interval is that of Feldman and Cousins: a value is inside if more than 1 - CL of the \
    toys drawn there have a likelihood ratio of at least the observed one. Without --toys the chi2 law takes the place \
    of the toys."
)]
pub(crate) struct IntervalArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Parameter [default: each parameter of interest]
    #[arg(long, help_heading = "Interval", value_name = "NAME")]
    param: Option<String>,
    /// Confidence level
    #[arg(long, help_heading = "Interval", value_name = "CL", default_value_t = 0.95, value_parser = real)]
    cl: f64,
    /// Draw up to N toys at every tested value; values near the ends of the interval get all of them
    #[arg(long, help_heading = "Toys", value_name = "N", value_parser = whole, alias = "n-toys")]
    toys: Option<u64>,
    /// Nuisance parameters at which toys are drawn: their best fit at the tested value, that of the free fit, or draws from
    /// their posterior
    #[arg(long, help_heading = "Toys", value_name = "profiled|plug-in|posterior", default_value_t, requires = "toys", value_parser = str::parse::<ToyNuisance>)]
    nuisance: ToyNuisance,
    /// Number of values that are tested before the ends are searched
    #[arg(long, help_heading = "Toys", value_name = "N", default_value_t = 13, requires = "toys")]
    points: u32,
    /// Largest accepted error of an end, in units of half the width of the interval of the chi2 law
    #[arg(long, help_heading = "Toys", value_name = "X", default_value_t = 0.03, requires = "toys", value_parser = real)]
    precision: f64,
    /// Save the counts of all toys in a JSON file
    #[arg(long, help_heading = "Toys", value_name = "FILE", requires = "toys")]
    save: Option<PathBuf>,
    /// Continue a saved run: toys in the file are not made again. Another CL, or more toys, can use the same file
    #[arg(long, help_heading = "Toys", requires = "save")]
    resume: bool,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Runs the command. If a fit did not converge, or an end is not known to the accepted error, the command ends with
/// [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, a likelihood that is not finite, a saved file of
/// another run, or a result that cannot be written.
pub(crate) fn run(args: &IntervalArgs) -> Result<Exit, CliError> {
    let result_file = args.run.output.output.as_deref();
    let plots = args.plot.open(result_file)?;
    if args.plot.wanted() && args.toys.is_none() {
        return Err(CliError::Usage(
            "--plot draws the p-values of toys; add --toys N, or draw the likelihood with `nextstat scan --plot`"
                .to_owned(),
        ));
    }
    distinct([("--output", result_file), ("--plot", args.plot.path()), ("--save", args.save.as_deref())])?;
    let file = args.save.as_ref().map(|path| RowFile::claim(path, args.resume)).transpose()?;
    let options = IntervalOptions::default()
        .param(args.param.clone())
        .cl(args.cl)
        .n_toys(args.toys)
        .nuisance(args.nuisance)
        .seed(args.run.execution.seed())
        .points(args.points as usize)
        .precision(args.precision);
    let job = Job::open(&args.model, &args.run, options.work())?;
    let options = options.fit(args.run.data.options(&job.model)?);
    let several = args.param.is_none() && job.has_several_pois();
    if several && file.is_some() {
        return Err(CliError::Usage(
            "--save keeps the toys of one parameter; choose it with --param or --poi".to_owned(),
        ));
    }
    let mut results = if let Some(file) = file {
        vec![job.work("toys", |model, session, control| {
            interval_saved(model, session, &options, file, control)
        })?]
    } else {
        let find = |model: &Model, session: &dyn Session, control: Control<'_>| {
            interval(model, session, &options, control)
        };
        if several {
            plots.only_one(&job)?;
            job.work_for_each_poi("toys", find)?
        } else {
            vec![job.work("toys", find)?]
        }
    };
    for result in &mut results {
        result.warnings.extend(plots.font_warning(&job.model));
    }
    let missing = several && results.len() < job.model.pois.len();
    let interrupted = missing || results.iter().any(|result| result.interrupted);
    let exit = Exit::of(interrupted, results.iter().all(usable));
    if let ([result], false) = (results.as_slice(), several) {
        job.finish(result, &result.warnings, result.parts())?;
    } else {
        job.finish_for_each_poi(&results, |r| &r.warnings, IntervalResult::parts, |_| Vec::new())?;
    }
    plots.finish(exit, |asked| drawn(asked, "", &first(&results, AnyResult::Interval)))
}

/// Returns whether a result answers the question: it converged and has an end.
fn usable(result: &IntervalResult) -> bool {
    result.converged && (result.lower.is_some() || result.upper.is_some())
}
