//! Configurations with random changes build a workspace or give an error; nothing panics, and every message has a place.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ns_translate::build::{BuildError, ConfigOptions, build_config};
use proptest::prelude::*;

/// Files that are changed.
const FILES: [&str; 3] = ["histograms.yml", "ntuples.yml", "trex.config"];

/// What is written into them.
const PIECES: [&str; 24] = [
    "", "\n", " ", ":", "-", "[", "]", "{", "}", "\"", "'", ",", "&a", "*a", "<<", "0", "-1e308", "nan", "~",
    "True", "(", "Name", "%", "é",
];

/// A folder with the templates that the configurations name.
static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    folder
});

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/build")
}

/// Replaces some letters at a place, which is a fraction of the text.
fn changed(text: &str, place: f64, length: usize, piece: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let begin = ((letters.len() as f64 * place) as usize).min(letters.len());
    let end = (begin + length).min(letters.len());
    letters[..begin].iter().copied().chain(piece.chars()).chain(letters[end..].iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(
        file in 0..FILES.len(),
        changes in prop::collection::vec((0.0..1.0_f64, 0..6_usize, 0..PIECES.len()), 1..4),
    ) {
        let mut text = std::fs::read_to_string(fixtures().join(FILES[file])).unwrap();
        for (place, length, piece) in changes {
            text = changed(&text, place, length, PIECES[piece]);
        }
        let path = FOLDER.path().join("changed.config");
        std::fs::write(&path, &text).unwrap();
        if let Err(error) = build_config(&path, ConfigOptions::default()) {
            prop_assert!(!error.to_string().is_empty());
            if let BuildError::Invalid { report, .. } = &error {
                prop_assert!(report.errors().all(|problem| problem.path.contains("changed.config:")), "{error}");
                prop_assert!(report.errors().all(|problem| !problem.remedy.is_empty()), "{error}");
            }
        }
    }
}
