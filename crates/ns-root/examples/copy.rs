//! Copies the one-dimensional histograms of a ROOT file: `copy FROM TO [zlib]`.

use std::error::Error;

use ns_root::{Compression, HistogramFile, RootFile};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, rest @ ..] = arguments.as_slice() else {
        return Err("the paths of two files are missing".into());
    };
    let file = RootFile::open(from)?;
    let mut out = HistogramFile::new();
    let mut last = String::new();
    for entry in file.names()?.into_iter().filter(|entry| entry.class.starts_with("TH1")) {
        // Only the newest cycle of a name.
        if entry.path != last {
            out.add(&entry.path, &file.histogram(&entry.path)?)?;
        }
        last = entry.path;
    }
    out.write(to, if rest.is_empty() { Compression::None } else { Compression::Zlib })?;
    Ok(())
}
