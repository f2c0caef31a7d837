//! No bytes make the reader panic or use memory without limit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::path::Path;

use ns_root::RootFile;
use proptest::prelude::*;

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/root");
    std::fs::read(folder.join(name)).expect("a fixture")
}

fn read(bytes: Vec<u8>) {
    let Ok(file) = RootFile::from_bytes("damaged", bytes).inspect_err(|e| drop(e.to_string())) else {
        return;
    };
    for path in ["deep/events", "signal"] {
        if let Ok(tree) = file.tree(path).inspect_err(|e| drop(e.to_string())) {
            for column in tree.columns() {
                let _ = file.columns(path, &[column]).inspect_err(|e| drop(e.to_string()));
            }
        }
    }
    let Ok(names) = file.names().inspect_err(|e| drop(e.to_string())) else { return };
    for entry in names.iter().take(50) {
        if let Ok(h) = file.histogram(&entry.path).inspect_err(|e| drop(e.to_string())) {
            let bins: usize = h.axes.iter().map(|axis| axis.n_bins()).product();
            assert_eq!(h.contents().len(), bins);
            assert_eq!(h.errors().len(), bins);
        }
    }
}

const FILES: [&str; 10] = [
    "none.root",
    "zlib.root",
    "lzma.root",
    "old.root",
    "lz4.root",
    "zstd.root",
    "buffered.root",
    "tree_events.root",
    "tree_zstd.root",
    "tree_lz4.root",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn changed_bytes(
        name in prop::sample::select(&FILES[..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut bytes = fixture(name);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read(bytes);
    }

    #[test]
    fn changed_numbers(
        name in prop::sample::select(&FILES[..]),
        at in any::<prop::sample::Index>(),
        value in prop::sample::select(&[0u32, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x4000_0000, 0x4000_0002, 100][..]),
    ) {
        let mut bytes = fixture(name);
        let at = at.index(bytes.len() - 4);
        bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
        read(bytes);
    }

    #[test]
    fn cut_files(name in prop::sample::select(&FILES[..]), at in any::<prop::sample::Index>()) {
        let mut bytes = fixture(name);
        let at = at.index(bytes.len());
        bytes.truncate(at);
        read(bytes);
    }
}

#[test]
fn every_number_of_the_header_and_the_lists() {
    let whole = fixture("none.root");
    for at in (0..200).chain(whole.len() - 2500..whole.len() - 4) {
        for value in [0u32, 0x7fff_ffff, 0xffff_ffff, 100] {
            let mut bytes = whole.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
            read(bytes);
        }
    }
}
