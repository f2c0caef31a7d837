//! Thread pools of CPU sessions.
//!
//! Sessions with the same number of threads share one [`Pool`]. A pool keeps sets of threads. A batch takes an idle set
//! and gives it back at its end. Two batches at the same time take two sets, so neither waits for the other. A forked
//! process contains only the thread that called `fork`, so the pool starts new threads in such a process.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ns_core::{Device, SessionError};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pools of all open sessions, one for each number of threads.
static POOLS: Mutex<Vec<Weak<Pool>>> = Mutex::new(Vec::new());

/// Sets of threads that run work together with the calling thread. All sets of one pool have the same number of
/// threads.
pub(crate) struct Pool {
    /// Number of threads in a set. The calling thread is not counted.
    helpers: usize,
    /// Idle sets of threads. No batch uses them at the moment.
    resting: Mutex<Vec<Started>>,
}

/// A set of running threads, with the id of the process that started them.
struct Started {
    process: u32,
    threads: ManuallyDrop<ThreadPool>,
}

impl Drop for Started {
    fn drop(&mut self) {
        // After a fork these threads do not exist in the child process. Ending them there could wait forever for a
        // lock that one of them held.
        if self.process == std::process::id() {
            // SAFETY: `threads` is not used after this.
            unsafe { ManuallyDrop::drop(&mut self.threads) };
        }
    }
}

impl Started {
    fn new(helpers: usize) -> Result<Self, SessionError> {
        let built = ThreadPoolBuilder::new().num_threads(helpers).build();
        let threads = built.map_err(|error| SessionError::DeviceUnavailable {
            device: Device::Cpu,
            reason: error.to_string(),
            remedy: "Ask for fewer threads".into(),
        })?;
        Ok(Self { process: std::process::id(), threads: ManuallyDrop::new(threads) })
    }
}

impl Pool {
    /// Returns the pool whose sets have `helpers` threads. The threads are started for the first session with this
    /// number and end when the last such session is dropped.
    ///
    /// # Errors
    /// [`SessionError::DeviceUnavailable`] if the threads cannot be started.
    pub(crate) fn of(helpers: usize) -> Result<Arc<Self>, SessionError> {
        if let Some(pool) = Self::known(helpers, None) {
            return Ok(pool);
        }
        // The threads start before `POOLS` is locked. Otherwise a fork during the start would copy the locked lock
        // into the child process.
        let new = Arc::new(Self { helpers, resting: Mutex::new(vec![Started::new(helpers)?]) });
        Ok(Self::known(helpers, Some(&new)).unwrap_or(new))
    }

    /// Returns the number of threads that run a batch together, including the calling thread.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(crate) fn threads(&self) -> usize {
        self.helpers + 1
    }

    /// Returns the pool in [`POOLS`] whose sets have `helpers` threads. If there is no such pool, adds `new` (if it is
    /// given) to [`POOLS`] and returns `None`.
    fn known(helpers: usize, new: Option<&Arc<Self>>) -> Option<Arc<Self>> {
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|pool| pool.strong_count() > 0);
        let known = pools.iter().filter_map(Weak::upgrade).find(|pool| pool.helpers == helpers);
        if let (None, Some(new)) = (&known, new) {
            pools.push(Arc::downgrade(new));
        }
        known
    }

    /// Runs `work` at the same time on the calling thread and on up to `helpers` other threads. Returns when all of
    /// them have finished. If no threads can be started, only the calling thread runs `work`.
    fn help(&self, helpers: usize, work: &(dyn Fn() + Sync)) {
        let Some(started) = self.take() else { return work() };
        started.threads.in_place_scope(|scope| {
            for _ in 0..helpers.min(self.helpers) {
                scope.spawn(|_| work());
            }
            work();
        });
        self.resting.lock().unwrap_or_else(PoisonError::into_inner).push(started);
    }

    /// Calls `work` once with every number from 0 to `count - 1`, on at most `threads` threads. The calling thread is
    /// one of them. Each thread takes the next number as soon as it is free, because the calls take unequal times.
    /// Without a `pool` the calling thread makes all calls.
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

    /// Takes an idle set of threads that belongs to this process, or starts a new set. Returns `None` if threads
    /// cannot be started.
    fn take(&self) -> Option<Started> {
        let known = {
            let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
            resting.retain(|started| started.process == std::process::id());
            resting.pop()
        };
        known.or_else(|| Started::new(self.helpers).ok())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    /// Regression test: a session that was opened before a fork hung in the child process.
    #[test]
    fn threads_of_another_process_are_started_anew() {
        let pool = Pool::of(2).unwrap();
        let mut foreign = Started::new(1).unwrap();
        foreign.process += 1;
        *pool.resting.lock().unwrap() = vec![foreign];
        let calls = AtomicUsize::new(0);
        pool.help(2, &|| {
            calls.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(calls.into_inner(), 3);
        let resting = pool.resting.lock().unwrap();
        assert_eq!(resting.iter().map(|set| set.process).collect::<Vec<_>>(), [std::process::id()]);
    }

    #[test]
    fn sessions_share_threads_and_batches_at_the_same_time_do_not_wait_for_each_other() {
        let (one, other) = (Pool::of(3).unwrap(), Pool::of(3).unwrap());
        assert!(Arc::ptr_eq(&one, &other) && !Arc::ptr_eq(&one, &Pool::of(4).unwrap()));
        let (calls, barrier) = (AtomicUsize::new(0), Barrier::new(4));
        one.help(3, &|| {
            if barrier.wait().is_leader() {
                // The threads of the outer call wait here for the inner call. The inner call would never end if it
                // waited for these threads.
                other.help(3, &|| {
                    calls.fetch_add(1, Ordering::Relaxed);
                });
            }
            barrier.wait();
        });
        assert_eq!(calls.into_inner(), 4);
        assert_eq!(one.resting.lock().unwrap().len(), 2);
        one.help(3, &|| {});
        assert_eq!(one.resting.lock().unwrap().len(), 2);
    }
}
