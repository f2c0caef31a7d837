//! The self-test: compares the results of a device of the user's machine with the results of the CPU.
//!
//! The program contains a binned model, a model of events and a normalising flow for this test. Results of the CPU
//! are compared with formulae in closed form. Results of a GPU are compared with those of the CPU.

mod check;
#[cfg(feature = "neural")]
mod flows;
#[cfg(not(feature = "neural"))]
#[path = "no_flows.rs"]
mod flows;
mod models;
mod parity;
mod target;
mod truth;

use ns_core::{Device, Execution};
use ns_inference::open_session;

pub use check::{Check, SelfTest, Status};
pub use target::Target;

use check::Checks;

/// Tests the CPU. For targets other than the CPU, also tests the device, and the execution providers that evaluate
/// normalising flows on it. The function never fails. If something cannot be tested, its check has the status
/// [`Status::Missing`] and a remedy.
///
/// The target [`Target::Auto`] tests the first GPU if there is one. With this target, checks of parts that do not
/// exist are skipped.
#[must_use]
pub fn selftest(target: Target) -> SelfTest {
    let mut checks = Checks::default();
    truth::cpu(&mut checks);
    let device = match target {
        Target::Cpu => None,
        Target::Device(device) => Some(device),
        Target::TensorRt => Some(Device::Cuda(0)),
        Target::Auto => Some(Device::Cuda(0)).filter(|device| gpu_is_there(*device, &mut checks)),
    };
    if let Some(device) = device {
        parity::sessions(device, &mut checks);
    }
    flows::flows(target, device, &mut checks);
    checks.finish(target)
}

/// Returns whether there is a GPU that the target `auto` can test. If there is none, adds a check with the reason.
fn gpu_is_there(device: Device, checks: &mut Checks) -> bool {
    let open = models::binned().and_then(|model| {
        let execution = Execution { device, threads: 1, ..Execution::default() };
        open_session(&model, &execution).map_err(|error| error.to_string())
    });
    open.map_err(|why| checks.skipped("GPU", &why)).is_ok()
}
