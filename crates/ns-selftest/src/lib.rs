//! The self-test: whether a device of the user's machine computes what the CPU does.
//!
//! A binned model, a model of events and a flow are built in. On the CPU they are compared with formulae in closed
//! form, on a GPU with the CPU.

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

/// Tests the CPU, and with another target the device and its providers of flows. Never fails: what cannot be tested is
/// a check of status [`Status::Missing`] with a remedy.
///
/// `auto` tests the first GPU if there is one, and what is not there is only left out.
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

/// Returns whether `auto` tests a GPU, and adds the reason if it does not.
fn gpu_is_there(device: Device, checks: &mut Checks) -> bool {
    let open = models::binned().and_then(|model| {
        let execution = Execution { device, threads: 1, ..Execution::default() };
        open_session(&model, &execution).map_err(|error| error.to_string())
    });
    open.map_err(|why| checks.skipped("GPU", &why)).is_ok()
}
