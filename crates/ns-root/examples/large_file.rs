//! Measures what is read of a large file: `large_file PATH [HISTOGRAMS] [FOLDERS]` writes a file of 50 000 histograms with 100 bins,
//! if there is none, and reads three of them. It prints sizes and times.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Instant;

use ns_root::{Compression, Histogram, HistogramFile, RootFile};

const BINS: usize = 100;

/// Writes histograms with errors, spread over folders; with 0 folders they are all at the top.
fn write(path: &str, histograms: usize, folders: usize) -> Result<(), Box<dyn Error>> {
    let mut file = HistogramFile::new();
    let edges: Vec<f64> = (0..=BINS).map(|edge| edge as f64).collect();
    for i in 0..histograms {
        let cells: Vec<f64> = (0..BINS + 2).map(|bin| ((i * 31 + bin * 17) % 1000) as f64).collect();
        let h = Histogram::one_dimensional("h", "", edges.clone(), cells.clone(), Some(cells))
            .ok_or("the bins do not fit")?;
        file.add(&name(i, folders), &h)?;
    }
    file.write(path, Compression::None)?;
    Ok(())
}

fn name(i: usize, folders: usize) -> String {
    match folders {
        0 => format!("h{i}"),
        _ => format!("region{}/h{i}", i % folders),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("large_file PATH [HISTOGRAMS] [FOLDERS]")?;
    let histograms: usize = arguments.next().map_or(Ok(50_000), |text| text.parse())?;
    let folders: usize = arguments.next().map_or(Ok(0), |text| text.parse())?;
    if !std::path::Path::new(&path).exists() {
        write(&path, histograms, folders)?;
    }
    let size = std::fs::metadata(&path)?.len();
    let begin = Instant::now();
    let file = RootFile::open(&path)?;
    let opened = (begin.elapsed(), file.bytes_read());
    let mut sum = 0.0;
    for i in [0, histograms / 2, histograms - 1] {
        sum += file.histogram(&name(i, folders))?.contents().iter().sum::<f64>();
    }
    println!("file: {size} bytes, {histograms} histograms in {folders} folders");
    println!("opened: {} bytes, {:.2} ms", opened.1, opened.0.as_secs_f64() * 1e3);
    println!(
        "three histograms: {} bytes, {:.2} ms (their sum is {sum})",
        file.bytes_read(),
        begin.elapsed().as_secs_f64() * 1e3
    );
    Ok(())
}
