//! Columns of events in the memory of a device. Several threads decode columns from a file while other columns, which
//! are decoded already, are copied to the device.
//!
//! Each thread decodes a group of rows into a piece of page-locked memory. There it selects the rows whose values are
//! within the bounds. The calling thread copies the groups to the device in order. A group can be copied when the
//! numbers of selected rows of all earlier groups are known. The number of pieces of page-locked memory is limited,
//! which also limits the use of host memory.

mod columns;
mod error;
mod upload;

pub use columns::{DeviceEvents, EventTarget, OutsideBounds};
pub use error::UploadError;
pub use upload::{UploadOptions, upload_events_to_cuda, upload_events_with_bounds_to_cuda};
