//! `nextstat simplify`: makes a simplified likelihood of the signal regions.

use std::path::PathBuf;

use clap::Args;
use ns_core::{Control, Covariance, Model, Session};
use ns_inference::report::to_json;
use ns_inference::simplify::{Compared, compare};
use ns_inference::{SimplifyOptions, SimplifyResult, open_session, simplify};
use ns_translate::pyhf::{ModelOptions, Workspace};

use crate::args::{ExecutionArgs, ModelArgs, OutputArgs, whole};
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::output::{PendingFile, distinct};
use crate::start::{self, StartPoint};

/// Flags of `simplify`.
#[derive(Debug, Args)]
#[command(
    after_help = "The background of each bin becomes a quadratic function of one normal parameter, with the mean, the \
    covariances and the third moment that the nuisance parameters of the full model give it. Use a fit that has not seen \
    the data of the signal regions: they are part of the simplified likelihood."
)]
pub(crate) struct SimplifyArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Channels to keep; repeatable [default: those on which the parameter of interest acts]
    #[arg(long, help_heading = "Simplified likelihood", value_name = "NAME", value_delimiter = ',')]
    regions: Vec<String>,
    /// Result of a fit of other channels, such as `nextstat fit --mask SR -o FILE`, whose values and covariance the nuisance
    /// parameters have [default: their values and constraints before any fit]
    #[arg(long, help_heading = "Simplified likelihood", value_name = "FILE")]
    at: Option<PathBuf>,
    /// Number of draws of the nuisance parameters
    #[arg(long, help_heading = "Simplified likelihood", value_name = "N", default_value_t = 50_000, value_parser = whole)]
    draws: u64,
    /// Leave the third moments out: the workspace then has histosys modifiers only, which pyhf reads
    #[arg(long, help_heading = "Simplified likelihood")]
    linear: bool,
    /// Write the simplified likelihood to this file, as a workspace
    #[arg(long, help_heading = "Simplified likelihood", value_name = "FILE")]
    save: PathBuf,
    /// Do not compare limits and best fits with those of the full model
    #[arg(long, help_heading = "Simplified likelihood")]
    no_validation: bool,
    #[command(flatten)]
    execution: ExecutionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command. If the moments are not known well enough, the command ends with [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, yields that are not linear in the parameter of interest, or a file that cannot be
/// read or written.
pub(crate) fn run(args: &SimplifyArgs) -> Result<Exit, CliError> {
    let run = RunArgs::without_fit(args.execution.clone(), args.output.clone());
    distinct([("--output", args.output.output.as_deref()), ("--save", Some(args.save.as_path()))])?;
    let file = PendingFile::create(&args.save)?;
    let options = SimplifyOptions::default()
        .channels(args.regions.clone())
        .n_draws(args.draws)
        .seed(args.execution.seed())
        .third_moments(!args.linear);
    let job = Job::open(&args.model, &run, options.work())?;
    let (point, covariance, notes) = starting_point(args, &job.model)?;
    let mut result = job.work("simplify", |model, session, control| {
        let mut made = simplify(model, session, (&point, &covariance), &options, control)?;
        if !args.no_validation {
            made.validation = compared(model, session, &made, control)?;
        }
        Ok::<_, CliError>(made)
    })?;
    result.warnings.extend(notes);
    file.finish(&to_json(&result.workspace)?)?;
    let converged = result.converged;
    job.finish(&result, &result.warnings, result.parts())?;
    Ok(Exit::of(false, converged))
}

/// Returns the values and the covariance of all parameters, with warnings about them.
fn starting_point(
    args: &SimplifyArgs,
    model: &Model,
) -> Result<(Vec<f64>, Covariance, Vec<String>), CliError> {
    let Some(path) = &args.at else {
        let carried =
            ns_inference::Extrapolated::new(model, &[], &[], Some(&Covariance { n: 0, values: Vec::new() }))?;
        return Ok((
            carried.parameters,
            carried.covariance.unwrap_or(Covariance { n: 0, values: Vec::new() }),
            Vec::new(),
        ));
    };
    match start::read_point(path, model)? {
        StartPoint::Fit(fit) => {
            let notes = fit.warnings(model);
            let without = || {
                CliError::Usage(format!(
                    "{}: the fit has no covariance; make it with `nextstat fit --covariance`",
                    path.display()
                ))
            };
            Ok((fit.parameters, fit.covariance.ok_or_else(without)?, notes))
        }
        StartPoint::Values(_) => Err(CliError::Usage(format!(
            "{}: it has values without a covariance; give the result of `nextstat fit`",
            path.display()
        ))),
    }
}

/// Compares best fits and limits of the full and of the simplified model.
fn compared(
    full: &Model,
    session: &dyn Session,
    made: &SimplifyResult,
    control: Control<'_>,
) -> Result<Vec<Compared>, CliError> {
    let origin = "the simplified likelihood".to_owned();
    let bytes = to_json(&made.workspace)?;
    let model = Workspace::from_slice(&bytes)
        .and_then(|workspace| workspace.model(&ModelOptions::default()))
        .map_err(|source| CliError::Workspace { origin, source })?;
    let simple = open_session(&model, &ns_core::Execution { threads: 1, ..ns_core::Execution::default() })?;
    Ok(compare([(full, session), (&model, simple.as_ref())], &made.param, control)?)
}
