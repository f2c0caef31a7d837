//! Fits toys in chunks (ranges of consecutive toys), two of which are on the device at a time.
//!
//! The toys of consecutive tasks form one queue. Each of the two chunks on the device has its own lane (a
//! stream of copies and kernels). So the end of one chunk and the beginning of the next run in parallel, even
//! if the two belong to different tasks. The CPU finishes a chunk whose results have arrived, in pieces that
//! fit into the CPU's caches. The outcomes do not depend on the size of chunks.

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

/// Ratio of the number of toys in a chunk to the number of toys that the device fits at the same time. At the
/// end of a chunk a part of the device may be idle. With this ratio the idle time is short compared with the
/// time of a chunk.
const WAVES: usize = 4;
/// Smallest number of toys in a chunk, except if memory does not suffice or the task has fewer.
const FEWEST_TOYS: usize = 512;
/// Largest size in bytes of the results of a chunk that are copied to the host, without covariances.
const MOST_BROUGHT: usize = 64 << 20;
/// Largest size of the covariances of a chunk in bytes.
const MOST_COVARIANCES: usize = 512 << 20;
/// Number of threads per block in launches that only draw toys.
const DRAWING: u32 = 128;
/// Largest number of chunks on the device at a time.
const UNDER_WAY: usize = 2;
/// Ratio of the number of chunks to the number of chunks that the CPU checks. The first chunk of a batch is
/// checked.
const CHECKED_CHUNKS: u64 = 4;
/// Largest size in bytes of the device's results for a piece, the toys whose outcomes are delivered together.
/// The outcomes then stay in the CPU's caches until they are delivered.
const PIECE: usize = 1 << 20;
/// Smallest number of toys in a piece.
const FEWEST_SETTLED: usize = 64;
/// Largest number of toys in a piece.
const MOST_SETTLED: usize = 1024;

/// A task that is being run.
struct TaskInProgress<'a> {
    /// Index among the tasks.
    number: usize,
    task: &'a FitTask,
    drawn: &'a Drawn,
    shared: Arc<Shared>,
    /// Inputs of the task. They also keep the distributions of its toys in device memory.
    prepared: Arc<Prepared>,
    launcher: Launcher<'a>,
}

/// A chunk on the device.
struct Chunk<'a> {
    /// Lane and memory of the chunk. They are dropped first, because dropping a lane waits for the work that
    /// uses the memory of `current`.
    slot: Slot,
    current: Arc<TaskInProgress<'a>>,
    items: Range<u64>,
    toys: Range<u64>,
    samples: Vec<Sample<'a>>,
}

/// Progress of a batch.
#[derive(Default)]
struct BatchProgress<'a> {
    under_way: VecDeque<Chunk<'a>>,
    current: Option<Arc<TaskInProgress<'a>>>,
    /// Number of chunks that were begun.
    begun: u64,
    /// Index of the first task that is left to the CPU. No chunk begins after it was found.
    left: Option<usize>,
    /// Error after which no more chunks begin.
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
    /// Returns the largest number of toys in a chunk of this task.
    fn chunk(&self, session: &GpuSession, wanted: OutcomeParts) -> u64 {
        let (plan, properties) = (&session.cpu.plan, session.backend.properties());
        let (n, fits) = (plan.n_parameters(), self.task.fits.len().max(1));
        let per_toy = Launcher::bytes_per_fit(&session.plan) * fits;
        let mut most = shape::within(properties, per_toy, MOST_BROUGHT);
        if session.covers(wanted).is_some() {
            // The device draws the data of all toys of a chunk again for the uncertainties.
            most = most.min(shape::within(properties, 8 * (plan.n_bins() + plan.n_aux()), usize::MAX));
        }
        if wanted.covariance {
            most = most.min(shape::within(properties, 8 * n * n * fits, MOST_COVARIANCES));
        }
        (WAVES * self.launcher.fit.blocks).max(FEWEST_TOYS).min(most) as u64
    }

    /// Returns the offset of the distributions of the task's toys.
    fn draws(&self) -> Offset<layout::Draws> {
        self.prepared.on_device.as_ref().map_or(Offset::NULL, |(_, sources)| sources.at())
    }

    /// Returns the data of a toy.
    fn data(&self, session: &GpuSession, toy: u64) -> Dataset {
        let plan = &session.cpu.plan;
        let mut data = Dataset::empty(plan);
        self.drawn.source.draw_into(toy, &mut data.main, &mut data.aux);
        data.saturate(plan);
        data
    }
}

impl<'a> Batch<'a> {
    /// Prepares a task. Returns `None` if it is left to the CPU.
    fn prepare_task(&self, number: usize) -> Result<Option<Arc<TaskInProgress<'a>>>, SessionError> {
        let Some(task) = self.tasks.get(number) else { return Ok(None) };
        let Seen::Drawn(drawn) = &task.data.seen else { return Ok(None) };
        let prepared = self.session.prepare(&drawn.source, &task.fits)?;
        let Some((shared, _)) = &prepared.on_device else { return Ok(None) };
        let (shared, launcher) = (Arc::clone(shared), self.session.launcher(shared.size)?);
        Ok(Some(Arc::new(TaskInProgress { number, task, drawn, shared, prepared, launcher })))
    }

    /// Starts chunks until the device has `UNDER_WAY` of them, or there are no more. If `wait` is true and
    /// the device has none, may wait until other GPUs have delivered chunks.
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
                // Other GPUs may have taken all other toys of the task.
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

    /// Starts a chunk of the task `current`. `start` is the index of the task's first item in the queue.
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

    /// Waits for the launch of a chunk, finishes its tasks, and delivers their outcomes piece by piece.
    fn settle(
        &self,
        chunk: &mut Chunk<'_>,
        deliver: &mut dyn FnMut(FinishedChunk),
    ) -> Result<(), SessionError> {
        let Chunk { slot, current, items, toys, samples } = chunk;
        let (session, task) = (self.session, current.task);
        let results = slot.wait()?;
        let constant = session.cpu.plan.numbers.gaussian_constant;
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
            own: &own,
        };
        // Returns the outcomes of the toys with these indices in the chunk.
        let settled = |results: &LaunchResults<'_>, which: &[usize]| {
            let first = |k: usize| which[k] * task.fits.len();
            let sets = DataSets {
                first: &first,
                saturated: &|k| results.outcomes.get(first(k)).map(|outcome| outcome.saturated + constant),
                data: &|k| Cow::Owned(current.data(session, toys.start + which[k] as u64)),
            };
            settling.tasks(results, which.len(), &sets, &mut |work| session.lend(work))
        };
        // Toys for which the CPU has to compute are finished first, all together, so that no piece waits for
        // its slowest toy.
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

/// Draws the data of `toys` again on the device, and returns the buffer with the data: main counts, then
/// auxiliary data, toy after toy.
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
    /// Fits the toys of `tasks`, the tasks whose toys are in `queue`. Returns how many tasks were done before
    /// the first task that is left to the CPU, or the number of all tasks if there is none.
    ///
    /// # Errors
    /// The first error of the device. If a chunk cannot be started, the chunks that are already on the device
    /// are finished and delivered.
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
            // The next chunks are started first, so that the device works while the CPU finishes this chunk.
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
