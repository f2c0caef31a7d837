//! `nextstat draw`: draws the result of an analysis again, from its JSON.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ns_inference::RankingResult;
use ns_inference::picture::{self, GridPicture, Scanned};
use ns_inference::reread::AnyResult;
use ns_viz::{Drawing, JointRanking, Limit, Ranking, Yields};

use crate::error::{CliError, Exit};
use crate::load;
use crate::plot::Plots;
use crate::style::Style;

/// Flags of `draw`.
#[derive(Debug, Args)]
#[command(
    after_help = "The result tells what is drawn: pulls or correlations of fit, scan, upper-limit with a scan, grids, ranking, \
    yields. Pictures of toys and curves of single events are not in results: the commands that make them draw them."
)]
pub(crate) struct DrawArgs {
    /// The JSON that a command wrote; `-` reads standard input
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// The picture; its extension is the format: svg, png or pdf
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// What is drawn of a fit [default: pulls]
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Option<FitKind>,
    /// Titles, names, channels and parameters of the picture, in TOML
    #[arg(long, value_name = "FILE")]
    style: Option<PathBuf>,
    /// Title of the picture
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Subtitle of the picture
    #[arg(long, value_name = "TEXT")]
    subtitle: Option<String>,
    /// Draw events or CLs on a logarithmic axis
    #[arg(long)]
    log: bool,
    /// Labels of a grid, one or two [default: the labels that vary]
    #[arg(long, value_name = "LABEL[,LABEL]", value_delimiter = ',')]
    labels: Vec<String>,
}

/// Pictures of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FitKind {
    /// Pulls and constraints.
    Pulls,
    /// Correlations of parameters.
    Correlation,
    /// Correlations of the parameters of interest.
    PoiCorrelation,
}

/// Runs the command.
///
/// # Errors
/// If a file cannot be read or written, if the result has no picture, or if a flag does not apply to it.
pub(crate) fn run(args: &DrawArgs) -> Result<Exit, CliError> {
    let plots = Plots::open(None, [("--output", Some(args.output.as_path()))])?;
    let style = args.style()?;
    let json = load::read(&args.result)
        .map_err(|source| CliError::Workspace { origin: load::shown(&args.result), source })?;
    let usage = |why: String| CliError::Usage(format!("{}: {why}", load::shown(&args.result)));
    let result = AnyResult::from_slice(&json).map_err(|error| usage(error.to_string()))?;
    if args.kind.is_some() && !matches!(result, AnyResult::Fit(_)) {
        return Err(usage("--kind is for results of fits".to_owned()));
    }
    if !args.labels.is_empty() && !matches!(result, AnyResult::Grid(_)) {
        return Err(usage("--labels is for results of grids (upper-limit --patchset)".to_owned()));
    }
    plots.finish(Exit::Done, |_| {
        draw(&result, args, &style).map_err(|error| match error {
            Failed::Why(why) => usage(why),
            Failed::Cli(error) => error,
        })
    })
}

/// Why a result is not drawn.
enum Failed {
    Why(String),
    Cli(CliError),
}

impl<E: Into<CliError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Cli(error.into())
    }
}

impl DrawArgs {
    /// The style of the picture: that of the file, with the flags.
    fn style(&self) -> Result<Style, CliError> {
        let read =
            self.style.as_deref().map(|path: &Path| Style::read(path)).transpose()?.unwrap_or_default();
        Ok(Style {
            title: self.title.clone().or(read.title),
            subtitle: self.subtitle.clone().or(read.subtitle),
            log: self.log || read.log,
            ..read
        })
    }
}

fn draw(result: &AnyResult, args: &DrawArgs, style: &Style) -> Result<Drawing, Failed> {
    let missing = |what: &str| Failed::Why(what.to_owned());
    Ok(match result {
        AnyResult::Fit(fit) => match args.kind.unwrap_or(FitKind::Pulls) {
            FitKind::Pulls => {
                let mut pulls = picture::pulls(fit);
                if pulls.rows.is_empty() {
                    return Err(missing(
                        "there are no pulls: no parameter has a constraint, or an earlier version wrote the result",
                    ));
                }
                style.keep(&mut pulls.rows, |row| &row.parameter)?;
                style.applied(pulls)?.draw()?
            }
            FitKind::Correlation => {
                let mut fit = (**fit).clone();
                style.keep_correlated(&mut fit)?;
                let matrix = picture::correlation(&fit, None);
                style.applied(matrix.ok_or_else(|| missing("it has no covariance"))?)?.draw()?
            }
            FitKind::PoiCorrelation => {
                let matrix = picture::poi_correlation(fit);
                style
                    .applied(matrix.ok_or_else(|| missing("it has no two parameters of interest"))?)?
                    .draw()?
            }
        },
        AnyResult::Scan(scan) => match picture::scan(scan) {
            Scanned::Line(picture) => style.applied(picture)?.draw()?,
            Scanned::Plane(picture) => style.applied(picture)?.draw()?,
        },
        AnyResult::Limit(limit) => {
            let picture = picture::limit(limit)
                .ok_or_else(|| missing("it has no scan; write it with upper-limit --scan-points 41"))?;
            Limit { log_y: style.log, ..style.applied(picture)? }.draw()?
        }
        AnyResult::Grid(grid) => {
            let picture =
                picture::grid(grid, &args.labels).map_err(|error| Failed::Why(error.to_string()))?;
            match picture {
                GridPicture::Curve(picture) => style.applied(picture)?.draw()?,
                GridPicture::Plane(picture) => style.applied(picture)?.draw()?,
            }
        }
        AnyResult::Ranking(ranking) => {
            let mut picture = picture::ranking(ranking);
            style.keep(&mut picture.rows, |row| &row.parameter)?;
            let max_rows = Some(style.max_rows.unwrap_or(picture::MOST_RANKED));
            Ranking { max_rows, ..style.applied(picture)? }.draw()?
        }
        AnyResult::PerPoi { pois, results } => {
            let rankings: Option<Vec<RankingResult>> = results
                .iter()
                .map(|result| match result {
                    AnyResult::Ranking(ranking) => Some(ranking.clone()),
                    _ => None,
                })
                .collect();
            let Some(rankings) = rankings else {
                return Err(Failed::Why(format!(
                    "a picture shows one parameter of interest, and there are {}; run the command with --poi NAME",
                    pois.join(", ")
                )));
            };
            let mut picture = picture::joint_ranking(&rankings);
            style.keep(&mut picture.rows, |row| &row.parameter)?;
            let max_rows = Some(style.max_rows.unwrap_or(picture::MOST_RANKED));
            JointRanking { max_rows, ..style.applied(picture)? }.draw()?
        }
        AnyResult::Yields(yields) => {
            let mut yields = yields.clone();
            style.keep(&mut yields.channels, |channel| &channel.name)?;
            let mut picture = picture::yields(&yields);
            style.set_axes(&mut picture)?;
            let picture = style.applied(picture)?;
            Yields { log_y: style.log, columns: style.columns.or(picture.columns), ..picture }.draw()?
        }
        AnyResult::Hypotest(_) | AnyResult::Significance(_) => {
            return Err(missing("the result of a single test is a few numbers, without a picture"));
        }
        _ => {
            return Err(missing(
                "pictures of toys need the distribution of the toys, which is not in the result; draw it with --plot of the command, \
                 or with merge-toys",
            ));
        }
    })
}
