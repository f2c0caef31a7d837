//! `nextstat build`: builds a workspace from a configuration file and the histograms or columns that it names.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ns_inference::report::{Part, Table};
use ns_translate::build::{
    Built, ConfigOptions, EffectRow, McConstraint, Part as Effect, Pruning, TemplateRow, build_config,
};
use ns_translate::pyhf::{Problem, to_text};
use serde::Serialize;

use crate::args::{Format, OutputArgs, real};
use crate::document;
use crate::effects;
use crate::error::{CliError, Exit};
use crate::output::{Output, complain};
use crate::plot::Plots;
use crate::style::StyleArgs;

/// A constraint of parameters for the statistics of simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Constraint {
    /// A normal distribution, as in pyhf
    Gaussian,
    /// A Poisson distribution, HistFactory's other choice
    Poisson,
}

/// Flags of `build`.
#[derive(Debug, Args)]
#[command(
    after_help = "With --output the workspace goes to the file, the titles and bin edges of its channels to NAME.axes.json \
    beside NAME.json, where the pictures of other commands find them, and the table of effects that were left out to standard \
    output. Without it the workspace goes to standard output, and what was left out to standard error. Ntuples are \
    trees of ROOT files, or Parquet files."
)]
pub(crate) struct BuildArgs {
    /// Configuration file of cabinetry (YAML) or of TRExFitter
    #[arg(value_name = "CONFIG")]
    config: PathBuf,
    /// Leave out every normalisation effect that is no larger than this relative amount (0.005: half a percent)
    #[arg(long, value_name = "X", value_parser = real)]
    norm_threshold: Option<f64>,
    /// Leave out every shape effect that changes no bin by more than this relative amount, once the change of the sum is
    /// divided out
    #[arg(long, value_name = "X", value_parser = real)]
    shape_threshold: Option<f64>,
    /// Give no parameter for the statistics of simulation to bins whose relative uncertainty is no larger than this
    #[arg(long, value_name = "X", value_parser = real)]
    mc_threshold: Option<f64>,
    /// Constraint of parameters for the statistics of simulation. poisson needs an HS3 model, which is then written
    /// [default: gaussian; for TRExFitter as its configuration says, poisson without it]
    #[arg(long, value_name = "KIND")]
    mc_constraint: Option<Constraint>,
    /// Write the workspace to a file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Draw the templates of all systematics into a file: nominal, up and down, before and after smoothing; its extension is
    /// the format: svg, png or pdf
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot_templates: Option<PathBuf>,
    /// Draw which effects of systematics on samples are in the workspace, and which were left out
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot_pruning: Option<PathBuf>,
    #[command(flatten)]
    style: StyleArgs,
    /// Format of the table, with --output: json, table, latex, markdown, csv [default: table on a terminal, json
    /// elsewhere]
    #[arg(
        long,
        value_name = "FORMAT",
        hide_possible_values = true,
        help_heading = "Output",
        requires = "output"
    )]
    format: Option<Format>,
    /// No report and no warnings on standard error
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

const TEMPLATES: &str = "--plot-templates";
const PRUNING: &str = "--plot-pruning";

/// The report in JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    config: String,
    workspace: String,
    systematics: &'a [EffectRow],
    templates: &'a [TemplateRow],
    warnings: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// If the configuration is not valid, a template cannot be read, or the workspace cannot be written.
pub(crate) fn run(args: &BuildArgs) -> Result<Exit, CliError> {
    let to = |output: Option<PathBuf>, format: Option<Format>| {
        Output::open(&OutputArgs { output, format, quiet: args.quiet, verbose: false })
    };
    let output = to(args.output.clone(), Some(Format::Json))?;
    let table = args.output.is_some().then(|| to(None, args.format)).transpose()?;
    let options = ConfigOptions {
        pruning: Pruning { normalisation: args.norm_threshold, shape: args.shape_threshold, large: None },
        mc_threshold: args.mc_threshold,
        mc_constraint: args.mc_constraint.map(|constraint| match constraint {
            Constraint::Gaussian => McConstraint::Gaussian,
            Constraint::Poisson => McConstraint::Poisson,
        }),
    };
    let files = [(TEMPLATES, args.plot_templates.as_deref()), (PRUNING, args.plot_pruning.as_deref())];
    let plots = Plots::open(args.output.as_deref(), files, args.style.style()?)?;
    let built = build_config(&args.config, options)?;
    let warnings: Vec<String> =
        built.warnings.iter().map(|warning| Problem::paragraph(warning).trim_end().to_owned()).collect();
    output.deliver(&to_text(&built.workspace)?)?;
    if let Some(path) = args.output.as_deref().filter(|path| path.is_file()) {
        document::write_axes(path, &built.axes)?;
    }
    match table {
        Some(table) => {
            let report = Report {
                config: args.config.display().to_string(),
                workspace: args.output.as_ref().map_or_else(String::new, |path| path.display().to_string()),
                systematics: &built.systematics,
                templates: &built.templates,
                warnings: warnings.clone(),
            };
            table.write_parts(&report, &warnings, &parts(&built))?;
        }
        None if args.quiet => {}
        None => {
            for warning in &warnings {
                complain("warning", warning);
            }
            for row in built.systematics.iter().filter(|row| row.is_pruned()) {
                let [norm, shape] = words(row);
                let place = format!("{}, sample {}, {}", row.channel, row.sample, row.systematic);
                complain("left out", &format!("{place}: normalisation {norm}; shape {shape}"));
            }
        }
    }
    plots.finish(Exit::Done, |asked| {
        let nothing = |what: &str| CliError::Undrawn {
            path: PathBuf::new(),
            why: format!("no systematic has {what}; leave {} out", asked.flag),
        };
        match asked.flag {
            PRUNING if built.systematics.is_empty() => Err(nothing("an effect")),
            TEMPLATES if built.templates.is_empty() => Err(nothing("templates")),
            PRUNING => effects::pruning_in(asked.style, &built.systematics),
            _ => effects::templates_in(asked.style, &built.systematics, &built.templates),
        }
    })
}

/// The table of effects that were left out.
fn parts(built: &Built) -> Vec<Part> {
    let pruned: Vec<&EffectRow> = built.systematics.iter().filter(|row| row.is_pruned()).collect();
    let all = built.systematics.len();
    let text = match pruned.len() {
        0 => format!("effects of systematics on samples: {all}, all of them in the workspace"),
        n => format!(
            "effects of systematics on samples: {all}, of which {n} are left out in part or as a whole"
        ),
    };
    let mut parts = vec![Part::Text(text)];
    if !pruned.is_empty() {
        let mut table = Table::new(&["channel", "sample", "systematic", "normalisation", "shape"], &[]);
        for row in pruned {
            let [norm, shape] = words(row);
            table.rows.push(vec![
                row.channel.clone(),
                row.sample.clone(),
                row.systematic.clone(),
                norm,
                shape,
            ]);
        }
        parts.push(Part::Table(table));
    }
    parts
}

/// Normalisation and shape of an effect in words.
fn words(row: &EffectRow) -> [String; 2] {
    [&row.normalisation, &row.shape].map(|part| part.as_ref().map_or_else(|| "none".to_owned(), effect))
}

fn effect(part: &Effect) -> String {
    let percent = |x: Option<f64>| {
        x.map_or_else(
            || "infinite".to_owned(),
            |x| {
                // Rounding errors have no sign.
                let x = if x.abs() < 5e-5 { 0.0 } else { x };
                format!("{:+.2} %", 100.0 * x)
            },
        )
    };
    let size = format!("{} / {}", percent(part.up), percent(part.down));
    match part.pruned {
        None => size,
        Some(reason) if part.up.is_none() && part.down.is_none() => reason.words().to_owned(),
        Some(reason) => format!("{size}, {}", reason.words()),
    }
}
