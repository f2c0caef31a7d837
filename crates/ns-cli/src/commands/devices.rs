//! `nextstat devices`: where fits can run here, and why not elsewhere.

use std::time::Instant;

use clap::Args;
use ns_core::Device;
use ns_inference::{DeviceInfo, devices};
use serde::Serialize;

use crate::args::OutputArgs;
use crate::error::{CliError, Exit};
use crate::output::Output;
use crate::record::Record;
use crate::table;

/// Flags of `devices`.
#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Devices {
    devices: Vec<DeviceInfo>,
    warnings: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// If the result cannot be written.
pub(crate) fn run(args: &DevicesArgs) -> Result<Exit, CliError> {
    let started = Instant::now();
    let output = Output::open(&args.output)?;
    let found = Devices { devices: devices(), warnings: Vec::new() };
    let record = Record::new(&found, Device::Cpu, None, started);
    output.write(&record, &[], || {
        let mut t = table::table(&["device", "available", "what it is, or why not"], &[]);
        for device in &found.devices {
            let about = match (&device.description, &device.reason, &device.remedy) {
                (Some(description), ..) => description.clone(),
                (None, Some(reason), Some(remedy)) => format!("{reason}. {remedy}."),
                (None, reason, _) => reason.clone().unwrap_or_default(),
            };
            t.add_row([device.name.as_str(), if device.available { "yes" } else { "no" }, &about]);
        }
        table::text(&t)
    })?;
    Ok(Exit::Done)
}
