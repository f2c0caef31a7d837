//! Random models, and properties of all analyses of them. Used by the test `consistency` and the example
//! `check_consistency`.
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
pub mod intervals;
pub mod random;
pub mod reference;
pub mod run;
pub mod tests;
pub mod workspace;
