//! `nextstat hypotest`: hypothesis tests of a value of the parameter of interest with asymptotic formulae, or of a point in
//! several parameters by the likelihood ratio.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ns_core::Model;
use ns_inference::present::count;
use ns_inference::{
    FitOptions, HypotestOptions, PointOptions, TestStatistic, Work, hypotest, hypotest_point,
};

use crate::args::{ModelArgs, real, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;

/// Flags of `hypotest`.
#[derive(Debug, Args)]
pub(crate) struct HypotestArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Value of the parameter of interest to test, or values by name ('a=1,b=0'; repeatable) or of all parameters of
    /// interest in their order ('1,0'). Several values, and values by name, are tested together by the two-sided likelihood
    /// ratio
    #[arg(long, help_heading = "Test", value_name = "MU", required = true, allow_hyphen_values = true)]
    mu: Vec<String>,
    /// Test statistic of one value: qtilde (upper limits, signal not negative), q (upper limits) or q0 (discovery;
    /// tests 0) [default: qtilde]
    #[arg(long, help_heading = "Test", value_name = "NAME", value_parser = statistics(), hide_possible_values = true)]
    test_stat: Option<TestStatistic>,
    /// Several values: also count N toys that are drawn at the tested point
    #[arg(long, help_heading = "Test", value_name = "N", value_parser = whole, alias = "n-toys")]
    toys: Option<u64>,
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
    let tested = Tested::parse(&args.mu)?;
    let work = match args.toys {
        Some(n_toys) => PointOptions::default().n_toys(Some(n_toys)).work(),
        None => Work::Test,
    };
    let job = Job::open(&args.model, &args.run, work)?;
    let options = args.run.data.options(&job.model)?;
    let mu = match tested.of(&job.model)? {
        Values::One(mu) => mu,
        Values::Point(values) => return point(args, job, &values, options),
    };
    if args.toys.is_some() {
        return Err(CliError::Usage(
            "--toys counts toys of a point ('--mu NAME=V'); toys of the statistics qtilde, q and q0 are those of \
             `nextstat hypotest-toys`"
                .to_owned(),
        ));
    }
    let options = HypotestOptions::default().fit(options).statistic(args.test_stat.unwrap_or_default());
    let result =
        job.work("test", |model, session, control| hypotest(model, session, mu, &options, control))?;
    job.finish(&result, &result.warnings, result.parts(args.expected_set))?;
    Ok(Exit::of(false, result.converged))
}

/// Tests a point and writes the result.
fn point(
    args: &HypotestArgs,
    job: Job,
    values: &[(String, f64)],
    options: FitOptions,
) -> Result<Exit, CliError> {
    if let Some(statistic) = args.test_stat {
        return Err(CliError::Usage(format!(
            "--test-stat {} is one-sided, and a point in several parameters has no side; leave it out for the likelihood \
             ratio, or test one parameter with --poi NAME --mu V",
            statistic.name()
        )));
    }
    if args.expected_set {
        return Err(CliError::Usage(
            "--expected-set belongs to CLs, which a point does not have; leave it out, or test one parameter with \
             --poi NAME --mu V"
                .to_owned(),
        ));
    }
    let options = PointOptions::default().fit(options).n_toys(args.toys).seed(args.run.execution.seed());
    let what = if args.toys.is_some() { "toys" } else { "test" };
    let result =
        job.work(what, |model, session, control| hypotest_point(model, session, values, &options, control))?;
    job.finish(&result, &result.warnings, result.parts())?;
    let counted = result.toys.is_none() || result.p_value_toys.is_some();
    Ok(Exit::of(result.interrupted, result.converged && counted))
}

/// What `--mu` gives: values by name, or values without names.
enum Tested {
    Named(Vec<(String, f64)>),
    InOrder(Vec<f64>),
}

/// What is tested: one value of the parameter of interest, or a point.
pub(crate) enum Values {
    One(f64),
    Point(Vec<(String, f64)>),
}

/// Returns what `--mu` tests in a model.
///
/// # Errors
/// [`CliError::Usage`] for values that are no finite numbers, or too few or many of them.
pub(crate) fn tested(lists: &[String], model: &Model) -> Result<Values, CliError> {
    Tested::parse(lists)?.of(model)
}

impl Tested {
    fn parse(lists: &[String]) -> Result<Self, CliError> {
        let usage = |text: &str| {
            CliError::Usage(format!(
                "--mu: '{text}' is no finite number; give a number, such as 1.5, or NAME=V for several parameters"
            ))
        };
        let number = |text: &str| real(text).ok().filter(|x| x.is_finite()).ok_or_else(|| usage(text));
        let mut named = Vec::new();
        let mut in_order = Vec::new();
        for text in lists.iter().flat_map(|list| list.split(',')).map(str::trim) {
            match text.rsplit_once('=') {
                Some((name, value)) => named.push((name.trim().to_owned(), number(value)?)),
                None => in_order.push(number(text)?),
            }
        }
        match (named.is_empty(), in_order.is_empty()) {
            (false, false) => Err(CliError::Usage(
                "--mu has values with and without names; give all names, or none".to_owned(),
            )),
            (false, true) => Ok(Self::Named(named)),
            (true, _) => Ok(Self::InOrder(in_order)),
        }
    }

    fn of(self, model: &Model) -> Result<Values, CliError> {
        let values = match self {
            Self::Named(values) => return Ok(Values::Point(values)),
            Self::InOrder(values) => values,
        };
        let names: Vec<&str> = model.poi_names().collect();
        match (values.as_slice(), names.as_slice()) {
            ([mu], [] | [_]) => Ok(Values::One(*mu)),
            (values, names) if values.len() == names.len() => {
                let names = names.iter().map(|name| (*name).to_owned());
                Ok(Values::Point(names.zip(values.iter().copied()).collect()))
            }
            (values, names) => {
                let all: Vec<String> = names.iter().map(|name| format!("{name}=V")).collect();
                let remedy = match names {
                    [] | [_] => {
                        "give a number, such as 1.5, name the others with --poi NAME,NAME, or give values by name (NAME=V)".to_owned()
                    }
                    _ => format!("give --mu {}, or choose one with --poi NAME", all.join(",")),
                };
                Err(CliError::Usage(format!(
                    "--mu has {}, and the model has {} ({}); {remedy}",
                    count(values.len(), "value"),
                    match names.len() {
                        1 => "1 parameter of interest".to_owned(),
                        n => format!("{n} parameters of interest"),
                    },
                    names.join(", ")
                )))
            }
        }
    }
}
