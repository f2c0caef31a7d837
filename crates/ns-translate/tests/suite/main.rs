//! The tests of the formats, in one program, which is linked once. Tests of messages are in the folder beside.
#![allow(missing_docs, clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod build_mutations;
mod cards;
mod constraints;
mod correlate;
mod decorrelate;
mod edit;
mod hs3;
mod hs3_decays;
mod hs3_dialects;
mod hs3_mutations;
mod hs3_ranges;
mod hs3_restated;
mod hs3_sources;
mod hs3_written;
mod lenient;
mod parquet;
mod reference;
mod roundtrip;
mod unused_numbers;
mod written_back;

/// A file that is not a module here would not be tested.
#[test]
fn every_file_of_this_folder_is_tested() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite");
    for entry in std::fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("the folder is readable").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let listed = include_str!("main.rs").contains(&format!("\nmod {name};\n"));
        assert!(name == "main" || listed, "add `mod {name};` to tests/suite/main.rs");
    }
}
