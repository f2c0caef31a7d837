//! `nextstat devices`: lists the devices for fits. For a device that cannot be used, gives the reason. With
//! `--explain`, also says which device `auto` would choose.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use ns_core::{Device, Execution};
use ns_inference::device::{Choice, ModelSize, explain_device};
use ns_inference::present::{count, duration};
use ns_inference::report::{Part, Report, RunInfo, Table};
use ns_inference::{CpuSession, DeviceInfo, Work, devices};
use serde::Serialize;

use crate::args::{OutputArgs, threads};
use crate::error::{CliError, Exit};
use crate::load;
use crate::output::Output;

/// Flags of `devices`.
#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Show which device `--device auto` chooses for several kinds of jobs on the model of `--input`, with
    /// the predicted times
    #[arg(long, requires = "input")]
    explain: bool,
    /// Number of threads to assume in the predicted times; 0 takes all cores
    #[arg(long, value_name = "N", requires = "explain", value_parser = threads)]
    threads: Option<usize>,
    /// Workspace file in pyhf's JSON, for --explain; `-` reads standard input
    #[arg(short, long, value_name = "FILE", requires = "explain")]
    input: Option<PathBuf>,
    /// Measurement to use [default: the first]
    #[arg(long, value_name = "NAME", requires = "explain")]
    measurement: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The jobs for which `--explain` predicts the times. They are one fit, a scan, a ranking, and hypothesis tests with
/// few and with many toys.
const JOBS: [Work; 5] = [
    Work::Fit,
    Work::Scan { points: 101 },
    Work::Ranking { per_parameter: 2 },
    Work::Toys { toys: 1_000, fits: 2 },
    Work::Toys { toys: 100_000, fits: 2 },
];

#[derive(Serialize)]
struct Devices {
    devices: Vec<DeviceInfo>,
    #[serde(flatten)]
    explained: Option<Explained>,
    warnings: Vec<String>,
}

/// The device that `auto` chooses for each of [`JOBS`] on one model.
#[derive(Serialize)]
struct Explained {
    model: ModelSize,
    threads: usize,
    choices: Vec<Choice>,
}

/// Runs the command.
///
/// # Errors
/// For an invalid workspace, or a result that cannot be written.
pub(crate) fn run(args: &DevicesArgs) -> Result<Exit, CliError> {
    let started = Instant::now();
    let output = Output::open(&args.output)?;
    let model =
        args.input.as_deref().map(|input| load::plain(input, args.measurement.clone())).transpose()?;
    let execution = Execution { threads: args.threads.unwrap_or(0), ..Execution::default() };
    let explained = match &model {
        Some(model) => {
            let session = CpuSession::open(model, &Execution { threads: 1, ..Execution::default() })?;
            let (model, choices) = explain_device(&session, &execution, &JOBS);
            let threads = execution.resolved_threads();
            Some(Explained { model, threads, choices })
        }
        None => None,
    };
    let found = Devices { devices: devices(), explained, warnings: Vec::new() };
    let ran = RunInfo::without_session(started);
    let ran = match &model {
        Some(model) => ran.about(model, model.digest()),
        None => ran,
    };
    let mut parts = vec![Part::Table(listed(&found.devices))];
    parts.extend(found.explained.iter().flat_map(explanation));
    output.write(&Report { result: &found, ran, parts }, &[])?;
    Ok(Exit::Done)
}

/// Returns the table of all devices.
fn listed(devices: &[DeviceInfo]) -> Table {
    let mut table = Table::new(&["device", "available", "what it is, or why not"], &[]);
    for device in devices {
        let about = match (&device.description, &device.reason, &device.remedy) {
            (Some(description), ..) => description.clone(),
            (None, Some(reason), Some(remedy)) => format!("{reason}. {remedy}."),
            (None, reason, _) => reason.clone().unwrap_or_default(),
        };
        table.row([device.name.as_str(), if device.available { "yes" } else { "no" }, &about]);
    }
    table
}

/// Returns a heading, a table of the devices that `auto` chooses for the jobs, and the reason for one of the choices.
/// The reason belongs to the first job for which `auto` chooses a GPU, or to the last job if `auto` always chooses
/// the CPU.
fn explanation(explained: &Explained) -> [Part; 3] {
    let mut table = Table::new(&["job", "auto takes", "CPU", "GPU"], &[2, 3]);
    for choice in &explained.choices {
        let gpu = choice.gpu_s.map_or_else(|| "-".to_owned(), duration);
        table.row([choice.job.clone(), choice.device.to_string(), duration(choice.cpu_s), gpu]);
    }
    let size = explained.model;
    let why = explained.choices.iter().find(|choice| choice.device != Device::Cpu);
    let why = why.or(explained.choices.last()).map_or("", |choice| choice.reason.as_str());
    let toy = size.toy_s.map_or_else(String::new, |toy_s| {
        format!(", and a fit of a toy that takes {} on one thread (measured)", duration(toy_s))
    });
    let heading = format!(
        "\npredicted times on a model of {} ({} free), {} and {} operations per value and gradient, with {}{toy}",
        count(size.n_parameters, "parameter"),
        size.n_free,
        count(size.n_bins, "bin"),
        size.operations,
        count(explained.threads, "thread"),
    );
    [Part::Text(heading), Part::Table(table), Part::Text(why.to_owned())]
}
