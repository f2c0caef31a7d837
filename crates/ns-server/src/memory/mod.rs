//! The memory of the server, which everything large reserves before it is made: bodies of requests, JSON that is read,
//! kept models and kept results. What is reserved together stays within the limit (`--memory`).

mod estimate;
mod work;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use estimate::of_json;
pub(crate) use work::{of_covariances, of_kept_toys, of_work};

/// The smallest limit with which a server starts, in bytes. A smaller one leaves no room for a model of usual size.
pub(crate) const LEAST: u64 = 16 << 20;

/// The limit on memory, and the memory that is reserved.
#[derive(Debug)]
pub(crate) struct Memory {
    limit: u64,
    used: Mutex<u64>,
}

impl Memory {
    /// Creates the account of a server that may use `memory` bytes. A fifth is left for what is not counted: the program,
    /// its threads, and gaps of the allocator.
    pub(crate) fn of_server(memory: u64) -> Arc<Self> {
        Self::new(memory / 5 * 4)
    }

    /// Creates an account of memory with a limit in bytes.
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self { limit, used: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the limit in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the reserved memory in bytes.
    pub(crate) fn used(&self) -> u64 {
        *self.lock()
    }

    /// Reserves memory; returns `None` if less is free.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: u64) -> Option<Reserved> {
        let mut reserved = self.record(0);
        reserved.grow(bytes).then_some(reserved)
    }

    /// Records memory that is in use already. The limit does not apply.
    pub(crate) fn record(self: &Arc<Self>, bytes: u64) -> Reserved {
        *self.lock() += bytes;
        Reserved { memory: Arc::clone(self), bytes }
    }
}

/// Reserved memory, which is given back when this value is dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    memory: Arc<Memory>,
    bytes: u64,
}

impl Reserved {
    /// Returns the number of reserved bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reserves `more` bytes in addition. Returns false, and changes nothing, if less is free.
    pub(crate) fn grow(&mut self, more: u64) -> bool {
        let mut used = self.memory.lock();
        // Nothing is always free, even while more than the limit is in use.
        let fits = more == 0 || used.checked_add(more).is_some_and(|total| total <= self.memory.limit);
        if fits {
            *used += more;
            self.bytes += more;
        }
        fits
    }

    /// Adds another reservation of the same account to this one.
    pub(crate) fn join(&mut self, mut other: Self) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Sets the reserved bytes to the memory that is in use. The limit does not apply.
    pub(crate) fn settle(&mut self, bytes: u64) {
        let mut used = self.memory.lock();
        *used = *used - self.bytes + bytes;
        self.bytes = bytes;
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        *self.memory.lock() -= self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_keep_the_limit_and_are_given_back() {
        let memory = Memory::new(100);
        let mut first = memory.reserve(60).unwrap_or_else(|| memory.record(0));
        assert_eq!((first.bytes(), memory.used()), (60, 60));
        assert!(memory.reserve(41).is_none() && !first.grow(41) && !first.grow(u64::MAX));
        assert!(first.grow(40) && memory.used() == 100);
        // What is in use already is recorded even above the limit.
        let over = memory.record(20);
        assert_eq!(memory.used(), 120);
        first.settle(30);
        assert_eq!(memory.used(), 50);
        drop((first, over));
        assert_eq!(memory.used(), 0);
    }
}
