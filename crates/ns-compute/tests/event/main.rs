//! Tests of models of events. They are one program, because linking takes longer than most of them.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod boundaries;
mod convolutions;
mod event_models;
mod events_oracle;
mod fits;
mod gpu;
mod gpu_toys;
mod minima;
mod random_events;
mod range;
mod reference;
mod sums;
mod terms;
mod toys;

/// A file that is not a module here would not be tested.
#[test]
fn every_file_of_this_folder_is_tested() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/event");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let listed = include_str!("main.rs").contains(&format!("\nmod {name};\n"));
        assert!(name == "main" || listed, "add `mod {name};` to tests/event/main.rs");
    }
}
