//! Runs toys that have been prepared. Saves the finished toys at intervals if the caller asks for this.

use std::time::Duration;

use ns_core::{Control, Model, Session};
use thiserror::Error;

use super::error::StoreError;
use super::kind::StoredRow;
use super::recording::ToyDestination;
use crate::InferenceError;
use crate::toys::turns::in_turns;
use crate::toys::{PreparedToys, RowSink, Shard};

/// The file in which the toys of a run are saved, and the interval at which finished toys are written. They are first
/// written to small files, the pieces, which are combined into the file at the end.
pub struct Saving {
    /// The file of toys. Its path is reserved for this run.
    pub destination: ToyDestination,
    /// Time between the writing of two pieces. A piece contains the toys that were finished after the previous piece
    /// was written.
    pub every: Duration,
}

/// Reason why a run of toys ended without a result.
#[derive(Debug, Error)]
pub enum SavedRunError {
    /// The file of toys cannot be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The toys could not be run.
    #[error(transparent)]
    Inference(#[from] InferenceError),
}

/// Information about a run of toys that was finished or interrupted.
#[derive(Debug, Clone, Copy)]
pub struct SavedRun {
    /// The shard whose toys were run. A shard is one of several parts of a run.
    pub shard: Shard,
    /// Number of rows (one row per toy) that an earlier, interrupted run has saved.
    pub earlier: u64,
    /// Number of all rows (one row per toy), including those of the earlier, interrupted run.
    pub rows: u64,
    /// Whether the caller stopped the run.
    pub interrupted: bool,
    /// Number of toys per second of wall time in this run; `None` if no toy was run.
    pub toys_per_s: Option<f64>,
}

impl SavedRun {
    /// Returns warnings if the result does not contain all toys, because the run was interrupted or is only a shard.
    /// `saved` tells whether the user has a file with the toys.
    #[must_use]
    pub fn warnings(&self, saved: bool) -> Vec<String> {
        let mut list = Vec::new();
        if self.interrupted {
            let how = if saved { "; continue with --resume" } else { "" };
            list.push(format!("interrupted: only the toys done by then are counted{how}"));
        }
        if self.shard != Shard::WHOLE {
            let how = if saved { "; merge-toys gives those of the whole run" } else { "" };
            list.push(format!("these are the numbers of shard {} alone{how}", self.shard));
        }
        list
    }
}

/// Runs the toys of a hypothesis test or of a study, except those that an earlier run has saved. Saves the rows (one
/// row per toy) if `saving` is given. Passes all rows to `sink`, including those of the earlier run.
///
/// # Errors
/// If the device fails, the file cannot be written, or the run was interrupted before any toy was finished.
pub fn run_saved<'a, R: StoredRow>(
    saving: Option<Saving>,
    mut test: PreparedToys<'a, R>,
    batch: Option<u64>,
    (model, session): (&'a Model, &'a dyn Session),
    control: Control<'_>,
    sink: &mut dyn RowSink<R>,
) -> Result<SavedRun, SavedRunError> {
    let (mut earlier, mut rows) = (0, 0);
    let shard = R::origin(test.header()).shard;
    let mut take = |some: &[R]| {
        rows += some.len() as u64;
        sink.rows(some)
    };
    let run = if let Some(Saving { destination, every }) = saving {
        let mut recording = destination.begin::<R>(test.header())?;
        recording.set_every(every);
        earlier = recording.n_there();
        if earlier > 0 {
            // The generating point of the earlier run is used. All toys are then drawn at exactly the same point.
            let header = recording.header().clone();
            test = PreparedToys::from_header(model, session, header, control)?.batch(batch);
        }
        let mut failure = None;
        let run = test.run(&in_turns(recording.missing()), control, &mut |some: &[R]| {
            recording.add(some).map_err(|error| {
                failure = Some(error);
                InferenceError::Cancelled
            })
        });
        let run = match failure {
            Some(failure) => return Err(failure.into()),
            None => run?,
        };
        recording.finish(|some| take(some).map_err(SavedRunError::from))?;
        run
    } else {
        test.run(&in_turns(test.ranges()), control, &mut take)?
    };
    if run.interrupted && rows == 0 {
        return Err(InferenceError::Cancelled.into());
    }
    let toys_per_s = (run.n_rows > 0 && run.wall_s > 0.0).then(|| run.n_rows as f64 / run.wall_s);
    Ok(SavedRun { shard, earlier, rows, interrupted: run.interrupted, toys_per_s })
}
