//! Tests the upload of columns of events from a Parquet file to the memory of a device. In these tests the device is
//! the host itself.
#![cfg(feature = "cuda-on-host")]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ns_compute::cuda_parquet::{
    UploadError, UploadOptions, upload_events_to_cuda, upload_events_with_bounds_to_cuda,
};
use ns_compute::device::host::event_target;
use ns_core::RowGroups;
use ns_translate::arrow::parquet::{ParquetGroups, ParquetOptions, read_parquet_events_soa};
use parquet::data_type::{DoubleType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

fn number(row: usize) -> f64 {
    (row as f64 * 0.618).fract()
}

/// Writes a Parquet file with a column of doubles and a column of integers. `groups` has the number of rows of each row
/// group.
fn write(path: &Path, groups: &[usize]) {
    let schema =
        Arc::new(parse_message_type("message events { required double m; required int32 k; }").unwrap());
    let file = std::fs::File::create(path).unwrap();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    let mut first = 0;
    for &rows in groups {
        let mut group = writer.next_row_group().unwrap();
        let values: Vec<f64> = (first..first + rows).map(number).collect();
        let mut out = group.next_column().unwrap().unwrap();
        out.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
        out.close().unwrap();
        let values: Vec<i32> = (first..first + rows).map(|row| (row % 100) as i32).collect();
        let mut out = group.next_column().unwrap().unwrap();
        out.typed::<Int32Type>().write_batch(&values, None, None).unwrap();
        out.close().unwrap();
        group.close().unwrap();
        first += rows;
    }
    writer.close().unwrap();
}

#[test]
fn columns_and_selections_are_those_of_the_reader_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.parquet");
    // Below and above the size from which pieces are used, with groups of unequal length.
    for groups in [vec![1, 5], vec![700, 9000, 3, 20_000, 1, 12_000], vec![4096; 40]] {
        write(&path, &groups);
        let host = read_parquet_events_soa(&path, &ParquetOptions::default()).unwrap();
        let file = ParquetGroups::open(&path, None).unwrap();
        let rows: usize = groups.iter().sum();
        let bounds = [(0.2, 0.7), (10.0, 89.0)];
        for threads in [1, 3] {
            // Memory for a single group, and for all.
            for host_memory in [8 * 3 * 20_000, 512 << 20] {
                let options = UploadOptions { threads, host_memory };
                let there = upload_events_to_cuda(&file, &event_target(), options).unwrap();
                assert_eq!(
                    (there.rows(), there.outside().outside, there.outside().rows as usize),
                    (rows, 0, rows)
                );
                assert_eq!(there.names(), ["m", "k"]);
                for column in 0..2 {
                    assert_eq!(there.read(column).unwrap(), host.columns[column][..]);
                }
                assert_eq!(there.address(1).unwrap(), there.address(0).unwrap() + 8 * rows as u64);
                assert!(there.address(2).is_none() && there.read(2).is_err());
                let cut =
                    upload_events_with_bounds_to_cuda(&file, &bounds, &event_target(), options).unwrap();
                let inside = |row: &usize| {
                    bounds.iter().zip(&host.columns).all(|((a, b), x)| (*a..=*b).contains(&x[*row]))
                };
                let kept: Vec<usize> = (0..rows).filter(inside).collect();
                for column in 0..2 {
                    let expected: Vec<f64> = kept.iter().map(|&row| host.columns[column][row]).collect();
                    assert_eq!(cut.read(column).unwrap(), expected);
                }
                assert_eq!(cut.outside().outside as usize, rows - kept.len());
                for (column, (a, b)) in bounds.iter().enumerate() {
                    let outside = host.columns[column].iter().filter(|x| !(*a..=*b).contains(*x)).count();
                    assert_eq!(cut.outside().by_column[column] as usize, outside);
                }
            }
        }
    }
}

#[test]
fn a_choice_of_columns_and_nothing_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.parquet");
    write(&path, &[30_000]);
    let file = ParquetGroups::open(&path, Some(&["k".to_owned()])).unwrap();
    let there = upload_events_to_cuda(&file, &event_target(), UploadOptions::default()).unwrap();
    assert_eq!(there.read(0).unwrap()[..3], [0.0, 1.0, 2.0]);
    let none = upload_events_with_bounds_to_cuda(
        &file,
        &[(200.0, 300.0)],
        &event_target(),
        UploadOptions::default(),
    );
    let none = none.unwrap();
    assert_eq!((none.rows(), none.outside().outside), (0, 30_000));
    write(&path, &[]);
    let file = ParquetGroups::open(&path, None).unwrap();
    assert_eq!(upload_events_to_cuda(&file, &event_target(), UploadOptions::default()).unwrap().rows(), 0);
}

#[test]
fn what_is_wrong_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.parquet");
    write(&path, &[100_000]);
    let file = ParquetGroups::open(&path, None).unwrap();
    let options = UploadOptions { threads: 1, host_memory: 1_000_000 };
    let error = upload_events_to_cuda(&file, &event_target(), options).unwrap_err();
    assert!(
        matches!(error, UploadError::HostMemory { rows: 100_000, needed: 2_400_000, limit: 1_000_000 }),
        "{error}"
    );
    let error = |bounds: &[(f64, f64)]| {
        upload_events_with_bounds_to_cuda(&file, bounds, &event_target(), UploadOptions::default())
            .unwrap_err()
            .to_string()
    };
    assert!(error(&[(0.0, 1.0)]).contains("1 bounds are given for 2 columns"));
    assert!(error(&[(0.0, 1.0), (5.0, 1.0)]).contains("column 'k' are 5 and 1"));
    assert!(ParquetGroups::open(&path, Some(&["x".to_owned()])).is_err());
    // A file that was cut while it is open.
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..1000]).unwrap();
    let error = upload_events_to_cuda(&file, &event_target(), UploadOptions::default()).unwrap_err();
    assert!(matches!(error, UploadError::File(_)) && error.to_string().contains("events.parquet"), "{error}");
}

/// A table of events that is computed instead of read from a file. Decoding one of its groups of rows gives an error.
struct Failing {
    names: Vec<String>,
    groups: Vec<usize>,
    decoded: AtomicUsize,
}

#[derive(Debug, PartialEq)]
struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("broken")
    }
}

impl std::error::Error for Broken {}

impl RowGroups for Failing {
    type Error = Broken;

    fn names(&self) -> &[String] {
        &self.names
    }

    fn groups(&self) -> &[usize] {
        &self.groups
    }

    fn decode(&self, group: usize, _: usize, out: &mut [f64]) -> Result<(), Broken> {
        self.decoded.fetch_add(1, Ordering::Relaxed);
        out.fill(1.0);
        if group == 20 { Err(Broken) } else { Ok(()) }
    }
}

#[test]
fn an_error_ends_the_upload() {
    for threads in [1, 4] {
        let names = vec!["x".to_owned()];
        let file = Failing { names, groups: vec![5000; 1000], decoded: AtomicUsize::new(0) };
        let options = UploadOptions { threads, ..UploadOptions::default() };
        let error = upload_events_to_cuda(&file, &event_target(), options).unwrap_err();
        assert!(matches!(error, UploadError::File(Broken)));
        assert!(file.decoded.load(Ordering::Relaxed) < 1000);
    }
}
