//! The kernels compiled for the processor, one thread per block: what they compute, without a card.

use std::alloc::{Layout, alloc, dealloc};
use std::sync::{Arc, Mutex};

use ns_core::{Device, SessionError};

use super::backend::{Backend, Kernel, Lane, Properties, Shape};

unsafe extern "C" {
    fn ns_host_fit(launch: *const u8, numbers: i32, blocks: i32, near: i32);
    fn ns_host_evaluate(launch: *const u8, shared: *mut f64, blocks: i32, near: i32);
    fn ns_host_covariance(launch: *const u8, shared: *mut f64, blocks: i32);
    fn ns_host_draw(launch: *const u8, blocks: i32);
    #[cfg(test)]
    fn ns_host_sizes(sizes: *mut u64);
}

/// "Device" memory is the heap.
#[derive(Debug)]
pub(super) struct Host {
    properties: Properties,
    /// One launch at a time, as on a stream.
    running: Mutex<()>,
}

/// Alignment of allocations.
const ALIGNMENT: usize = 256;

impl Host {
    pub(super) fn new() -> Self {
        let properties = Properties {
            name: "processor".into(),
            capability: (0, 0),
            driver: 0,
            multiprocessors: 2,
            // Little, so that models that do not fit are tested too.
            shared_per_block: 16 << 10,
            shared_per_multiprocessor: 64 << 10,
            memory: u64::MAX,
        };
        Self { properties, running: Mutex::new(()) }
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()
}

impl Backend for Host {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn free_memory(&self) -> Result<u64, SessionError> {
        Ok(u64::MAX)
    }

    fn allocate(&self, bytes: usize) -> Result<u64, SessionError> {
        let refused = || SessionError::DeviceUnavailable {
            device: Device::Cpu,
            reason: format!("no memory for {bytes} bytes"),
            remedy: "use a smaller model".into(),
        };
        let layout = layout(bytes).ok_or_else(refused)?;
        // SAFETY: the size is not zero.
        let address = unsafe { alloc(layout) };
        if address.is_null() {
            return Err(refused());
        }
        // NaN everywhere: who reads what nobody wrote is found out.
        // SAFETY: the allocation has this many bytes.
        unsafe { address.write_bytes(0xff, bytes) };
        Ok(address as u64)
    }

    fn release(&self, address: u64, bytes: usize) {
        if let Some(layout) = layout(bytes) {
            // SAFETY: `allocate` made it with this layout.
            unsafe { dealloc(address as *mut u8, layout) };
        }
    }

    fn write(&self, to: u64, from: &[u8]) -> Result<(), SessionError> {
        // SAFETY: buffers write within themselves.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to as *mut u8, from.len()) };
        Ok(())
    }

    fn read(&self, from: u64, to: &mut [u8]) -> Result<(), SessionError> {
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    fn occupancy(&self, _kernel: Kernel, _threads: u32, _shared: u32) -> Result<usize, SessionError> {
        Ok(1)
    }

    fn launch(&self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError> {
        let _one = self.running.lock();
        let mut shared = vec![f64::NAN; shape.shared as usize / 8 + 1];
        let blocks = shape.blocks as i32;
        // SAFETY: the parameter is the kernel's structure, its addresses are of buffers of this backend, and the
        // layouts on both sides are the same (tested below).
        unsafe {
            match kernel {
                Kernel::Fit => ns_host_fit(parameter.as_ptr(), shared.len() as i32, blocks, 1),
                Kernel::FitFar => ns_host_fit(parameter.as_ptr(), shared.len() as i32, blocks, 0),
                Kernel::Evaluate => ns_host_evaluate(parameter.as_ptr(), shared.as_mut_ptr(), blocks, 1),
                Kernel::EvaluateFar => ns_host_evaluate(parameter.as_ptr(), shared.as_mut_ptr(), blocks, 0),
                Kernel::Covariance => ns_host_covariance(parameter.as_ptr(), shared.as_mut_ptr(), blocks),
                Kernel::Draw => ns_host_draw(parameter.as_ptr(), blocks),
            }
        }
        Ok(())
    }

    fn lane(self: Arc<Self>) -> Result<Box<dyn Lane>, SessionError> {
        Ok(Box::new(AtOnce::new(self)))
    }
}

/// A lane of a backend that has done its work when a call returns.
pub(super) struct AtOnce {
    backend: Arc<dyn Backend>,
    /// Words, for the alignment.
    fetched: Vec<u64>,
    bytes: usize,
}

impl AtOnce {
    pub(super) fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, fetched: Vec::new(), bytes: 0 }
    }
}

impl Lane for AtOnce {
    fn write(&mut self, to: u64, from: &[u8]) -> Result<(), SessionError> {
        self.backend.write(to, from)
    }

    fn launch(&mut self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError> {
        self.backend.launch(kernel, shape, parameter)
    }

    fn fetch(&mut self, from: u64, bytes: usize) -> Result<(), SessionError> {
        self.fetched.resize(bytes.div_ceil(8), 0);
        self.bytes = bytes;
        let to: &mut [u8] = bytemuck::cast_slice_mut(&mut self.fetched);
        self.backend.read(from, to.get_mut(..bytes).unwrap_or_default())
    }

    fn wait(&mut self) -> Result<(), SessionError> {
        Ok(())
    }

    fn fetched(&self) -> &[u8] {
        bytemuck::cast_slice(&self.fetched).get(..self.bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout;

    #[test]
    fn structures_have_the_same_size_in_both_languages() {
        let mut sizes = [0_u64; 11];
        // SAFETY: the function writes eleven numbers.
        unsafe { super::ns_host_sizes(sizes.as_mut_ptr()) };
        let here = [
            size_of::<layout::Plan>(),
            size_of::<layout::Metric>(),
            size_of::<layout::Override>(),
            size_of::<layout::Request>(),
            size_of::<layout::Item>(),
            size_of::<layout::Outcome>(),
            size_of::<layout::FitLaunch>(),
            size_of::<layout::EvaluateLaunch>(),
            size_of::<layout::DrawLaunch>(),
            size_of::<layout::Round>(),
            size_of::<layout::CovarianceLaunch>(),
        ];
        assert_eq!(sizes.map(|size| size as usize), here);
    }
}
