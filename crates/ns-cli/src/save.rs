//! Runs toys and saves them to a file: the flags that select the toys and the file, and the run itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use ns_core::{Control, Model, Session};
use ns_inference::report::Part;
use ns_inference::toys::store::{SavedRun, Saving, StoredRow, ToyDestination, run_saved};
use ns_inference::toys::{PreparedToys, RowSink, Shard};

use crate::error::CliError;
use crate::output::distinct;

/// Flags that select the toys to run and the file to save them in.
#[derive(Debug, Args)]
#[command(next_help_heading = "Toys")]
pub(crate) struct SaveArgs {
    /// Run only part K of N of the toys; `merge-toys` merges saved parts
    #[arg(long, value_name = "K/N", default_value_t = Shard::WHOLE, hide_default_value = true)]
    shard: Shard,
    /// Save every toy in a Parquet file; until the run is finished, the toys are in pieces in the folder
    /// FILE.parts
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Continue a saved run that was killed or interrupted, with the missing toys; if nothing is saved yet,
    /// begin the run
    #[arg(long, requires = "save")]
    resume: bool,
    /// Time in seconds after which a piece is written
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, requires = "save", value_parser = seconds)]
    save_every: f64,
    /// Number of toys that the device gets at a time, which changes no result; a killed run loses one such
    /// batch [default: as many as take a few seconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,
}

/// Parses a time in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=86_400.0).contains(value));
    value.ok_or_else(|| format!("'{text}' is no number of seconds between 0 and 86400"))
}

impl SaveArgs {
    /// Returns the part of the toys that is run.
    pub(crate) fn shard(&self) -> Shard {
        self.shard
    }

    /// Returns the number of toys in a batch for the device, if `--batch` is given.
    pub(crate) fn batch(&self) -> Option<u64> {
        self.batch
    }

    /// Reserves the file of toys for this run, before any fit. Returns `None` without `--save`. `result` is
    /// the file of `--output`, and `picture` that of `--plot`.
    ///
    /// # Errors
    /// If the file cannot be written, another run uses it, or `result` or `picture` is the same file.
    pub(crate) fn claim(
        &self,
        result: Option<&Path>,
        picture: Option<&Path>,
    ) -> Result<Option<ToyDestination>, CliError> {
        distinct([("--output", result), ("--plot", picture), ("--save", self.save.as_deref())])?;
        Ok(self.save.as_ref().map(|path| ToyDestination::claim(path, self.resume)).transpose()?)
    }

    /// Runs the toys that are not saved yet. Passes one row per toy to `sink`, also for the saved toys of an earlier
    /// run. If `place` is given, saves the toys in this file.
    ///
    /// # Errors
    /// The errors of [`run_saved`].
    pub(crate) fn run<'a, R: StoredRow>(
        &self,
        place: Option<ToyDestination>,
        test: PreparedToys<'a, R>,
        job: (&'a Model, &'a dyn Session),
        control: Control<'_>,
        sink: &mut dyn RowSink<R>,
    ) -> Result<Done, CliError> {
        let every = Duration::from_secs_f64(self.save_every);
        let saving = place.map(|destination| Saving { destination, every });
        let run = run_saved(saving, test, self.batch, job, control, sink)?;
        Ok(Done { run, saved: self.save.is_some() })
    }
}

/// Summary of a finished or interrupted run of toys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) run: SavedRun,
    saved: bool,
}

impl Done {
    /// Returns warnings if the result covers only some of the toys, because of an interrupt or a shard.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.run.warnings(self.saved)
    }

    /// Returns a line with the number of toys from an earlier run; `None` if there are no such toys.
    pub(crate) fn about(&self) -> Option<Part> {
        let text = || format!("{} of {} toys from an earlier run", self.run.earlier, self.run.rows);
        (self.run.earlier > 0).then(|| Part::Text(text()))
    }
}
