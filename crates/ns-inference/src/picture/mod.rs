//! Turns results into pictures, for `--plot` and `.plot()`.
//!
//! Each function fills a plain struct of `ns-viz`, whose fields (title, size, axis) may be changed
//! before `draw`. Only values that exist are handed on; what failed is drawn as missing, so that an
//! interrupted or failed analysis still shows what it has.

mod fit;
mod limit;
mod ranking;
mod scan;
mod yields;

pub use fit::{correlation, pulls};
pub use limit::limit;
pub use ranking::ranking;
pub use scan::{Scanned, scan};
pub use yields::yields;

/// Positions that put `values` into increasing order, each value once and only finite ones.
fn increasing(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..values.len()).filter(|i| values.get(*i).is_some_and(|x| x.is_finite())).collect();
    let at = |i: usize| values.get(i).copied().unwrap_or(f64::NAN);
    order.sort_by(|a, b| at(*a).total_cmp(&at(*b)));
    // -0 and 0 are one value.
    order.dedup_by(|a, b| at(*a) == at(*b));
    order
}

/// The entries at some positions.
fn pick<T: Clone + Default>(values: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|i| values.get(*i).cloned().unwrap_or_default()).collect()
}

/// Remarks that belong under a title, in one line.
fn remarks<'a>(parts: impl IntoIterator<Item = Option<&'a str>>) -> String {
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sorted_and_said_once() {
        assert_eq!(increasing(&[2.0, f64::NAN, 0.0, 2.0, -0.0, -1.0]), [5, 4, 0]);
        assert_eq!(pick(&["a", "b"], &[1, 0, 7]), ["b", "a", ""]);
        assert_eq!(remarks([None, Some("interrupted"), Some(""), Some("late")]), "interrupted, late");
    }
}
