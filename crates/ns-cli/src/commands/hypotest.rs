//! `nextstat hypotest`: asymptotic hypothesis test of one value of the parameter of interest.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ns_inference::{HypotestOptions, TestStatistic, Work, hypotest};

use crate::args::{ModelArgs, real};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;

/// Flags of `hypotest`.
#[derive(Debug, Args)]
pub(crate) struct HypotestArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Value of the parameter of interest to test
    #[arg(long, help_heading = "Test", value_name = "MU", value_parser = real)]
    mu: f64,
    /// Test statistic: qtilde (upper limits, signal not negative), q (upper limits) or q0 (discovery;
    /// tests 0)
    #[arg(long, help_heading = "Test", value_name = "NAME", default_value = "qtilde", value_parser = statistics(),
          hide_possible_values = true)]
    test_stat: TestStatistic,
    /// Also show the values expected if there is only background; the JSON always has them
    #[arg(long, help_heading = "Test")]
    expected_set: bool,
    #[command(flatten)]
    run: RunArgs,
}

/// Returns a parser of the names of test statistics.
pub(crate) fn statistics() -> impl TypedValueParser<Value = TestStatistic> {
    PossibleValuesParser::new(["qtilde", "q", "q0"]).try_map(|name| name.parse())
}

/// Runs the command. The result is written even if a fit did not converge. The command then ends with
/// [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, a likelihood that is not finite,
/// or a result that cannot be written.
pub(crate) fn run(args: &HypotestArgs) -> Result<Exit, CliError> {
    if !args.mu.is_finite() {
        return Err(CliError::Usage("--mu must be a finite number".to_owned()));
    }
    let job = Job::open(&args.model, &args.run, Work::Test)?;
    let options =
        HypotestOptions::default().fit(args.run.data.options(&job.model)?).statistic(args.test_stat);
    let result =
        job.work("test", |model, session, control| hypotest(model, session, args.mu, &options, control))?;
    job.finish(&result, &result.warnings, result.parts(args.expected_set))?;
    Ok(Exit::of(false, result.converged))
}
