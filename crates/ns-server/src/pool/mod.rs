//! The threads that all requests share, and the order in which they work.
//!
//! Every batch of fits is cut into pieces of a few tens of milliseconds. A thread that is free takes the piece of
//! the request that has used the least time so far, so that short requests pass long ones; among requests of one
//! level, that of the client who was served least. Short pieces of one model that wait together become one batch.
//! One thread more takes nothing but short pieces of new requests, and the operating system shares the cores between
//! it and the others: so a fit need not wait for the end of a piece of toys either.

mod queue;
mod session;
mod split;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use queue::{Piece, Queue, Takes};
pub(crate) use session::PooledSession;
pub(crate) use split::Pace;

/// What one request has asked of the pools: who waits for it, whether it was cancelled, and the time it has used.
#[derive(Debug, Default)]
pub(crate) struct RequestAccount {
    /// Name of the client, for the fair share.
    pub(crate) client: Arc<str>,
    /// Set to cancel the request.
    pub(crate) cancel: AtomicBool,
    /// Time that threads have worked for the request, in microseconds.
    used: AtomicU64,
}

impl RequestAccount {
    /// Creates the account of a request that has used no time yet.
    pub(crate) fn new(client: Arc<str>) -> Self {
        Self { client, ..Self::default() }
    }

    /// Returns the time that threads have worked for the request.
    pub(crate) fn used(&self) -> Duration {
        Duration::from_micros(self.used.load(Ordering::Relaxed))
    }

    /// Adds time that a thread has worked for the request.
    fn charge(&self, time: Duration) {
        self.used.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Asks everything that works for the request to stop.
    pub(crate) fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Returns whether the request was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Threads that work for all requests on one device. They end when the last handle is dropped.
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

/// What the threads of a pool share with its callers.
struct Shared {
    threads: usize,
    queue: Mutex<Queue>,
    wake: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    /// Starts the threads of a pool, at least one, and with `express` one more for short pieces.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(crate) fn start(threads: usize, express: bool) -> std::io::Result<Self> {
        let threads = threads.max(1);
        let shared = Arc::new(Shared { threads, queue: Mutex::new(Queue::default()), wake: Condvar::new() });
        let pool = Self { shared };
        for number in 0..threads + usize::from(express) {
            let shared = Arc::clone(&pool.shared);
            let takes = if number < threads { Takes::All } else { Takes::Short };
            let name = format!("fits-{number}");
            std::thread::Builder::new().name(name).spawn(move || worker::work(&shared, takes))?;
        }
        Ok(pool)
    }

    /// Returns the number of threads.
    fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Returns the number of pieces that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.lock().len()
    }

    /// Adds a piece to the queue.
    fn submit(&self, piece: Piece) {
        self.shared.lock().push(piece);
        // The thread that one notification wakes may be the one that takes only short pieces.
        self.shared.wake.notify_all();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().close();
        self.shared.wake.notify_all();
    }
}
