//! `nextstat report`: runs the usual analyses of a model, and writes a folder with a page that shows them.

mod analyses;
mod command;
mod diagnostics;
mod page;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ns_core::Device;
use ns_inference::{Opened, RankingOptions, open_session_for};
use ns_translate::Contents;
use ns_translate::pyhf::{ModelOptions, file_of};

use crate::args::{ExecutionArgs, ModelArgs, real};
use crate::data_args::DataArgs;
use crate::error::{CliError, Exit};
use crate::output::{PendingFile, complain};
use crate::{interrupt, load};

use analyses::{Analyses, Section};

/// Flags of `report`.
#[derive(Debug, Args)]
#[command(
    after_help = "The folder gets index.html, which needs no network, and the result and the pictures of every analysis \
    as files. The page names the command that makes each of them again. An analysis that fails has its message in its place."
)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Folder for the report; it is made if it does not exist, and files of an earlier report are replaced
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
    /// Confidence level of the limit
    #[arg(long, help_heading = "Report", value_name = "CL", default_value_t = 0.95, value_parser = real)]
    cl: f64,
    /// Number of parameters in the table and the picture of the ranking
    #[arg(long, help_heading = "Report", value_name = "N", default_value_t = 30,
          value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
    /// Leave these analyses out: yields, ranking, gof, significance, limit; repeatable
    #[arg(long, help_heading = "Report", value_name = "NAME,...", value_delimiter = ',',
          value_parser = clap::builder::PossibleValuesParser::new(["yields", "ranking", "gof", "significance", "limit"]),
          hide_possible_values = true)]
    without: Vec<String>,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    execution: ExecutionArgs,
    /// No progress and no warnings on standard error
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

impl ReportArgs {
    fn includes(&self, name: &str) -> bool {
        !self.without.iter().any(|left_out| left_out == name)
    }
}

/// Runs the command. An analysis that fails does not keep the others from the page. The command then ends with
/// [`Exit::Failed`].
///
/// # Errors
/// For a wrong flag, an invalid workspace, a device that is not available, or a folder that cannot be written.
pub(crate) fn run(args: &ReportArgs) -> Result<Exit, CliError> {
    let started = Instant::now();
    load::one_reader(&args.model.input, &args.model.patch)?;
    let execution = args.execution.execution();
    let (contents, model) = inspected(args, execution.device)?;
    let options = args.data.options(&model)?;
    let folder = Folder::open(&args.output)?;
    let Opened { session, reason } = open_session_for(&model, &execution, RankingOptions::default().work())?;
    let analyses = Analyses { args, model: &model, session: session.as_ref(), options: &options, reason };
    let stop = interrupt::listen();
    let sections = analyses.all(&contents, stop);
    let mut exit = Exit::Done;
    for section in &sections {
        for file in &section.files {
            folder.write(&file.name, &file.bytes)?;
        }
        if !args.quiet {
            for warning in &section.warnings {
                complain("warning", &format!("{}: {warning}", section.title));
            }
            if let Some(failure) = &section.failure {
                complain("error", &format!("{}: {failure}", section.title));
            }
        }
        if !section.good {
            exit = Exit::Failed;
        }
    }
    let interrupted = stop.load(std::sync::atomic::Ordering::Relaxed);
    folder.write("index.html", page::page(&model, &sections, started.elapsed().as_secs_f64()).as_bytes())?;
    if !args.quiet {
        complain("report", &args.output.join("index.html").display().to_string());
    }
    Ok(if interrupted { Exit::Interrupted } else { exit })
}

/// Reads the model, and what is in its file.
fn inspected(args: &ReportArgs, device: Device) -> Result<(Contents, ns_core::Model), CliError> {
    let options = ModelOptions {
        flows: device,
        unobserved: args.data.needs_no_observations(),
        ..load::options(&args.model)?
    };
    load::workspace(&args.model)
        .and_then(|workspace| Contents::inspect(&workspace, &options))
        .map_err(|source| CliError::Workspace { origin: load::origin(&args.model), source })
}

/// The folder of a report.
struct Folder<'a>(&'a Path);

impl<'a> Folder<'a> {
    /// Makes the folder, and checks that it can be written, before the analyses.
    ///
    /// # Errors
    /// If the folder cannot be made or written.
    fn open(path: &'a Path) -> Result<Self, CliError> {
        std::fs::create_dir_all(path).map_err(|source| CliError::Write { path: path.to_owned(), source })?;
        // The temporary file is removed again here.
        PendingFile::create(&path.join("index.html"))?;
        Ok(Self(path))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), CliError> {
        PendingFile::create(&self.0.join(name))?.finish(bytes)
    }
}

/// One file of the report beside its page.
struct ReportFile {
    name: String,
    bytes: Vec<u8>,
}

impl Section {
    /// Adds a file that [`run`] writes.
    fn file(&mut self, name: &str, bytes: Vec<u8>) {
        self.files.push(ReportFile { name: name.to_owned(), bytes });
    }
}

/// Returns the name of the input for the page: the file without its folder.
fn input_name(input: &Path) -> String {
    let file = file_of(input);
    file.file_name().map_or_else(|| load::shown(input), |name| name.to_string_lossy().into_owned())
}
