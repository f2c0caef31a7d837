//! Finds the rows that can fulfil a selection, i.e. conditions on columns. The search uses the smallest and largest
//! numbers that the file gives for row groups and pages.
//!
//! If a statistic is absent or NaN, all rows of the row group or page are decoded and tested one by one.

use std::ops::Range;

use parquet::file::metadata::RowGroupMetaData;
use parquet::file::metadata::page_index::RowGroupPageIndex;
use parquet::file::page_index::column_index::{ColumnIndexMetaData, PrimitiveColumnIndex};
use parquet::file::statistics::Statistics;

use super::file::Kind;
use super::options::Comparison;

/// A condition on the numbers of a column of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Test {
    /// Index of the column.
    pub(super) column: usize,
    /// Type of the column.
    pub(super) kind: Kind,
    pub(super) comparison: Comparison,
    pub(super) limit: f64,
}

/// Returns whether a number between the bounds `min` and `max` can fulfil a condition. A bound that is NaN is
/// unknown. The bounds say nothing about NaN values in the column. This does no harm, because NaN fulfils only
/// `!=`, for which the result is always true.
fn possible(comparison: Comparison, limit: f64, (min, max): (f64, f64)) -> bool {
    match comparison {
        Comparison::Less => !(min >= limit),
        Comparison::LessEqual => !(min > limit),
        Comparison::Greater => !(max <= limit),
        Comparison::GreaterEqual => !(max < limit),
        Comparison::Equal => !(min > limit) && !(max < limit),
        Comparison::NotEqual => true,
    }
}

/// Returns the rows of a row group that may fulfil all conditions. The result is a list of ranges in ascending
/// order.
pub(super) fn candidates(
    group: &RowGroupMetaData,
    pages: &RowGroupPageIndex,
    tests: &[Test],
) -> Vec<Range<usize>> {
    let rows = usize::try_from(group.num_rows()).unwrap_or(0);
    let mut ranges: Vec<Range<usize>> = std::iter::once(0..rows).collect();
    for test in tests {
        let bounds = group.columns().get(test.column).and_then(|chunk| chunk.statistics());
        if bounds.is_some_and(|bounds| !possible(test.comparison, test.limit, of_group(bounds, test.kind))) {
            return Vec::new();
        }
        if let Some(kept) = of_pages(pages, test, rows) {
            ranges = intersected(&ranges, &kept);
        }
    }
    ranges
}

/// Returns the smallest and the largest number of a column in a row group. A number that is not known is NaN.
fn of_group(statistics: &Statistics, kind: Kind) -> (f64, f64) {
    fn pair<T: Copy>(min: Option<&T>, max: Option<&T>, number: impl Fn(T) -> f64) -> (f64, f64) {
        (min.map_or(f64::NAN, |x| number(*x)), max.map_or(f64::NAN, |x| number(*x)))
    }
    // Old writers compared unsigned integers as if they were signed, so these bounds are wrong.
    if statistics.is_min_max_deprecated() && matches!(kind, Kind::U32 | Kind::U64) {
        return (f64::NAN, f64::NAN);
    }
    match statistics {
        Statistics::Boolean(s) => pair(s.min_opt(), s.max_opt(), |x| kind.of_bool(x)),
        Statistics::Int32(s) => pair(s.min_opt(), s.max_opt(), |x| kind.of_i32(x)),
        Statistics::Int64(s) => pair(s.min_opt(), s.max_opt(), |x| kind.of_i64(x)),
        Statistics::Float(s) => pair(s.min_opt(), s.max_opt(), f64::from),
        Statistics::Double(s) => pair(s.min_opt(), s.max_opt(), |x| x),
        _ => (f64::NAN, f64::NAN),
    }
}

/// Returns the ranges of rows of the pages in which the condition can be fulfilled; `None` if the file has no
/// statistics of pages.
fn of_pages(pages: &RowGroupPageIndex, test: &Test, rows: usize) -> Option<Vec<Range<usize>>> {
    let offsets = pages.offset_index(test.column)?.page_locations();
    let index = pages.column_index(test.column)?;
    let kind = test.kind;
    let bounds: Vec<(f64, f64)> = match index {
        ColumnIndexMetaData::BOOLEAN(index) => page_bounds(index, |x| kind.of_bool(x)),
        ColumnIndexMetaData::INT32(index) => page_bounds(index, |x| kind.of_i32(x)),
        ColumnIndexMetaData::INT64(index) => page_bounds(index, |x| kind.of_i64(x)),
        ColumnIndexMetaData::FLOAT(index) => page_bounds(index, f64::from),
        ColumnIndexMetaData::DOUBLE(index) => page_bounds(index, |x| x),
        _ => return None,
    };
    if bounds.len() != offsets.len() {
        return None;
    }
    let starts: Option<Vec<usize>> =
        offsets.iter().map(|page| usize::try_from(page.first_row_index).ok()).collect();
    let starts = starts?;
    let ascending = starts.first() == Some(&0) && starts.windows(2).all(|pair| pair.first() < pair.last());
    if !ascending || starts.last().is_some_and(|last| *last >= rows) {
        return None;
    }
    let ends = starts.iter().skip(1).copied().chain([rows]);
    let mut kept: Vec<Range<usize>> = Vec::new();
    for ((start, end), bounds) in starts.iter().zip(ends).zip(&bounds) {
        if !possible(test.comparison, test.limit, *bounds) {
            continue;
        }
        match kept.last_mut().filter(|last| last.end == *start) {
            Some(last) => last.end = end,
            None => kept.push(*start..end),
        }
    }
    Some(kept)
}

/// Returns the smallest and the largest number of each page. The bounds are NaN for a page that contains only
/// nulls.
fn page_bounds<T: Copy>(index: &PrimitiveColumnIndex<T>, number: impl Fn(T) -> f64) -> Vec<(f64, f64)> {
    let of = |x: Option<&T>| x.map_or(f64::NAN, |x| number(*x));
    index.min_values_iter().zip(index.max_values_iter()).map(|(min, max)| (of(min), of(max))).collect()
}

/// Returns the ranges of the rows that both lists contain.
pub(super) fn intersected(a: &[Range<usize>], b: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut both = Vec::new();
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(x), Some(y)) = (left.peek(), right.peek()) {
        let common = x.start.max(y.start)..x.end.min(y.end);
        let left_ends_first = x.end <= y.end;
        if !common.is_empty() {
            both.push(common);
        }
        if left_ends_first {
            left.next()
        } else {
            right.next()
        };
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_bounds_keep_everything() {
        for (comparison, _) in Comparison::ALL {
            assert!(possible(comparison, 1.0, (f64::NAN, f64::NAN)));
        }
        assert!(possible(Comparison::Less, 1.0, (f64::NAN, 9.0)));
        assert!(!possible(Comparison::Greater, 9.0, (f64::NAN, 9.0)));
    }

    #[test]
    fn bounds_exclude_exactly_what_cannot_hold() {
        let bounds = (2.0, 3.0);
        let kept = |comparison, limit| possible(comparison, limit, bounds);
        assert!(!kept(Comparison::Less, 2.0) && kept(Comparison::Less, 2.1));
        assert!(!kept(Comparison::LessEqual, 1.9) && kept(Comparison::LessEqual, 2.0));
        assert!(!kept(Comparison::Greater, 3.0) && kept(Comparison::Greater, 2.9));
        assert!(!kept(Comparison::GreaterEqual, 3.1) && kept(Comparison::GreaterEqual, 3.0));
        assert!(
            !kept(Comparison::Equal, 1.9) && kept(Comparison::Equal, 2.0) && !kept(Comparison::Equal, 3.1)
        );
        assert!(kept(Comparison::NotEqual, 2.0));
    }

    #[test]
    fn ranges_are_intersected() {
        assert_eq!(intersected(&[0..10, 20..30], &[5..25, 28..40]), [5..10, 20..25, 28..30]);
        assert_eq!(intersected(&[0..10, 20..30], &[10..20, 30..40]), Vec::<Range<usize>>::new());
    }
}
