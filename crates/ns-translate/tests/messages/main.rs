//! The words for broken inputs, in one program, which is linked once.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod broken;
mod broken_cards;
mod broken_hs3;
mod build;
mod build_trex;
mod patches;

/// A file that is not a module here would not be tested.
#[test]
fn every_file_of_this_folder_is_tested() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/messages");
    for entry in std::fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("the folder is readable").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let listed = include_str!("main.rs").contains(&format!("\nmod {name};\n"));
        assert!(
            matches!(name, "main" | "snapshots") || listed,
            "add `mod {name};` to tests/messages/main.rs"
        );
    }
}
