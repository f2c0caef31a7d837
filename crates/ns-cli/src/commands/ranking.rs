//! `nextstat ranking`: computes the impact of every nuisance parameter on the parameter of interest.

use std::path::{Path, PathBuf};

use clap::Args;
use ns_inference::picture::{Draw, Kind};
use ns_inference::reread::AnyResult;
use ns_inference::{Group, Impact, RankingOptions, RankingResult, rankings, report};

use crate::args::ModelArgs;
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::plot::{PlotArgs, Plots};

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
    /// Also find the impact of groups of parameters, each alone and held one after another in the order of the file; the
    /// file is a JSON object of group names and lists of parameter names or patterns (* and ?)
    #[arg(long, help_heading = "Ranking", value_name = "FILE")]
    group: Option<PathBuf>,
    /// Rank by the impact on this parameter [default: each parameter of interest]
    #[arg(long, help_heading = "Ranking", value_name = "NAME")]
    param: Option<String>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    plot: PlotArgs,
    /// Draw numbered pages of pulls and impacts, 30 parameters each; a PDF has them as pages
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    plot_impacts: Option<PathBuf>,
    /// Draw the impacts of the groups
    #[arg(long, help_heading = "Output", value_name = "FILE", requires = "group")]
    plot_groups: Option<PathBuf>,
}

const IMPACTS: &str = "--plot-impacts";
const GROUPS: &str = "--plot-groups";

/// Runs the command. An interrupted ranking is written with the impacts that were finished. If the best fit
/// did not converge, or none of the ranked parameters has an impact, the command ends with [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag or group file, an invalid workspace, a device that is not available, a likelihood that is
/// not finite, or a result that cannot be written.
pub(crate) fn run(args: &RankingArgs) -> Result<Exit, CliError> {
    let files = [
        ("--plot", args.plot.path()),
        (IMPACTS, args.plot_impacts.as_deref()),
        (GROUPS, args.plot_groups.as_deref()),
    ];
    let plots = Plots::open(args.run.output.output.as_deref(), files, args.plot.style()?)?;
    let groups = args.group.as_deref().map(read_groups).transpose()?.unwrap_or_default();
    let mut options = RankingOptions::default().impacts(args.impact.iter().copied()).prefit(args.prefit);
    let top = args.top.map(|n| n as usize);
    options.top = top;
    options.parameter.clone_from(&args.param);
    options.groups = groups;
    let job = Job::open(&args.model, &args.run, options.work())?;
    let options = options.fit(args.run.data.options(&job.model)?);
    if options.parameter.is_none() && (args.plot_impacts.is_some() || args.plot_groups.is_some()) {
        plots.only_one(&job)?;
    }
    let mut results =
        job.work("ranking", |model, session, control| rankings(model, session, &options, control))?;
    for result in &mut results {
        result.warnings.extend(plots.font_warning(&job.model));
    }
    let without_any = |result: &RankingResult| {
        !result.ranking.is_empty() && result.ranking.iter().all(|e| e.impacts.largest().is_none())
    };
    let interrupted = results.iter().any(|result| result.interrupted);
    let complete = results.iter().all(|result| result.converged && !without_any(result));
    let exit = Exit::of(interrupted, complete);
    match results.as_slice() {
        [result] => job.finish(result, &result.warnings, result.parts())?,
        several => job.finish_several(
            several,
            |result| &result.warnings,
            report::joint_ranking(several),
            |_| Vec::new(),
        )?,
    }
    let result = match results.as_slice() {
        [result] => AnyResult::Ranking(result.clone()),
        several => AnyResult::PerPoi {
            pois: Vec::new(),
            results: several.iter().cloned().map(AnyResult::Ranking).collect(),
        },
    };
    plots.finish(exit, |asked| {
        let kind = match asked.flag {
            GROUPS => Kind::Groups.name(),
            IMPACTS => Kind::Impacts.name(),
            _ => "",
        };
        let mut style = asked.style.clone();
        style.max_rows = top.or(style.max_rows);
        asked.draw(&result, Draw { kind: kind.to_owned(), style, ..Draw::default() })
    })
}

/// Reads the file of `--group`.
fn read_groups(path: &Path) -> Result<Vec<Group>, CliError> {
    let usage = |why: String| CliError::Usage(format!("groups {}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| usage(format!("cannot be read: {error}")))?;
    Group::read_all(&bytes).map_err(|error| {
        usage(format!(
            "expected an object of group names and lists of parameter names, \
             for example {{\"jets\": [\"JES_*\", \"JER\"]}}: {error}"
        ))
    })
}
