//! Progress and cancellation of long work: one mechanism for the terminal, Python and HTTP.

use std::sync::atomic::{AtomicBool, Ordering};

/// Receives the progress of a batch. Called between fits, from any thread.
pub trait Observer: Send + Sync {
    /// `done` of `total` fits have finished.
    fn progress(&self, done: usize, total: usize);
}

/// How a caller controls a batch: an observer of its progress, and a flag that cancels it.
#[derive(Clone, Copy, Default)]
pub struct Control<'a> {
    /// Receives progress.
    pub observer: Option<&'a dyn Observer>,
    /// Checked between fits, and within a fit between iterations; what is finished by then is kept.
    pub cancel: Option<&'a AtomicBool>,
}

impl Control<'_> {
    /// True once the caller asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Tells the observer, if there is one.
    pub fn progress(&self, done: usize, total: usize) {
        if let Some(observer) = self.observer {
            observer.progress(done, total);
        }
    }
}
