//! Measures the time to read events from a Parquet file with 100 000 rows of four columns in ten row groups. One
//! benchmark reads the whole file. Another reads some of the columns and a tenth of the rows. Each benchmark uses one
//! thread, all threads, and the number of threads that the reader chooses.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use ns_translate::arrow::parquet::{Comparison, Condition, ParquetOptions, read_parquet_events_soa};
use parquet::basic::Compression;
use parquet::data_type::DoubleType;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const NAMES: [&str; 4] = ["m", "pt", "eta", "w"];

/// Writes the Parquet file that the benchmarks read. The column `m` increases from row to row, so each row group has
/// a different range of `m` in its statistics. The other columns are random.
fn write(path: &Path) {
    let columns: String = NAMES.iter().map(|name| format!("required double {name};")).collect();
    let schema = Arc::new(parse_message_type(&format!("message events {{ {columns} }}")).unwrap());
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    let mut state = 1_u64;
    for group in 0..10 {
        let mut rows = writer.next_row_group().unwrap();
        for column in 0..4 {
            let number = |i: i32| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let scattered = (state >> 11) as f64 / (1_u64 << 53) as f64;
                if column == 0 { f64::from(10_000 * group + i) + scattered } else { scattered }
            };
            let values: Vec<f64> = (0..10_000).map(number).collect();
            let mut out = rows.next_column().unwrap().unwrap();
            out.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
            out.close().unwrap();
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
}

fn reads(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.parquet");
    write(&path);
    let mut group = c.benchmark_group("parquet_read");
    let tenth = Condition { column: "m".to_owned(), comparison: Comparison::Less, limit: 10_000.0 };
    let one = NonZeroUsize::new(1);
    let all = std::thread::available_parallelism().ok();
    for (name, columns, selection) in
        [("four", 4, vec![]), ("two", 2, vec![]), ("one", 1, vec![]), ("tenth", 4, vec![tenth])]
    {
        for (way, threads) in [("one_thread", one), ("all_threads", all), ("chosen", None)] {
            let columns = Some(NAMES.iter().take(columns).map(|name| (*name).to_owned()).collect());
            let options = ParquetOptions { columns, selection: selection.clone(), threads };
            group.bench_function(format!("{name}/{way}"), |b| {
                b.iter(|| black_box(read_parquet_events_soa(&path, &options).unwrap()));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, reads);
criterion_main!(benches);
