//! Reads any bytes as a ROOT file with all its histograms and a tree. What is read must be written and read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ns_root::{Compression, HistogramFile, RootFile};

fuzz_target!(|data: &[u8]| {
    let Ok(file) = RootFile::from_bytes("fuzz", data.to_vec()).inspect_err(|e| drop(e.to_string())) else { return };
    for path in ["deep/events", "signal"] {
        let Ok(tree) = file.tree(path).inspect_err(|e| drop(e.to_string())) else { continue };
        for column in tree.columns().into_iter().take(20) {
            let _ = file.columns(path, &[column]).inspect_err(|e| drop(e.to_string()));
        }
    }
    let Ok(names) = file.names().inspect_err(|e| drop(e.to_string())) else { return };
    let mut again = HistogramFile::new();
    let mut kept = Vec::new();
    for entry in names.iter().take(20) {
        let Ok(h) = file.histogram(&entry.path).inspect_err(|e| drop(e.to_string())) else { continue };
        assert_eq!(h.contents().len(), h.axes.iter().map(|axis| axis.n_bins()).product::<usize>());
        // Numbers of other classes are written as doubles, and names may be in use.
        let path = format!("folder/h{}", kept.len());
        if again.add(&path, &h).is_ok() {
            kept.push((path, h));
        }
    }
    let bytes = again.to_bytes("again.root", Compression::Zlib).expect("it is small");
    let read = RootFile::from_bytes("again", bytes).expect("what is written is read");
    for (path, h) in kept {
        let found = read.histogram(&path).expect("what is written is read");
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        if h.class != "TH1F" {
            assert_eq!(bits(found.cells()), bits(h.cells()));
        }
        assert_eq!(found.axes[0].edges, h.axes[0].edges);
    }
});
