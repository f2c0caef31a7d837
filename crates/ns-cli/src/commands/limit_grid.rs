//! `nextstat upper-limit --patchset`: computes the upper limits of all signals of a patchset.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ns_core::{Control, Device};
use ns_inference::grid::{GridFile, GridPoint, GridResult, GridRow, Labels, Prepared, upper_limits};
use ns_inference::picture::Draw;
use ns_inference::report::{Part, Report, RunInfo};
use ns_inference::reread::AnyResult;
use ns_inference::row_file::RowHeader;
use ns_inference::{LimitOptions, picture, present};
use ns_translate::pyhf::{DigestCheck, ModelOptions, Patchset, Signal, SignalGrid, WorkspaceError, file_of};
use ns_translate::{Format, ModelSource};
use serde_json::{Value, json};

use crate::args::ModelArgs;
use crate::data_args::RunArgs;
use crate::error::{CliError, Exit};
use crate::output::{Output, distinct};
use crate::plot::Plots;
use crate::progress::Bar;
use crate::{interrupt, load};

/// Flags of `upper-limit` for many signals.
#[derive(Debug, Args)]
#[command(next_help_heading = "Grid")]
pub(crate) struct GridArgs {
    /// Find the limits of all signals of a patchset, on all threads, with the background as input; `-` reads standard
    /// input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["patch", "toys", "scan_start", "scan_stop"])]
    pub(crate) patchset: Option<PathBuf>,
    /// Only the signals with this name, in which * stands for any characters and ? for one, or with these values, such as
    /// '700,*'; repeatable
    #[arg(long, value_name = "PATTERN", requires = "patchset")]
    names: Vec<String>,
    /// Save the rows of the signals in a JSON file, every two seconds
    #[arg(long, value_name = "FILE", requires = "patchset")]
    save: Option<PathBuf>,
    /// Continue a saved run that was killed or interrupted, or add signals to it; if nothing is saved yet, begin it
    #[arg(long, requires = "save")]
    resume: bool,
    /// With --plot, draw the limits against this label of the patchset, or exclusion in the plane of two labels
    /// [default: the labels that vary]
    #[arg(long, value_name = "LABEL[,LABEL]", value_delimiter = ',', requires_all = ["patchset", "plot"])]
    plot_labels: Vec<String>,
}

/// A grid whose input and flags are read. Its analysis has not begun.
pub(crate) struct Grid<'a> {
    pub(crate) args: &'a GridArgs,
    pub(crate) model: &'a ModelArgs,
    pub(crate) run: &'a RunArgs,
    /// The options of all points, without those of the fits, which name parameters of the model.
    pub(crate) options: LimitOptions,
    pub(crate) plots: Plots,
}

impl Grid<'_> {
    /// Runs the analysis of all points and writes the result. If a point has no limit, the command ends with
    /// [`Exit::Failed`].
    ///
    /// # Errors
    /// For a wrong flag, a workspace or a patchset that cannot be read, a device that is not available, a saved file of
    /// another run, or a result that cannot be written.
    pub(crate) fn run(self) -> Result<Exit, CliError> {
        let started = Instant::now();
        let Self { args, model, run, options, plots } = self;
        let Some(path) = &args.patchset else {
            return Err(CliError::Usage("name the patchset with --patchset FILE".to_owned()));
        };
        if !load::is_stdin(&model.input) && Format::of_file(&model.input) == Format::Datacard {
            return Err(CliError::Usage(format!(
                "{} is a datacard, which takes no patchset; convert it to a workspace with `nextstat convert`",
                model.input.display()
            )));
        }
        if model.mass.is_some() || !model.map.is_empty() || model.mc_stats.is_some() {
            let message =
                "--mass, --map and --mc-stats are for datacards, which take no patchset; leave them out";
            return Err(CliError::Usage(message.to_owned()));
        }
        let output = run.output.output.as_deref();
        distinct([
            ("--input", Some(file_of(&model.input))),
            ("--patchset", Some(file_of(path))),
            ("--output", output),
            ("--save", args.save.as_deref()),
        ])?;
        let output = Output::open(&run.output)?;
        let file = args.save.as_ref().map(|path| GridFile::claim(path, args.resume)).transpose()?;

        let failed = |source| CliError::Workspace { origin: load::origin(model), source };
        let of_set = |source| CliError::Workspace { origin: load::shown(path), source };
        let text = patchset_text(model, path)?;
        let grid = signals(args, model, path, &text).map_err(failed)?;
        let selection = load::selection(model, &grid.background().channel_names());
        let points = points(&grid, file.is_some()).map_err(of_set)?;
        let result = |rows| GridResult::new(&points, grid.labels(), options.cl, options.statistic, rows);
        let drawn = |result: &GridResult| {
            picture::grid(result, &args.plot_labels)
                .map_err(|error| CliError::Usage(format!("--plot: {error}")))
        };
        if plots.wanted("--plot") {
            // Wrong labels are found before the analysis.
            drawn(&result(Vec::new()))?;
        }
        let (mut rows, mut saving) = (Vec::new(), None);
        if let Some(file) = file {
            let header = header(&grid, model, run, &options)?;
            let recording = file.begin(header, &points)?;
            rows = recording.taken().to_vec();
            saving = Some(recording);
        }
        let earlier = rows.len();
        let wanted: Vec<usize> =
            (0..points.len()).filter(|i| !rows.iter().any(|(known, _)| known == i)).collect();

        let execution = run.execution.execution();
        let made = ModelOptions {
            flows: execution.device,
            unobserved: run.data.needs_no_observations(),
            ..load::options(model)?
        };
        let prepare = |index: usize| -> Result<Prepared, String> {
            let signal = grid.signals().get(index).ok_or("there is no such signal")?;
            let model = grid.model(signal, &made, &selection).map_err(|error| error.to_string())?;
            let fit = run.data.options(&model).map_err(|error| error.to_string())?;
            Ok((model, options.clone().fit(fit)))
        };
        let bar = Bar::counting("limits", "points", run.output.quiet);
        let control = Control { observer: Some(&bar), cancel: Some(interrupt::listen()), task: None };
        let mut take = |index: usize, row: GridRow| -> Result<(), CliError> {
            if let Some(saving) = &mut saving {
                saving.add(&row)?;
            }
            rows.push((index, row));
            Ok(())
        };
        let done = upper_limits(&points, &wanted, &prepare, &execution, control, &mut take);
        bar.finish();
        if let Some(saving) = saving {
            saving.finish()?;
        }
        done?;

        let result = result(rows);
        let device = if execution.device == Device::Auto { Device::Cpu } else { execution.device };
        let ran = RunInfo {
            device: Some(device.to_string()),
            interpolation: Some(model.interpolation().to_string()),
            blind: run.data.blinded(&[]),
            ..RunInfo::without_session(started)
        };
        let mut parts = result.parts();
        let mut closing = ran.time_and_device();
        if let Some(blind) = &ran.blind {
            closing = format!("{closing}\n{}", blind.note());
        }
        if earlier > 0 {
            closing = format!("{} from an earlier run\n{closing}", present::count(earlier, "point"));
        }
        parts.push(Part::Text(closing));
        let exit = Exit::of(result.interrupted, result.is_good());
        output
            .write_with(&Report { result: &result, ran, parts }, &result.warnings, || result.data_tables())?;
        let result = AnyResult::Grid(result);
        plots.finish(exit, |asked| {
            let (style, labels) = (asked.style.clone(), args.plot_labels.clone());
            asked.draw(&result, Draw { style, labels, ..Draw::default() })
        })
    }
}

/// Reads the text of the patchset. Standard input can be read only once.
fn patchset_text(model: &ModelArgs, path: &Path) -> Result<Vec<u8>, CliError> {
    if load::is_stdin(path) && load::is_stdin(&model.input) {
        let message = "--input and --patchset both read standard input, which can be read only once; name a file for \
                       one of them";
        return Err(CliError::Usage(message.to_owned()));
    }
    load::read(path).map_err(|source| CliError::Workspace { origin: load::shown(path), source })
}

/// Reads the background and the patchset, and chooses the signals.
fn signals<'a>(
    args: &GridArgs,
    model: &ModelArgs,
    path: &Path,
    text: &'a [u8],
) -> Result<SignalGrid<'a>, WorkspaceError> {
    let background = ModelSource::background(&load::json(&model.input)?)?;
    let set = Patchset::from_slice(text, &load::shown(path))?;
    let check = if model.no_digest_check { DigestCheck::Skip } else { DigestCheck::Verify };
    SignalGrid::of_patchset(background, set, check)?.chosen(&args.names)
}

/// Returns the points of the grid. Their digests, which only files need, are computed if `saved` is true.
fn points(grid: &SignalGrid<'_>, saved: bool) -> Result<Vec<GridPoint>, WorkspaceError> {
    let point = |signal: &Signal| {
        let digest = if saved { grid.patch(signal)?.digest() } else { String::new() };
        Ok(GridPoint { name: signal.name.clone(), values: Labels(signal.values.clone()), digest })
    };
    grid.signals().iter().map(point).collect()
}

/// Returns everything but the patches on which the limits depend.
fn header(
    grid: &SignalGrid<'_>,
    model: &ModelArgs,
    run: &RunArgs,
    options: &LimitOptions,
) -> Result<RowHeader, CliError> {
    let entries = [
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("background", json!(grid.background().digest())),
        ("measurement", json!(model.measurement)),
        ("channels", json!(model.channels)),
        ("mask", json!(model.mask)),
        ("interpolation", json!(model.interpolation().to_string())),
        ("cl", json!(options.cl)),
        ("test_stat", json!(options.statistic.name())),
        ("expected_only", json!(options.expected_only)),
        ("observed_only", json!(options.observed_only)),
        ("fit", run.data.settings()?),
    ];
    Ok(entries.into_iter().map(|(key, value): (&str, Value)| (key.to_owned(), value)).collect())
}
