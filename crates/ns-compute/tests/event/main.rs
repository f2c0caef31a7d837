//! Tests of models of events. They are one program, because linking takes longer than most of them.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod boundaries;
#[allow(dead_code)]
mod event_models;
#[allow(dead_code)]
mod events_oracle;
mod fits;
mod gpu;
mod gpu_toys;
mod minima;
#[allow(dead_code)]
mod random_events;
mod range;
mod sums;
mod terms;
mod toys;
