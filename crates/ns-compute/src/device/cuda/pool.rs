//! A pool of freed device memory for later requests.
//!
//! Taking memory from the driver waits for the device; analyses that make many small batches would wait each
//! time. All work of a device goes through one stream, so memory may be used again before the work that used
//! it last is done.

use std::collections::BTreeMap;

/// A driver gives addresses that are multiples of this.
const GRAIN: usize = 256;

/// Free memory by size.
#[derive(Debug)]
pub(super) struct Pool {
    free: BTreeMap<usize, Vec<u64>>,
    held: usize,
    limit: usize,
}

impl Pool {
    /// An empty pool that keeps at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { free: BTreeMap::new(), held: 0, limit }
    }

    /// The size that a request takes: rounded up to one of four steps per power of two, so that requests that are
    /// nearly equal use the same memory.
    pub(super) fn size(bytes: usize) -> usize {
        let step = (bytes.next_power_of_two() / 8).max(GRAIN);
        bytes.div_ceil(step).saturating_mul(step)
    }

    /// Memory of this size, as [`Self::size`] gives it, if there is some.
    pub(super) fn take(&mut self, size: usize) -> Option<u64> {
        let address = self.free.get_mut(&size)?.pop()?;
        self.held -= size;
        Some(address)
    }

    /// Keeps memory, unless that is more than the pool may keep.
    pub(super) fn keep(&mut self, address: u64, size: usize) -> bool {
        if size > self.limit - self.held {
            return false;
        }
        self.held += size;
        self.free.entry(size).or_default().push(address);
        true
    }

    /// Bytes kept.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// All memory, to be returned to the driver.
    pub(super) fn empty(&mut self) -> Vec<u64> {
        self.held = 0;
        std::mem::take(&mut self.free).into_values().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_little_more_than_asked_for() {
        for bytes in (1..100_000).step_by(37).chain([1 << 30, (1 << 30) + 1, 5_000_000_000]) {
            let size = Pool::size(bytes);
            assert!(size >= bytes && size.is_multiple_of(GRAIN), "{bytes} {size}");
            assert!(size <= bytes + bytes / 4 + GRAIN, "{bytes} {size}");
            assert_eq!(Pool::size(size), size);
        }
    }

    #[test]
    fn memory_comes_back_by_size_up_to_the_limit() {
        let mut pool = Pool::new(1000);
        assert_eq!(pool.take(256), None);
        assert!(pool.keep(4096, 256) && pool.keep(8192, 512));
        assert!(!pool.keep(1 << 20, 256), "1024 bytes are more than the limit");
        assert_eq!((pool.take(256), pool.take(256)), (Some(4096), None));
        assert_eq!(pool.held(), 512);
        assert_eq!(pool.empty(), vec![8192]);
        assert_eq!(pool.held(), 0);
    }
}
