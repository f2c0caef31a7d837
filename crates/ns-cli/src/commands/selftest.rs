//! `nextstat selftest`: tests with built-in models whether a device computes the same results as the CPU.

use std::time::Instant;

use clap::Args;
use ns_inference::report::{Report, RunInfo};
use ns_selftest::{Target, selftest};

use crate::args::OutputArgs;
use crate::error::{CliError, Exit};
use crate::output::Output;

/// Flags of `selftest`.
#[derive(Debug, Args)]
pub(crate) struct SelftestArgs {
    /// What is tested besides the CPU: cpu (nothing), cuda, cuda:I, cuda:all, tensorrt (a GPU, with flows by TensorRT),
    /// or auto (the first GPU, if there is one)
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Target,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command. The exit code is [`Exit::Failed`] if a check failed. Otherwise it is [`Exit::Device`] if a
/// device, library or other part that a check needs is missing.
///
/// # Errors
/// For a result that cannot be written.
pub(crate) fn run(args: &SelftestArgs) -> Result<Exit, CliError> {
    let started = Instant::now();
    let output = Output::open(&args.output)?;
    let result = selftest(args.device);
    let parts = result.parts();
    let ran = RunInfo { device: Some(result.target.clone()), ..RunInfo::without_session(started) };
    output.write(&Report { result: &result, ran, parts }, &[])?;
    Ok(match (result.n_failed, result.n_missing) {
        (0, 0) => Exit::Done,
        (0, _) => Exit::Device,
        _ => Exit::Failed,
    })
}
