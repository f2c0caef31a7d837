//! Random models, and the properties that their analyses must have. The test `consistency` and the example
//! `check_consistency` use this module.
#![allow(
    unreachable_pub,
    dead_code,
    missing_docs,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used
)]

pub mod checks;
pub mod events;
pub mod far;
pub mod functions;
pub mod intervals;
pub mod random;
pub mod reference;
pub mod run;
pub mod tests;
pub mod wild;
pub mod workspace;
