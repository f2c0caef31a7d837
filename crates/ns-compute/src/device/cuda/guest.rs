//! Launches of kernels on CUDA streams of the caller.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::DriverError;
use cudarc::driver::result;
use cudarc::driver::sys::{
    self, CUevent, CUevent_flags, CUevent_wait_flags, CUpointer_attribute as Attribute,
};
use ns_core::{Device, SessionError};

use super::super::answer::{answered, no_answer};
use super::super::backend::{Guest, Kernel, Shape};
use super::super::offset::{Memory, Offset, OffsetMut};
use super::driver::CudaDriver;
use super::failure::DriverCall;
use super::locked::Locked;

/// Time during which the host repeatedly checks whether the results have arrived. After this time, the host calls the
/// driver to wait for the kernel.
const PATIENCE: Duration = Duration::from_micros(100);
/// Number of checks for results between two readings of the clock.
const POLLS: usize = 64;

/// Launches kernels on streams of the caller, in the order of the calls.
pub(super) struct CudaGuest {
    driver: Arc<CudaDriver>,
    /// Event that marks the end of the last launch.
    done: CUevent,
    /// Event that marks the end of the work that was submitted to the device's own stream before a launch.
    before: CUevent,
    /// Page-locked memory for copies from the device.
    down: Locked,
    /// Page-locked memory to which kernels write results.
    answers: Locked,
    /// Handle of the stream of the last launch; `None` before the first launch.
    last: Option<u64>,
}

// SAFETY: the driver's handles are valid on any thread.
unsafe impl Send for CudaGuest {}

impl CudaGuest {
    pub(super) fn new(driver: Arc<CudaDriver>) -> Result<Self, SessionError> {
        let event = || result::event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING);
        let (done, before) = driver.inside(DriverCall::Opening, || Ok((event()?, event()?)))?;
        Ok(Self { driver, done, before, down: Locked::NONE, answers: Locked::NONE, last: None })
    }

    /// Makes the stream wait for the last launch, if the last launch was on another stream.
    ///
    /// # Safety
    /// `stream` must be the handle of a stream of the device.
    unsafe fn order(&self, stream: u64) -> Result<(), SessionError> {
        let (handle, done) = (stream as sys::CUstream, self.done);
        if self.last.is_none_or(|last| last == stream) {
            return Ok(());
        }
        // SAFETY: the caller guarantees the stream; the event lives as long as the guest.
        self.driver.inside(DriverCall::Launching, || unsafe {
            result::stream::wait_event(handle, done, CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT)
        })
    }

    /// Returns an attribute of a device pointer, or `None` for an address that the driver does not know.
    fn attribute(&self, which: Attribute, address: u64) -> Result<Option<u32>, SessionError> {
        let mut value = 0_u32;
        self.driver.inside(DriverCall::Asking, || {
            let to = (&raw mut value).cast::<c_void>();
            // SAFETY: both attributes that are asked for are 32-bit integers.
            match unsafe { sys::cuPointerGetAttribute(to, which, address) }.result() {
                Ok(()) => Ok(Some(value)),
                Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE)) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }
}

impl Guest for CudaGuest {
    unsafe fn launch(
        &mut self,
        stream: u64,
        kernel: Kernel,
        shape: Shape,
        parameter: &[u8],
    ) -> Result<(), SessionError> {
        let handle = stream as sys::CUstream;
        // SAFETY: the caller guarantees the stream.
        unsafe { self.order(stream) }?;
        let (driver, done) = (&self.driver, self.done);
        driver.launch_on(handle, kernel, shape, parameter)?;
        self.last = Some(stream);
        // SAFETY: as above.
        driver.inside(DriverCall::Launching, || unsafe { result::event::record(done, handle) })
    }

    unsafe fn follow(&mut self, stream: u64) -> Result<(), SessionError> {
        if stream == self.own_stream() {
            return Ok(());
        }
        let (driver, before) = (&self.driver, self.before);
        let handle = stream as sys::CUstream;
        // SAFETY: the caller guarantees the stream; the event lives as long as the guest.
        driver.inside(DriverCall::Launching, || unsafe { driver.precede(handle, before) })
    }

    fn own_stream(&self) -> u64 {
        self.driver.own_stream()
    }

    fn answers(&mut self, words: usize) -> Result<OffsetMut<u64>, SessionError> {
        let answers = &mut self.answers;
        self.driver.inside(DriverCall::Allocating, || answers.reserve(8 * words))?;
        Ok(Offset::new(answers.address()))
    }

    unsafe fn ask(
        &mut self,
        stream: u64,
        (kernel, shape, parameter): (Kernel, Shape, &[u8]),
        call: u32,
        to: &mut [f64],
    ) -> Result<(), SessionError> {
        let handle = stream as sys::CUstream;
        // SAFETY: the caller guarantees the stream.
        unsafe { self.order(stream) }?;
        self.driver.launch_on(handle, kernel, shape, parameter)?;
        let begin = Instant::now();
        loop {
            for _ in 0..POLLS {
                if answered(|i| self.answers.word(i), call, to) {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
            if begin.elapsed() > PATIENCE {
                break;
            }
        }
        // This reports errors of the kernel, and of work before it.
        // SAFETY: the caller guarantees the stream.
        self.driver.inside(DriverCall::Waiting, || unsafe { result::stream::synchronize(handle) })?;
        if answered(|i| self.answers.word(i), call, to) { Ok(()) } else { Err(no_answer(self.driver.device)) }
    }

    unsafe fn read(&mut self, stream: u64, from: Memory, to: &mut [u8]) -> Result<(), SessionError> {
        let (down, handle, done) = (&mut self.down, stream as sys::CUstream, self.done);
        let bytes = to.len();
        self.driver.inside(DriverCall::Waiting, || {
            down.reserve(bytes)?;
            // SAFETY: the caller guarantees memory and stream; the page-locked memory belongs to the guest alone, and the
            // event lives as long as the guest.
            unsafe {
                result::memcpy_dtoh_async(down.content_mut(bytes), from.bytes(), handle)?;
                result::event::record(done, handle)?;
                result::event::synchronize(done)
            }
        })?;
        self.last = None;
        to.copy_from_slice(self.down.content(bytes));
        Ok(())
    }

    fn wait(&mut self) -> Result<(), SessionError> {
        if self.last.take().is_none() {
            return Ok(());
        }
        let done = self.done;
        // SAFETY: the event lives as long as the guest.
        self.driver.inside(DriverCall::Waiting, || unsafe { result::event::synchronize(done) })
    }

    fn check_address(&self, what: &'static str, address: u64) -> Result<(), SessionError> {
        let Device::Cuda(own) = self.driver.device else { return Ok(()) };
        let device = self.driver.device;
        let failed = |problem: &str| {
            let problem = problem.to_owned();
            Err(SessionError::NotOnDevice { what, device, problem })
        };
        let kind = self.attribute(Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)?;
        if kind != Some(sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32) {
            return failed("it is in memory of the host");
        }
        match self.attribute(Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address)? {
            Some(index) if index as usize == own => Ok(()),
            Some(index) => failed(&format!("it is on cuda:{index}")),
            None => failed("the driver does not know its device"),
        }
    }
}

impl Drop for CudaGuest {
    fn drop(&mut self) {
        // After the loss of a device, everything is freed with its context.
        if self.wait().is_err() || self.driver.is_lost() {
            return;
        }
        let (done, before, down, answers) = (self.done, self.before, &mut self.down, &mut self.answers);
        let _ = self.driver.inside(DriverCall::Allocating, || {
            down.free();
            answers.free();
            // SAFETY: no work is in progress, and nothing uses the events after this.
            unsafe {
                result::event::destroy(before)?;
                result::event::destroy(done)
            }
        });
    }
}
