//! Distributes the items of tasks over GPUs and delivers their outcomes in order. An item is a toy, or a task with
//! given data.
//!
//! The items of all tasks form one queue. A chunk is a range of consecutive items. A GPU that becomes free takes the
//! next chunk. A finished chunk is delivered after all chunks that come before it in the queue. A GPU waits if its
//! chunks are too far ahead of the delivery. This bounds the memory for undelivered outcomes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

use ns_core::{Control, SessionError, TaskOutcome};

/// Largest number of chunks per GPU that are taken and not yet delivered. The GPU works on two of them, the CPU
/// finishes one, and one waits for the delivery of earlier chunks.
const CHUNKS_PER_GPU: usize = 4;

/// Smallest and largest number of items in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkSizes {
    /// Smallest number of items in a chunk. A chunk is smaller if fewer items of its task are left, or if the GPU can
    /// take only fewer items.
    pub(super) fewest: u64,
    /// Largest number of items in a chunk.
    pub(super) most: u64,
}

impl ChunkSizes {
    /// Sizes for a single GPU: every chunk has as many items as the GPU can take.
    pub(super) const WHOLE: Self = Self { fewest: u64::MAX, most: u64::MAX };

    /// Returns the sizes that divide `items` items into one equal chunk per GPU. If such a chunk would have more than
    /// `most` items, the items are divided into more chunks of `most` items each.
    pub(super) fn parts(items: u64, gpus: usize, most: u64) -> Self {
        let part = items.div_ceil(gpus.max(1) as u64).clamp(1, most.max(1));
        Self { fewest: part, most: part }
    }

    /// Returns sizes that make the chunks smaller towards the end of the queue. All GPUs then end at about the same
    /// time. The smallest size is `fewest`, or `items` divided by the number of GPUs if that is less. The largest size
    /// is `most`.
    pub(super) fn shrinking(items: u64, gpus: usize, fewest: u64, most: u64) -> Self {
        let part = items.div_ceil(gpus.max(1) as u64).max(1);
        Self { fewest: fewest.clamp(1, part), most: most.max(1) }
    }
}

/// The queue of the items of all tasks, from which GPUs take chunks.
pub(super) struct ChunkQueue<'a> {
    /// For each task, the index in the queue after the task's last item.
    ends: Vec<u64>,
    end: u64,
    gpus: usize,
    chunk_sizes: ChunkSizes,
    control: Control<'a>,
    state: Mutex<State>,
    moved: Condvar,
}

struct State {
    /// Index in the queue of the first item that no GPU has taken.
    next: u64,
    /// Number of chunks that are taken and not yet delivered.
    out: usize,
    stopped: bool,
    failed: Option<SessionError>,
}

/// A chunk that a GPU has taken: consecutive items of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TakenChunk {
    pub(super) items: Range<u64>,
    /// Number of items that follow this chunk in the queue.
    pub(super) left: u64,
}

/// Consecutive finished items with their outcomes. They are a whole chunk or a part of a chunk.
pub(super) struct FinishedChunk {
    pub(super) items: Range<u64>,
    pub(super) outcomes: Vec<TaskOutcome>,
    /// Whether the last of these items is also the last item of its chunk.
    pub(super) whole: bool,
}

impl<'a> ChunkQueue<'a> {
    /// Creates a queue of tasks. `counts` contains the number of items of each task. Items are numbered from 0 over
    /// all tasks. `chunk_sizes` is called with the total number of items and returns the sizes of chunks.
    pub(super) fn new(
        counts: impl IntoIterator<Item = u64>,
        gpus: usize,
        chunk_sizes: impl FnOnce(u64) -> ChunkSizes,
        control: Control<'a>,
    ) -> Self {
        let ends = counts.into_iter().scan(0_u64, |end, count| {
            *end = end.saturating_add(count);
            Some(*end)
        });
        let ends: Vec<u64> = ends.collect();
        let end = ends.last().copied().unwrap_or(0);
        let state = State { next: 0, out: 0, stopped: false, failed: None };
        Self {
            ends,
            end,
            gpus,
            chunk_sizes: chunk_sizes(end),
            control,
            state: Mutex::new(state),
            moved: Condvar::new(),
        }
    }

    /// Returns the index in the queue of the first item of a task.
    pub(super) fn start(&self, task: usize) -> u64 {
        task.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0)
    }

    /// Returns the index of the task to which the next item belongs. Returns `None` at the end of the queue, or if
    /// the work was stopped or cancelled.
    pub(super) fn task(&self) -> Option<usize> {
        self.task_of(&self.state())
    }

    fn task_of(&self, state: &State) -> Option<usize> {
        let over = state.stopped || state.next >= self.end || self.control.is_cancelled();
        (!over).then(|| self.ends.partition_point(|end| *end <= state.next))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next chunk of `task`, with at most `most` items. Returns `None` if the next item belongs to another
    /// task, or if there is none.
    ///
    /// If too many chunks are taken and not delivered, the call waits for a delivery if `wait` is true, and otherwise
    /// returns `None`. Only a GPU that holds no chunk may set `wait`; otherwise all GPUs might wait for each other.
    pub(super) fn take(&self, task: usize, most: u64, wait: bool) -> Option<TakenChunk> {
        let mut state = self.state();
        loop {
            if self.task_of(&state) != Some(task) {
                return None;
            }
            if state.out < CHUNKS_PER_GPU * self.gpus {
                break;
            }
            if !wait {
                return None;
            }
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let left = self.end - state.next;
        let share = (left / (2 * self.gpus.max(1) as u64)).max(self.chunk_sizes.fewest);
        let of_task = self.ends.get(task).map_or(left, |end| end - state.next);
        let count = share.min(self.chunk_sizes.most).min(most.max(1)).min(of_task);
        let first = state.next;
        state.next += count;
        state.out += 1;
        Some(TakenChunk { items: first..state.next, left: self.end - state.next })
    }

    /// Stops the work: no more chunks can be taken. If several calls give an error, the first error is kept.
    fn stop(&self, error: Option<SessionError>) {
        let mut state = self.state();
        state.stopped = true;
        state.failed = state.failed.take().or(error);
        self.moved.notify_all();
    }

    /// Records that a whole chunk has been delivered. GPUs that wait for a delivery continue.
    pub(super) fn handed_on(&self) {
        self.state().out -= 1;
        self.moved.notify_all();
    }
}

/// Guard that stops the work if its thread panics. Without the guard, the other threads would wait for ever.
struct Guard<'a, 'b>(&'a ChunkQueue<'b>);

impl Drop for Guard<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(None);
        }
    }
}

/// Function that does the work of one GPU. [`run_chunks`] describes its arguments and result.
type Work<'a, C> = dyn Fn(&C, &mpsc::Sender<FinishedChunk>) -> Result<usize, SessionError> + Sync + 'a;

/// Runs `work` for each GPU on a thread of its own. Passes the outcomes of finished items to `deliver` on the calling
/// thread, in the order of the queue.
///
/// `work` takes chunks from the queue until there are none, and sends each chunk when it is finished. It returns how
/// many tasks it completed before the first task that is left to the CPU. If no task is left to the CPU, it returns the
/// number of all tasks.
///
/// Returns the smallest number of tasks that `work` returned for a GPU, or 0 if there are no GPUs.
///
/// # Errors
/// The first error of any GPU. The other GPUs then finish the chunks that they have taken. Outcomes are delivered up
/// to the first missing item.
pub(super) fn run_chunks<C: Sync>(
    gpus: &[C],
    queue: &ChunkQueue<'_>,
    work: &Work<'_, C>,
    deliver: &mut dyn FnMut(Vec<TaskOutcome>),
) -> Result<usize, SessionError> {
    let mut expected = queue.state().next;
    let (sender, receiver) = mpsc::channel::<FinishedChunk>();
    let done = std::thread::scope(|scope| {
        let _guard = Guard(queue);
        let threads: Vec<_> = gpus
            .iter()
            .map(|gpu| {
                let sender = sender.clone();
                scope.spawn(move || {
                    let _guard = Guard(queue);
                    work(gpu, &sender).unwrap_or_else(|error| {
                        queue.stop(Some(error));
                        usize::MAX
                    })
                })
            })
            .collect();
        // The channel closes when the thread of the last GPU ends.
        drop(sender);
        let mut early: BTreeMap<u64, FinishedChunk> = BTreeMap::new();
        for finished in receiver {
            early.insert(finished.items.start, finished);
            while let Some(FinishedChunk { items, outcomes, whole }) = early.remove(&expected) {
                expected = items.end;
                deliver(outcomes);
                if whole {
                    queue.handed_on();
                }
            }
        }
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(payload) => std::panic::resume_unwind(payload),
        });
        // All threads are joined before the results are used.
        let ended: Vec<usize> = ended.collect();
        ended.into_iter().min().unwrap_or(0)
    });
    match queue.state().failed.take() {
        Some(error) => Err(error),
        None => Ok(done),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// Returns one outcome per item. Different items have different numbers of fits, so a test can distinguish the
    /// outcomes.
    fn outcomes(items: &Range<u64>) -> Vec<TaskOutcome> {
        let outcome = |item: u64| TaskOutcome {
            fits: (0..item % 7).map(|_| Err(ns_core::FitFailure::NotNeeded)).collect(),
        };
        items.clone().map(outcome).collect()
    }

    fn queue(n: u64, gpus: usize, chunk_sizes: ChunkSizes) -> ChunkQueue<'static> {
        ChunkQueue::new([n], gpus, |_| chunk_sizes, Control::default())
    }

    fn finished(items: Range<u64>) -> FinishedChunk {
        let outcomes = outcomes(&items);
        FinishedChunk { items, outcomes, whole: true }
    }

    /// Takes chunks until there are none. Finishes each chunk `pause` milliseconds after it was taken.
    fn steady(
        queue: &ChunkQueue<'_>,
        pause: u64,
        to: &mpsc::Sender<FinishedChunk>,
    ) -> Result<usize, SessionError> {
        while let Some(TakenChunk { items, .. }) = queue.take(0, u64::MAX, true) {
            std::thread::sleep(Duration::from_millis(pause));
            to.send(finished(items)).unwrap();
        }
        Ok(1)
    }

    #[test]
    fn chunks_cover_the_work_in_order_whoever_makes_them() {
        for n in [0, 1, 2, 5, 64, 200] {
            for chunk_sizes in [
                ChunkSizes { fewest: 1, most: 1 },
                ChunkSizes { fewest: 3, most: 11 },
                ChunkSizes::parts(n, 3, 50),
                ChunkSizes::shrinking(n, 3, 8, 40),
            ] {
                let queue = queue(n, 3, chunk_sizes);
                let mut got = Vec::new();
                let work = |pause: &u64, to: &mpsc::Sender<FinishedChunk>| steady(&queue, *pause, to);
                assert_eq!(run_chunks(&[0, 1, 2], &queue, &work, &mut |chunk| got.extend(chunk)), Ok(1));
                assert_eq!(got, outcomes(&(0..n)), "{n} items, {chunk_sizes:?}");
            }
        }
    }

    #[test]
    fn equal_parts_and_chunks_that_shrink() {
        let sizes = |n: u64, chunk_sizes| {
            let queue = queue(n, 2, chunk_sizes);
            let take = || {
                let items = queue.take(0, 10_000, false)?.items;
                queue.handed_on();
                Some(items.end - items.start)
            };
            std::iter::from_fn(take).collect::<Vec<u64>>()
        };
        assert_eq!(sizes(101, ChunkSizes::parts(101, 2, 8192)), [51, 50]);
        assert_eq!(sizes(1000, ChunkSizes::shrinking(1000, 2, 2048, u64::MAX)), [500, 500]);
        let many = sizes(100_000, ChunkSizes::shrinking(100_000, 2, 2048, u64::MAX));
        assert_eq!(many.iter().sum::<u64>(), 100_000);
        assert!(many.windows(2).all(|w| w[1] <= w[0]) && many[0] == 10_000, "{many:?}");
        assert!(many.iter().rev().skip(1).all(|size| *size >= 2048), "{many:?}");
    }

    #[test]
    fn chunks_end_with_their_task_and_say_what_is_left() {
        let queue = ChunkQueue::new([5, 0, 3, 0], 1, |_| ChunkSizes::WHOLE, Control::default());
        let mut got = Vec::new();
        while let Some(task) = queue.task() {
            assert_eq!(queue.take(task + 1, 4, true), None);
            let TakenChunk { items, left } = queue.take(task, 4, true).unwrap();
            let start = queue.start(task);
            got.push((task, items.start - start..items.end - start, left));
            queue.handed_on();
        }
        assert_eq!(got, [(0, 0..4, 4), (0, 4..5, 3), (2, 0..3, 0)]);
        let none = ChunkQueue::new([], 1, |_| ChunkSizes::WHOLE, Control::default());
        assert_eq!(none.task(), None);
    }

    #[test]
    fn a_gpu_that_runs_ahead_waits() {
        let queue = queue(100, 2, ChunkSizes { fewest: 1, most: 1 });
        let taken = std::iter::from_fn(|| queue.take(0, 1, false)).count();
        assert_eq!(taken, 2 * CHUNKS_PER_GPU);
        queue.handed_on();
        let next = taken as u64;
        assert_eq!(queue.take(0, 1, true), Some(TakenChunk { items: next..next + 1, left: 99 - next }));
        assert_eq!(queue.take(0, 1, false), None);
    }

    #[test]
    fn a_slow_gpu_bounds_what_waits() {
        let queue = queue(60, 2, ChunkSizes { fewest: 1, most: 1 });
        let most = AtomicUsize::new(0);
        let work = |pause: &u64, to: &mpsc::Sender<FinishedChunk>| {
            while let Some(TakenChunk { items, .. }) = queue.take(0, 1, true) {
                most.fetch_max(queue.state().out, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(*pause));
                to.send(finished(items)).unwrap();
            }
            Ok(1)
        };
        let mut got = Vec::new();
        assert_eq!(run_chunks(&[0, 5], &queue, &work, &mut |chunk| got.extend(chunk)), Ok(1));
        assert_eq!(got, outcomes(&(0..60)));
        assert!(most.load(Ordering::Relaxed) <= 2 * CHUNKS_PER_GPU);
    }

    #[test]
    fn the_first_error_stops_all_and_what_was_before_it_is_delivered() {
        let queue = queue(1000, 2, ChunkSizes { fewest: 1, most: 1 });
        let lost = SessionError::NoSuchCudaDevice { index: 1, count: 1 };
        let work = |bad: &bool, to: &mpsc::Sender<FinishedChunk>| {
            while let Some(TakenChunk { items, .. }) = queue.take(0, 1, true) {
                std::thread::sleep(Duration::from_millis(1));
                if *bad && items.start > 9 {
                    return Err(lost.clone());
                }
                to.send(finished(items)).unwrap();
            }
            Ok(1)
        };
        let mut got = Vec::new();
        assert_eq!(
            run_chunks(&[false, true], &queue, &work, &mut |chunk| got.extend(chunk)),
            Err(lost.clone())
        );
        assert!(got.len() >= 10 && got.len() < 100, "{}", got.len());
        assert_eq!(got, outcomes(&(0..got.len() as u64)));
    }

    #[test]
    fn a_cancelled_batch_hands_on_what_was_begun() {
        let cancel = AtomicBool::new(false);
        let control = Control { observer: None, cancel: Some(&cancel), task: None };
        let queue = ChunkQueue::new([1000], 3, |_| ChunkSizes { fewest: 2, most: 2 }, control);
        let work = |pause: &u64, to: &mpsc::Sender<FinishedChunk>| steady(&queue, *pause, to);
        let mut got = Vec::new();
        let result = run_chunks(&[1, 1, 2], &queue, &work, &mut |chunk| {
            got.extend(chunk);
            cancel.store(got.len() >= 20, Ordering::Relaxed);
        });
        assert_eq!(result, Ok(1));
        assert_eq!(got.len() as u64, queue.state().next);
        assert!(got.len() >= 20 && got.len() <= 20 + 2 * 3 * CHUNKS_PER_GPU, "{}", got.len());
        assert_eq!(got, outcomes(&(0..got.len() as u64)));
    }

    #[test]
    fn gpus_that_leave_the_work_and_none_at_all() {
        let all = queue(10, 2, ChunkSizes::parts(10, 2, 5));
        let leave = |_: &u8, _: &mpsc::Sender<FinishedChunk>| Ok(0);
        assert_eq!(run_chunks(&[0, 0], &all, &leave, &mut |_| unreachable!("nothing was made")), Ok(0));
        assert_eq!(run_chunks(&[0; 0], &all, &leave, &mut |_| unreachable!("nothing was made")), Ok(0));
    }

    #[test]
    fn a_panic_of_one_gpu_ends_the_others() {
        let queue = queue(1000, 2, ChunkSizes { fewest: 1, most: 1 });
        let work = |bad: &bool, to: &mpsc::Sender<FinishedChunk>| {
            if *bad {
                let _held = queue.take(0, 1, true);
                panic!("a GPU's thread");
            }
            steady(&queue, 1, to)
        };
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = run_chunks(&[true, false], &queue, &work, &mut |_| ());
        }));
        assert!(ran.is_err());
    }
}
