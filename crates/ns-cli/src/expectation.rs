//! Reads the file of `--expected`. It contains the expected yields from which toys are generated.

use std::path::Path;

use ns_core::{Model, Observations};
use serde::Deserialize;

use crate::error::CliError;
use crate::load;

/// The two forms of a file of expected yields.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ExpectationFile {
    /// The expected yield of every bin in the model's order, optionally followed by all auxiliary data.
    List(Vec<f64>),
    /// The result of `nextstat yields`.
    Yields { channels: Vec<ChannelTotal> },
}

#[derive(Debug, Deserialize)]
struct ChannelTotal {
    name: String,
    total: Vec<f64>,
}

/// Reads expected yields and auxiliary data for `model`. If the file has no auxiliary data, the observed auxiliary
/// data of the model are used.
///
/// # Errors
/// If the file cannot be read or has another form, or its channels or numbers of bins differ from the model's.
pub(crate) fn read(path: &Path, model: &Model) -> Result<Observations, CliError> {
    let usage = |why: String| CliError::Usage(format!("expectation {}: {why}", path.display()));
    let expected = "a list of numbers, one per bin, or the result of nextstat yields";
    let file: ExpectationFile = load::form(path, &usage, expected)?;
    let (bins, aux) = (model.n_bins(), model.observed.aux.len());
    match file {
        ExpectationFile::List(mut main) if main.len() == bins || main.len() == bins + aux => {
            let given = main.split_off(bins);
            let aux = if given.is_empty() { model.observed.aux.clone() } else { given };
            Ok(Observations::binned(main, aux))
        }
        ExpectationFile::List(other) => Err(usage(format!(
            "it has {} numbers, but the model has {bins} bins ({} with auxiliary data)",
            other.len(),
            bins + aux
        ))),
        ExpectationFile::Yields { channels } => {
            let main = totals(&channels, model).map_err(usage)?;
            Ok(Observations::binned(main, model.observed.aux.clone()))
        }
    }
}

/// Checks the channels, and returns the expected yields of all bins in the model's order.
fn totals(channels: &[ChannelTotal], model: &Model) -> Result<Vec<f64>, String> {
    let mut main = Vec::with_capacity(model.n_bins());
    for channel in &model.channels {
        let found = channels.iter().find(|given| given.name == channel.name);
        let found = found.ok_or_else(|| format!("it lacks channel '{}'", channel.name))?;
        if found.total.len() != channel.n_bins {
            let (given, bins) = (found.total.len(), channel.n_bins);
            return Err(format!(
                "channel '{}' has {given} totals, but the model has {bins} bins",
                channel.name
            ));
        }
        main.extend_from_slice(&found.total);
    }
    match channels.iter().find(|given| model.channels.iter().all(|channel| channel.name != given.name)) {
        Some(other) => Err(format!("the model has no channel '{}'", other.name)),
        None => Ok(main),
    }
}
