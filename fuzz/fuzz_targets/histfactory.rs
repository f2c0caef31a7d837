//! Reads any bytes as the XML of a combination file and of its channel, beside a fixed ROOT file. Nothing may panic, and
//! what is read must be a workspace or an HS3 model.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use ns_root::{Compression, Histogram, HistogramFile};
use ns_translate::hs3::EventSources;
use ns_translate::pyhf::DigestCheck;
use ns_translate::{ModelSource, SourceText, histfactory};

/// Separates the combination file from the channel file.
const BETWEEN: &[u8] = b"\n====\n";

/// A folder of this process with a ROOT file.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("ns-fuzz-histfactory-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder is made");
        let mut file = HistogramFile::new();
        for (name, scale) in [("data", 10.0), ("nominal", 9.0), ("up", 10.0), ("down", 8.0), ("relative", 0.1)] {
            let cells = vec![0.0, scale, 2.0 * scale, 0.0];
            let h = Histogram::one_dimensional(name, "", vec![0.0, 1.0, 2.0], cells, None).expect("it has bins");
            file.add(name, &h).expect("its name is free");
        }
        file.write(folder.join("h.root"), Compression::None).expect("it is written");
        folder
    })
}

fuzz_target!(|data: &[u8]| {
    let at = data.windows(BETWEEN.len()).position(|window| window == BETWEEN);
    let (combination, channel) = match at {
        Some(at) => (&data[..at], &data[at + BETWEEN.len()..]),
        None => (data, &b""[..]),
    };
    let path = folder().join("c.xml");
    std::fs::write(&path, combination).expect("it is written");
    std::fs::write(folder().join("channel.xml"), channel).expect("it is written");
    let _ = SourceText::read(&path).inspect_err(|error| drop(error.to_string()));
    if !histfactory::is_xml(combination) {
        return;
    }
    let Ok(imported) = histfactory::read(&path).inspect_err(|error| drop(error.to_string())) else { return };
    serde_json::from_slice::<serde_json::Value>(&imported.json).expect("what is written is JSON");
    let source = ModelSource::with_events(&imported.json, &[], DigestCheck::Verify, &EventSources::default());
    if let Ok(ModelSource::Pyhf(workspace)) = source.inspect_err(|error| drop(error.to_string())) {
        let _ = histfactory::write(&workspace).inspect_err(|error| drop(error.to_string()));
    }
});
