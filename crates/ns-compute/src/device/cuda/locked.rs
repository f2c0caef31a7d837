//! Page-locked memory of the host, which a GPU reads and writes by itself, at the full speed of the bus.

use cudarc::driver::result::{self, DriverError};

/// Page-locked memory is taken in pieces of this size, bytes.
const GRAIN: usize = 1 << 16;

/// Page-locked memory of the host.
pub(super) struct Locked {
    memory: *mut u8,
    bytes: usize,
}

impl Locked {
    /// None yet.
    pub(super) const NONE: Self = Self { memory: std::ptr::null_mut(), bytes: 0 };

    /// Ensures this size in bytes; the content is lost. No copy from or to it may be in progress.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<(), DriverError> {
        if bytes <= self.bytes {
            return Ok(());
        }
        self.free();
        let bytes = bytes.saturating_add(bytes / 4).next_multiple_of(GRAIN);
        // SAFETY: the memory belongs to this alone until it is freed, and zero is a value of every byte.
        unsafe {
            self.memory = result::malloc_host(bytes, 0)?.cast::<u8>();
            self.memory.write_bytes(0, bytes);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Gives it back; nothing may be on its way from or to it.
    pub(super) fn free(&mut self) {
        if self.bytes > 0 {
            // SAFETY: the driver allocated it, and it is not used any more. An error is ignored.
            let _ = unsafe { result::free_host(self.memory.cast()) };
        }
        *self = Self::NONE;
    }

    /// The first `bytes`, or all if there are fewer.
    pub(super) fn content(&self, bytes: usize) -> &[u8] {
        let bytes = bytes.min(self.bytes);
        if bytes == 0 {
            return &[];
        }
        // SAFETY: there are so many bytes, all initialised; nothing is on its way to them while they are borrowed.
        unsafe { std::slice::from_raw_parts(self.memory, bytes) }
    }

    /// The same, to be changed.
    pub(super) fn content_mut(&mut self, bytes: usize) -> &mut [u8] {
        let bytes = bytes.min(self.bytes);
        if bytes == 0 {
            return &mut [];
        }
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.memory, bytes) }
    }
}

// SAFETY: the memory belongs to this alone, and the driver takes it back on any thread.
unsafe impl Send for Locked {}
