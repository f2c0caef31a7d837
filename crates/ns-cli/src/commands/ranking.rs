//! `nextstat ranking`: computes the impact of every nuisance parameter on the parameter of interest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use ns_inference::{Group, Impact, RankingOptions, picture, ranking};
use ns_viz::Ranking;

use crate::args::ModelArgs;
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::plot::PlotArgs;

/// Flags of `ranking`.
#[derive(Debug, Args)]
pub(crate) struct RankingArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Definitions of the impact: refit (parameter moved by its uncertainty and fixed, all others refitted),
    /// covariance, global (auxiliary datum moved by its width); the first definition gives the order
    #[arg(
        long,
        help_heading = "Ranking",
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "refit"
    )]
    impact: Vec<Impact>,
    /// Also find the pre-fit impacts
    #[arg(long, help_heading = "Ranking")]
    prefit: bool,
    /// Keep only the N parameters of largest impact [default: all; 30 in a picture]
    #[arg(long, help_heading = "Ranking", value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Also find the impact of groups of parameters; the file is a JSON object of group names and lists of
    /// parameter names or patterns (* and ?)
    #[arg(long, help_heading = "Ranking", value_name = "FILE")]
    group: Option<PathBuf>,
    /// Rank by the impact on this parameter [default: the parameter of interest]
    #[arg(long, help_heading = "Ranking", value_name = "NAME")]
    param: Option<String>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Runs the command. An interrupted ranking is written with the impacts that were finished. If the best fit
/// did not converge, or none of the ranked parameters has an impact, the command ends with [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag or group file, an invalid workspace, a device that is not available, a likelihood that is
/// not finite, or a result that cannot be written.
pub(crate) fn run(args: &RankingArgs) -> Result<Exit, CliError> {
    let plots = args.plot.open(args.run.output.output.as_deref())?;
    let groups = args.group.as_deref().map(read_groups).transpose()?.unwrap_or_default();
    let mut options = RankingOptions::default().impacts(args.impact.iter().copied()).prefit(args.prefit);
    let top = args.top.map(|n| n as usize);
    options.top = top;
    options.parameter.clone_from(&args.param);
    options.groups = groups;
    let job = Job::open(&args.model, &args.run, options.work())?;
    let options = options.fit(args.run.data.options(&job.model)?);
    let mut result =
        job.work("ranking", |model, session, control| ranking(model, session, &options, control))?;
    result.warnings.extend(plots.font_warning(&job.model));
    let without_any =
        !result.ranking.is_empty() && result.ranking.iter().all(|e| e.impacts.largest().is_none());
    let exit = Exit::of(result.interrupted, result.converged && !without_any);
    job.finish(&result, &result.warnings, result.parts())?;
    plots.finish(exit, |_| {
        let max_rows = Some(top.unwrap_or(picture::MOST_RANKED));
        Ok(Ranking { max_rows, ..picture::ranking(&result) }.draw()?)
    })
}

/// Reads the file of `--group`.
fn read_groups(path: &Path) -> Result<Vec<Group>, CliError> {
    let usage = |why: String| CliError::Usage(format!("groups {}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| usage(format!("cannot be read: {error}")))?;
    let groups: BTreeMap<String, Vec<String>> = serde_json::from_slice(&bytes).map_err(|error| {
        usage(format!(
            "expected an object of group names and lists of parameter names, \
             for example {{\"jets\": [\"JES_*\", \"JER\"]}}: {error}"
        ))
    })?;
    Ok(groups.into_iter().map(|(name, members)| Group::new(name, members)).collect())
}
