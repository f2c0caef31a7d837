//! Catches the kernels that a session would run.

use std::sync::{Arc, Mutex};

use super::end_to_end::toys;
use super::*;
use crate::any_gpu::kind::Kind;
use crate::any_gpu::program::Program;
use crate::lanes::{DescentDevice, Descents, FitKind};

/// A device that keeps the kernels of all kinds of fits, and leaves the descents to lanes.
#[derive(Debug)]
struct Catcher {
    bytes: usize,
    programs: Mutex<Vec<Program>>,
}

impl DescentDevice for Catcher {
    fn prepare(&self, kind: &FitKind<'_>) -> Option<Box<dyn Descents>> {
        let (lower, upper) = (&kind.bounds.lower[..], &kind.bounds.upper[..]);
        let kind = Kind { plan: kind.plan, metric: kind.metric, lower, upper };
        if kind.check().is_ok() {
            self.programs.lock().unwrap().push(Program::new(&kind, self.bytes));
        }
        None
    }
}

/// Returns the kernels of the fits of toys of a model, for workgroups with `bytes` of memory.
pub(super) fn programs(model: &Model, bytes: usize) -> Option<Vec<Program>> {
    let catcher = Arc::new(Catcher { bytes, programs: Mutex::default() });
    let session = CpuSession::open(model, &Execution::default()).unwrap();
    toys(&session.with_descents(Arc::clone(&catcher) as _), model, 0, 1)?;
    Some(std::mem::take(&mut *catcher.programs.lock().unwrap()))
}
