//! Progress and cancellation of long computations. The command line and Python use the same types.

use std::sync::atomic::{AtomicBool, Ordering};

/// Receiver of the progress of a batch of fits. It is called between fits, from any thread.
pub trait Observer: Send + Sync {
    /// Receives the progress. `done` of the `total` fits of the batch have finished.
    fn progress(&self, done: usize, total: usize);
}

/// The means by which a caller controls a batch of fits: an observer of its progress, and flags that cancel it.
#[derive(Clone, Copy, Default)]
pub struct Control<'a> {
    /// Receiver of the progress, if any.
    pub observer: Option<&'a dyn Observer>,
    /// Flag that cancels the batch when it becomes true. It is checked between fits and between iterations.
    /// Finished fits are kept.
    pub cancel: Option<&'a AtomicBool>,
    /// Flag that cancels only the current task of the batch. Sessions take it from
    /// [`FitTask::cancel`](crate::FitTask::cancel).
    pub task: Option<&'a AtomicBool>,
}

impl Control<'_> {
    /// Returns whether the caller has asked to cancel the batch or the current task.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        [self.cancel, self.task].into_iter().flatten().any(|flag| flag.load(Ordering::Relaxed))
    }

    /// Passes the progress on to the observer, if there is one.
    pub fn progress(&self, done: usize, total: usize) {
        if let Some(observer) = self.observer {
            observer.progress(done, total);
        }
    }
}
