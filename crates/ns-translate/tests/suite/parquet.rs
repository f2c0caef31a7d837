//! Tests reading events from Parquet files: types, compressions, selections and damaged files. The tests
//! write the files themselves.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ns_translate::arrow::parquet::{
    Comparison, Condition, ParquetOptions, ParquetReadError, read_parquet_events_soa,
};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// A column of a file that is written for a test. `None` in a column of optional numbers is a null.
enum Written {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    Bool(Vec<bool>),
    Optional(Vec<Option<f64>>),
}

/// Writes a file with row groups. `groups` contains the columns of each group.
fn write(path: &Path, schema: &str, properties: WriterPropertiesBuilder, groups: &[Vec<Written>]) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    for group in groups {
        let mut rows = writer.next_row_group().unwrap();
        for column in group {
            let mut out = rows.next_column().unwrap().unwrap();
            match (out.untyped(), column) {
                (ColumnWriter::DoubleColumnWriter(w), Written::F64(x)) => {
                    w.write_batch(x, None, None).unwrap()
                }
                (ColumnWriter::DoubleColumnWriter(w), Written::Optional(x)) => {
                    let levels: Vec<i16> = x.iter().map(|x| i16::from(x.is_some())).collect();
                    let there: Vec<f64> = x.iter().flatten().copied().collect();
                    w.write_batch(&there, Some(&levels), None).unwrap()
                }
                (ColumnWriter::FloatColumnWriter(w), Written::F32(x)) => {
                    w.write_batch(x, None, None).unwrap()
                }
                (ColumnWriter::Int32ColumnWriter(w), Written::I32(x)) => {
                    w.write_batch(x, None, None).unwrap()
                }
                (ColumnWriter::Int64ColumnWriter(w), Written::I64(x)) => {
                    w.write_batch(x, None, None).unwrap()
                }
                (ColumnWriter::BoolColumnWriter(w), Written::Bool(x)) => {
                    w.write_batch(x, None, None).unwrap()
                }
                _ => panic!("the column has another type"),
            };
            out.close().unwrap();
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
}

fn place(folder: &tempfile::TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}

fn columns(names: &[&str]) -> ParquetOptions {
    ParquetOptions {
        columns: Some(names.iter().map(|n| (*n).to_owned()).collect()),
        ..ParquetOptions::default()
    }
}

fn condition(column: &str, sign: &str, limit: f64) -> Condition {
    Condition { column: column.to_owned(), comparison: Comparison::of(sign).unwrap(), limit }
}

const TWO: &str = "message events { required double x; required double y; }";

/// Writes ten row groups of 1000 rows in pages of 100 rows. Column `x` is the index of the row, and `y` the
/// square of `x`.
fn ordered(path: &Path, properties: WriterPropertiesBuilder) {
    let group = |g: i32| {
        let rows = (0..1000).map(move |i| f64::from(1000 * g + i));
        vec![Written::F64(rows.clone().collect()), Written::F64(rows.map(|x| x * x).collect())]
    };
    let properties = properties.set_data_page_row_count_limit(100).set_write_batch_size(100);
    write(path, TWO, properties, &(0..10).map(group).collect::<Vec<_>>());
}

#[test]
fn every_compression_gives_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
    ];
    for (i, compression) in compressions.into_iter().enumerate() {
        for dictionary in [false, true] {
            let path = place(&folder, &format!("{i}{dictionary}.parquet"));
            let properties = WriterProperties::builder().set_compression(compression);
            ordered(&path, properties.set_dictionary_enabled(dictionary));
            for threads in [1, 3] {
                let options = ParquetOptions { threads: NonZeroUsize::new(threads), ..columns(&["y", "x"]) };
                let data = read_parquet_events_soa(&path, &options).unwrap();
                assert_eq!(data.names, ["y", "x"]);
                assert_eq!((data.len(), data.rows, data.skipped), (10_000, 10_000, 0));
                for row in 0..10_000 {
                    assert_eq!(data.columns[1][row], row as f64);
                    assert_eq!(data.columns[0][row], (row * row) as f64);
                }
            }
        }
    }
}

#[test]
fn a_selection_keeps_the_same_rows_with_and_without_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (vec![condition("x", ">=", 2500.0), condition("x", "<", 3510.0)], 2500..3510),
        (vec![condition("x", "<=", 99.0)], 0..100),
        (vec![condition("x", ">", 9_998.0)], 9_999..10_000),
        (vec![condition("x", "==", 4321.0)], 4321..4322),
        (vec![condition("x", ">", 1e9)], 0..0),
        (vec![condition("y", "<", 1e6)], 0..1000),
        (vec![condition("x", "!=", -1.0)], 0..10_000),
    ];
    for (statistics, skips) in [
        (EnabledStatistics::None, [0; 7]),
        (EnabledStatistics::Chunk, [8000, 9000, 9000, 9000, 10_000, 9000, 0]),
        (EnabledStatistics::Page, [8900, 9900, 9900, 9900, 10_000, 9000, 0]),
    ] {
        let path = place(&folder, &format!("{statistics:?}.parquet"));
        ordered(&path, WriterProperties::builder().set_statistics_enabled(statistics));
        for ((selection, rows), skipped) in cases.iter().zip(skips) {
            for threads in [1, 3] {
                let threads = NonZeroUsize::new(threads);
                let options = ParquetOptions { selection: selection.clone(), threads, ..columns(&["y"]) };
                let data = read_parquet_events_soa(&path, &options).unwrap();
                let expected: Vec<f64> = rows.clone().map(|row| f64::from(row) * f64::from(row)).collect();
                assert_eq!(*data.columns[0], *expected, "{statistics:?} {selection:?}");
                assert_eq!(data.skipped, skipped, "{statistics:?} {selection:?}");
            }
        }
    }
}

#[test]
fn numbers_of_all_types_become_floating_point_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder, "types.parquet");
    let schema = "message events { required float f; required int32 i; required int32 u (INTEGER(32, false));
        required int64 l; required int64 v (INTEGER(64, false)); required boolean b; required int32 s (INTEGER(8, true)); }";
    let group = vec![
        Written::F32(vec![0.1, f32::NAN]),
        Written::I32(vec![-7, 7]),
        Written::I32(vec![-1, 1]),
        Written::I64(vec![-(1 << 53), 1 << 40]),
        Written::I64(vec![3, 1 << 53]),
        Written::Bool(vec![true, false]),
        Written::I32(vec![-128, 127]),
    ];
    write(&path, schema, WriterProperties::builder(), &[group]);
    let data = read_parquet_events_soa(&path, &ParquetOptions::default()).unwrap();
    assert_eq!(data.names, ["f", "i", "u", "l", "v", "b", "s"]);
    let first: Vec<f64> = data.columns.iter().map(|column| column[0]).collect();
    assert_eq!(
        first,
        [f64::from(0.1_f32), -7.0, 4_294_967_295.0, -9_007_199_254_740_992.0, 3.0, 1.0, -128.0]
    );
    assert!(data.column("f").unwrap()[1].is_nan());
    let second: Vec<f64> = data.columns.iter().skip(1).map(|column| column[1]).collect();
    assert_eq!(second, [7.0, 1.0, 1_099_511_627_776.0, 9_007_199_254_740_992.0, 0.0, 127.0]);
    // Selections compare unsigned numbers as unsigned, whatever the statistics contain.
    let options = ParquetOptions { selection: vec![condition("u", ">", 10.0)], ..columns(&["i"]) };
    assert_eq!(*read_parquet_events_soa(&path, &options).unwrap().columns[0], [-7.0]);
}

#[test]
fn integers_without_an_equal_floating_point_number_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder, "labels.parquet");
    let group = vec![Written::I64(vec![1, 2, (1 << 53) + 1]), Written::F64(vec![1.0, 2.0, 3.0])];
    let schema = "message events { required int64 event; required double x; }";
    write(&path, schema, WriterProperties::builder(), &[group]);
    let error = read_parquet_events_soa(&path, &columns(&["event"])).unwrap_err();
    assert!(matches!(error, ParquetReadError::Inexact { row: 2, .. }), "{error}");
    assert!(read_parquet_events_soa(&path, &columns(&["x"])).is_ok());
}

#[test]
fn nulls_are_errors_unless_the_selection_drops_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder, "nulls.parquet");
    let x = |nulls: [usize; 2]| {
        let of = |i: usize| (!nulls.contains(&i)).then_some(i as f64);
        Written::Optional((0..100).map(of).collect())
    };
    let flag = || Written::F64((0..100).map(|i| f64::from(u8::from(i < 40))).collect());
    let schema = "message events { optional double x; required double good; }";
    write(
        &path,
        schema,
        WriterProperties::builder(),
        &[vec![x([200, 200]), flag()], vec![x([50, 70]), flag()]],
    );
    let error = read_parquet_events_soa(&path, &columns(&["x"])).unwrap_err();
    assert!(matches!(error, ParquetReadError::Null { row: 150, .. }), "{error}");
    let with = |selection: Vec<Condition>| {
        read_parquet_events_soa(&path, &ParquetOptions { selection, ..columns(&["x"]) })
    };
    assert_eq!(with(vec![condition("good", "==", 1.0)]).unwrap().len(), 80);
    // A null fulfils no condition, not even `!=`.
    assert_eq!(with(vec![condition("x", "!=", -1.0)]).unwrap().len(), 198);
    let error = with(vec![condition("good", "==", 0.0)]).unwrap_err();
    assert!(matches!(error, ParquetReadError::Null { row: 150, .. }), "{error}");
}

#[test]
fn not_a_number_in_the_statistics_keeps_the_row_group() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder, "nan.parquet");
    let group = vec![Written::F64(vec![f64::NAN, f64::NAN, 5.0]), Written::F64(vec![1.0, 2.0, 3.0])];
    let alone = vec![Written::F64(vec![f64::NAN; 3]), Written::F64(vec![4.0, 5.0, 6.0])];
    write(&path, TWO, WriterProperties::builder(), &[group, alone]);
    let with = |sign: &str, limit: f64| {
        let options = ParquetOptions { selection: vec![condition("x", sign, limit)], ..columns(&["y"]) };
        read_parquet_events_soa(&path, &options).unwrap().columns[0].to_vec()
    };
    assert_eq!(with("<", 6.0), [3.0]);
    assert_eq!(with("!=", 5.0), [1.0, 2.0, 4.0, 5.0, 6.0]);
}

#[test]
fn what_is_no_number_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder, "objects.parquet");
    let schema = "message events { required double x; required group jet { required double pt; }
        optional group hits (LIST) { repeated group list { optional double element; } }
        required binary name (STRING); required int64 when (TIMESTAMP(MICROS, true)); repeated double raw; }";
    write(&path, schema, WriterProperties::builder(), &[]);
    let message = |name: &str| read_parquet_events_soa(&path, &columns(&[name])).unwrap_err().to_string();
    assert!(
        message("jet").contains("'jet'") && message("jet").contains("has a structure per row"),
        "{}",
        message("jet")
    );
    assert!(message("hits").contains("has a list per row"), "{}", message("hits"));
    assert!(message("raw").contains("has a list per row"), "{}", message("raw"));
    assert!(message("name").contains("texts"), "{}", message("name"));
    assert!(message("when").contains("times"), "{}", message("when"));
    assert!(message("xx").contains("Did you mean 'x'?"), "{}", message("xx"));
    let empty = read_parquet_events_soa(&path, &columns(&["x"])).unwrap();
    assert!(empty.is_empty() && empty.columns.len() == 1);
}

#[test]
fn damaged_files_give_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder, "whole.parquet");
    ordered(&path, WriterProperties::builder().set_compression(Compression::SNAPPY));
    let whole = std::fs::read(&path).unwrap();
    let broken = place(&folder, "broken.parquet");
    let mut state = 1_u64;
    let mut fine = 0;
    for trial in 0..300 {
        let mut bytes = whole.clone();
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let near_end = trial % 2 == 0;
        let span = if near_end { 4000 } else { bytes.len() };
        let at = bytes.len() - 1 - (state >> 33) as usize % span;
        bytes[at] ^= 1 << (state >> 60 & 7);
        if trial % 10 == 0 {
            bytes.truncate(at);
        }
        std::fs::write(&broken, &bytes).unwrap();
        let options = ParquetOptions { selection: vec![condition("x", ">", 5000.0)], ..columns(&["y"]) };
        let read = [&options, &columns(&["x", "y"])].map(|options| read_parquet_events_soa(&broken, options));
        fine += read.iter().filter(|read| read.is_ok()).count();
        for error in read.into_iter().filter_map(Result::err) {
            assert!(!error.to_string().is_empty());
        }
    }
    assert!(fine < 600, "no change was noticed");
    std::fs::write(&broken, b"PAR1").unwrap();
    let error = read_parquet_events_soa(&broken, &columns(&["x"])).unwrap_err();
    assert!(matches!(error, ParquetReadError::Broken { .. }), "{error}");
    let error = read_parquet_events_soa(folder.path(), &columns(&["x"])).unwrap_err();
    assert!(matches!(error, ParquetReadError::Io { .. }), "{error}");
}
