//! `nextstat prune`: removes parts of a workspace.

use std::path::PathBuf;

use clap::Args;
use ns_inference::picture::Style;
use ns_translate::pyhf::{Operation, Prune};

use crate::args::real;
use crate::document::{self, DocumentArgs};
use crate::effects;
use crate::error::{CliError, Exit};
use crate::plot::Plots;

/// Flags of `prune`.
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Workspace file in pyhf's JSON; `-` reads standard input
    #[arg(short, long, value_name = "FILE")]
    input: PathBuf,
    /// Remove a channel and its observation; repeatable
    #[arg(long, value_name = "NAME")]
    channel: Vec<String>,
    /// Remove a sample from every channel; repeatable
    #[arg(long, value_name = "NAME")]
    sample: Vec<String>,
    /// Remove all modifiers of this name and their settings; repeatable
    #[arg(long, value_name = "NAME")]
    modifier: Vec<String>,
    /// Remove all modifiers of this type, such as staterror; repeatable
    #[arg(long, value_name = "TYPE")]
    modifier_type: Vec<String>,
    /// Remove a measurement; repeatable
    #[arg(long, value_name = "NAME")]
    measurement: Vec<String>,
    /// Remove every normsys that changes its sample by no more than this relative amount
    /// (0.005: half a percent)
    #[arg(long, value_name = "X", value_parser = real)]
    norm_threshold: Option<f64>,
    /// Remove every histosys that changes the sum of its sample by no more than the norm threshold and,
    /// after that change is divided out, changes no bin by more than this relative amount
    #[arg(long, value_name = "X", value_parser = real)]
    shape_threshold: Option<f64>,
    /// Draw which effects of systematics on samples are left, and which were removed; its extension is the format: svg, png
    /// or pdf
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot_pruning: Option<PathBuf>,
    #[command(flatten)]
    output: DocumentArgs,
}

/// Runs the command.
///
/// # Errors
/// If the workspace cannot be read, a name is not in it, the remaining workspace would be invalid, or the
/// result cannot be written.
pub(crate) fn run(args: &PruneArgs) -> Result<Exit, CliError> {
    let output = args.output.open()?;
    let plots = Plots::open(
        args.output.path(),
        [("--plot-pruning", args.plot_pruning.as_deref())],
        Style::default(),
    )?;
    let (workspace, axes) = document::read(&args.input)?;
    let prune = Prune {
        channels: args.channel.clone(),
        samples: args.sample.clone(),
        modifiers: args.modifier.clone(),
        modifier_types: args.modifier_type.clone(),
        measurements: args.measurement.clone(),
        norm_threshold: args.norm_threshold,
        shape_threshold: args.shape_threshold,
    };
    let edited = workspace.prune(&prune).map_err(|source| document::failed(&args.input, source))?;
    args.output.tell(Operation::Prune, &edited);
    let axes = axes.only(&edited.workspace.channel_names());
    document::write(&args.output, output, &edited.workspace, (&axes, args.input.as_path()))?;
    plots.finish(Exit::Done, |asked| {
        let effects = workspace.effects_kept(&edited.workspace);
        if effects.is_empty() {
            return Err(CliError::Usage(format!(
                "no sample has a normsys or a histosys, so that {} has nothing to draw; leave it out",
                asked.flag
            )));
        }
        Ok(effects::left(&effects).draw()?.into())
    })
}
