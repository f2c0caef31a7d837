//! Prints the histograms of ROOT files as JSON lines: `histograms FILE [PATH...]`. Without paths it prints all.

use std::error::Error;
use std::io::Write as _;

use ns_root::RootFile;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("the path of a ROOT file is missing")?;
    let file = RootFile::open(path)?;
    let mut wanted: Vec<String> = arguments.collect();
    if wanted.is_empty() {
        wanted = file.names()?.into_iter().map(|entry| format!("{};{}", entry.path, entry.cycle)).collect();
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for path in wanted {
        let h = file.histogram(&path)?;
        let edges: Vec<_> = h.axes.iter().map(|axis| &axis.edges).collect();
        let labels: Vec<_> = h.axes.iter().map(|axis| axis.labels.clone().unwrap_or_default()).collect();
        writeln!(
            out,
            "{{\"path\": {path:?}, \"class\": {:?}, \"title\": {:?}, \"entries\": {:?}, \"edges\": {edges:?}, \
             \"labels\": {labels:?}, \"cells\": {:?}, \"sumw2\": {:?}}}",
            h.class,
            h.title,
            h.entries,
            h.cells(),
            h.cells_sumw2().unwrap_or_default()
        )?;
    }
    Ok(())
}
