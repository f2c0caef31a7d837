//! Tables of events in the columnar formats of Apache Arrow's family.

pub mod parquet;
