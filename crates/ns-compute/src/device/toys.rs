//! Fits toys on a device, in chunks of consecutive toys. Two chunks are on the device at a time.
//!
//! The toys of consecutive tasks form one queue. Each of the two chunks has its own lane, which is a stream of copies
//! and kernels. The end of one chunk and the beginning of the next therefore run in parallel, even if they belong to
//! different tasks. When the results of a chunk have arrived, the CPU finishes the chunk in pieces that fit into its
//! caches. The outcomes do not depend on the size of chunks.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ns_core::{Control, Drawn, FitTask, OutcomeParts, Seen, SessionError, TaskOutcome};

use super::backend::{Buffer, Kernel, Shape};
use super::batch::{Help, LaunchResults, Launcher, Slot, ToyRange};
use super::check::{Checking, Sample, chosen};
use super::chunks::{ChunkQueue, FinishedChunk, TakenChunk};
use super::covariance::Fitted;
use super::input::Input;
use super::layout::{self, DrawLaunch};
use super::offset::Offset;
use super::prepared::{Prepared, Shared};
use super::session::GpuSession;
use super::settle::{DataSets, Settling};
use super::shape;
use crate::eval::Dataset;

/// A chunk (consecutive toys in one launch) has this many times the number of toys that the device fits at the same
/// time. At the end of a chunk a part of the device may be idle. With this factor the idle time is short compared with
/// the time of a chunk.
const WAVES: usize = 4;
/// Smallest number of toys in a chunk. A chunk is smaller only if the memory does not suffice or the task has fewer
/// toys.
const FEWEST_TOYS: usize = 512;
/// Largest size, in bytes, of the results of a chunk (consecutive toys in one launch) that are copied to the host.
/// Covariances are not included.
const MOST_BROUGHT: usize = 64 << 20;
/// Largest size, in bytes, of the covariances of a chunk (consecutive toys in one launch).
const MOST_COVARIANCES: usize = 512 << 20;
/// Number of threads per block in launches that only draw toys.
const DRAWING: u32 = 128;
/// Largest number of chunks (launches of consecutive toys) that are on the device at the same time.
const UNDER_WAY: usize = 2;
/// The CPU checks one out of this many chunks, beginning with the first chunk of a batch. A chunk consists of
/// consecutive toys in one launch.
const CHECKED_CHUNKS: u64 = 4;
/// Largest size, in bytes, of the results of a piece. A piece consists of toys whose outcomes are delivered together.
/// With this limit the outcomes stay in the CPU's caches until they are delivered.
const PIECE: usize = 1 << 20;
/// Smallest number of toys in a piece. A piece consists of toys whose outcomes are delivered together.
const FEWEST_SETTLED: usize = 64;
/// Largest number of toys in a piece. A piece consists of toys whose outcomes are delivered together.
const MOST_SETTLED: usize = 1024;

/// A task whose toys are being fitted.
struct TaskInProgress<'a> {
    /// Index of the task in the batch.
    number: usize,
    task: &'a FitTask,
    drawn: &'a Drawn,
    shared: Arc<Shared>,
    /// Inputs of the task. While they exist, the distributions of the toys stay in device memory.
    prepared: Arc<Prepared>,
    launcher: Launcher<'a>,
}

/// A chunk (consecutive toys) whose fits are on the device.
struct Chunk<'a> {
    /// Lane (stream of copies and kernels) and memory of the chunk. This field must be dropped first, because dropping
    /// a lane waits for work that uses the memory of `current`.
    slot: Slot,
    current: Arc<TaskInProgress<'a>>,
    items: Range<u64>,
    toys: Range<u64>,
    samples: Vec<Sample<'a>>,
}

/// Progress of a batch on one device.
#[derive(Default)]
struct BatchProgress<'a> {
    under_way: VecDeque<Chunk<'a>>,
    current: Option<Arc<TaskInProgress<'a>>>,
    /// Number of chunks that have begun.
    begun: u64,
    /// Index of the first task that is left to the CPU, once it is known. After that no chunk begins.
    left: Option<usize>,
    /// The first error. After an error no further chunk begins.
    failed: Option<SessionError>,
}

/// Inputs that the chunks of a batch share.
struct Batch<'a> {
    session: &'a GpuSession,
    tasks: &'a [FitTask],
    wanted: OutcomeParts,
    control: Control<'a>,
}

impl<'a> TaskInProgress<'a> {
    /// Returns the largest number of toys in a chunk (a launch of consecutive toys) of this task.
    fn chunk(&self, session: &GpuSession, wanted: OutcomeParts) -> u64 {
        let (plan, properties) = (&session.cpu.plan, session.backend.properties());
        let (n, fits) = (plan.n_parameters(), self.task.fits.len().max(1));
        let per_toy = Launcher::bytes_per_fit(&session.plan) * fits;
        let mut most = shape::within(properties, per_toy, MOST_BROUGHT);
        if session.covers(wanted).is_some() {
            // For the uncertainties, the device draws the data of all toys of a chunk again, which takes memory.
            most = most.min(shape::within(properties, 8 * (plan.n_bins() + plan.n_aux()), usize::MAX));
        }
        if wanted.covariance {
            most = most.min(shape::within(properties, 8 * n * n * fits, MOST_COVARIANCES));
        }
        (WAVES * self.launcher.fit.blocks).max(FEWEST_TOYS).min(most) as u64
    }

    /// Returns the offset in device memory of the distributions of the task's toys.
    fn draws(&self) -> Offset<layout::Draws> {
        self.prepared.on_device.as_ref().map_or(Offset::NULL, |(_, sources)| sources.at())
    }

    /// Returns the data of the toy with this index, drawn on the CPU.
    fn data(&self, session: &GpuSession, toy: u64) -> Dataset {
        let plan = &session.cpu.plan;
        let mut data = Dataset::empty(plan);
        self.drawn.source.draw_into(toy, &mut data.main, &mut data.aux);
        data.saturate(plan);
        data
    }
}

impl<'a> Batch<'a> {
    /// Prepares the task with this index. Returns `None` if the task is left to the CPU.
    fn prepare_task(&self, number: usize) -> Result<Option<Arc<TaskInProgress<'a>>>, SessionError> {
        let Some(task) = self.tasks.get(number) else { return Ok(None) };
        let Seen::Drawn(drawn) = &task.data.seen else { return Ok(None) };
        let prepared = self.session.prepare(&drawn.source, &task.fits)?;
        let Some((shared, _)) = &prepared.on_device else { return Ok(None) };
        let (shared, launcher) = (Arc::clone(shared), self.session.launcher(shared.size)?);
        Ok(Some(Arc::new(TaskInProgress { number, task, drawn, shared, prepared, launcher })))
    }

    /// Starts chunks (launches of consecutive toys) until the device has `UNDER_WAY` chunks, or no chunks are left. If
    /// the device has no chunk and `wait` is true, the call may wait until other GPUs have delivered chunks.
    fn go_on(&self, progress: &mut BatchProgress<'a>, queue: &ChunkQueue<'_>, wait: bool) {
        while progress.failed.is_none() && progress.left.is_none() && progress.under_way.len() < UNDER_WAY {
            let Some(number) = queue.task() else { break };
            let current = match &progress.current {
                Some(current) if current.number == number => Arc::clone(current),
                _ => match self.prepare_task(number) {
                    Ok(Some(current)) => Arc::clone(progress.current.insert(current)),
                    Ok(None) => {
                        progress.left = Some(number);
                        break;
                    }
                    Err(error) => {
                        progress.failed = Some(error);
                        break;
                    }
                },
            };
            let most = current.chunk(self.session, self.wanted);
            let Some(taken) = queue.take(number, most, wait && progress.under_way.is_empty()) else {
                // Other GPUs may have taken all remaining toys of the task.
                if queue.task() == Some(number) { break } else { continue }
            };
            let start = queue.start(number);
            match self.start(current, start, taken, progress.begun.is_multiple_of(CHECKED_CHUNKS)) {
                Ok(chunk) => progress.under_way.push_back(chunk),
                Err(error) => progress.failed = Some(error),
            }
            progress.begun += 1;
        }
    }

    /// Starts the chunk `taken` of the task `current`. `start` is the index in the queue of the first item of the
    /// task.
    fn start(
        &self,
        current: Arc<TaskInProgress<'a>>,
        start: u64,
        taken: TakenChunk,
        checked: bool,
    ) -> Result<Chunk<'a>, SessionError> {
        let (session, requests) = (self.session, current.task.fits.as_slice());
        let TakenChunk { items, left } = taken;
        let first = current.drawn.toys.start + (items.start - start);
        let toys = first..first + (items.end - items.start);
        let count = (toys.end - toys.start) as usize;
        let mut samples = Vec::new();
        if checked {
            samples.extend(chosen(count, requests.len()).map(|i| {
                let data = current.data(session, toys.start + i as u64);
                Sample::new(i * requests.len(), requests, data, true)
            }));
        }
        let mut input = Input::new();
        for (request, kind) in requests.iter().zip(&current.shared.kinds) {
            input.request(session.cpu.table(), request, kind, session.looks(request));
        }
        let probes: Vec<_> = samples.iter().map(|sample| sample.probe(&mut input)).collect();
        let help = match left {
            0 => Help::All,
            left if left <= current.chunk(session, self.wanted) => Help::Few,
            _ => Help::No,
        };
        let range = ToyRange { draws: current.draws(), first: toys.start, count, help };
        let mut slot = session.take_slot()?;
        current.launcher.start(&mut slot, input, Some(range), &probes)?;
        Ok(Chunk { slot, current, items, toys, samples })
    }

    /// Waits for the launch of a chunk, finishes the fits on the CPU, and delivers the outcomes piece by piece.
    fn settle(
        &self,
        chunk: &mut Chunk<'_>,
        deliver: &mut dyn FnMut(FinishedChunk),
    ) -> Result<(), SessionError> {
        let Chunk { slot, current, items, toys, samples } = chunk;
        let (session, task) = (self.session, current.task);
        let results = slot.wait()?;
        let constant = session.cpu.plan.saturated_normal();
        let own = AtomicU64::new(0);
        let placement = session.covers(self.wanted);
        let settling = Settling {
            cpu: &session.cpu,
            task,
            domains: &current.shared.domains,
            wanted: self.wanted,
            apart: placement.is_some(),
            control: self.control,
            fitters: &current.shared.fitters,
            few: false,
            own: &own,
        };
        // Returns the outcomes of some toys, given by their indices in the chunk.
        let settled = |results: &LaunchResults<'_>, which: &[usize]| {
            let first = |k: usize| which[k] * task.fits.len();
            let sets = DataSets {
                first: &first,
                saturated: &|k| results.outcomes.get(first(k)).map(|outcome| outcome.saturated + constant),
                data: &|k| Cow::Owned(current.data(session, toys.start + which[k] as u64)),
            };
            settling.tasks(results, which.len(), &sets, &mut |work| session.lend(work))
        };
        // Toys for which the CPU computes something are finished first, and all together. Otherwise each piece would
        // wait for its slowest toy.
        let count = (toys.end - toys.start) as usize;
        let is_long = |i: &usize| !settling.is_short(&results, i * task.fits.len());
        let mut long: Vec<usize> = (0..count).filter(is_long).collect();
        let none = || TaskOutcome { fits: Vec::new() };
        let checking = Checking::new(session, results, samples);
        let some = |places: Range<usize>| settled(&results, &long[places]);
        let mut made = session.settle_together(long.len(), &some, checking.len(), &|i| checking.check(i));
        if !checking.end(own.swap(0, Ordering::Relaxed))? {
            long = (0..count).collect();
            let nothing = LaunchResults::default();
            let some = |places: Range<usize>| settled(&nothing, &long[places]);
            made = session.settle_together(count, &some, 0, &|_| ());
        }
        let mut made = long.iter().copied().zip(made).peekable();
        let per_toy = Launcher::bytes_per_fit(&session.plan) * task.fits.len().max(1);
        let piece = match placement {
            Some(_) => count.max(1),
            None => (PIECE / per_toy).clamp(FEWEST_SETTLED, MOST_SETTLED),
        };
        for from in (0..count).step_by(piece) {
            let to = count.min(from + piece);
            let is_made = |i: usize| long.binary_search(&(from + i)).is_ok();
            let others = |places: Range<usize>| {
                let which: Vec<usize> = places.clone().filter(|&i| !is_made(i)).map(|i| from + i).collect();
                let mut outcomes = settled(&results, &which).into_iter();
                let place = |i: usize| if is_made(i) { none() } else { outcomes.next().unwrap_or_else(none) };
                places.map(place).collect()
            };
            let mut outcomes = session.settle_short(to - from, &others);
            while let Some((i, outcome)) = made.next_if(|(i, _)| *i < to) {
                if let Some(place) = outcomes.get_mut(i - from) {
                    *place = outcome;
                }
            }
            if let Some(placement) = placement {
                let memory = draw(session, current, toys.clone())?;
                let fitted = Fitted {
                    // The bounds and fixed parameters of a request are the same for all toys.
                    domain: &|_, k| Cow::Borrowed(&current.shared.domains[k]),
                    sets: memory.at(),
                    set_of: &|i| i,
                    data: &|i| Cow::Owned(current.data(session, toys.start + i as u64)),
                    drawn: true,
                };
                session.add_uncertainties(placement, &mut outcomes, &fitted, self.wanted, self.control)?;
            }
            let items = items.start + from as u64..items.start + to as u64;
            deliver(FinishedChunk { items, outcomes, whole: to == count });
        }
        session.count_own(own.into_inner());
        Ok(())
    }
}

/// Draws the data of `toys` again on the device, and returns the buffer that contains them. The buffer contains the
/// main counts and then the auxiliary data of each toy, toy after toy.
fn draw(
    session: &GpuSession,
    current: &TaskInProgress<'_>,
    toys: Range<u64>,
) -> Result<Buffer, SessionError> {
    let (backend, plan) = (&session.backend, &session.cpu.plan);
    let (n_toys, n_data) = ((toys.end - toys.start) as usize, plan.n_bins() + plan.n_aux());
    let data = Buffer::new(backend, 8 * n_data * n_toys)?;
    let launch = DrawLaunch {
        draws: current.draws(),
        first_toy: toys.start,
        n_toys: n_toys as i32,
        n_data: n_data as i32,
        data: data.at(),
    };
    let blocks = (8 * backend.properties().multiprocessors).min(n_toys) as u32;
    let shape = Shape { blocks, threads: DRAWING, shared: 0 };
    backend.launch(Kernel::Draw, shape, bytemuck::bytes_of(&launch))?;
    Ok(data)
}

impl GpuSession {
    /// Fits the toys of `tasks`, which are in `queue`. Returns how many tasks were completed before the first task that
    /// is left to the CPU. Returns the number of all tasks if there is no such task.
    ///
    /// # Errors
    /// The first error of the device. If a chunk cannot be started, the chunks that are already on the device are
    /// finished and delivered before the error is returned.
    pub(super) fn run_drawn(
        &self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
        control: Control<'_>,
        queue: &ChunkQueue<'_>,
        deliver: &mut dyn FnMut(FinishedChunk),
    ) -> Result<usize, SessionError> {
        let batch = Batch { session: self, tasks, wanted, control };
        let mut progress = BatchProgress::default();
        loop {
            batch.go_on(&mut progress, queue, true);
            let Some(mut chunk) = progress.under_way.pop_front() else { break };
            chunk.slot.wait()?;
            // The next chunk is started first, so the device works while the CPU finishes this chunk.
            batch.go_on(&mut progress, queue, false);
            batch.settle(&mut chunk, deliver)?;
            self.put_slot(chunk.slot);
        }
        progress.failed.map_or(Ok(progress.left.unwrap_or(tasks.len())), Err)
    }
}

#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
