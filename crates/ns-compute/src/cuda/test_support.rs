//! Common code of the tests of devices: a session on the CPU and one of the kernels compiled for it, and variants of that
//! backend.

use ns_core::{Execution, Model};

use super::CudaSession;
use crate::cpu::CpuSession;

pub(super) fn execution() -> Execution {
    Execution { threads: 2, ..Execution::default() }
}

pub(super) fn both(model: &Model) -> (CpuSession, CudaSession) {
    let (here, there) =
        (CpuSession::open(model, &execution()), CudaSession::open_on_host(model, &execution()));
    (here.unwrap(), there.unwrap())
}

/// Calls of a `Backend` that its field `host` answers.
macro_rules! answered_by_host {
    () => {
        fn write(&self, to: u64, from: &[u8]) -> Result<(), ns_core::SessionError> {
            self.host.write(to, from)
        }

        fn read(&self, from: u64, to: &mut [u8]) -> Result<(), ns_core::SessionError> {
            self.host.read(from, to)
        }

        fn occupancy(
            &self,
            kernel: $crate::cuda::backend::Kernel,
            threads: u32,
            shared: u32,
        ) -> Result<usize, ns_core::SessionError> {
            self.host.occupancy(kernel, threads, shared)
        }

        fn lane(
            self: std::sync::Arc<Self>,
        ) -> Result<Box<dyn $crate::cuda::backend::Lane>, ns_core::SessionError> {
            Ok(Box::new($crate::cuda::host::AtOnce::new(self)))
        }
    };
}

pub(super) use answered_by_host;
