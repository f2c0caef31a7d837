//! Columns of events in memory of a device, decoded from a file by several threads and copied meanwhile.
//!
//! A thread decodes a group of rows into page-locked memory and applies the bounds there. The calling thread copies groups in
//! their order, as soon as it is known how many rows came before. There are only so many pieces of page-locked memory, so the
//! memory of the host is bounded.

mod columns;
mod error;
mod upload;

pub use columns::{DeviceEvents, EventTarget, OutsideBounds};
pub use error::UploadError;
pub use upload::{UploadOptions, upload_events_to_cuda, upload_events_with_bounds_to_cuda};
