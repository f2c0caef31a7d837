//! Splits batches of fits into pieces of similar duration.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ns_core::{Drawn, FitTask, Seen};

/// Intended time of a piece of work. A short request should not wait longer than 50 ms until a thread has finished
/// its piece, so this time is shorter.
const TARGET: Duration = Duration::from_millis(35);

/// Number of toys in the first piece of work for a model. Later pieces on the CPU have at least [`FEWEST_TOYS`]
/// toys, which fill one SIMD vector.
const FIRST_TOYS: u64 = 64;
const FEWEST_TOYS: u64 = 8;
/// Smallest number of toys in a piece of work for a GPU. A GPU fits hundreds of toys in the time of a single fit.
const FEWEST_TOYS_OF_GPU: u64 = 512;
const MOST_TOYS: u64 = 1 << 14;

/// Speed of the fits of one session, measured from the pieces of work that have run.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Number of toys in the next piece of work.
    toys: AtomicU64,
    /// Mean time of a fit task with given data (not toys), in nanoseconds; 0 before the first such task.
    task_ns: AtomicU64,
    /// Smallest number of toys in a piece.
    fewest: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { toys: AtomicU64::new(FIRST_TOYS), task_ns: AtomicU64::new(0), fewest: FEWEST_TOYS }
    }
}

impl Pace {
    /// Returns the pace of a session on a GPU before any piece of work has run.
    pub(crate) fn of_gpu() -> Self {
        let fewest = FEWEST_TOYS_OF_GPU;
        Self { toys: AtomicU64::new(fewest), fewest, ..Self::default() }
    }

    /// Returns the expected time of `tasks` fit tasks with given data (not toys); `None` if no such task has run yet.
    fn expected(&self, tasks: usize) -> Option<Duration> {
        let each = self.task_ns.load(Ordering::Relaxed);
        (each > 0).then(|| Duration::from_nanos(each.saturating_mul(tasks as u64)))
    }

    /// Returns the number of fit tasks with given data (not toys) that a piece should have.
    fn tasks(&self) -> usize {
        let each = self.task_ns.load(Ordering::Relaxed);
        let target = u64::try_from(TARGET.as_nanos()).unwrap_or(u64::MAX);
        usize::try_from(target.checked_div(each).unwrap_or(1)).unwrap_or(1).clamp(1, 4096)
    }

    /// Updates the sizes of future pieces from the time of a piece.
    pub(super) fn learn(&self, tasks: &[FitTask], time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let toys: u64 = tasks.iter().filter(|task| is_drawn(task)).map(|task| task.data.count()).sum();
        if toys == 0 {
            let each = (ns / tasks.len().max(1) as u64).max(1);
            let before = self.task_ns.load(Ordering::Relaxed);
            let mean = if before == 0 { each } else { (3 * (before / 4)).saturating_add(each / 4).max(1) };
            self.task_ns.store(mean, Ordering::Relaxed);
        } else if toys >= self.toys.load(Ordering::Relaxed) {
            // The piece had its full size. The size changes by at most a factor of two, because toys take
            // different times.
            let factor = (TARGET.as_secs_f64() / time.as_secs_f64().max(1e-6)).clamp(0.5, 2.0);
            let next = ((toys as f64 * factor) as u64) / FEWEST_TOYS * FEWEST_TOYS;
            self.toys.store(next.clamp(self.fewest, MOST_TOYS), Ordering::Relaxed);
        }
    }
}

fn is_drawn(task: &FitTask) -> bool {
    matches!(task.data.seen, Seen::Drawn(_))
}

/// The tasks of a batch of fits that no piece contains yet.
pub(super) struct Rest<'a> {
    tasks: &'a [FitTask],
    /// If the first of the remaining tasks has toys: the number of its toys that are already in pieces.
    toys: u64,
}

/// The content of a piece: tasks that run together.
pub(super) struct Cut {
    pub(super) tasks: Vec<FitTask>,
    pub(super) outcomes: usize,
    pub(super) fits: usize,
    pub(super) expected: Option<Duration>,
}

impl<'a> Rest<'a> {
    pub(super) fn of(tasks: &'a [FitTask]) -> Self {
        Self { tasks, toys: 0 }
    }

    /// Returns the content of the next piece of work: some tasks with given data, or some toys of one task. Returns
    /// `None` if no task is left.
    pub(super) fn next(&mut self, pace: &Pace) -> Option<Cut> {
        let first = self.tasks.first()?;
        if let Seen::Drawn(Drawn { source, toys }) = &first.data.seen {
            let start = toys.start.saturating_add(self.toys).min(toys.end.max(toys.start));
            let end = start.saturating_add(pace.toys.load(Ordering::Relaxed)).min(toys.end);
            if end >= toys.end {
                (self.tasks, self.toys) = (self.tasks.get(1..).unwrap_or_default(), 0);
            } else {
                self.toys = end - toys.start;
            }
            let count = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
            let data = first.data.with(Drawn { source: source.clone(), toys: start..end.max(start) });
            let fits = count.saturating_mul(first.fits.len());
            let tasks = vec![FitTask { data, fits: first.fits.clone(), cancel: None }];
            return Some(Cut { tasks, outcomes: count, fits, expected: Some(TARGET) });
        }
        let given = self.tasks.iter().take_while(|task| !is_drawn(task)).count();
        let (now, later) = self.tasks.split_at(given.min(pace.tasks()));
        self.tasks = later;
        let fits = now.iter().map(|task| task.fits.len()).sum();
        Some(Cut { outcomes: now.len(), fits, expected: pace.expected(now.len()), tasks: now.to_vec() })
    }
}
