//! Limits on many signals: one row per signal (point), on all threads.
//!
//! The caller describes how the model of a point is made, because this crate does not know files. The analysis of a
//! point takes one thread, and as many points as there are threads are analysed at the same time. The numbers of a point
//! are therefore those of [`upper_limit`](crate::upper_limit), whatever the number of threads.

#[cfg(feature = "toy-files")]
mod file;
mod labels;
mod result;
mod run;

#[cfg(feature = "toy-files")]
pub use file::{GridFile, GridRecording};
pub use labels::Labels;
pub use result::{GridResult, GridRow, GridStatus};
pub use run::{GridPoint, Prepared, upper_limits};
