//! Page-locked memory with its own stream. Copies from this memory to the device run on that stream.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::result::{self, stream::StreamKind};
use cudarc::driver::sys::{CUevent, CUevent_flags, CUstream};
use ns_core::SessionError;

use super::super::backend::Pinned;
use super::super::offset::Memory;
use super::driver::CudaDriver;
use super::failure::DriverCall;
use super::locked::Locked;

/// Page-locked host memory, with the stream on which it is copied to the device.
pub(super) struct CudaPinned {
    driver: Arc<CudaDriver>,
    stream: CUstream,
    done: CUevent,
    memory: Locked,
    busy: bool,
}

// SAFETY: the page-locked memory belongs to this value alone, and the driver's handles are valid on any thread.
unsafe impl Send for CudaPinned {}

impl CudaPinned {
    pub(super) fn new(driver: Arc<CudaDriver>, bytes: usize) -> Result<Self, SessionError> {
        let (stream, done, memory) = driver.inside(DriverCall::Opening, || {
            let stream = result::stream::create(StreamKind::NonBlocking)?;
            let done = result::event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
            let mut memory = Locked::NONE;
            memory.reserve_exactly(bytes)?;
            // Earlier work on the device's own stream may still use the target memory of the copies. The copies
            // therefore wait for that work. SAFETY: stream and event are of this device.
            unsafe { driver.precede(stream, done) }?;
            Ok((stream, done, memory))
        })?;
        Ok(Self { driver, stream, done, memory, busy: false })
    }
}

impl Pinned for CudaPinned {
    fn content(&mut self, numbers: usize) -> &mut [f64] {
        bytemuck::try_cast_slice_mut(self.memory.content_mut(8 * numbers)).unwrap_or_default()
    }

    fn send(&mut self, numbers: Range<usize>, to: Memory) -> Result<(), SessionError> {
        let (memory, stream, done) = (&self.memory, self.stream, self.done);
        let bytes = memory.content(8 * numbers.end).get(8 * numbers.start..).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(());
        }
        self.busy = true;
        // SAFETY: the caller guarantees memory of the device of this size; the page-locked memory is not used before the end of
        // the copy, and is freed only after it.
        self.driver.inside(DriverCall::Copying, || unsafe {
            result::memcpy_htod_async(to.bytes(), bytes, stream)?;
            result::event::record(done, stream)
        })
    }

    fn wait(&mut self) -> Result<(), SessionError> {
        if !std::mem::take(&mut self.busy) {
            return Ok(());
        }
        let done = self.done;
        // SAFETY: the event lives as long as this value.
        self.driver.inside(DriverCall::Waiting, || unsafe { result::event::synchronize(done) })
    }
}

impl Drop for CudaPinned {
    fn drop(&mut self) {
        // After the loss of a device, everything is freed with its context.
        if self.wait().is_err() || self.driver.is_lost() {
            return;
        }
        let (memory, done, stream) = (&mut self.memory, self.done, self.stream);
        let _ = self.driver.inside(DriverCall::Allocating, || {
            memory.free();
            // SAFETY: no work is in progress, and nothing uses the event and the stream after this.
            unsafe {
                result::event::destroy(done)?;
                result::stream::destroy(stream)
            }
        });
    }
}
