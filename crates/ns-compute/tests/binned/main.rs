//! Tests of models of bins. They are one program, because linking takes longer than most of them.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod cancelled_tasks;
mod derivatives;
#[allow(dead_code)]
#[path = "../oracle/functions.rs"]
mod functions;
#[allow(dead_code)]
#[path = "../oracle/inputs.rs"]
mod inputs;
mod inverse;
#[allow(dead_code)]
#[path = "../oracle/likelihood.rs"]
mod likelihood;
#[allow(dead_code)]
#[path = "../oracle/models.rs"]
mod models;
#[allow(dead_code)]
#[path = "../oracle/number.rs"]
mod number;
mod pull_back;
mod toys;
