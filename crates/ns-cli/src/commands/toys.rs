//! `nextstat toys`: generates toys at a known point, fits them, and compares the fitted values with that
//! point.

use std::path::PathBuf;

use clap::Args;
use ns_core::Model;
use ns_inference::reread::AnyResult;
use ns_inference::toys::{FitToysSummary, FitToysTest, GeneratingPoint};
use ns_inference::{FitToysOptions, InjectionOptions, Work, injection};

use crate::args::{ModelArgs, real, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::plot::{PlotArgs, Plots, drawn};
use crate::save::SaveArgs;
use crate::{expectation, load, start};

/// Flags of `toys`.
#[derive(Debug, Args)]
#[command(
    after_help = "Bias is the mean of the fitted values less the generated one, a pull is (fitted - generated) / \
    uncertainty, and coverage the fraction of toys whose interval of one uncertainty either way holds the generated \
    value: 0, 0 with width 1, and 0.683 where all is well. The file format is in docs/toy-files.md."
)]
pub(crate) struct ToysArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Number of toys
    #[arg(long, help_heading = "Toys", value_name = "N", value_parser = whole, alias = "toys")]
    n_toys: u64,
    /// Point at which toys are generated: bestfit, init (the initial parameters), or values in a JSON file
    /// as for --init
    #[arg(long, help_heading = "Toys", value_name = "POINT", default_value = "bestfit", value_parser = point)]
    at: Point,
    /// Generate toys from given expected yields instead, which need not belong to any parameter values: a
    /// JSON list of all bins (and auxiliary data) in the model's order, or the result of `nextstat yields`.
    /// The fitted values are then compared with the best fit of the expected yields
    #[arg(long, help_heading = "Toys", value_name = "FILE", conflicts_with_all = ["at", "asimov"])]
    expected: Option<PathBuf>,
    /// Parameters to study: names, or patterns with * and ?; repeatable (give a name that contains commas alone)
    /// [default: all free parameters]
    #[arg(long, help_heading = "Toys", value_name = "NAME,...")]
    params: Vec<String>,
    /// Generate toys at these values of the parameter of interest, or of the one that --params names, and find the line
    /// through the mean fitted values; the other parameters are fitted to the data at each value
    #[arg(long, help_heading = "Toys", value_name = "V,...", value_delimiter = ',', value_parser = real,
          allow_hyphen_values = true, conflicts_with_all = ["at", "expected", "save", "shard", "batch"])]
    inject: Vec<f64>,
    #[command(flatten)]
    save: SaveArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Point at which toys are generated.
#[derive(Debug, Clone)]
enum Point {
    BestFit,
    Init,
    File(PathBuf),
}

/// Parses the value of `--at`. Any text other than `bestfit` and `init` is the name of a file.
#[allow(clippy::unnecessary_wraps)]
fn point(text: &str) -> Result<Point, String> {
    Ok(match text {
        "bestfit" => Point::BestFit,
        "init" => Point::Init,
        path => Point::File(PathBuf::from(path)),
    })
}

impl Point {
    /// Returns the point with its parameter values. Reads the file if the point names one.
    fn read(&self, model: &Model) -> Result<GeneratingPoint, CliError> {
        Ok(match self {
            Self::BestFit => GeneratingPoint::BestFit,
            Self::Init => GeneratingPoint::Init,
            Self::File(path) => GeneratingPoint::At(start::read(path, model)?.into()),
        })
    }
}

/// Runs the command. The result counts the toys whose fits failed. If the fits of all toys failed, the result
/// is written and the command ends with [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, a likelihood that is not finite, a
/// saved file of a different run, or a file or a picture that cannot be written.
pub(crate) fn run(args: &ToysArgs) -> Result<Exit, CliError> {
    let plots = args.plot.open(args.run.output.output.as_deref())?;
    if !args.inject.is_empty() {
        return inject(args, plots);
    }
    let place = args.save.claim(args.run.output.output.as_deref(), args.plot.path())?;
    let shard = args.save.shard().range(args.n_toys);
    let work = Work::Toys { toys: shard.end.saturating_sub(shard.start), fits: 1 };
    let job = Job::open(&args.model, &args.run, work)?;
    let expected = args.expected.as_deref().map(|path| expectation::read(path, &job.model));
    let options = FitToysOptions::default()
        .fit(args.run.data.options(&job.model)?)
        .point(args.at.read(&job.model)?)
        .expectation(expected.transpose()?)
        .params(load::parameters("--params", &args.params, &job.model)?)
        .n_toys(args.n_toys)
        .seed(args.run.execution.seed())
        .shard(args.save.shard())
        .batch(args.save.batch());
    let (mut result, done) = job.work("toys", |model, session, control| {
        let test = FitToysTest::prepare(model, session, &options, control)?;
        let mut summary = FitToysSummary::new(test.header());
        let done = args.save.run(place, test, (model, session), control, &mut summary)?;
        let mut result = summary.finish();
        result.toys_per_s = done.run.toys_per_s;
        result.interrupted = done.run.interrupted;
        result.warnings.extend(done.warnings());
        Ok::<_, CliError>((result, done))
    })?;
    result.warnings.extend(plots.font_warning(&job.model));
    let parts = result.parts().into_iter().chain(done.about()).collect();
    job.finish(&result, &result.warnings, parts)?;
    let exit = Exit::of(result.interrupted, result.n_toys == 0 || result.n_failed < result.n_toys);
    plots.finish(exit, |asked| drawn(asked, "", &AnyResult::Toys(result.clone())))
}

/// Runs an injection test. If a fit of the data or of a toy did not converge, the command ends with [`Exit::Failed`].
fn inject(args: &ToysArgs, plots: Plots) -> Result<Exit, CliError> {
    let options = InjectionOptions::default()
        .values(args.inject.clone())
        .n_toys(args.n_toys)
        .seed(args.run.execution.seed());
    let job = Job::open(&args.model, &args.run, options.work())?;
    let mut params = load::parameters("--params", &args.params, &job.model)?;
    if params.len() > 1 {
        return Err(CliError::Usage("--inject sets one parameter; name one with --params".to_owned()));
    }
    let options = options.param(params.pop()).fit(args.run.data.options(&job.model)?);
    let mut result =
        job.work("toys", |model, session, control| injection(model, session, &options, control))?;
    result.warnings.extend(plots.font_warning(&job.model));
    job.finish(&result, &result.warnings, result.parts())?;
    let failed = result.points.iter().all(|point| point.n_failed == point.n_toys);
    plots.finish(Exit::of(result.interrupted, !failed), |asked| {
        drawn(asked, "", &AnyResult::Injection(result.clone()))
    })
}
