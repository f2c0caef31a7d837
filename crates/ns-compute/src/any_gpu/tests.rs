//! Tests of the kernels on whatever Vulkan finds, such as Mesa's lavapipe.

use ns_core::{
    Data, Device, Drawn, Execution, FitRequest, FitTask, Model, OutcomeParts, Session, TaskOutcome,
};

use super::{AnyGpuSession, find};
use crate::CpuSession;
use models::{Random, hold_idle, random_model};

#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../tests/oracle/models.rs"]
mod models;
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../tests/oracle/number.rs"]
mod number;

mod captured;
mod end_to_end;
mod texts;
mod values;

/// Opens a session on the first device that Vulkan finds, software included. Returns `None`, loudly, without one.
fn session(model: &Model) -> Option<AnyGpuSession> {
    if find(Device::Vulkan(None)).is_empty() {
        eprintln!("SKIPPED: no Vulkan driver; install mesa-vulkan-drivers and libvulkan1");
        return None;
    }
    let execution = Execution { device: Device::Vulkan(Some(0)), ..Execution::default() };
    Some(AnyGpuSession::open(model, &execution).unwrap())
}
