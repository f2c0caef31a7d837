//! The threads of a session. A fork takes along the thread that calls it and no other, so a forked process starts its own.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{Device, SessionError};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads in addition to the calling one.
pub(crate) struct Pool {
    helpers: usize,
    /// Of the process that used them last.
    started: Mutex<Arc<Started>>,
}

/// Threads and the process that they belong to.
struct Started {
    process: u32,
    threads: ManuallyDrop<ThreadPool>,
}

impl Drop for Started {
    fn drop(&mut self) {
        // After a fork the threads do not exist in this process, so they cannot be ended: that could wait for a lock that one of them held.
        if self.process == std::process::id() {
            // SAFETY: it is not used after this.
            unsafe { ManuallyDrop::drop(&mut self.threads) };
        }
    }
}

impl Started {
    fn new(helpers: usize) -> Result<Arc<Self>, SessionError> {
        let built = ThreadPoolBuilder::new().num_threads(helpers).build();
        let threads = built.map_err(|error| SessionError::DeviceUnavailable {
            device: Device::Cpu,
            reason: error.to_string(),
            remedy: "Ask for fewer threads".into(),
        })?;
        Ok(Arc::new(Self { process: std::process::id(), threads: ManuallyDrop::new(threads) }))
    }
}

impl Pool {
    /// Starts `helpers` threads.
    ///
    /// # Errors
    /// If they cannot be started.
    pub(crate) fn new(helpers: usize) -> Result<Self, SessionError> {
        Ok(Self { helpers, started: Mutex::new(Started::new(helpers)?) })
    }

    /// Runs `work` on the calling thread and on up to `helpers` others at the same time. Returns when all have finished.
    fn help(&self, helpers: usize, work: &(dyn Fn() + Sync)) {
        match self.here() {
            Some(started) => started.threads.in_place_scope(|scope| {
                for _ in 0..helpers.min(self.helpers) {
                    scope.spawn(|_| work());
                }
                work();
            }),
            None => work(),
        }
    }

    /// Calls `work` with every number below `count`, on the calling thread and others, `threads` at most. Each takes the next number
    /// when it is done with one: pieces of work take unequal times.
    pub(crate) fn each(pool: Option<&Self>, threads: usize, count: usize, work: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let run = || {
            while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&i| i < count) {
                work(number);
            }
        };
        match (pool, threads.min(count)) {
            (Some(pool), threads @ 2..) => pool.help(threads - 1, &run),
            _ => run(),
        }
    }

    /// The threads of this process: new ones after a fork. `None`: they cannot be started.
    fn here(&self) -> Option<Arc<Started>> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if started.process != std::process::id() {
            *started = Started::new(self.helpers).ok()?;
        }
        Some(Arc::clone(&started))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A session that was opened before a fork hung in the child.
    #[test]
    fn threads_of_another_process_are_started_anew() {
        let pool = Pool::new(2).unwrap();
        let foreign = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        *pool.started.lock().unwrap() =
            Arc::new(Started { process: std::process::id() + 1, threads: ManuallyDrop::new(foreign) });
        let calls = AtomicUsize::new(0);
        pool.help(2, &|| {
            calls.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(calls.into_inner(), 3);
        assert_eq!(pool.started.lock().unwrap().process, std::process::id());
    }
}
