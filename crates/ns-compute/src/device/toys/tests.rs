//! Fits toys of a strongly nonlinear model with the kernels compiled for the CPU. The minima of the toys are known.

use ns_core::{Execution, Session};

use super::super::host;
use crate::cpu::CpuSession;

mod own_derivatives;

// The module `nonlinear` is private to the file that includes it. Therefore each test module includes it again.
#[allow(clippy::duplicate_mod)]
#[path = "../../../tests/oracle/nonlinear.rs"]
mod nonlinear;

#[test]
fn flips_of_single_parameters_find_the_lowest_minimum() {
    let (model, execution) = (nonlinear::model(), Execution { threads: 2, ..Execution::default() });
    let cpu = CpuSession::open(&model, &execution).unwrap();
    let gpu = host::open(&model, &execution).unwrap();
    assert!(cpu.plan.policy.strongly_nonlinear);
    let missed = nonlinear::missed(&gpu, &cpu);
    assert!(missed.above.len() * 100 <= missed.toys, "{} missed: {:?}", missed.above.len(), missed.above);
    let own = gpu.check().unwrap().n_fits;
    assert!(own * 100 >= 95 * missed.toys as u64, "{own} of {} by the device", missed.toys);
}
