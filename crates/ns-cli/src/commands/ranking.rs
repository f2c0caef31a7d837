//! `nextstat ranking`: impact of every nuisance parameter on the parameter of interest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use comfy_table::Table;
use ns_inference::ranking::{group_rows, ranking_rows, ranking_summary};
use ns_inference::{Group, Impact, RankingOptions, RankingResult, Work, picture, ranking};
use ns_viz::Ranking;

use crate::args::{ExecutionArgs, ModelArgs, OutputArgs};
use crate::data_args::DataArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::plot::PlotArgs;
use crate::table;

/// Flags of `ranking`.
#[derive(Debug, Args)]
pub(crate) struct RankingArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Definitions of the impact: refit (parameter moved by its uncertainty, everything refitted),
    /// covariance, global (auxiliary datum moved by its width); the first one sorts
    #[arg(
        long,
        help_heading = "Ranking",
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "refit"
    )]
    impact: Vec<Impact>,
    /// Pre-fit impacts too
    #[arg(long, help_heading = "Ranking")]
    prefit: bool,
    /// Keep the N parameters of largest impact [default: all; 30 in a picture]
    #[arg(long, help_heading = "Ranking", value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Impact of groups of parameters, from a JSON object of group names and lists of parameter names or
    /// patterns (* and ?)
    #[arg(long, help_heading = "Ranking", value_name = "FILE")]
    group: Option<PathBuf>,
    /// Rank by the impact on this parameter [default: the parameter of interest]
    #[arg(long, help_heading = "Ranking", value_name = "NAME")]
    param: Option<String>,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    execution: ExecutionArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Parameters in the picture of a ranking without `--top`.
const DRAWN: usize = 30;

/// Runs the command. An interrupted ranking is written with the impacts that were finished; one whose best
/// fit did not converge, or all of whose variations failed, ends in [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag or group file, an invalid workspace, a device that is not there, a likelihood that is
/// not finite, or a result that cannot be written.
pub(crate) fn run(args: &RankingArgs) -> Result<Exit, CliError> {
    let plots = args.plot.open(args.output.output.as_deref())?;
    let groups = args.group.as_deref().map(read_groups).transpose()?.unwrap_or_default();
    // The covariance needs no further fits.
    let refitted = args.impact.iter().filter(|impact| **impact != Impact::Covariance).count() as u64;
    let work = Work::Ranking { per_parameter: refitted * if args.prefit { 4 } else { 2 } };
    let job = Job::open(&args.model, &args.execution, &args.output, work)?;
    let mut options = RankingOptions::default()
        .fit(args.data.options(&job.model)?)
        .impacts(args.impact.iter().copied())
        .prefit(args.prefit);
    let top = args.top.map(|n| n as usize);
    options.top = top;
    options.parameter.clone_from(&args.param);
    options.groups = groups;
    let mut result =
        job.work("ranking", |model, session, control| ranking(model, session, &options, control))?;
    result.warnings.extend(plots.font_warning(&job.model));
    let without_any =
        !result.ranking.is_empty() && result.ranking.iter().all(|e| e.impacts.largest().is_none());
    let exit = match result.interrupted {
        true => Exit::Interrupted,
        false if result.converged && !without_any => Exit::Done,
        false => Exit::Failed,
    };
    job.finish(&result, &result.warnings, |_| report(&result))?;
    plots.finish(exit, |_| {
        let max_rows = Some(top.unwrap_or(DRAWN));
        Ok(Ranking { max_rows, ..picture::ranking(&result) }.draw()?)
    })
}

/// Reads a group file.
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

/// The ranking as tables.
fn report(result: &RankingResult) -> String {
    let (header, rows) = ranking_rows(result);
    let whole = lay_out(&header, rows);
    let mut parts = match result.impacts.len() {
        0 | 1 if table::fits(&whole) => vec![table::text(&whole)],
        _ => blocks(result),
    };
    if !result.groups.is_empty() {
        let (header, rows) = group_rows(result);
        parts.push(table::text(&lay_out(&header, rows)));
    }
    parts.push(ranking_summary(result));
    parts.join("\n")
}

/// Columns before the impacts: name, pull, constraint.
const BEFORE: usize = 3;

/// The parameters themselves, then the impacts by each definition, with the notes where they belong.
fn blocks(result: &RankingResult) -> Vec<String> {
    let of_impact = |note: &&str| matches!(*note, "clipped" | "failed");
    let keep = |cells: &[String], columns: &[usize], note: &dyn Fn(&&str) -> bool| -> Vec<String> {
        let notes: Vec<&str> = cells.last().map_or("", String::as_str).split(", ").filter(note).collect();
        columns.iter().filter_map(|c| cells.get(*c).cloned()).chain([notes.join(", ")]).collect()
    };
    let (header, rows) = ranking_rows(result);
    let state = |cells: &[String]| keep(cells, &[0, 1, 2], &|note| !of_impact(note));
    let parameters = lay_out(&state(&header), rows.iter().map(|row| state(row)).collect());
    let mut parts = vec![table::text(&parameters)];
    for definition in &result.impacts {
        let mut only = result.clone();
        only.impacts.retain(|other| other == definition);
        for entry in &mut only.ranking {
            for (name, impacts) in [
                ("refit", &mut entry.refit),
                ("covariance", &mut entry.covariance),
                ("global", &mut entry.global),
            ] {
                impacts.take_if(|_| name != *definition);
            }
        }
        let (mut header, rows) = ranking_rows(&only);
        for text in &mut header {
            *text = text.replace("impact ", "");
        }
        let columns: Vec<usize> = std::iter::once(0).chain(BEFORE..header.len().saturating_sub(1)).collect();
        let impact = |cells: &[String]| keep(cells, &columns, &of_impact);
        let impacts = lay_out(&impact(&header), rows.iter().map(|row| impact(row)).collect());
        parts.push(format!("impact by {definition}\n{}", table::text(&impacts)));
    }
    parts
}

/// A table with names to the left and numbers to the right.
fn lay_out(header: &[String], rows: Vec<Vec<String>>) -> Table {
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let numbers: Vec<usize> =
        (1..header.len()).filter(|c| header.get(*c).is_some_and(|h| !h.is_empty())).collect();
    let mut t = table::table(&header, &numbers);
    for row in rows {
        t.add_row(row);
    }
    t
}
