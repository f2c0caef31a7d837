//! Tests of models of bins. They are one program, because linking takes longer than most of them.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod cancelled_tasks;
#[path = "../oracle/correlations.rs"]
mod correlations;
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

/// A file that is not a module here would not be tested.
#[test]
fn every_file_of_this_folder_is_tested() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binned");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let listed = include_str!("main.rs").contains(&format!("\nmod {name};\n"));
        assert!(name == "main" || listed, "add `mod {name};` to tests/binned/main.rs");
    }
}
