//! The tests of the analyses, in one program, which is linked once. Tests that need a feature, or whose program other
//! documents name, are beside this folder.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../property/mod.rs"]
mod property;
#[path = "../support/mod.rs"]
mod support;

mod blind;
mod compatibility;
mod conditional_fits;
mod consistency;
mod correlated;
mod differentiable;
mod event_asimov;
mod event_consistency;
mod event_constraints;
mod event_edges;
mod event_jumps;
mod event_negative;
mod event_warnings;
mod fit;
mod flat;
mod hs3_models;
mod hs3_reference;
mod hypotest;
mod integrals;
mod interval;
mod kinks;
mod limits;
mod look_elsewhere;
mod minima;
mod peaks;
mod posterior;
mod ranking;
mod ranking_reference;
mod region;
mod scan;
mod several_pois;
mod small_models;
mod spurious;
mod tolerances;
mod toy_nuisance;
mod toys;
mod toys_minima;
mod toys_statistics;
mod unfold;
mod yields;

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
