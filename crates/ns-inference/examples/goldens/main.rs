//! Prints the exact bits of results, one line per result. `scripts/goldens` runs this program and compares
//! its output.
//!
//! `cargo run --release -p ns-inference --features cuda-on-host --example goldens -- [--toys N] WORKSPACE...`
//!
//! The output contains results for every workspace in both interpolation settings: value, gradient, Hessian and
//! expected data at three points; the fit with its covariance; scan, ranking and limits; toys of both hypotheses,
//! with one thread and with two. Some of the toys are also fitted one by one. With the feature `cuda-on-host`, the
//! same points, a fit and toys are also computed by the CUDA kernels compiled for the CPU.
//!
//! A line contains a name, the number of values, and a hash of their bits. For a single value it contains the bits
//! themselves. The lines are valid for one machine only: instruction sets differ between CPUs, and mathematical
//! libraries differ between systems.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod record;
mod results;

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ns_core::Interpolation;
use ns_translate::pyhf::{ModelOptions, Workspace};

use record::Record;

/// Both interpolation settings with their names.
const SETTINGS: [(&str, Interpolation); 2] =
    [("smooth", Interpolation::SMOOTH), ("piecewise", Interpolation::PIECEWISE)];

/// Default number of toys of each hypothesis.
const TOYS: u64 = 300;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut toys, mut paths, mut args) = (TOYS, Vec::new(), std::env::args().skip(1));
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--toys" => toys = args.next().ok_or("--toys needs a number")?.parse()?,
            _ => paths.push(PathBuf::from(arg)),
        }
    }
    if paths.is_empty() {
        return Err("usage: goldens [--toys N] WORKSPACE...".into());
    }
    // The largest files come first. No thread then begins a long file near the end.
    let mut jobs: Vec<(PathBuf, usize)> =
        paths.into_iter().flat_map(|path| [(path.clone(), 0), (path, 1)]).collect();
    jobs.sort_by_key(|(path, setting)| (std::cmp::Reverse(path.metadata().map_or(0, |m| m.len())), *setting));
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<Record>, String> {
        let mut records = Vec::new();
        while let Some((path, setting)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (setting, interpolation) = SETTINGS[*setting];
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let name = format!("{stem}/{setting}");
            let began = Instant::now();
            let options = ModelOptions { interpolation, ..ModelOptions::default() };
            let model = Workspace::from_path(path).and_then(|workspace| workspace.model(&options));
            let model = model.map_err(|error| format!("{}: {error}", path.display()))?;
            let mut record = Record::new(&name);
            results::all(&model, toys, &mut record).map_err(|error| format!("{name}: {error}"))?;
            eprintln!("{name}: {:.1} s ({})", began.elapsed().as_secs_f64(), record.times());
            records.push(record);
        }
        Ok(records)
    };
    let halves = std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let own = work();
        [own, other.join().unwrap_or_else(|_| Err("a thread panicked".into()))]
    });
    let mut records = Vec::new();
    for half in halves {
        records.extend(half?);
    }
    records.sort_by(|a, b| a.name.cmp(&b.name));
    for record in records {
        print!("{}", record.text());
    }
    Ok(())
}
