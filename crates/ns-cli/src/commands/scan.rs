//! `nextstat scan`: profile likelihood in one or two parameters.

use clap::Args;
use ns_inference::present::significant;
use ns_inference::scan::SecondAxis;
use ns_inference::{ScanAxis, ScanOptions, ScanResult, Work, picture, scan};

use crate::args::{ExecutionArgs, ModelArgs, OutputArgs, real};
use crate::data_args::DataArgs;
use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::plot::PlotArgs;
use crate::table;

/// Flags of `scan`.
#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Parameter to scan [default: the parameter of interest]
    #[arg(long, help_heading = "Scan", value_name = "NAME")]
    param: Option<String>,
    /// First value [default: 3 uncertainties below the best fit (2.5 in two parameters), or the bound]
    #[arg(long, help_heading = "Scan", value_name = "V", allow_negative_numbers = true, value_parser = real)]
    start: Option<f64>,
    /// Last value [default: as many uncertainties above]
    #[arg(long, help_heading = "Scan", value_name = "V", allow_negative_numbers = true, value_parser = real)]
    stop: Option<f64>,
    /// Number of equidistant values
    #[arg(long, help_heading = "Scan", value_name = "N", default_value_t = 21,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    points: u32,
    /// Second parameter, for a scan in two
    #[arg(long, help_heading = "Scan", value_name = "NAME")]
    param2: Option<String>,
    /// First value of the second parameter
    #[arg(long, help_heading = "Scan", value_name = "V", allow_negative_numbers = true, requires = "param2")]
    start2: Option<f64>,
    /// Last value of the second parameter
    #[arg(long, help_heading = "Scan", value_name = "V", allow_negative_numbers = true, requires = "param2")]
    stop2: Option<f64>,
    /// Number of values of the second parameter [default: 21]
    #[arg(long, help_heading = "Scan", value_name = "N", requires = "param2",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    points2: Option<u32>,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    execution: ExecutionArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Runs the command. An interrupted scan is written with the points that were finished; one whose best fit
/// or all of whose points did not converge ends in [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not there, a likelihood that is not finite, or a
/// result that cannot be written.
pub(crate) fn run(args: &ScanArgs) -> Result<Exit, CliError> {
    let plots = args.plot.open(args.output.output.as_deref())?;
    let second = args.param2.as_ref().map_or(1, |_| args.points2.unwrap_or(21));
    let work = Work::Scan { points: u64::from(args.points) * u64::from(second) };
    let job = Job::open(&args.model, &args.execution, &args.output, work)?;
    let axis = args.param.as_ref().map_or_else(ScanAxis::default, ScanAxis::param);
    let axis = axis.range(args.start, args.stop).points(args.points as usize);
    let mut options = ScanOptions::new(axis).fit(args.data.options(&job.model)?);
    if let Some(name) = &args.param2 {
        let points = args.points2.unwrap_or(21) as usize;
        let second = ScanAxis::param(name).range(args.start2, args.stop2).points(points);
        options = options.second(second);
    }
    let mut result = job.work("scan", |model, session, control| scan(model, session, &options, control))?;
    result.warnings.extend(plots.font_warning(&job.model));
    let exit = match (result.interrupted, result.usable()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Failed,
    };
    job.finish(&result, &result.warnings, |_| report(&result))?;
    plots.finish(exit, |_| Ok(picture::scan(&result).draw()?))
}

/// The scan as tables.
fn report(result: &ScanResult) -> String {
    let best = |name: &str, value: f64, sigma: Option<f64>| match sigma {
        Some(sigma) => format!("{name} = {}", ns_inference::present::measurement(value, sigma)),
        None => format!("{name} = {}", significant(value)),
    };
    let first = best(&result.param, result.mu_hat, result.uncertainty);
    let (points, mut lines) = match &result.second {
        None => {
            (line(result), vec![format!("best fit {first}, twice_nll {}", significant(result.twice_nll))])
        }
        Some(second) => {
            let second_best = best(&second.param, second.mu_hat, second.uncertainty);
            let twice_nll = significant(result.twice_nll);
            (plane(result, second), vec![format!("best fit {first}, {second_best}, twice_nll {twice_nll}")])
        }
    };
    for interval in &result.intervals {
        lines.push(format!(
            "twice_delta_nll = {} ({:.1} %): {} to {}",
            interval.level,
            100.0 * interval.confidence_level,
            number(interval.lower),
            number(interval.upper),
        ));
    }
    let converged = result.converged.iter().filter(|c| **c).count();
    lines.push(format!("{converged} of {} converged", table::count(result.converged.len(), "point")));
    format!("{points}\n{}", lines.join("\n"))
}

fn number(x: Option<f64>) -> String {
    x.map_or_else(|| "none".to_owned(), significant)
}

/// One row per point.
fn line(result: &ScanResult) -> String {
    let mut t = table::table(&[&result.param, "twice_delta_nll", "q_mu", ""], &[0, 1, 2]);
    let values = result.twice_delta_nll.iter().zip(&result.q_mu_values).zip(&result.converged);
    for (x, ((delta, q), converged)) in result.mu_values.iter().zip(values) {
        let note = match (delta, converged) {
            (None, _) => "no value",
            (_, false) => "not converged",
            _ => "",
        };
        t.add_row(vec![significant(*x), number(*delta), number(*q), note.to_owned()]);
    }
    table::text(&t)
}

/// One row per value of the second parameter, in as many blocks of columns as the width asks for.
fn plane(result: &ScanResult, second: &SecondAxis) -> String {
    let corner = format!("{} \\ {}", second.param, result.param);
    let delta = |x: &Option<f64>| x.map_or_else(|| "none".to_owned(), |x| format!("{x:.3}"));
    let values: Vec<String> = result.mu_values.iter().map(|x| significant(*x)).collect();
    let rows: Vec<(String, Vec<String>)> = second
        .mu_values
        .iter()
        .zip(result.twice_delta_nll.chunks(result.row_length()))
        .map(|(y, row)| (significant(*y), row.iter().map(delta).collect()))
        .collect();
    // Three blanks between columns.
    let widest = |cells: &[String]| cells.iter().map(|cell| cell.chars().count() + 3).max().unwrap_or(0);
    let names = rows.iter().map(|(y, _)| y.chars().count()).chain([corner.chars().count()]).max();
    let cell = rows.iter().map(|(_, cells)| widest(cells)).chain([widest(&values), 1]).max().unwrap_or(1);
    let per_block = (table::width().saturating_sub(names.unwrap_or(0) + 2) / cell).max(1);
    let blocks = values.chunks(per_block).enumerate().map(|(i, values)| {
        let header: Vec<&str> =
            std::iter::once(corner.as_str()).chain(values.iter().map(String::as_str)).collect();
        let mut t = table::table(&header, &(0..header.len()).collect::<Vec<_>>());
        for (y, cells) in &rows {
            let cells = cells.iter().skip(i * per_block).take(per_block);
            t.add_row(std::iter::once(y).chain(cells));
        }
        table::text(&t)
    });
    format!("twice_delta_nll\n{}", blocks.collect::<Vec<_>>().join("\n"))
}
