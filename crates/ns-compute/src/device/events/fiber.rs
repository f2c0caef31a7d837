//! Runs fits as coroutines. The fits use the same optimiser as on the CPU. A fit is suspended when it needs sums over
//! events. One thread can thus run the fits of many toys at the same time, and a device computes the sums for all of
//! them in one launch.

use std::io;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use ns_core::EventTable;

use super::channel::ChannelOnDevice;
use crate::events::{ChannelSums, Totals};

/// Size of the stack of a fit, in bytes. The operating system provides memory only for the parts that are used.
pub(super) const STACK: usize = 1 << 20;

/// A request for sums over the events of one channel, made by a fit.
#[derive(Debug, Default)]
pub(super) struct Order {
    pub(super) channel: usize,
    /// The parameter-dependent values of the channel at the current point of the fit.
    pub(super) numbers: Vec<f64>,
    /// The sums for each piece of the toy's events, after the device has computed them. Empty if the device failed.
    pub(super) sums: Vec<f64>,
}

/// Passes requests and sums between a fit and the thread that runs the fit.
pub(super) struct Mailbox {
    channels: Arc<[Option<ChannelOnDevice>]>,
    order: Mutex<Order>,
    /// For each channel, the number of pieces into which the events of the toy are divided. Sums are computed per
    /// piece.
    pieces: Vec<usize>,
    /// The object that suspends the fit. Null before the fit starts.
    yielder: AtomicPtr<Yielder<(), ()>>,
    /// Number of fits that have finished since the last call of [`Self::take_finished`].
    finished: AtomicUsize,
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").field("pieces", &self.pieces).finish_non_exhaustive()
    }
}

impl Mailbox {
    pub(super) fn new(channels: Arc<[Option<ChannelOnDevice>]>, pieces: Vec<usize>) -> Self {
        Self {
            channels,
            order: Mutex::default(),
            pieces,
            yielder: AtomicPtr::new(std::ptr::null_mut()),
            finished: AtomicUsize::new(0),
        }
    }

    pub(super) fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds `count` to the number of finished fits.
    pub(super) fn add_finished(&self, count: usize) {
        self.finished.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the number of fits that have finished since the last call, and resets this number to zero.
    pub(super) fn take_finished(&self) -> usize {
        self.finished.swap(0, Ordering::Relaxed)
    }

    /// Suspends the fit. The thread that runs the fit resumes it when the sums are available.
    fn wait(&self) {
        // SAFETY: `Fiber::new` stores the coroutine's own yielder, which lives until the end of the coroutine. Only the
        // coroutine calls this function, since the mailbox is in the worker that it owns.
        if let Some(yielder) = unsafe { self.yielder.load(Ordering::Relaxed).as_ref() } {
            yielder.suspend(());
        }
    }
}

impl ChannelSums for Mailbox {
    fn sum(&self, channel: usize, _table: &Arc<EventTable>, numbers: &[f64], out: &mut Totals<'_>) -> bool {
        let count = self.pieces.get(channel).copied().unwrap_or(0);
        if count > 0 {
            let mut order = self.order();
            order.channel = channel;
            order.numbers.clear();
            order.numbers.extend_from_slice(numbers);
            order.sums.clear();
            drop(order);
            self.wait();
        }
        let order = self.order();
        let rows = self.channels.get(channel).and_then(Option::as_ref).map(|channel| &channel.rows);
        match rows.filter(|rows| count == 0 || order.sums.len() == count * rows.per_piece()) {
            Some(rows) => rows.add(if count == 0 { &[] } else { &order.sums }, out),
            // The device failed. NaN makes the fit end; its result is not used.
            None => *out.value = f64::NAN,
        }
        true
    }
}

/// A fit in progress, which can be suspended and resumed.
pub(super) struct Fiber<R> {
    coroutine: Coroutine<(), (), R, DefaultStack>,
    pub(super) mailbox: Arc<Mailbox>,
}

impl<R> Fiber<R> {
    /// Creates a coroutine for the fit `work`, which receives sums over events through `mailbox`. The fit does not
    /// start yet. `work` and its result must be small.
    ///
    /// # Safety
    /// Everything that `work` borrows must live until the fiber is dropped, and `std::mem::forget` must not
    /// be called with the fiber.
    pub(super) unsafe fn new(stack: DefaultStack, mailbox: &Arc<Mailbox>, work: impl FnOnce() -> R) -> Self {
        let own = Arc::clone(mailbox);
        let body = move |yielder: &Yielder<(), ()>, ()| {
            own.yielder.store(std::ptr::from_ref(yielder).cast_mut(), Ordering::Relaxed);
            work()
        };
        // SAFETY: the caller guarantees the lifetimes that this function needs.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, body) };
        Self { coroutine, mailbox: Arc::clone(mailbox) }
    }

    /// Continues the fit until it waits for sums or ends. Returns the result of the fit if it has ended, and `None` if
    /// it waits.
    pub(super) fn resume(&mut self) -> Option<R> {
        match self.coroutine.resume(()) {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(result) => Some(result),
        }
    }

    /// Returns the stack of a fit that has ended. Another fit can use this stack.
    pub(super) fn into_stack(self) -> DefaultStack {
        self.coroutine.into_stack()
    }
}

/// Returns an unused stack from `shelf`, or a new stack.
///
/// # Errors
/// If the operating system has no memory for a new stack.
pub(super) fn stack(shelf: &mut Vec<DefaultStack>) -> io::Result<DefaultStack> {
    shelf.pop().map_or_else(|| DefaultStack::new(STACK), Ok)
}
