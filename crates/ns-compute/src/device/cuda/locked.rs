//! Page-locked host memory. A GPU reads and writes it directly, at the full speed of the bus.

use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::result::{self, DriverError};

/// Unit of allocations in bytes: the size of page-locked memory is a multiple of this number.
const GRAIN: usize = 1 << 16;

/// Page-locked host memory. It is not freed when the value is dropped; [`Self::free`] must be called.
pub(super) struct Locked {
    memory: *mut u8,
    bytes: usize,
}

impl Locked {
    /// A value without any memory.
    pub(super) const NONE: Self = Self { memory: std::ptr::null_mut(), bytes: 0 };

    /// Ensures that the memory has at least `bytes` bytes. If this needs a new allocation, the content is lost. No
    /// copy from or to the memory may be in progress.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<(), DriverError> {
        if bytes <= self.bytes {
            return Ok(());
        }
        self.reserve_exactly(bytes.saturating_add(bytes / 4))
    }

    /// Does the same as [`Self::reserve`], but without spare memory for later growth. The size of a new allocation is
    /// `bytes`, rounded up to a multiple of [`GRAIN`].
    pub(super) fn reserve_exactly(&mut self, bytes: usize) -> Result<(), DriverError> {
        if bytes <= self.bytes {
            return Ok(());
        }
        self.free();
        let bytes = bytes.next_multiple_of(GRAIN);
        // SAFETY: the memory belongs to this value alone until it is freed, and zero is a valid byte.
        unsafe {
            self.memory = result::malloc_host(bytes, 0)?.cast::<u8>();
            self.memory.write_bytes(0, bytes);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Frees the memory. No copy from or to it may be in progress.
    pub(super) fn free(&mut self) {
        if self.bytes > 0 {
            // SAFETY: the driver allocated the memory, which is not used any more. An error is ignored.
            let _ = unsafe { result::free_host(self.memory.cast()) };
        }
        *self = Self::NONE;
    }

    /// Returns the address, which is the same for the host and for every device.
    pub(super) fn address(&self) -> u64 {
        self.memory as u64
    }

    /// Reads the 64-bit word with this index, even while a device may be writing to the memory. Returns zero for an
    /// index beyond the end of the memory.
    pub(super) fn word(&self, index: usize) -> u64 {
        if index >= self.bytes / 8 {
            return 0;
        }
        // SAFETY: the memory has this word, aligned, and is accessed by atomic operations or by none while a device
        // writes it.
        let word = unsafe { AtomicU64::from_ptr(self.memory.cast::<u64>().add(index)) };
        word.load(Ordering::Relaxed)
    }

    /// Returns the first `bytes` bytes, or all bytes if there are fewer.
    pub(super) fn content(&self, bytes: usize) -> &[u8] {
        let bytes = bytes.min(self.bytes);
        if bytes == 0 {
            return &[];
        }
        // SAFETY: the memory has at least this many bytes, all initialised. No copy to the memory is in
        // progress while the bytes are borrowed.
        unsafe { std::slice::from_raw_parts(self.memory, bytes) }
    }

    /// Returns the first `bytes` bytes of the memory for writing, or all bytes if there are fewer.
    pub(super) fn content_mut(&mut self, bytes: usize) -> &mut [u8] {
        let bytes = bytes.min(self.bytes);
        if bytes == 0 {
            return &mut [];
        }
        // SAFETY: the same conditions hold as in `content`.
        unsafe { std::slice::from_raw_parts_mut(self.memory, bytes) }
    }
}

// SAFETY: the memory belongs to this value alone, and the driver can free it on any thread.
unsafe impl Send for Locked {}
