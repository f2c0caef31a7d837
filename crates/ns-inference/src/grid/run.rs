//! Runs the points of a grid on several threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Instant;

use ns_core::{Control, Device, Execution, Model};

use super::{GridRow, GridStatus, Labels};
use crate::{InferenceError, LimitOptions, open_session, upper_limit};

/// A point of a grid.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GridPoint {
    /// Name of the point, such as that of its patch. Names are different.
    pub name: String,
    /// The labels of the point with their values.
    pub values: Labels,
    /// Digest of what makes the point different from others, such as its patch; hexadecimal text.
    pub digest: String,
}

/// What the analysis of a point needs: its model and its options.
pub type Prepared = (Model, LimitOptions);

/// Finds the upper limits of points, as many at a time as `execution` has threads. `prepare` makes the model and the
/// options of the point with this index. An error is the reason why the point failed. `take` receives each finished row
/// with the index of its point, on the thread of the caller, in the order in which points finish. Points that were not
/// finished because the caller stopped the work have no row. A named GPU takes one point after the other; `auto` means
/// the CPU. The observer of `control` gets the number of finished points.
///
/// # Errors
/// The first error of `take`. Work then ends with the points that are being analysed.
pub fn upper_limits<E>(
    points: &[GridPoint],
    wanted: &[usize],
    prepare: &(dyn Fn(usize) -> Result<Prepared, String> + Sync),
    execution: &Execution,
    control: Control<'_>,
    take: &mut dyn FnMut(usize, GridRow) -> Result<(), E>,
) -> Result<(), E> {
    let total = execution.resolved_threads();
    let on_cpu = matches!(execution.device, Device::Auto | Device::Cpu);
    let workers = if on_cpu { total.clamp(1, wanted.len().max(1)) } else { 1 };
    let each = Execution {
        // Threads that no point needs go to the points.
        threads: (total / workers).max(1),
        memory_limit: execution.memory_limit.map(|bytes| bytes / workers as u64),
        ..execution.clone()
    };
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let silent = Control { observer: None, ..control };
    let work = |send: &Sender<(usize, GridRow)>| {
        while !stop.load(Ordering::Relaxed) && !control.is_cancelled() {
            let Some(&index) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let Some(point) = points.get(index) else { continue };
            let row = analyse(point, index, prepare, &each, silent);
            if row.status != GridStatus::NotRun && send.send((index, row)).is_err() {
                return;
            }
        }
    };
    control.progress(0, wanted.len());
    thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        let mut spawned = 0;
        for _ in 0..workers {
            let send = send.clone();
            let work = &work;
            // Where the system gives fewer threads than asked for, the others do the work.
            spawned += usize::from(thread::Builder::new().spawn_scoped(scope, move || work(&send)).is_ok());
        }
        if spawned == 0 {
            work(&send);
        }
        drop(send);
        let mut outcome = Ok(());
        for (done, (index, row)) in receive.iter().enumerate() {
            if outcome.is_ok() {
                outcome = take(index, row);
                stop.store(outcome.is_err(), Ordering::Relaxed);
            }
            control.progress(done + 1, wanted.len());
        }
        outcome
    })
}

/// Returns the row of one point.
fn analyse(
    point: &GridPoint,
    index: usize,
    prepare: &(dyn Fn(usize) -> Result<Prepared, String> + Sync),
    execution: &Execution,
    control: Control<'_>,
) -> GridRow {
    let started = Instant::now();
    let found = prepare(index).and_then(|(model, options)| {
        let limit = open_session(&model, execution)
            .map_err(InferenceError::from)
            .and_then(|session| upper_limit(&model, session.as_ref(), &options, control));
        match limit {
            Ok(limit) if limit.interrupted => Ok(None),
            Err(InferenceError::Cancelled) => Ok(None),
            Ok(limit) => Ok(Some(limit)),
            Err(error) => Err(error.to_string()),
        }
    });
    let wall_s = Some(started.elapsed().as_secs_f64());
    match found {
        Ok(Some(result)) => GridRow {
            name: point.name.clone(),
            values: point.values.clone(),
            status: GridStatus::Done,
            reason: None,
            result: Some(result),
            patch_digest: point.digest.clone(),
            wall_s,
        },
        Ok(None) => GridRow::without_result(point, GridStatus::NotRun, "interrupted"),
        Err(reason) => GridRow { wall_s, ..GridRow::without_result(point, GridStatus::Failed, &reason) },
    }
}
