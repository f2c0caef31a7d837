//! `nextstat sample`: samples the posterior of all free parameters.

use std::path::PathBuf;

use clap::Args;
use ns_inference::posterior::{Prior, sampled, write_draws};
use ns_inference::{PosteriorOptions, parameter_index, picture, sample};

use crate::args::{ModelArgs, real, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::load;
use crate::output::{PendingFile, distinct};
use crate::plot::PlotArgs;
use crate::style::unfit;

/// Flags of `sample`.
#[derive(Debug, Args)]
#[command(
    after_help = "The prior of a constrained parameter is its constraint term, that of a free parameter is flat within \
    its bounds unless --prior gives another. The result converged if R-hat is at most 1.01 and the effective numbers of draws are at least 100 per \
    chain for all parameters."
)]
pub(crate) struct SampleArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Prior of a free parameter: normal(mean, sd), lognormal(median, sigma), gamma(shape, scale), exponential(mean) or inverse;
    /// repeatable [default: flat within the bounds]
    #[arg(long, help_heading = "Chains", value_name = "NAME=PRIOR", value_parser = prior)]
    prior: Vec<(String, Prior)>,
    /// Number of independent chains
    #[arg(long, help_heading = "Chains", value_name = "N", default_value_t = 4, value_parser = whole)]
    chains: u64,
    /// Number of draws of each chain that are kept
    #[arg(long, help_heading = "Chains", value_name = "N", default_value_t = 1000, value_parser = whole)]
    draws: u64,
    /// Number of draws of each chain before, which adapt the step size
    #[arg(long, help_heading = "Chains", value_name = "N", default_value_t = 500, value_parser = whole)]
    tune: u64,
    /// Probability of the credible intervals and of the upper limits
    #[arg(long, help_heading = "Chains", value_name = "CL", default_value_t = 0.95, value_parser = real)]
    cl: f64,
    /// Save all draws in a Parquet file, one row per draw and one column per parameter
    #[arg(long, help_heading = "Chains", value_name = "FILE")]
    save: Option<PathBuf>,
    /// Parameters of the picture: names, or patterns with * and ?; repeatable [default: the parameters of interest and those
    /// that are most correlated with the first one, five in all]
    #[arg(long, help_heading = "Output", value_name = "NAME,...", requires = "plot")]
    plot_params: Vec<String>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Runs the command. If the chains do not agree, or are too short, the command ends with [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a likelihood that is not finite, or a result that cannot be written.
pub(crate) fn run(args: &SampleArgs) -> Result<Exit, CliError> {
    let result_file = args.run.output.output.as_deref();
    let plots = args.plot.open(result_file)?;
    distinct([("--output", result_file), ("--plot", args.plot.path()), ("--save", args.save.as_deref())])?;
    let file = args.save.as_ref().map(|path| PendingFile::create(path)).transpose()?;
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let options = PosteriorOptions::default()
        .priors(args.prior.iter().cloned().collect())
        .chains(number(args.chains))
        .draws(number(args.draws))
        .tune(number(args.tune))
        .cl(args.cl)
        .seed(args.run.execution.seed())
        .threads(args.run.execution.execution().threads);
    let job = Job::open(&args.model, &args.run, options.work())?;
    let options = options.fit(args.run.data.options(&job.model)?);
    for name in load::parameters("--plot-params", &args.plot_params, &job.model)? {
        parameter_index(&job.model, &name)?;
    }
    let known: Vec<&str> = job.model.parameters.iter().map(|p| p.name.as_str()).collect();
    let shown =
        picture::corner_names(&load::names(&args.plot_params, &known), &sampled(&job.model, &options));
    let shown = shown.map_err(|error| CliError::Usage(format!("--plot-params: {error}")))?;
    let mut result =
        job.work("sample", |model, session, control| sample(model, session, &options, control))?;
    if let (Some(file), Some(path)) = (file, &args.save) {
        let failed = |error| CliError::Write { path: path.clone(), source: std::io::Error::other(error) };
        file.finish(&write_draws(&result, Vec::new()).map_err(failed)?)?;
    }
    result.warnings.extend(plots.font_warning(&job.model));
    job.finish(&result, &result.warnings, result.parts())?;
    plots.finish(Exit::of(result.interrupted, result.converged), |asked| {
        let corner = picture::corner(&result.draws, &result.pois, result.cl, &shown);
        let corner = corner.map_err(|error| CliError::Usage(format!("--plot-params: {error}")))?;
        Ok(asked.style.applied(corner).map_err(|error| unfit(&error))?.draw()?.into())
    })
}

/// Reads the argument of `--prior`.
fn prior(text: &str) -> Result<(String, Prior), String> {
    let (name, prior) = text
        .split_once('=')
        .ok_or_else(|| format!("'{text}' has no '='; write NAME=PRIOR, for example mu=normal(1, 0.5)"))?;
    Ok((name.trim().to_owned(), prior.parse()?))
}
