//! Runs the points of a grid on several threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Instant;

use ns_core::{Control, Device, Execution, Model};

use super::{GridRow, GridStatus, Labels};
use crate::device::single_devices;
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
/// finished because the caller stopped the work have no row. A named GPU takes one point after the other, and with
/// [`Device::CudaAll`] each GPU takes the next point when it is free; `auto` means the CPU. The observer of `control` gets the number of finished points.
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
    let workers = workers(execution, &single_devices(execution), wanted.len());
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let silent = Control { observer: None, ..control };
    let work = |send: &Sender<(usize, GridRow)>, each: &Execution| {
        while !stop.load(Ordering::Relaxed) && !control.is_cancelled() {
            let Some(&index) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let Some(point) = points.get(index) else { continue };
            let row = analyse(point, index, prepare, each, silent);
            if row.status != GridStatus::NotRun && send.send((index, row)).is_err() {
                return;
            }
        }
    };
    control.progress(0, wanted.len());
    thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        let mut spawned = 0;
        for each in &workers {
            let send = send.clone();
            let work = &work;
            // Where the system gives fewer threads than asked for, the others do the work.
            spawned +=
                usize::from(thread::Builder::new().spawn_scoped(scope, move || work(&send, each)).is_ok());
        }
        if let (0, Some(each)) = (spawned, workers.first()) {
            work(&send, each);
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

/// Returns the settings of each worker. Workers on the CPU have a thread each, and threads that no point needs go to the
/// points. On GPUs there is a worker for each of `devices`.
fn workers(execution: &Execution, devices: &[Device], points: usize) -> Vec<Execution> {
    let total = execution.resolved_threads();
    let on_cpu = matches!(execution.device, Device::Auto | Device::Cpu);
    let most = if on_cpu { total } else { devices.len() };
    let n = most.clamp(1, points.max(1));
    let each = |worker: usize| Execution {
        device: devices.get(if on_cpu { 0 } else { worker }).copied().unwrap_or(execution.device),
        threads: (total / n).max(1),
        memory_limit: execution.memory_limit.map(|bytes| bytes / n as u64),
        ..execution.clone()
    };
    (0..n).map(each).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_divided_among_threads_or_gpus() {
        let of =
            |device, threads| Execution { device, threads, memory_limit: Some(1200), ..Execution::default() };
        let found =
            |execution: &Execution, devices: &[Device], points| -> Vec<(Device, usize, Option<u64>)> {
                let all = workers(execution, devices, points);
                all.into_iter().map(|one| (one.device, one.threads, one.memory_limit)).collect()
            };
        let cpu = of(Device::Cpu, 6);
        assert_eq!(found(&cpu, &[Device::Cpu], 100), vec![(Device::Cpu, 1, Some(200)); 6]);
        assert_eq!(found(&cpu, &[Device::Cpu], 2), vec![(Device::Cpu, 3, Some(600)); 2]);
        let gpus = [Device::Cuda(0), Device::Cuda(2)];
        let all = of(Device::CudaAll, 8);
        let wanted = gpus.map(|device| (device, 4, Some(600)));
        assert_eq!(found(&all, &gpus, 100), wanted);
        assert_eq!(found(&all, &gpus, 1), [(Device::Cuda(0), 8, Some(1200))]);
        assert_eq!(found(&of(Device::Cuda(1), 8), &[Device::Cuda(1)], 5), [(Device::Cuda(1), 8, Some(1200))]);
    }
}
