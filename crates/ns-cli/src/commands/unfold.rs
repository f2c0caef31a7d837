//! `nextstat unfold`: finds the distribution of the truth from the data.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ns_inference::reread::AnyResult;
use ns_inference::unfold::{Prediction, Regularisation, Strength, ToysAt};
use ns_inference::{UnfoldOptions, unfold};

use crate::args::{ModelArgs, real, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::load;
use crate::plot::{PlotArgs, Plots, drawn};

const PLOT: &str = "--plot";
const STRENGTHS: &str = "--plot-strengths";

/// Flags of `unfold`.
#[derive(Debug, Args)]
#[command(
    after_help = "The response is in the model: each truth bin is a sample whose template is its column of the response times the \
    predicted truth, with a norm factor of its own. Without regularisation, unfolding is a plain fit of these factors. \
    Regularisation adds tau/2 |L (mu - 1)|^2 to -ln L. The FILE of --prediction has the predicted truth as JSON: {\"title\": \
    \"mass [GeV]\", \"edges\": [...], \"yields\": [...]}; all keys are optional."
)]
pub(crate) struct UnfoldArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Norm factors of the truth bins in the order of the bins: names, or a pattern such as 'truth_*', with a comma
    /// between several
    #[arg(long, help_heading = "Unfolding", value_name = "NAME", value_delimiter = ',', required = true)]
    truth: Vec<String>,
    /// Predicted truth: title, edges and yields of the truth bins
    #[arg(long, help_heading = "Unfolding", value_name = "FILE")]
    prediction: Option<PathBuf>,
    /// Penalty: none, tikhonov (differences of the factors from 1) or curvature (their second differences)
    #[arg(long, help_heading = "Unfolding", value_name = "KIND", default_value = "none", hide_possible_values = true,
          value_parser = kinds())]
    regularisation: Regularisation,
    /// Strength of the penalty: a number, l-curve (largest curvature of the L-curve) or correlation (smallest mean global
    /// correlation coefficient) [default: l-curve]
    #[arg(long, help_heading = "Unfolding", value_name = "TAU", value_parser = strength)]
    tau: Option<Strength>,
    /// Smallest strength that is scanned [default: one without an effect]
    #[arg(long, help_heading = "Unfolding", value_name = "TAU", requires = "tau_max", value_parser = real)]
    tau_min: Option<f64>,
    /// Largest strength that is scanned [default: one that dominates]
    #[arg(long, help_heading = "Unfolding", value_name = "TAU", requires = "tau_min", value_parser = real)]
    tau_max: Option<f64>,
    /// Number of scanned strengths
    #[arg(long, help_heading = "Unfolding", value_name = "N", default_value_t = 41)]
    points: u32,
    /// Unfold N toys too, for the bias and the coverage
    #[arg(long, help_heading = "Toys", value_name = "N", value_parser = whole, alias = "n-toys")]
    toys: Option<u64>,
    /// Where toys are drawn: best_fit or prediction
    #[arg(long, help_heading = "Toys", value_name = "POINT", default_value = "best_fit", requires = "toys",
          hide_possible_values = true, value_parser = points())]
    toys_at: ToysAt,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
    /// Draw the scanned strengths to this file (.svg, .png or .pdf)
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    plot_strengths: Option<PathBuf>,
}

fn kinds() -> impl TypedValueParser<Value = Regularisation> {
    PossibleValuesParser::new(Regularisation::ALL.map(Regularisation::name)).try_map(|name| name.parse())
}

fn points() -> impl TypedValueParser<Value = ToysAt> {
    PossibleValuesParser::new(["best_fit", "prediction"]).try_map(|name| name.parse())
}

fn strength(text: &str) -> Result<Strength, String> {
    text.trim().parse()
}

/// Runs the command. If a fit did not converge, the command ends with [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, factors that cannot be unfolded, a device that is not available, a likelihood that
/// is not finite, or a result that cannot be written.
pub(crate) fn run(args: &UnfoldArgs) -> Result<Exit, CliError> {
    if args.tau.is_some() && args.regularisation == Regularisation::None {
        return Err(CliError::Usage(
            "--tau: there is no penalty; add --regularisation tikhonov or curvature".to_owned(),
        ));
    }
    let files = [(PLOT, args.plot.path()), (STRENGTHS, args.plot_strengths.as_deref())];
    let plots = Plots::open(args.run.output.output.as_deref(), files, args.plot.style()?)?;
    let prediction = args.prediction.as_deref().map(prediction).transpose()?.unwrap_or_default();
    let options = UnfoldOptions::of(args.truth.clone())
        .prediction(prediction)
        .regularisation(args.regularisation)
        .tau(args.tau.unwrap_or_default())
        .tau_range(args.tau_min.zip(args.tau_max))
        .points(args.points as usize)
        .n_toys(args.toys)
        .toys_at(args.toys_at)
        .seed(args.run.execution.seed());
    let job = Job::open(&args.model, &args.run, options.work())?;
    let options = options.fit(args.run.data.options(&job.model)?);
    let execution = args.run.execution.execution();
    let mut result =
        job.work("unfold", |model, session, control| unfold(model, session, &options, &execution, control))?;
    result.warnings.extend(plots.font_warning(&job.model));
    let exit = Exit::of(result.interrupted, result.converged);
    job.finish(&result, &result.warnings, result.parts())?;
    let result = AnyResult::Unfold(Box::new(result));
    plots.finish(exit, |asked| drawn(asked, if asked.flag == STRENGTHS { "strengths" } else { "" }, &result))
}

/// Reads a predicted truth distribution.
fn prediction(path: &Path) -> Result<Prediction, CliError> {
    let usage = |problem: String| CliError::Usage(format!("{}: {problem}", path.display()));
    let expected = "an object with any of the keys title (a text), edges and yields (lists of numbers)";
    load::form(path, &usage, expected)
}
