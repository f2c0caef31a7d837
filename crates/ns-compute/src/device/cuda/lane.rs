//! A CUDA stream with page-locked memory of its own. With several of these streams, copies and kernels of several
//! launches run in parallel.

use std::sync::Arc;

use cudarc::driver::result::{self, stream::StreamKind};
use cudarc::driver::sys::{CUevent, CUevent_flags, CUstream};
use ns_core::SessionError;

use super::super::backend::{Kernel, Lane, Shape};
use super::super::offset::Memory;
use super::driver::CudaDriver;
use super::failure::DriverCall;
use super::locked::Locked;

/// A lane (a stream of copies and launches) on a CUDA device.
pub(super) struct CudaLane {
    driver: Arc<CudaDriver>,
    stream: CUstream,
    /// Event that marks the end of earlier work on the device's own stream. The work of this lane begins after that
    /// work.
    before: CUevent,
    /// Event that marks the end of the work of this lane.
    done: CUevent,
    /// Page-locked memory for copies to the device.
    up: Locked,
    /// Page-locked memory for copies from the device.
    down: Locked,
    /// Number of bytes of the last copy from the device.
    coming: usize,
    /// Whether work has been submitted since the last wait.
    busy: bool,
}

// SAFETY: the page-locked memory belongs to the lane alone, and the driver's handles are valid on any thread.
unsafe impl Send for CudaLane {}

impl CudaLane {
    pub(super) fn new(driver: Arc<CudaDriver>) -> Result<Self, SessionError> {
        let (stream, before, done) = driver.inside(DriverCall::Opening, || {
            let event = || result::event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING);
            Ok((result::stream::create(StreamKind::NonBlocking)?, event()?, event()?))
        })?;
        Ok(Self {
            driver,
            stream,
            before,
            done,
            up: Locked::NONE,
            down: Locked::NONE,
            coming: 0,
            busy: false,
        })
    }

    /// Begins a sequence of work, unless a sequence is already in progress. The sequence starts with a wait for earlier
    /// work on the device's own stream.
    fn begin(&mut self) -> Result<(), SessionError> {
        if !self.busy {
            self.busy = true;
            let (driver, stream, before) = (&self.driver, self.stream, self.before);
            // SAFETY: stream and event live as long as the lane.
            driver.inside(DriverCall::Launching, || unsafe { driver.precede(stream, before) })?;
        }
        Ok(())
    }
}

impl Lane for CudaLane {
    fn write(&mut self, to: Memory, from: &[u8]) -> Result<(), SessionError> {
        if from.is_empty() {
            return Ok(());
        }
        self.begin()?;
        let (up, stream) = (&mut self.up, self.stream);
        self.driver.inside(DriverCall::Copying, || {
            up.reserve(from.len())?;
            up.content_mut(from.len()).copy_from_slice(from);
            // SAFETY: `to` is device memory of that size; the page-locked memory is not used before the wait.
            unsafe { result::memcpy_htod_async(to.bytes(), up.content(from.len()), stream) }
        })
    }

    fn launch(&mut self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError> {
        self.begin()?;
        self.driver.launch_on(self.stream, kernel, shape, parameter)
    }

    fn fetch(&mut self, from: Memory, bytes: usize) -> Result<(), SessionError> {
        self.begin()?;
        self.coming = bytes;
        if bytes == 0 {
            return Ok(());
        }
        let (down, stream) = (&mut self.down, self.stream);
        self.driver.inside(DriverCall::Copying, || {
            down.reserve(bytes)?;
            // SAFETY: `from` is device memory of that size; the page-locked memory is not used before the
            // wait.
            unsafe { result::memcpy_dtoh_async(down.content_mut(bytes), from.bytes(), stream) }
        })
    }

    fn wait(&mut self) -> Result<(), SessionError> {
        if self.busy {
            let (done, stream) = (self.done, self.stream);
            // This call reports errors of earlier kernels. SAFETY: stream and event live as long as the lane.
            self.driver.inside(DriverCall::Waiting, || unsafe {
                result::event::record(done, stream)?;
                result::event::synchronize(done)
            })?;
            self.busy = false;
        }
        Ok(())
    }

    fn fetched(&self) -> &[u8] {
        if self.busy { &[] } else { self.down.content(self.coming) }
    }
}

impl Drop for CudaLane {
    fn drop(&mut self) {
        // After the loss of a device, everything is freed with its context.
        if self.wait().is_err() || self.driver.is_lost() {
            return;
        }
        let (up, down) = (&mut self.up, &mut self.down);
        let _ = self.driver.inside(DriverCall::Allocating, || {
            up.free();
            down.free();
            // SAFETY: no work is in progress, and nothing uses them after this.
            unsafe {
                result::event::destroy(self.before)?;
                result::event::destroy(self.done)?;
                result::stream::destroy(self.stream)
            }
        });
    }
}
