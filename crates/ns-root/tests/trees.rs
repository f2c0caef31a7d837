//! Trees written by ROOT are read as they should be.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use ns_root::RootFile;

fn open(name: &str) -> RootFile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/root");
    RootFile::open(folder.join(name)).expect("it opens")
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_compression_has_the_numbers_that_root_was_given() {
    let signed = ["branch_f", "branch_d", "branch_i", "branch_l", "branch_s", "branch_b"];
    let unsigned = ["branch_ui", "branch_ul", "branch_us", "branch_ub"];
    for file in ["zlib", "lzma", "old", "lz4", "zstd"] {
        let file = open(&format!("tree_{file}.root"));
        let tree = file.tree("deep/events").expect("a tree");
        assert_eq!((tree.name.as_str(), tree.title.as_str(), tree.entries), ("events", "basic types", 300));
        let mut known: Vec<&str> = signed.iter().chain(&unsigned).copied().collect();
        known.extend(["branch_o", "pair.first", "pair.second", "n"]);
        let mut columns = tree.columns();
        columns.sort();
        known.sort_unstable();
        assert_eq!(columns, known);
        let read = |list: &[&str]| file.columns("deep/events", &names(list)).expect("columns");
        for column in read(&signed) {
            assert!(column.iter().enumerate().all(|(i, x)| *x == (i % 100) as f64 - 50.0));
        }
        for column in read(&unsigned) {
            assert!(column.iter().enumerate().all(|(i, x)| *x == (i % 100) as f64));
        }
        let others = read(&["branch_o", "pair.first", "pair.second", "pair", "n"]);
        assert!(others[0].iter().enumerate().all(|(i, x)| *x == (i % 2) as f64));
        assert!(others[1].iter().enumerate().all(|(i, x)| *x == 0.5 * i as f64));
        assert!(others[2].iter().enumerate().all(|(i, x)| *x == -(i as f64)));
        assert_eq!(others[3], others[1]);
        assert!(others[4].iter().enumerate().all(|(i, x)| *x == (i % 3) as f64));
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let file = open("tree_zlib.root");
    let said = |path: &str, name: &str| file.columns(path, &names(&[name])).unwrap_err().to_string();
    let name = file.columns("x", &[]).unwrap_err().to_string();
    assert!(name.contains("has no 'x'"), "{name}");
    let said = [
        said("deep/events", "branch_g"),
        said("deep/events", "three"),
        said("deep/events", "many"),
        open("zlib.root").columns("outer/inner/hD", &[]).unwrap_err().to_string(),
    ];
    for (said, wanted) in said.iter().zip([
        "has no branch 'branch_g'; the closest that exists is 'branch_",
        "'three' of the tree 'deep/events' cannot be read as a column: it has 3 numbers for each event",
        "its leaf 'many' has another number of values in each event",
        "'outer/inner/hD' is a TH1D, but only the classes TTree and TNtuple are read",
    ]) {
        assert!(said.contains(wanted), "{said}");
    }
}
