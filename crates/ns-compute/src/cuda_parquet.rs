//! Columns of a file of events, such as a Parquet file, in memory of a GPU.
//!
//! [`upload_events_to_cuda`] copies all rows, and [`upload_events_with_bounds_to_cuda`] those within bounds. Threads decode
//! groups of rows into page-locked memory while others are copied. The decoder is a [`ns_core::RowGroups`], which
//! `ns_translate::arrow::parquet::ParquetGroups` implements. The columns stay on the device as long as [`DeviceEvents`] lives.

pub use crate::device::event_columns::{
    DeviceEvents, EventTarget, OutsideBounds, UploadError, UploadOptions, upload_events_to_cuda,
    upload_events_with_bounds_to_cuda,
};
