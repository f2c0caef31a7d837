//! Reads the columns of a file, row group by row group.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ns_core::ParquetEventData;

use super::decode::{Fault, Faults, decode};
use super::error::ParquetReadError;
use super::file::{Column, Open};
use super::options::ParquetOptions;
use super::prune::{Test, candidates, intersected};

/// Smallest number of values for which reading with several threads is faster than with one. One thread decodes some
/// hundred million values per second. Starting a thread takes some ten microseconds.
const WORTH_THREADS: u64 = 200_000;

/// Reads columns of a Parquet file as 64-bit floating-point numbers. Booleans are 0 and 1.
///
/// In addition to the result, each thread needs memory for one column of one row group. With a selection, one column
/// of the result is also in memory twice.
///
/// # Errors
/// If the file cannot be read or is damaged; if a column does not exist, is nested, or has no numbers; if a row
/// that the selection keeps has a null, or an integer that has no exact 64-bit floating-point number.
pub fn read_parquet_events_soa(
    path: &Path,
    options: &ParquetOptions,
) -> Result<ParquetEventData, ParquetReadError> {
    let open = Open::new(path, !options.selection.is_empty())?;
    let names = options.columns.clone().unwrap_or_else(|| open.names());
    let columns = names.iter().map(|name| open.column(name)).collect::<Result<Vec<_>, _>>()?;
    let mut tests = Vec::new();
    for condition in &options.selection {
        let Column { index, kind, .. } = open.column(&condition.column)?;
        let (comparison, limit) = (condition.comparison, condition.limit);
        tests.push(Test { column: index, kind, comparison, limit });
    }
    let rows = open.contents.row_groups().iter().map(|group| group.num_rows().unsigned_abs()).sum();
    let (arrays, skipped) = if tests.is_empty() {
        (everything(&open, &columns, options)?, 0)
    } else {
        let tested =
            options.selection.iter().map(|c| open.column(&c.column)).collect::<Result<Vec<_>, _>>()?;
        selected(&open, &columns, &tested, &tests, options)?
    };
    Ok(ParquetEventData { names, columns: arrays, rows, skipped })
}

/// The rows of one column in one row group, and the part of the result into which they are read.
struct Piece<'a> {
    group: usize,
    /// Index of the first row of the row group, counted from the first row of the file.
    first: u64,
    column: &'a Column,
    out: &'a mut [f64],
}

/// Reads all rows of all columns directly into the arrays of the result.
fn everything(
    open: &Open,
    columns: &[Column],
    options: &ParquetOptions,
) -> Result<Columns, ParquetReadError> {
    let groups: Vec<usize> =
        open.contents.row_groups().iter().map(|g| usize::try_from(g.num_rows()).unwrap_or(0)).collect();
    let total: usize = groups.iter().sum();
    let mut arrays: Columns = columns.iter().map(|_| empty(total)).collect();
    let mut pieces = Vec::new();
    for (array, column) in arrays.iter_mut().zip(columns) {
        // The array was just made and has no other owner, so `get_mut` succeeds.
        let mut rest = Arc::get_mut(array).unwrap_or_default();
        let mut first = 0;
        for (group, &n) in groups.iter().enumerate() {
            let Some((out, behind)) = rest.split_at_mut_checked(n) else { break };
            rest = behind;
            if n > 0 {
                pieces.push(Piece { group, first, column, out });
            }
            first += n as u64;
        }
    }
    let threads = threads(options, pieces.len(), total as u64 * columns.len() as u64);
    shared(pieces, threads, |piece| {
        let rows = 0..piece.out.len();
        let faults = decode(open, piece.group, piece.column, std::slice::from_ref(&rows), piece.out)?;
        match faults.first() {
            Some((at, fault)) => Err(failed(open, piece.column, piece.first + *at as u64, *fault)),
            None => Ok(()),
        }
    })?;
    Ok(arrays)
}

/// Columns of the result, each with one number per row.
type Columns = Vec<Arc<[f64]>>;

/// The numbers of the rows of one row group that the selection keeps: one array per column.
type Kept = Vec<Vec<f64>>;

/// Reads the rows that a selection keeps. Also returns the number of rows that were never decoded.
fn selected(
    open: &Open,
    columns: &[Column],
    tested: &[Column],
    tests: &[Test],
    options: &ParquetOptions,
) -> Result<(Columns, u64), ParquetReadError> {
    let (mut first, mut skipped, mut values) = (0_u64, 0_u64, 0_u64);
    let mut work = Vec::new();
    let mut kept: Vec<Kept> = Vec::new();
    for (group, metadata) in open.contents.row_groups().iter().enumerate() {
        let rows = candidates(metadata, &open.contents.page_index_for_row_group(group), tests);
        let here: usize = rows.iter().map(Range::len).sum();
        let all = metadata.num_rows().unsigned_abs();
        skipped += all - here as u64;
        if here > 0 {
            values += here as u64 * columns.len() as u64;
            work.push((group, first, rows));
            kept.push(Kept::new());
        }
        first += all;
    }
    let threads = threads(options, work.len(), values);
    let pieces: Vec<_> = work.into_iter().zip(&mut kept).collect();
    shared(pieces, threads, |((group, first, rows), out)| {
        *out = of_group(open, group, first, rows, columns, tested, tests)?;
        Ok(())
    })?;
    let total = kept.iter().map(|kept| kept.first().map_or(0, Vec::len)).sum();
    let mut arrays = Vec::with_capacity(columns.len());
    for i in 0..columns.len() {
        let mut array = empty(total);
        let mut rest = Arc::get_mut(&mut array).unwrap_or_default();
        for kept in &mut kept {
            // Each column is freed at once, so that at most one column is in memory twice.
            let column = kept.get_mut(i).map(std::mem::take).unwrap_or_default();
            let Some((out, behind)) = rest.split_at_mut_checked(column.len()) else { break };
            out.copy_from_slice(&column);
            rest = behind;
        }
        arrays.push(array);
    }
    Ok((arrays, skipped))
}

/// Reads the rows of one row group that a selection keeps. `rows` are the ranges of rows that may fulfil the
/// selection.
fn of_group(
    open: &Open,
    group: usize,
    first: u64,
    mut rows: Vec<Range<usize>>,
    columns: &[Column],
    tested: &[Column],
    tests: &[Test],
) -> Result<Kept, ParquetReadError> {
    let n: usize = rows.iter().map(Range::len).sum();
    let mut passes = vec![true; n];
    let mut known: Vec<(usize, Vec<f64>)> = Vec::new();
    for (column, test) in tested.iter().zip(tests) {
        if !known.iter().any(|(index, _)| *index == column.index) {
            let mut numbers = vec![0.0; n];
            let faults = decode(open, group, column, &rows, &mut numbers)?;
            // A null, or an integer without an exact floating-point number, does not fulfil a condition.
            for (at, _) in &faults {
                if let Some(passes) = passes.get_mut(*at) {
                    *passes = false;
                }
            }
            known.push((column.index, numbers));
        }
        if let Some((_, numbers)) = known.iter().find(|(index, _)| *index == column.index) {
            for (passes, x) in passes.iter_mut().zip(numbers) {
                *passes &= test.comparison.holds(*x, test.limit);
            }
        }
    }
    let (Some(from), Some(to)) = (passes.iter().position(|p| *p), passes.iter().rposition(|p| *p)) else {
        return Ok(columns.iter().map(|_| Vec::new()).collect());
    };
    // Rows before the first and after the last kept row need not be decoded.
    let whole = std::mem::take(&mut rows);
    let span = row_of(&whole, from)..row_of(&whole, to) + 1;
    rows = intersected(&whole, std::slice::from_ref(&span));
    let passes = passes.get(from..=to).unwrap_or_default();
    let count = passes.iter().filter(|p| **p).count();
    let mut kept = Kept::with_capacity(columns.len());
    let mut buffer = Vec::new();
    for column in columns {
        let mut out = Vec::with_capacity(count);
        let found = known.iter().find(|(index, _)| *index == column.index);
        let numbers = match found {
            Some((_, numbers)) => numbers.get(from..=to).unwrap_or_default(),
            None => {
                buffer.clear();
                buffer.resize(passes.len(), 0.0);
                let faults = decode(open, group, column, &rows, &mut buffer)?;
                refuse(open, column, first, &rows, passes, &faults)?;
                &buffer
            }
        };
        out.extend(numbers.iter().zip(passes).filter(|(_, passes)| **passes).map(|(x, _)| *x));
        kept.push(out);
    }
    Ok(kept)
}

/// Returns the index of a row in its row group. `position` is the position of the row in the list `rows`.
fn row_of(rows: &[Range<usize>], mut position: usize) -> usize {
    for range in rows {
        if position < range.len() {
            return range.start + position;
        }
        position -= range.len();
    }
    position
}

/// Returns an error if a row that the selection keeps has no usable number. The error names the first such row.
fn refuse(
    open: &Open,
    column: &Column,
    first: u64,
    rows: &[Range<usize>],
    passes: &[bool],
    faults: &Faults,
) -> Result<(), ParquetReadError> {
    let kept = |(at, _): &&(usize, Fault)| passes.get(*at).is_some_and(|passes| *passes);
    match faults.iter().find(kept) {
        Some((at, fault)) => Err(failed(open, column, first + row_of(rows, *at) as u64, *fault)),
        None => Ok(()),
    }
}

pub(super) fn failed(open: &Open, column: &Column, row: u64, fault: Fault) -> ParquetReadError {
    let (path, column) = (open.path.clone(), column.name.clone());
    match fault {
        Fault::Null => ParquetReadError::Null { path, column, row },
        Fault::Inexact => ParquetReadError::Inexact { path, column, row },
    }
}

/// Returns an array of `n` zeros.
fn empty(n: usize) -> Arc<[f64]> {
    std::iter::repeat_n(0.0, n).collect()
}

/// Returns the number of threads for `pieces` pieces of work with `values` values in total.
fn threads(options: &ParquetOptions, pieces: usize, values: u64) -> usize {
    let most = match options.threads {
        Some(threads) => threads.get(),
        None if values < WORTH_THREADS => 1,
        None => std::thread::available_parallelism().map_or(1, |n| n.get()),
    };
    most.min(pieces).max(1)
}

/// Calls `work` for all pieces, on up to `threads` threads. If several pieces fail, returns the error of the
/// first of them in the order of `pieces`.
fn shared<T: Send>(
    pieces: Vec<T>,
    threads: usize,
    work: impl Fn(T) -> Result<(), ParquetReadError> + Sync,
) -> Result<(), ParquetReadError> {
    if threads <= 1 {
        return pieces.into_iter().try_for_each(work);
    }
    let queue = Mutex::new(pieces.into_iter().enumerate());
    let error: Mutex<Option<(usize, ParquetReadError)>> = Mutex::new(None);
    let run = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((i, piece)) = next else { return };
            // Pieces are taken in their order. Pieces before a failed piece are still done. The error
            // therefore does not depend on which thread is faster.
            let earlier = error.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(i, _)| *i);
            if earlier.is_some_and(|earlier| earlier < i) {
                return;
            }
            if let Err(failed) = work(piece) {
                let mut error = error.lock().unwrap_or_else(PoisonError::into_inner);
                if error.as_ref().is_none_or(|(earlier, _)| i < *earlier) {
                    *error = Some((i, failed));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
    match error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, failed)) => Err(failed),
        None => Ok(()),
    }
}
