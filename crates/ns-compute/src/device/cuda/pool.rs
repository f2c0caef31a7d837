//! Keeps freed device memory for later allocations.
//!
//! An allocation by the driver waits for the device, which would slow down analyses with many small batches. Memory
//! is therefore kept after it is freed.
//!
//! Freed memory may be used again while earlier work still uses it. This is safe because all work that uses the memory
//! either runs on one stream of the device, in the order of its submission, or has ended before the memory is freed.

use std::collections::BTreeMap;

/// Alignment of the addresses that the driver allocates, in bytes.
const GRAIN: usize = 256;

/// Addresses of free memory, grouped by the size of the memory.
#[derive(Debug)]
pub(super) struct Pool {
    free: BTreeMap<usize, Vec<u64>>,
    held: usize,
    limit: usize,
}

impl Pool {
    /// Creates an empty pool that keeps at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { free: BTreeMap::new(), held: 0, limit }
    }

    /// Returns the size that is allocated for a request of `bytes` bytes. It is rounded up to one of four steps per
    /// power of two, so requests of nearly equal size can use the same memory.
    pub(super) fn size(bytes: usize) -> usize {
        let step = (bytes.next_power_of_two() / 8).max(GRAIN);
        bytes.div_ceil(step).saturating_mul(step)
    }

    /// Takes memory of exactly `size` bytes from the pool and returns its address. Returns `None` if the pool has no
    /// such memory. `size` must be a value that [`Self::size`] returned.
    pub(super) fn take(&mut self, size: usize) -> Option<u64> {
        let address = self.free.get_mut(&size)?.pop()?;
        self.held -= size;
        Some(address)
    }

    /// Adds memory to the pool and returns true. If this would exceed the limit of the pool, adds nothing and returns
    /// false; the caller must then free the memory.
    pub(super) fn keep(&mut self, address: u64, size: usize) -> bool {
        if size > self.limit - self.held {
            return false;
        }
        self.held += size;
        self.free.entry(size).or_default().push(address);
        true
    }

    /// Returns the total size of the memory in the pool, in bytes.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Empties the pool and returns the addresses of its memory. The caller must free this memory.
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
