//! Writes a Parquet file of toys or of other rows. The file has a header, groups of rows (one row per toy) and a digest.

use std::io::Write;
use std::sync::Arc;

use ns_core::Digest;
use parquet::basic::{Compression, Encoding};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::column::{self, Column, Content, Spec, Value};
use super::kind::StoredRow;

/// Version of the file format. The version changes if an older reader could misread the file.
pub const FORMAT: u32 = 1;

/// Key under which the file's metadata contain the version of the file format.
pub(super) const KEY_FORMAT: &str = "nextstat.format";
/// Key under which the file's metadata say whether the toys are those of a hypothesis test or of a study.
pub(super) const KEY_KIND: &str = "nextstat.kind";
/// Key under which the file's metadata contain the header of the run, as JSON.
pub(super) const KEY_HEADER: &str = "nextstat.header";
/// Key under which the file's metadata contain a digest. It is computed from the kind of toys, the header and the
/// rows.
pub(super) const KEY_DIGEST: &str = "nextstat.sha256";

/// Largest number of rows in a row group. All rows of a group are in memory at the same time.
pub(super) const GROUP: usize = 1 << 16;

/// Writes a Parquet file of rows with given columns.
pub(crate) struct Table<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    digest: Digest,
}

impl<W: Write + Send> Table<W> {
    /// Begins a file with the columns `specs`. `kind` says what the rows are, and `header` is text about all of them.
    pub(crate) fn begin(to: W, specs: &[Spec], kind: &str, header: String) -> Result<Self> {
        let mut digest = Digest::default();
        digest.text(kind);
        digest.text(&header);
        let entry = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("nextstat {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_dictionary_enabled(false)
            .set_key_value_metadata(Some(vec![
                entry(KEY_FORMAT, FORMAT.to_string()),
                entry(KEY_KIND, kind.to_owned()),
                entry(KEY_HEADER, header),
            ]));
        for spec in specs {
            let path = ColumnPath::from(vec![spec.name.clone()]);
            properties = match spec.content {
                Content::Count => properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
                Content::Number => properties,
                Content::Name | Content::Text => properties.set_column_dictionary_enabled(path, true),
            };
        }
        let file = SerializedFileWriter::new(to, column::schema(specs)?, Arc::new(properties.build()))?;
        let columns = specs.iter().map(|spec| Column::new(spec.content)).collect();
        Ok(Self { file, columns, digest })
    }

    /// Adds a row. Columns for which there is no value are null.
    pub(crate) fn push<'a>(&mut self, values: impl IntoIterator<Item = Value<'a>>) -> Result<()> {
        let mut columns = self.columns.iter_mut();
        for value in values {
            if let Some(column) = columns.next() {
                column.push(&value);
            }
        }
        columns.for_each(|column| column.push(&Value::Number(None)));
        let last = self.rows() - 1;
        for column in &self.columns {
            column.add_to(&mut self.digest, last);
        }
        if self.rows() >= GROUP { self.group() } else { Ok(()) }
    }

    /// Returns the number of rows that are in memory and not yet in the file.
    fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }

    /// Writes the rows that are in memory to the file, as one row group. Removes them from memory.
    fn group(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let mut chunk = group
                .next_column()?
                .ok_or_else(|| ParquetError::General("fewer columns than the schema".to_owned()))?;
            column.write(chunk.untyped())?;
            chunk.close()?;
            column.clear();
        }
        group.close()?;
        Ok(())
    }

    /// Writes the remaining rows and the digest, which complete the file. Returns the underlying writer.
    pub(crate) fn finish(mut self) -> Result<W> {
        if self.rows() > 0 {
            self.group()?;
        }
        let digest = KeyValue::new(KEY_DIGEST.to_owned(), self.digest.finish());
        self.file.append_key_value_metadata(digest);
        self.file.into_inner()
    }
}

/// Writes one file of toys.
pub(super) struct Writer<W: Write + Send>(Table<W>);

impl<W: Write + Send> Writer<W> {
    /// Begins a file that has the header `header`.
    pub(super) fn new<R: StoredRow>(to: W, header: &R::Header) -> Result<Self> {
        let text = serde_json::to_string(header).map_err(|error| ParquetError::External(error.into()))?;
        Ok(Self(Table::begin(to, &R::specs(header), R::KIND, text)?))
    }

    /// Adds the row of one toy.
    pub(super) fn push<R: StoredRow>(&mut self, row: &R) -> Result<()> {
        let mut values = Vec::new();
        row.values(&mut |value| values.push(value));
        self.0.push(values)
    }

    /// Writes the remaining rows and the digest, which complete the file. Returns the underlying writer.
    pub(super) fn finish(self) -> Result<W> {
        self.0.finish()
    }
}
