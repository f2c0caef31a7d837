//! The devices of the server, which `/v1/devices` lists.

use ns_inference::DeviceInfo;
use serde::Serialize;
use utoipa::ToSchema;

/// The devices of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Devices {
    /// The CPU, and all GPUs that were found or that cannot be used.
    pub(crate) devices: Vec<DeviceInfo>,
}
