//! Builds plots of results for the option `--plot` of the command line and the method `.plot()` in Python.
//!
//! Each function fills a struct of `ns-viz`. The caller may change fields of this struct (title, size, axis) before
//! it calls `draw`. Missing values are left out of the plot. A plot of an interrupted or failed analysis therefore
//! shows the values that exist.

mod cluster;
mod compatibility;
mod corner;
mod draw;
mod fit;
mod grid;
mod injection;
mod interval;
mod limit;
mod look_elsewhere;
mod ranking;
mod region;
mod scan;
mod spurious;
mod style;
mod summary;
mod toys;
mod unfold;
mod yields;

pub use compatibility::compatibility;
pub use corner::{CornerError, USUAL_CORNER, corner, corner_names};
pub use draw::{Draw, DrawError, Kind};
pub use fit::{MOST_CORRELATED, correlation, poi_correlation, pulls};
pub use grid::{GridPicture, GridPictureError, grid};
pub use injection::injection;
pub use interval::interval;
pub use limit::limit;
pub use look_elsewhere::look_elsewhere;
pub use ranking::{MOST_RANKED, groups, impacts, joint_ranking, ranking};
pub use region::region;
pub use scan::{Scanned, scan};
pub use spurious::spurious;
pub use style::{Axis, Colour, Sort, Style, StyleError};
pub use summary::summary;
pub use toys::{event_goodness, goodness, toy_pulls, toy_test};
pub use unfold::{strengths, unfolded};
pub use yields::{BlindError, BlindRange, blind, yields};

/// Returns the indices of the finite `values`, sorted by increasing value. If several values are equal, only one of
/// their indices is returned.
fn increasing(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..values.len()).filter(|i| values.get(*i).is_some_and(|x| x.is_finite())).collect();
    let at = |i: usize| values.get(i).copied().unwrap_or(f64::NAN);
    order.sort_by(|a, b| at(*a).total_cmp(&at(*b)));
    // -0 and 0 count as the same value.
    order.dedup_by(|a, b| at(*a) == at(*b));
    order
}

/// Returns the entries of `values` at the indices `order`. An index outside `values` gives the default value.
fn pick<T: Clone + Default>(values: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|i| values.get(*i).cloned().unwrap_or_default()).collect()
}

/// Writes numbers as pictures have them, with minus signs in place of hyphens.
fn drawn(number: &str) -> String {
    number.replace('-', "\u{2212}")
}

/// Joins remarks with commas to a subtitle of one line.
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
