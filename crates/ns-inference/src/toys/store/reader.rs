//! Reads rows from a Parquet file and checks that they are consistent.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ns_core::Digest;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::column::{self, Column, Spec, Value};
use super::error::StoreError;
use super::kind::StoredRow;
use super::ranges::Ranges;
use super::writer::{FORMAT, GROUP, KEY_DIGEST, KEY_FORMAT, KEY_HEADER, KEY_KIND};

/// A file of toys that is open for reading.
pub(super) struct Reader<R: StoredRow> {
    path: PathBuf,
    file: SerializedFileReader<File>,
    specs: Vec<Spec>,
    kind_and_header: Digest,
    digest: String,
    pub(super) header: R::Header,
}

impl<R: StoredRow> Reader<R> {
    /// Opens a file of toys and reads its header.
    ///
    /// # Errors
    /// If the file cannot be opened, or does not contain toys of the type `R`.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let io = |source| StoreError::Io { path: path.to_owned(), doing: "cannot be read", source };
        let not_toys = |reason: String| StoreError::NotToys { path: path.to_owned(), reason };
        let handle = File::open(path).map_err(io)?;
        let about = handle.metadata().map_err(io)?;
        if about.is_dir() {
            return Err(io(std::io::ErrorKind::IsADirectory.into()));
        }
        let length = about.len();
        let file = guarded(path, || SerializedFileReader::new(handle))?;
        within_the_file(path, file.metadata(), length)?;
        let metadata = file.metadata().file_metadata();
        let entry = |key: &str| {
            let entries = metadata.key_value_metadata()?;
            entries.iter().find(|entry| entry.key == key)?.value.as_deref()
        };
        let required = |key: &str| entry(key).ok_or_else(|| not_toys(format!("it has no entry '{key}'")));
        let format = required(KEY_FORMAT)?;
        if format != FORMAT.to_string() {
            let found = format.to_owned();
            return Err(StoreError::OtherFormat { path: path.to_owned(), found, expected: FORMAT });
        }
        let kind = required(KEY_KIND)?;
        if kind != R::KIND {
            return Err(StoreError::OtherKind {
                path: path.to_owned(),
                found: kind.to_owned(),
                expected: R::KIND,
            });
        }
        let text = required(KEY_HEADER)?;
        let damaged = |reason: String| StoreError::Damaged { path: path.to_owned(), reason };
        let header: R::Header = serde_json::from_str(text)
            .map_err(|error| damaged(format!("its header is not readable ({error})")))?;
        let digest =
            entry(KEY_DIGEST).ok_or_else(|| damaged(format!("it has no entry '{KEY_DIGEST}'")))?.to_owned();
        let mut kind_and_header = Digest::default();
        kind_and_header.text(kind);
        kind_and_header.text(text);
        let specs = R::specs(&header);
        let expected = column::schema(&specs).map_err(|error| damaged(words(error)))?;
        if metadata.schema_descr().root_schema().get_fields() != expected.get_fields() {
            return Err(damaged("its columns are not those that its header announces".to_owned()));
        }
        Ok(Self { path: path.to_owned(), file, specs, kind_and_header, digest, header })
    }

    /// Reads all rows and passes them to `take` in chunks, in the order of series and toys. Returns the set of toys
    /// that were read, for each series.
    ///
    /// # Errors
    /// If the rows are inconsistent with the header, with each other or with their digest. Also the errors of `take`.
    pub(super) fn rows<E: From<StoreError>>(
        self,
        mut take: impl FnMut(Vec<R>) -> Result<(), E>,
    ) -> Result<Vec<Ranges>, E> {
        let damaged = |reason: String| StoreError::Damaged { path: self.path.clone(), reason };
        let within = R::origin(&self.header).shard.range(R::origin(&self.header).n_toys);
        let mut there = vec![Ranges::default(); R::SERIES.len()];
        let mut order = Order::default();
        let mut digest = self.kind_and_header;
        let mut columns: Vec<Column> = self.specs.iter().map(|spec| Column::new(spec.content)).collect();
        for g in 0..self.file.num_row_groups() {
            let group = guarded(&self.path, || self.file.get_row_group(g))?;
            let mut readers = Vec::with_capacity(columns.len());
            for c in 0..columns.len() {
                readers.push(guarded(&self.path, || group.get_column_reader(c))?);
            }
            loop {
                for (column, reader) in columns.iter_mut().zip(&mut readers) {
                    column.clear();
                    // At the end of a page the Parquet library may return fewer values than were asked for.
                    while column.len() < GROUP {
                        let most = GROUP - column.len();
                        if guarded(&self.path, || column.read(reader, most))? == 0 {
                            break;
                        }
                    }
                }
                let count = columns.first().map_or(0, Column::len);
                if columns.iter().any(|column| column.len() != count) {
                    return Err(damaged("its columns differ in length".to_owned()).into());
                }
                if count == 0 {
                    break;
                }
                let mut rows = Vec::with_capacity(count);
                let mut values: Vec<Value<'_>> = Vec::with_capacity(columns.len());
                for row in 0..count {
                    values.clear();
                    values.extend(columns.iter().filter_map(|column| column.get(row)));
                    let row_read = R::from_values(&values).map_err(damaged)?;
                    columns.iter().for_each(|column| column.add_to(&mut digest, row));
                    order.check(&row_read, &within).map_err(damaged)?;
                    if let Some(ranges) = there.get_mut(row_read.stream()) {
                        ranges.push(row_read.index());
                    }
                    rows.push(row_read);
                }
                take(rows)?;
            }
        }
        if digest.finish() != self.digest {
            return Err(damaged("its rows are not those that were written".to_owned()).into());
        }
        Ok(there)
    }
}

/// Series and index of the toy in the previous row. They are used to check the order of the rows.
#[derive(Default)]
struct Order {
    last: Option<(usize, u64)>,
}

impl Order {
    /// Returns an error unless a row comes after the previous row and its toy belongs to `within`, the range of toys
    /// in the file's shard.
    fn check<R: StoredRow>(&mut self, row: &R, within: &Range<u64>) -> Result<(), String> {
        let key = (row.stream(), row.index());
        let name = R::NAMES.get(key.0).copied().unwrap_or("?");
        if !within.contains(&key.1) {
            return Err(format!(
                "toy {} of {name} is outside of its shard ({} to {})",
                key.1,
                within.start,
                within.end.saturating_sub(1)
            ));
        }
        match self.last {
            Some(last) if last == key => return Err(format!("toy {} of {name} is there twice", key.1)),
            Some(last) if last > key => return Err(format!("toy {} of {name} is out of order", key.1)),
            _ => self.last = Some(key),
        }
        Ok(())
    }
}

/// Returns an error unless every column chunk lies within the file. The Parquet library does not check this.
fn within_the_file(path: &Path, metadata: &ParquetMetaData, length: u64) -> Result<(), StoreError> {
    for chunk in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
        let end = start.checked_add(chunk.compressed_size()).map(u64::try_from);
        let inside =
            start >= 0 && chunk.compressed_size() >= 0 && end.is_some_and(|e| e.is_ok_and(|e| e <= length));
        if !inside || chunk.num_values() < 0 {
            let reason = "its table of contents points beyond its end".to_owned();
            return Err(StoreError::Broken { path: path.to_owned(), reason });
        }
    }
    Ok(())
}

/// Calls the Parquet library on bytes that may be damaged. An error or a panic of the library becomes
/// [`StoreError::Broken`].
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, StoreError> {
    let broken = |reason: String| StoreError::Broken { path: path.to_owned(), reason };
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(|error| broken(words(error))),
        Err(_) => Err(broken("its contents contradict each other".to_owned())),
    }
}

/// Returns the message of an error of the Parquet library. The prefix that the library adds is removed.
fn words(error: ParquetError) -> String {
    match error {
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => text,
        other => other.to_string(),
    }
}
