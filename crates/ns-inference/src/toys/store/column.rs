//! Columns of toys in memory. The values of a column are read from and written to column chunks of a Parquet file.

use std::sync::Arc;

use ns_core::Digest;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::{Type, TypePtr};

/// Type of the values in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Unsigned integers. No value may be null.
    Count,
    /// Floating-point numbers. Values may be null.
    Number,
    /// Names from a short list. No value may be null.
    Name,
    /// Texts. Values may be null.
    Text,
}

/// Name and type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(super) name: String,
    pub(super) content: Content,
}

impl Spec {
    pub(crate) fn new(name: impl Into<String>, content: Content) -> Self {
        Self { name: name.into(), content }
    }

    /// Returns the Parquet type of the column.
    fn schema(&self) -> Result<TypePtr> {
        let (physical, logical, repetition) = match self.content {
            Content::Count => (Physical::INT64, Some(LogicalType::integer(64, false)), Repetition::REQUIRED),
            Content::Number => (Physical::DOUBLE, None, Repetition::OPTIONAL),
            Content::Name => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
            Content::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::OPTIONAL),
        };
        let column = Type::primitive_type_builder(&self.name, physical);
        Ok(Arc::new(column.with_logical_type(logical).with_repetition(repetition).build()?))
    }
}

/// Returns the Parquet schema of a file with the columns `specs`.
pub(super) fn schema(specs: &[Spec]) -> Result<TypePtr> {
    let fields = specs.iter().map(Spec::schema).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("toys").with_fields(fields).build()?))
}

/// The values of one column, with the type of the column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Column {
    Count(Vec<u64>),
    Number(Vec<Option<f64>>),
    Name(Vec<String>),
    Text(Vec<Option<String>>),
}

/// One value of a row, with the type of the column to which it belongs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    Count(u64),
    Number(Option<f64>),
    Name(&'a str),
    Text(Option<&'a str>),
}

impl Column {
    /// Creates an empty column.
    pub(super) fn new(content: Content) -> Self {
        match content {
            Content::Count => Self::Count(Vec::new()),
            Content::Number => Self::Number(Vec::new()),
            Content::Name => Self::Name(Vec::new()),
            Content::Text => Self::Text(Vec::new()),
        }
    }

    /// Returns the number of values in the column.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Count(v) => v.len(),
            Self::Number(v) => v.len(),
            Self::Name(v) => v.len(),
            Self::Text(v) => v.len(),
        }
    }

    /// Removes all values but keeps the allocated memory.
    pub(super) fn clear(&mut self) {
        match self {
            Self::Count(v) => v.clear(),
            Self::Number(v) => v.clear(),
            Self::Name(v) => v.clear(),
            Self::Text(v) => v.clear(),
        }
    }

    /// Adds a value. A value whose type is not that of the column is not added. A later check of the lengths of all
    /// columns then fails.
    pub(super) fn push(&mut self, value: &Value<'_>) {
        match (self, value) {
            (Self::Count(v), Value::Count(x)) => v.push(*x),
            (Self::Number(v), Value::Number(x)) => v.push(*x),
            (Self::Name(v), Value::Name(x)) => v.push((*x).to_owned()),
            (Self::Text(v), Value::Text(x)) => v.push(x.map(str::to_owned)),
            _ => debug_assert!(false, "a value of another content"),
        }
    }

    /// Returns the value in row `row`; `None` if the column has fewer rows.
    pub(super) fn get(&self, row: usize) -> Option<Value<'_>> {
        Some(match self {
            Self::Count(v) => Value::Count(*v.get(row)?),
            Self::Number(v) => Value::Number(*v.get(row)?),
            Self::Name(v) => Value::Name(v.get(row)?),
            Self::Text(v) => Value::Text(v.get(row)?.as_deref()),
        })
    }

    /// Adds the bits of the value in row `row` to a digest.
    pub(super) fn add_to(&self, digest: &mut Digest, row: usize) {
        match self.get(row) {
            Some(Value::Count(x)) => digest.integer(usize::try_from(x).unwrap_or(usize::MAX)),
            Some(Value::Number(Some(x))) => digest.numbers(&[x]),
            Some(Value::Name(text) | Value::Text(Some(text))) => digest.text(text),
            Some(Value::Number(None) | Value::Text(None)) | None => digest.integer(usize::MAX),
        }
    }

    /// Writes all values of the column as a Parquet column chunk.
    pub(super) fn write(&self, writer: &mut ColumnWriter<'_>) -> Result<()> {
        let levels = |present: &mut dyn Iterator<Item = bool>| present.map(i16::from).collect::<Vec<i16>>();
        match (self, writer) {
            (Self::Count(v), ColumnWriter::Int64ColumnWriter(w)) => {
                let bits: Vec<i64> = v.iter().map(|x| x.cast_signed()).collect();
                w.write_batch(&bits, None, None)?;
            }
            (Self::Number(v), ColumnWriter::DoubleColumnWriter(w)) => {
                let values: Vec<f64> = v.iter().flatten().copied().collect();
                w.write_batch(&values, Some(&levels(&mut v.iter().map(Option::is_some))), None)?;
            }
            (Self::Name(v), ColumnWriter::ByteArrayColumnWriter(w)) => {
                let values: Vec<ByteArray> = v.iter().map(|text| text.as_str().into()).collect();
                w.write_batch(&values, None, None)?;
            }
            (Self::Text(v), ColumnWriter::ByteArrayColumnWriter(w)) => {
                let values: Vec<ByteArray> = v.iter().flatten().map(|text| text.as_str().into()).collect();
                w.write_batch(&values, Some(&levels(&mut v.iter().map(Option::is_some))), None)?;
            }
            _ => return Err(ParquetError::General("a column of another type".to_owned())),
        }
        Ok(())
    }

    /// Reads up to `most` values of a column chunk and appends them to the column. Returns the number of values that
    /// were read.
    pub(super) fn read(&mut self, reader: &mut ColumnReader, most: usize) -> Result<usize> {
        let mut levels = Vec::new();
        let count = match (self, reader) {
            (Self::Count(v), ColumnReader::Int64ColumnReader(r)) => {
                let mut bits = Vec::new();
                let (records, ..) = r.read_records(most, None, None, &mut bits)?;
                v.extend(bits.iter().map(|x| x.cast_unsigned()));
                records
            }
            (Self::Number(v), ColumnReader::DoubleColumnReader(r)) => {
                let mut values = Vec::new();
                let (records, ..) = r.read_records(most, Some(&mut levels), None, &mut values)?;
                spread(&levels, values.into_iter().map(Ok), v)?;
                records
            }
            (Self::Name(v), ColumnReader::ByteArrayColumnReader(r)) => {
                let mut values = Vec::new();
                let (records, ..) = r.read_records(most, None, None, &mut values)?;
                for value in &values {
                    v.push(text(value)?);
                }
                records
            }
            (Self::Text(v), ColumnReader::ByteArrayColumnReader(r)) => {
                let mut values = Vec::new();
                let (records, ..) = r.read_records(most, Some(&mut levels), None, &mut values)?;
                spread(&levels, values.iter().map(text), v)?;
                records
            }
            _ => return Err(ParquetError::General("a column of another type".to_owned())),
        };
        Ok(count)
    }
}

/// Appends one value to `to` for each of the definition levels in `levels`. In Parquet the level 0 stands for null, and
/// every other level takes the next of `values`.
fn spread<T>(
    levels: &[i16],
    mut values: impl Iterator<Item = Result<T>>,
    to: &mut Vec<Option<T>>,
) -> Result<()> {
    for level in levels {
        to.push(match level {
            0 => None,
            _ => Some(
                values.next().unwrap_or_else(|| Err(ParquetError::General("too few values".to_owned())))?,
            ),
        });
    }
    Ok(())
}

fn text(bytes: &ByteArray) -> Result<String> {
    bytes.as_utf8().map(str::to_owned)
}
