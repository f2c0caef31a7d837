//! Helpers of the device tests. They open a CPU session, and a GPU session that runs the kernels compiled for the
//! CPU.

use ns_core::{Execution, Model};

use super::{GpuSession, host};
use crate::cpu::CpuSession;

pub(super) fn execution() -> Execution {
    Execution { threads: 2, ..Execution::default() }
}

pub(super) fn both(model: &Model) -> (CpuSession, GpuSession) {
    let (here, there) = (CpuSession::open(model, &execution()), host::open(model, &execution()));
    (here.unwrap(), there.unwrap())
}
