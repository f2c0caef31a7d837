//! Measures the time of copying events from a Parquet file to a GPU:
//! `upload_events [FOLDER] [ROWS] [GIGABYTES] [FILE]`.
//!
//! First, copies a table of GIGABYTES gigabytes (default 20) that is computed instead of read, and prints the peak
//! memory of the process on the host. Next, copies six numbers to the GPU and back. Then writes a file with ROWS rows
//! (default 10 million) and four columns to FOLDER. Compares the time of reading this file to the host with the time
//! of copying it to the GPU, and the numbers bit by bit. Does the same for the rows within given bounds. Finally, if
//! FILE is given and not 0, copies a file of FILE gigabytes and prints the peak memory on the host during this copy.
//! Fails if a number differs.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ns_compute::cuda_parquet::{
    EventTarget, UploadOptions, upload_events_to_cuda, upload_events_with_bounds_to_cuda,
};
use ns_compute::device::cuda::event_target;
use ns_core::RowGroups;
use ns_translate::arrow::parquet::{ParquetGroups, ParquetOptions, read_parquet_events_soa};
use parquet::basic::Compression;
use parquet::data_type::DoubleType;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// Number of rows in a row group of a file.
const GROUP: usize = 250_000;

/// Returns the number in one row of one column. The numbers look random, so that compression finds no repetitions.
fn number(column: usize, row: usize) -> f64 {
    let mixed = ((row * 4 + column) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn write(path: &Path, rows: usize, columns: usize) {
    let fields: String = (0..columns).map(|i| format!("required double c{i};")).collect();
    let schema = Arc::new(parse_message_type(&format!("message events {{ {fields} }}")).unwrap());
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .build();
    let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    for first in (0..rows).step_by(GROUP) {
        let mut group = writer.next_row_group().unwrap();
        for column in 0..columns {
            let values: Vec<f64> = (first..rows.min(first + GROUP)).map(|row| number(column, row)).collect();
            let mut out = group.next_column().unwrap().unwrap();
            out.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
            out.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// A table whose numbers are computed when they are copied. The whole table is never in memory.
struct Computed {
    names: Vec<String>,
    groups: Vec<usize>,
}

impl RowGroups for Computed {
    type Error = Infallible;

    fn names(&self) -> &[String] {
        &self.names
    }

    fn groups(&self) -> &[usize] {
        &self.groups
    }

    fn decode(&self, group: usize, column: usize, out: &mut [f64]) -> Result<(), Infallible> {
        let first = group * GROUP;
        out.iter_mut().enumerate().for_each(|(i, x)| *x = number(column, first + i));
        Ok(())
    }
}

/// Calls `run` repeatedly (`times` times), and returns the shortest time of a call in milliseconds.
fn shortest(times: usize, mut run: impl FnMut()) -> f64 {
    (0..times)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e3
        })
        .fold(f64::INFINITY, f64::min)
}

/// Returns the value of the line of `/proc/self/status` that begins with `key`, in MiB; 0 if there is no such line.
fn memory(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(key));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn same(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    let differ = a.iter().zip(b).position(|(a, b)| a.to_bits() != b.to_bits());
    assert_eq!(differ, None, "a number differs");
}

fn of_file(path: &Path, target: &EventTarget, rows: usize) {
    let options = UploadOptions::default();
    let read = || read_parquet_events_soa(path, &ParquetOptions::default()).unwrap();
    let host = read();
    let decoding = shortest(5, || drop(read()));
    let upload =
        || upload_events_to_cuda(&ParquetGroups::open(path, None).unwrap(), target, options).unwrap();
    let first = shortest(1, || drop(upload()));
    let all = shortest(5, || drop(upload()));
    let there = upload();
    for (column, numbers) in host.columns.iter().enumerate() {
        same(&there.read(column).unwrap(), numbers);
    }
    println!(
        "decoding to memory of the host: {decoding:.1} ms; to the GPU: {all:.1} ms (the first time {first:.1} ms)"
    );
    let bounds = [(0.25, 1.0), (f64::NEG_INFINITY, f64::INFINITY), (0.0, 0.9), (0.0, 1.0)];
    let file = ParquetGroups::open(path, None).unwrap();
    let cut = || upload_events_with_bounds_to_cuda(&file, &bounds, target, options).unwrap();
    let selecting = shortest(3, || drop(cut()));
    let cut = cut();
    let kept: Vec<usize> = (0..rows)
        .filter(|&row| bounds.iter().zip(&host.columns).all(|((a, b), x)| *a <= x[row] && x[row] <= *b))
        .collect();
    for (column, numbers) in host.columns.iter().enumerate() {
        let expected: Vec<f64> = kept.iter().map(|&row| numbers[row]).collect();
        same(&cut.read(column).unwrap(), &expected);
    }
    assert_eq!(cut.outside().outside as usize, rows - kept.len());
    println!("with bounds: {selecting:.1} ms; {} of {rows} rows are outside", cut.outside().outside);
}

/// Writes a file of `gigabytes` gigabytes, copies this file to the GPU, and prints the time and the largest memory of
/// the host during the copy.
fn of_large_file(path: &Path, target: &EventTarget, gigabytes: usize) {
    let rows = gigabytes * (1 << 30) / (4 * 8 * GROUP) * GROUP;
    write(path, rows, 4);
    let size = std::fs::metadata(path).unwrap().len();
    // Linux: the peak of the resident memory begins anew.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmHWM");
    let start = Instant::now();
    let file = ParquetGroups::open(path, None).unwrap();
    let there = upload_events_to_cuda(&file, target, UploadOptions::default()).unwrap();
    let (seconds, peak) = (start.elapsed().as_secs_f64(), memory("VmHWM"));
    let column = there.read(2).unwrap();
    assert_eq!(column.len(), rows);
    for row in (0..rows).step_by(997) {
        assert_eq!(column[row].to_bits(), number(2, row).to_bits());
    }
    println!(
        "a file of {:.2} GB: {seconds:.2} s, {:.2} GB/s; memory of the host {before} MiB before, {peak} MiB at most",
        size as f64 * 1e-9,
        size as f64 / seconds * 1e-9,
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let rows: usize = arguments.next().map_or(10_000_000, |text| text.parse().unwrap());
    let gigabytes: usize = arguments.next().map_or(20, |text| text.parse().unwrap());
    let in_file: usize = arguments.next().map_or(0, |text| text.parse().unwrap());
    let target = event_target(0).unwrap();
    let before = memory("VmRSS");

    // First, so that the peak is that of this table alone.
    let groups = vec![GROUP; gigabytes * (1 << 30) / (4 * 8 * GROUP)];
    let total: usize = groups.iter().sum();
    let large = Computed { names: (0..4).map(|i| format!("c{i}")).collect(), groups };
    let start = Instant::now();
    let there = upload_events_to_cuda(&large, &target, UploadOptions::default()).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(there.rows(), total);
    let column = there.read(3).unwrap();
    let peak = memory("VmHWM");
    for row in (0..total).step_by(9973) {
        assert_eq!(column[row].to_bits(), number(3, row).to_bits());
    }
    drop((there, column));
    println!(
        "{gigabytes} GiB that are computed: {seconds:.2} s, {:.1} GB/s; memory of the host {before} MiB before, {peak} MiB at most, \
         of which {} MiB are a column that is read back",
        (total * 32) as f64 / seconds * 1e-9,
        (total * 8) >> 20,
    );

    let small = folder.join("six.parquet");
    write(&small, 6, 1);
    let six = Computed { names: vec!["c0".to_owned()], groups: vec![6] };
    let trip = shortest(200, || {
        let there = upload_events_to_cuda(&six, &target, UploadOptions::default()).unwrap();
        same(&there.read(0).unwrap(), &(0..6).map(|row| number(0, row)).collect::<Vec<_>>());
    });
    let with_file = shortest(200, || {
        let file = ParquetGroups::open(&small, None).unwrap();
        drop(upload_events_to_cuda(&file, &target, UploadOptions::default()).unwrap().read(0).unwrap());
    });
    println!("round trip of 6 numbers: {trip:.3} ms; from a Parquet file {with_file:.3} ms");

    let path = folder.join("events.parquet");
    write(&path, rows, 4);
    of_file(&path, &target, rows);
    if in_file > 0 {
        of_large_file(&path, &target, in_file);
    }
    std::fs::remove_file(path).unwrap();
    std::fs::remove_file(small).unwrap();
}
