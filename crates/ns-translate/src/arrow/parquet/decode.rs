//! Decodes the numbers of one column in one row group.

use std::ops::Range;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::serialized_reader::SerializedPageReader;

use super::error::ParquetReadError;
use super::file::{Column, Kind, Open, Part, guarded};

/// Reason why a row has no usable number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The row has no value (null).
    Null,
    /// The row has an integer that a 64-bit floating-point number cannot represent exactly.
    Inexact,
}

/// Rows without a usable number: the position of each row among the rows that were read, and the reason. The
/// positions are in ascending order. The number of such a row is NaN in the result.
pub(super) type Faults = Vec<(usize, Fault)>;

/// Reads some rows of one column of a row group into `out`. `rows` are ascending ranges of row indices within
/// the row group. `out` has one element for each of these rows.
pub(super) fn decode(
    open: &Open,
    group: usize,
    column: &Column,
    rows: &[Range<usize>],
    out: &mut [f64],
) -> Result<Faults, ParquetReadError> {
    guarded(&open.path, || {
        let metadata = open.contents.row_group(group);
        let chunk = metadata.column(column.index);
        let n = usize::try_from(metadata.num_rows())?;
        let whole = matches!(rows, [all] if *all == (0..n));
        let pages = open.contents.page_index_for_row_group(group);
        let locations = pages.offset_index(column.index).map(|index| index.page_locations().clone());
        // Selected pages are read one by one. Otherwise the whole chunk is read at once.
        let part = if whole || locations.is_none() {
            let (start, length) = chunk.byte_range();
            Part::load(&open.source, start, length)?
        } else {
            Part { source: open.source.clone(), cached: None }
        };
        let reader = SerializedPageReader::new(part.into(), chunk, n, locations)?;
        let kind = column.kind;
        // From 2^53 on, not every integer has an equal floating-point number.
        let exact = |x: i64| {
            let size = if kind == Kind::U64 { x.cast_unsigned() } else { x.unsigned_abs() };
            (kind.of_i64(x), size <= 1 << 53)
        };
        match get_column_reader(chunk.column_descr_ptr(), Box::new(reader)) {
            ColumnReader::BoolColumnReader(r) => numbers(r, column, rows, out, |x| (kind.of_bool(x), true)),
            ColumnReader::Int32ColumnReader(r) => numbers(r, column, rows, out, |x| (kind.of_i32(x), true)),
            ColumnReader::Int64ColumnReader(r) => numbers(r, column, rows, out, exact),
            ColumnReader::FloatColumnReader(r) => numbers(r, column, rows, out, |x| (f64::from(x), true)),
            ColumnReader::DoubleColumnReader(r) => numbers(r, column, rows, out, |x| (x, true)),
            _ => Err(ParquetError::General("a column has changed its type".to_owned())),
        }
    })
}

/// Largest number of rows that are converted at once. The numbers of this many rows fit into the processor's cache.
const BATCH: usize = 8192;

fn numbers<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    column: &Column,
    rows: &[Range<usize>],
    out: &mut [f64],
    number: impl Fn(T::T) -> (f64, bool),
) -> ParquetResult<Faults>
where
    T::T: Copy,
{
    let short = || ParquetError::EOF("a column has fewer rows than its row group".to_owned());
    let mut faults = Faults::new();
    let (mut levels, mut values) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    let (mut at, mut filled) = (0, 0);
    for range in rows {
        if range.start > at && reader.skip_records(range.start - at)? != range.start - at {
            return Err(short());
        }
        at = range.start;
        while at < range.end {
            levels.clear();
            values.clear();
            let most = BATCH.min(range.end - at);
            let (records, _, _) = reader.read_records(most, Some(&mut levels), None, &mut values)?;
            let slots =
                out.get_mut(filled..filled + records).filter(|slots| !slots.is_empty()).ok_or_else(short)?;
            if column.nullable && values.len() != records {
                let mut next = values.iter();
                for (i, (slot, level)) in slots.iter_mut().zip(&levels).enumerate() {
                    let value = if *level > 0 { next.next() } else { None };
                    let (x, fine) = value.map_or((f64::NAN, false), |x| number(*x));
                    *slot = x;
                    if !fine {
                        let fault = if *level > 0 { Fault::Inexact } else { Fault::Null };
                        faults.push((filled + i, fault));
                    }
                }
            } else {
                let mut all = true;
                for (slot, value) in slots.iter_mut().zip(&values) {
                    let (x, fine) = number(*value);
                    *slot = x;
                    all &= fine;
                }
                if !all {
                    let inexact =
                        |(i, x): (usize, &T::T)| (!number(*x).1).then_some((filled + i, Fault::Inexact));
                    faults.extend(values.iter().enumerate().filter_map(inexact));
                }
            }
            at += records;
            filled += records;
        }
    }
    Ok(faults)
}
