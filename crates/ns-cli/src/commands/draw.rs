//! `nextstat draw`: draws the result of an analysis again, from its JSON.

use std::path::{Path, PathBuf};

use clap::Args;
use ns_inference::YieldsResult;
use ns_inference::picture::{Draw, Style};
use ns_inference::reread::{AnyResult, RereadError};
use ns_translate::Axes;
use ns_translate::build::{EffectRow, TemplateRow};
use serde::Deserialize;
use serde_json::Value;

use crate::effects;
use crate::error::{CliError, Exit};
use crate::load;
use crate::plot::{Drawn, Plots};
use crate::style::{Ends, read_style};

/// Flags of `draw`.
#[derive(Debug, Args)]
#[command(
    after_help = "The result tells what is drawn. --kind chooses among the pictures of fit (pulls, correlation, poi-correlation), \
    ranking (ranking, impacts, groups), yields (yields, summary) and build (pruning, templates; its report is the JSON that \
    `nextstat build --output FILE` prints)."
)]
pub(crate) struct DrawArgs {
    /// The JSON that a command wrote; `-` reads standard input
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// The picture; its extension is the format: svg, png or pdf. {channel} in the name of a file of yields stands for the name
    /// of each channel, which then has a picture of its own
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// What is drawn of a result that has several pictures: pulls, correlation, poi-correlation, ranking, impacts, groups,
    /// yields, summary, pruning, templates [default: the first that the result has]
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Yields before the fit, for the dashed line of a summary
    #[arg(long, value_name = "RESULT")]
    before: Option<PathBuf>,
    /// Titles, names, channels and parameters of the picture, in TOML
    #[arg(long, value_name = "FILE")]
    style: Option<PathBuf>,
    /// Title of the picture
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Subtitle of the picture
    #[arg(long, value_name = "TEXT")]
    subtitle: Option<String>,
    /// Draw events, CLs or toys on a logarithmic axis
    #[arg(long)]
    log: bool,
    /// Ends of the axis of ratios
    #[arg(long, value_name = "LOW:HIGH")]
    ratio: Option<Ends>,
    /// Draw only what has these names: parameters, channels of yields; names or patterns with * and ?; repeatable
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    include: Vec<String>,
    /// Draw nothing that has these names or patterns; repeatable
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    exclude: Vec<String>,
    /// Titles and bin edges of channels of yields, in TOML or JSON
    #[arg(long, value_name = "FILE")]
    axes: Option<PathBuf>,
    /// Labels of a grid, one or two [default: the labels that vary]
    #[arg(long, value_name = "LABEL[,LABEL]", value_delimiter = ',')]
    labels: Vec<String>,
}

const OUTPUT: &str = "--output";

/// The part of the report of `build` that is drawn.
#[derive(Deserialize)]
struct Effects {
    systematics: Vec<EffectRow>,
    #[serde(default)]
    templates: Vec<TemplateRow>,
}

/// A result that can be drawn.
enum Read {
    Analysis(Box<AnyResult>),
    Build(Effects),
}

impl Read {
    fn from_slice(json: &[u8]) -> Result<Self, String> {
        match serde_json::from_slice::<Value>(json) {
            Ok(value) if value.get("systematics").is_some() && value.get("config").is_some() => {
                serde_json::from_value(value).map(Self::Build).map_err(|error| {
                    format!("the report of build is not complete: {error}; write it again with this version")
                })
            }
            _ => {
                AnyResult::from_slice(json).map(|result| Self::Analysis(Box::new(result))).map_err(|error| {
                    match error {
                        RereadError::Unknown => {
                            format!("{error}, and so can the JSON that `nextstat build --output FILE` prints")
                        }
                        other => other.to_string(),
                    }
                })
            }
        }
    }
}

/// Runs the command.
///
/// # Errors
/// If a file cannot be read or written, if the result has no picture, or if a flag does not apply to it.
pub(crate) fn run(args: &DrawArgs) -> Result<Exit, CliError> {
    let file = [(OUTPUT, Some(args.output.as_path()))];
    let plots = Plots::open_each(None, file, &[OUTPUT], Style::default())?;
    let draw = Draw {
        kind: args.kind.clone().unwrap_or_default(),
        style: args.style()?,
        labels: args.labels.clone(),
        before: args.before.as_deref().map(earlier).transpose()?,
        blind: Vec::new(),
    };
    let json = load::read(&args.result)
        .map_err(|source| CliError::Workspace { origin: load::shown(&args.result), source })?;
    let usage = |why: String| CliError::Usage(format!("{}: {why}", load::shown(&args.result)));
    let result = Read::from_slice(&json).map_err(usage)?;
    plots.finish(Exit::Done, |asked| {
        let drawn = match &result {
            Read::Analysis(result) => asked.draw(result, draw.clone()),
            Read::Build(effects) => of_build(effects, &draw),
        };
        drawn.map_err(|error| match error {
            CliError::Usage(why) => usage(why),
            CliError::Undrawn { why, .. } => usage(why),
            other => other,
        })
    })
}

impl DrawArgs {
    /// The style of the picture: that of the file, with the flags.
    fn style(&self) -> Result<Style, CliError> {
        let mut style =
            self.style.as_deref().map(|path| read_style("--style", path)).transpose()?.unwrap_or_default();
        style.title = self.title.clone().or(style.title);
        style.subtitle = self.subtitle.clone().or(style.subtitle);
        style.log |= self.log;
        style.ratio = self.ratio.map(|ends| ends.0).or(style.ratio);
        style.include.extend_from_slice(&self.include);
        style.exclude.extend_from_slice(&self.exclude);
        if let Some(path) = &self.axes {
            let axes = Axes::read(path)
                .map_err(|source| CliError::Workspace { origin: load::shown(path), source })?;
            for (channel, given) in axes.channels() {
                let axis = style.axes.entry(channel.clone()).or_default();
                axis.title = given.title.clone().or(axis.title.take());
                axis.edges = given.edges.clone().unwrap_or_else(|| std::mem::take(&mut axis.edges));
            }
        }
        Ok(style)
    }
}

/// Reads the yields of `--before`.
fn earlier(path: &Path) -> Result<YieldsResult, CliError> {
    let usage = |why: String| CliError::Usage(format!("--before {}: {why}", load::shown(path)));
    let json =
        load::read(path).map_err(|source| CliError::Workspace { origin: load::shown(path), source })?;
    match AnyResult::from_slice(&json).map_err(|error| usage(error.to_string()))? {
        AnyResult::Yields(yields) => Ok(yields),
        _ => Err(usage("this is no result of `nextstat yields`".to_owned())),
    }
}

/// Draws a picture of the report of `build`.
fn of_build(report: &Effects, draw: &Draw) -> Result<Drawn, CliError> {
    let usage = |why: &str| CliError::Usage(why.to_owned());
    if !draw.labels.is_empty() {
        return Err(usage("labels are for results of grids (upper-limit --patchset)"));
    }
    if draw.before.is_some() {
        return Err(usage("yields before the fit are for the picture 'summary'"));
    }
    match draw.kind.as_str() {
        "" | "pruning" => effects::pruning_in(&draw.style, &report.systematics),
        "templates" => effects::templates_in(&draw.style, &report.systematics, &report.templates),
        kind => Err(usage(&format!("the result has no picture '{kind}'; it has pruning, templates"))),
    }
}
