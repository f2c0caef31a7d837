//! Copies the columns of a file of events, such as a Parquet file, to the memory of a GPU.
//!
//! [`upload_events_to_cuda`] copies all rows. [`upload_events_with_bounds_to_cuda`] copies the rows whose numbers are
//! within given bounds. Threads decode groups of rows into page-locked memory while other groups are copied. The
//! decoder is a [`ns_core::RowGroups`], which `ns_translate::arrow::parquet::ParquetGroups` implements. The columns
//! stay on the device until [`DeviceEvents`] is dropped.

pub use crate::device::event_columns::{
    DeviceEvents, EventTarget, OutsideBounds, UploadError, UploadOptions, upload_events_to_cuda,
    upload_events_with_bounds_to_cuda,
};
