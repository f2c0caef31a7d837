//! Reads bytes as a configuration file of cabinetry or TRExFitter, beside a ROOT file and a table of events. Nothing may panic,
//! and what is built must be JSON.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use ns_translate::SourceText;
use ns_translate::build::{ConfigOptions, build_config};

/// The files that the configurations of the fixtures name.
const FIXTURES: [(&str, &[u8]); 5] = [
    ("histograms.root", include_bytes!("../../tests/fixtures/build/histograms.root")),
    ("data.parquet", include_bytes!("../../tests/fixtures/build/data.parquet")),
    ("signal.parquet", include_bytes!("../../tests/fixtures/build/signal.parquet")),
    ("background.parquet", include_bytes!("../../tests/fixtures/build/background.parquet")),
    ("background_varied.parquet", include_bytes!("../../tests/fixtures/build/background_varied.parquet")),
];

/// A folder of this process with the files that the fixtures name.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("ns-fuzz-config-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder is made");
        for (name, bytes) in FIXTURES {
            std::fs::write(folder.join(name), bytes).expect("it is written");
        }
        folder
    })
}

fuzz_target!(|data: &[u8]| {
    let path = folder().join("config");
    std::fs::write(&path, data).expect("it is written");
    // A configuration is not a model, which the message says.
    let _ = SourceText::read(&path).inspect_err(|error| drop(error.to_string()));
    if let Ok(built) = build_config(&path, ConfigOptions::default()).inspect_err(|error| drop(error.to_string())) {
        serde_json::from_slice::<serde_json::Value>(built.workspace.to_string().as_bytes()).expect("what is built is JSON");
    }
});
