//! What tests of devices share: sessions of the CPU and of the kernels compiled for it, side by side.

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
