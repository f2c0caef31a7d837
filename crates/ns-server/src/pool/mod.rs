//! The threads that all requests share, and the order in which they work on requests.
//!
//! Every batch of fits is split into pieces that take a few tens of milliseconds. A free thread takes a piece of the
//! request that waited longest compared to the thread time that it and its client used recently (`order`). Short
//! pieces of the same model that wait at the same time are run as one batch.
//!
//! One extra thread takes only short pieces of new requests. The operating system shares the cores between
//! this thread and the others. A short fit therefore does not wait for the end of a piece of toys.

mod order;
mod queue;
mod session;
mod split;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use order::Recent;
use queue::{Piece, Queue, Takes};
pub(crate) use session::PooledSession;
pub(crate) use split::Pace;

/// The account of one request: its client, its flag for cancellation, and the thread time that it has used.
#[derive(Debug)]
pub(crate) struct RequestAccount {
    /// Name of the client. The thread time is shared fairly between clients, so all requests of a client share its
    /// part.
    pub(crate) client: Arc<str>,
    /// Flag that cancels the request when it becomes true.
    pub(crate) cancel: Arc<AtomicBool>,
    /// Thread time that the request has used, in microseconds.
    used: AtomicU64,
    recent: Mutex<Recent>,
    /// Time at which the first piece of the request began to wait.
    since: OnceLock<Instant>,
}

impl RequestAccount {
    /// Creates the account of a request that has used no thread time yet.
    pub(crate) fn new(client: Arc<str>) -> Self {
        Self {
            client,
            cancel: Arc::default(),
            used: AtomicU64::new(0),
            recent: Mutex::new(Recent::of_request()),
            since: OnceLock::new(),
        }
    }

    /// Returns the thread time that the request has used.
    pub(crate) fn used(&self) -> Duration {
        Duration::from_micros(self.used.load(Ordering::Relaxed))
    }

    /// Adds `time` to the thread time that the request has used.
    pub(crate) fn charge(&self, time: Duration) {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).add(time, Instant::now());
        self.used.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Records that a piece of the request waits.
    fn begin(&self) {
        self.since.get_or_init(Instant::now);
    }

    /// Returns the time since the request first waited, and its recent thread time in seconds.
    fn recent(&self, now: Instant) -> (Duration, f64) {
        let age = self.since.get().map_or(Duration::ZERO, |since| now.saturating_duration_since(*since));
        (age, self.recent.lock().unwrap_or_else(PoisonError::into_inner).seconds(now))
    }

    /// Cancels the request. All its fits stop.
    pub(crate) fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Returns whether the request was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Threads that run the fits of all requests on one device. The threads end when the last handle of the pool is
/// dropped.
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

/// State that the threads of a pool share with its callers.
struct Shared {
    threads: usize,
    queue: Mutex<Queue>,
    /// Wakes a thread that takes any piece of work.
    wake: Condvar,
    /// Wakes the extra thread, which takes only short pieces of work.
    wake_short: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    /// Starts `threads` threads of a pool, but at least one. If `express` is true, also starts one extra thread for
    /// short pieces of work.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(crate) fn start(threads: usize, express: bool) -> std::io::Result<Self> {
        let threads = threads.max(1);
        let (wake, wake_short) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { threads, queue: Mutex::new(Queue::default()), wake, wake_short });
        let pool = Self { shared };
        for number in 0..threads + usize::from(express) {
            let shared = Arc::clone(&pool.shared);
            let takes = if number < threads { Takes::All } else { Takes::Short };
            let name = format!("fits-{number}");
            std::thread::Builder::new().name(name).spawn(move || worker::work(&shared, takes))?;
        }
        Ok(pool)
    }

    /// Returns the number of threads of the pool, without the extra thread for short pieces of work.
    fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Returns the number of pieces of work that wait in the queue.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.lock().len()
    }

    /// Adds the time that a thread outside of the pool has spent on a request to the request's account.
    fn charge(&self, account: &Arc<RequestAccount>, time: Duration) {
        self.shared.lock().done(std::slice::from_ref(account), time, false);
    }

    /// Adds a piece of work to the queue, and wakes a thread that can run it.
    fn submit(&self, piece: Piece) {
        let mut queue = self.shared.lock();
        let is_short = piece.is_short();
        queue.push(piece);
        // A thread that was woken for an earlier piece still counts as idle until it has taken that piece.
        let is_covered = queue.len() <= queue.idle;
        drop(queue);
        self.shared.wake.notify_one();
        if is_short && !is_covered {
            self.shared.wake_short.notify_one();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().close();
        self.shared.wake.notify_all();
        self.shared.wake_short.notify_all();
    }
}
