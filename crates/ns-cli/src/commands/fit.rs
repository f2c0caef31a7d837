//! `nextstat fit`: maximum-likelihood fit with uncertainties.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ns_core::{Control, Model};
use ns_inference::fit::MOST_WITH_COVARIANCE;
use ns_inference::picture::Kind;
use ns_inference::report::{Report, RunInfo, to_json};
use ns_inference::reread::AnyResult;
use ns_inference::{
    FitOptions, Opened, WeightedUncertainties, Work, fit, open_session_for, postfit_yields, prefit_yields,
};
use ns_translate::pyhf::file_of;
use serde::Serialize;

use crate::args::{ExecutionArgs, Format, ModelArgs, OutputArgs};
use crate::data_args::DataArgs;
use crate::error::{CliError, Exit};
use crate::event_plot::EventPlotArgs;
use crate::output::{Output, PendingFile, distinct};
use crate::plot::{Plots, drawn};
use crate::style::StyleArgs;
use crate::{interrupt, job, load};

/// Flags of `fit`.
#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    data: DataArgs,
    /// Find the MINOS intervals of these parameters: names, patterns with * and ?, or all; repeatable (give a name that
    /// contains commas alone)
    #[arg(long, help_heading = "Fit", value_name = "NAME,...")]
    minos: Vec<String>,
    /// Compute a function of parameters with its uncertainty: 'r = mu_ggH / mu_qqH'; repeatable. Later ones may use the
    /// names of earlier ones
    #[arg(long, help_heading = "Fit", value_name = "NAME = EXPRESSION", value_parser = derived)]
    derive: Vec<(String, String)>,
    /// Find intervals of the functions of --derive, as MINOS does for parameters
    #[arg(long, help_heading = "Fit", requires = "derive")]
    derive_profile: bool,
    /// How uncertainties are computed if events have weights: sandwich (asymptotically correct), sumw2 (squared
    /// weights in the Hessian), or hesse (as for events without weights) [default: sandwich]
    #[arg(long, help_heading = "Fit", value_name = "METHOD", value_parser = weighted)]
    weighted_uncertainties: Option<WeightedUncertainties>,
    /// Write the covariance matrix to a JSON file (above 500 parameters it is not in the result)
    #[arg(long, help_heading = "Fit", value_name = "FILE")]
    covariance: Option<PathBuf>,
    #[command(flatten)]
    execution: ExecutionArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Draw pulls and constraints into a file; its extension is the format: svg, png or pdf
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Draw the correlation matrix
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    plot_correlation: Option<PathBuf>,
    /// Draw only parameters whose correlation with another parameter is at least X in size [default: 0 with up to 40
    /// parameters, otherwise what leaves 40]
    #[arg(long, help_heading = "Output", value_name = "X", requires = "plot_correlation",
          value_parser = threshold)]
    plot_threshold: Option<f64>,
    /// Draw the correlation matrix of the parameters of interest
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    plot_poi_correlation: Option<PathBuf>,
    /// Draw expected and observed events of all channels before the fit
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    plot_prefit: Option<PathBuf>,
    /// Draw expected and observed events of all channels after the fit
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    plot_postfit: Option<PathBuf>,
    /// Draw all channels with one bin for each, before and after the fit
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    plot_summary: Option<PathBuf>,
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    events: EventPlotArgs,
}

const PULLS: &str = "--plot";
const CORRELATION: &str = "--plot-correlation";
const POI_CORRELATION: &str = "--plot-poi-correlation";
const PREFIT: &str = "--plot-prefit";
const POSTFIT: &str = "--plot-postfit";
const SUMMARY: &str = "--plot-summary";

/// Parses the value of `--plot-threshold`, the size of a correlation.
fn threshold(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| format!("'{text}' is no correlation; expected a number between 0 and 1"))
}

/// Parses the value of `--derive`: a name and an expression.
fn derived(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').map(|(name, expression)| (name.trim(), expression.trim()));
    match parts {
        Some((name, expression)) if !name.is_empty() && !expression.is_empty() => {
            Ok((name.to_owned(), expression.to_owned()))
        }
        _ => Err(format!("'{text}' is no quantity; expected NAME = EXPRESSION")),
    }
}

/// Parses the value of `--weighted-uncertainties`.
fn weighted(text: &str) -> Result<WeightedUncertainties, String> {
    text.parse()
}

/// Contents of the file that `--covariance` names.
#[derive(Serialize)]
struct CovarianceFile<'a> {
    parameter_names: &'a [String],
    covariance: Vec<&'a [f64]>,
}

/// Runs the command. The result is written even if the fit does not converge. The command then ends with
/// [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, a likelihood that is not finite,
/// or a result that cannot be written.
pub(crate) fn run(args: &FitArgs) -> Result<Exit, CliError> {
    let started = Instant::now();
    let files = [
        ("--input", Some(file_of(&args.model.input))),
        ("--output", args.output.output.as_deref()),
        ("--covariance", args.covariance.as_deref()),
    ];
    distinct(files.into_iter().chain(pictures(args)))?;
    let output = Output::open(&args.output)?;
    let plots = plots(args)?;
    let covariance_file = args.covariance.as_deref().map(PendingFile::create).transpose()?;
    let execution = args.execution.execution();
    let model = load::model(&args.model, execution.device, args.data.needs_no_observations())?;
    if plots.wanted(POI_CORRELATION) && model.pois.len() < 2 {
        return Err(CliError::Usage(format!(
            "{POI_CORRELATION} needs at least two parameters of interest; name them with --poi NAME,NAME"
        )));
    }
    let is_drawn = plots.wanted(PREFIT) || plots.wanted(POSTFIT);
    args.events.check(
        &model,
        (is_drawn, plots.wanted(SUMMARY)),
        "--plot-prefit FILE or --plot-postfit FILE",
    )?;
    let options = options(args, &model, &plots)?;
    let Opened { session, reason } = open_session_for(&model, &execution, Work::Fit)?;
    if args.output.verbose {
        job::about(&model, session.as_ref(), reason.as_deref(), started);
    }
    let stop = interrupt::listen();
    let control = Control { observer: None, cancel: Some(stop), task: None };
    let mut result = fit(&model, session.as_ref(), &options, control)?;

    // An error here must not prevent the result from being written, so it is returned later.
    let covariance_written = match (covariance_file, &result.covariance) {
        (Some(file), Some(matrix)) => {
            let covariance = matrix.values.chunks(matrix.n.max(1)).collect();
            let content = CovarianceFile { parameter_names: &result.parameter_names, covariance };
            file.finish(&to_json(&content)?)
        }
        _ => Ok(()),
    };
    // Data tables need the covariance matrix, which is removed from the result if it is large.
    let tables = if args.output.format == Some(Format::Hepdata) { result.data_tables() } else { Vec::new() };
    let unwritten = result.take_large_covariance(args.covariance.as_deref());
    result.warnings.extend(plots.font_warning(&model));
    let ran = RunInfo::on(session.as_ref(), reason, started)
        .about(&model, model.digest())
        .blinded(options.data.blind());
    let parts = result.parts(&model, &ran);
    output.write_with(&Report { result: &result, ran, parts }, &result.warnings, || tables)?;
    covariance_written?;
    let exit = Exit::of(result.interrupted, result.converged);
    // The picture of the correlations needs the covariance matrix, which was removed from the result.
    result.covariance = result.covariance.or(unwritten);
    let fitted = AnyResult::Fit(Box::new(result.clone()));
    let before = || prefit_yields(&model, session.as_ref(), &options);
    let after = || postfit_yields(&model, session.as_ref(), &options, &result);
    plots.finish(exit, |asked| match asked.flag {
        PREFIT => args.events.draw(asked, Kind::Yields, before()?, None),
        POSTFIT => args.events.draw(asked, Kind::Yields, after()?, None),
        SUMMARY => args.events.draw(asked, Kind::Summary, after()?, Some(before()?)),
        CORRELATION => drawn(asked, Kind::Correlation.name(), &fitted),
        POI_CORRELATION => drawn(asked, Kind::PoiCorrelation.name(), &fitted),
        _ => drawn(asked, Kind::Pulls.name(), &fitted),
    })
}

/// Opens the files of all requested pictures.
fn plots(args: &FitArgs) -> Result<Plots, CliError> {
    let mut style = args.events.styled(args.style.style()?);
    style.threshold = args.plot_threshold.or(style.threshold);
    Plots::open_each(args.output.output.as_deref(), pictures(args), &[PREFIT, POSTFIT], style)
}

/// Returns the flag of each picture, with the file that the flag names; `None` if the flag was not given.
fn pictures(args: &FitArgs) -> [(&'static str, Option<&Path>); 6] {
    let files = [
        (PULLS, &args.plot),
        (CORRELATION, &args.plot_correlation),
        (POI_CORRELATION, &args.plot_poi_correlation),
        (PREFIT, &args.plot_prefit),
        (POSTFIT, &args.plot_postfit),
        (SUMMARY, &args.plot_summary),
    ];
    files.map(|(flag, path)| (flag, path.as_deref()))
}

/// Returns the options of the fit. The covariance is computed if the result, a file or a picture needs it.
fn options(args: &FitArgs, model: &Model, plots: &Plots) -> Result<FitOptions, CliError> {
    let covariance = args.covariance.is_some()
        || plots.wanted(CORRELATION)
        || model.parameters.len() <= MOST_WITH_COVARIANCE;
    let options = args.data.options(model)?.covariance(covariance);
    let mut options = options.weighted_uncertainties(args.weighted_uncertainties);
    for (name, expression) in &args.derive {
        options = options.derive(name, expression);
    }
    options = options.derived_profile(args.derive_profile);
    let named = |name: &str| model.parameter_index(name).and_then(|i| model.parameters.get(i));
    for name in load::parameters("--minos", &args.minos, model)? {
        // A pattern may match fixed parameters, which have no interval. One that is named is an error.
        let is_given = args.minos.iter().any(|list| list.split(',').any(|given| given.trim() == name));
        if is_given
            || !(named(&name).is_some_and(|p| p.fixed)
                || options.fixed.iter().any(|(known, _)| *known == name))
        {
            options = options.minos(name);
        }
    }
    Ok(options)
}
