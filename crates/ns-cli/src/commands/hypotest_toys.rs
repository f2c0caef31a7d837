//! `nextstat hypotest-toys`: hypothesis test of one value of the parameter of interest with toys.

use clap::Args;
use ns_inference::reread::AnyResult;
use ns_inference::toys::{Summary, ToyTest};
use ns_inference::{HypotestToysOptions, HypotestToysResult, TestStatistic};

use super::hypotest::{Values, statistics, tested};
use crate::args::{ModelArgs, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::plot::{PlotArgs, drawn};
use crate::save::SaveArgs;

/// Flags of `hypotest-toys`.
#[derive(Debug, Args)]
#[command(
    after_help = "Toys are drawn at the conditional best fits of the data with the parameter of interest at \
    MU and at 0 (q0: 0 and 1). Each toy depends on the model, the data, MU, the statistic, the seed and its number \
    alone: neither threads, batches, shards nor interruptions change it. The file format is in docs/toy-files.md."
)]
pub(crate) struct HypotestToysArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Value of the parameter of interest to test
    #[arg(long, help_heading = "Test", value_name = "MU", allow_hyphen_values = true)]
    mu: String,
    /// Test statistic: qtilde (upper limits, signal not negative), q (upper limits) or q0 (discovery;
    /// tests 0)
    #[arg(long, help_heading = "Test", value_name = "NAME", default_value = "qtilde", value_parser = statistics(),
          hide_possible_values = true)]
    test_stat: TestStatistic,
    /// Also find the values expected if there is only background; keeps every toy in memory
    #[arg(long, help_heading = "Test")]
    expected_set: bool,
    /// Number of toys of each hypothesis
    #[arg(long, help_heading = "Toys", value_name = "N", value_parser = whole, alias = "toys")]
    n_toys: u64,
    #[command(flatten)]
    save: SaveArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Runs the command. The result counts the toys whose fits failed. If a fit of the observed data did not converge, or a
/// p-value does not exist because no toy has a usable test statistic, the result is still written and the command ends
/// with [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, a likelihood that is not finite, a
/// saved file of a different run, or a file or a picture that cannot be written.
pub(crate) fn run(args: &HypotestToysArgs) -> Result<Exit, CliError> {
    let plots = args.plot.open(args.run.output.output.as_deref())?;
    let place = args.save.claim(args.run.output.output.as_deref(), args.plot.path())?;
    let options = HypotestToysOptions::default()
        .statistic(args.test_stat)
        .n_toys(args.n_toys)
        .seed(args.run.execution.seed())
        .shard(args.save.shard())
        .batch(args.save.batch());
    let job = Job::open(&args.model, &args.run, options.work())?;
    let Values::One(mu) = tested(std::slice::from_ref(&args.mu), &job.model)? else {
        return Err(CliError::Usage(
            "hypotest-toys tests one value of one parameter of interest; toys of a point in several parameters are those \
             of `nextstat hypotest --mu NAME=V,NAME=V --toys N`"
                .to_owned(),
        ));
    };
    let options = options.fit(args.run.data.options(&job.model)?);
    let (mut result, observed, done) = job.work("toys", |model, session, control| {
        let test = ToyTest::prepare(model, session, mu, &options, control)?;
        let observed = test.header().converged;
        let mut summary = Summary::new(test.header()).expected_set(args.expected_set);
        let done = args.save.run(place, test, (model, session), control, &mut summary)?;
        let mut result = summary.finish();
        result.toys_per_s = done.run.toys_per_s;
        result.interrupted = done.run.interrupted;
        result.warnings.extend(done.warnings());
        Ok::<_, CliError>((result, observed, done))
    })?;
    result.warnings.extend(plots.font_warning(&job.model));
    let parts = result.parts().into_iter().chain(done.about()).collect();
    job.finish(&result, &result.warnings, parts)?;
    plots.finish(exit(&result, observed), |asked| drawn(asked, "", &AnyResult::HypotestToys(result.clone())))
}

/// Returns the exit code of the command. The command succeeds if the fits of the observed data converged (`observed`)
/// and both p-values exist. A run without toys needs no p-values.
fn exit(result: &HypotestToysResult, observed: bool) -> Exit {
    // If there are more shards than toys, some shards have no toys.
    let counted = result.n_toys.b + result.n_toys.sb == 0 || (result.clsb.is_some() && result.clb.is_some());
    Exit::of(result.interrupted, observed && counted)
}
