//! Readers of tables of events in columnar file formats.

pub mod parquet;
