//! Finds contours that go beyond the scanned range of a parameter.

use super::axis::Scanned;
use super::result::ScanResult;
use crate::present::significant;

/// Returns a warning for each end of a scan in two parameters that cuts a contour: a point there is below the level of the
/// contour. `axes` are the parameters of the first and of the second axis.
pub(super) fn warnings(result: &ScanResult, axes: [&Scanned; 2]) -> Vec<String> {
    let Some(second) = &result.second else { return Vec::new() };
    let (n, rows) = (result.mu_values.len(), second.mu_values.len());
    let mut warnings = Vec::new();
    for (scanned, values, along_first) in
        [(axes[0], &result.mu_values, true), (axes[1], &second.mu_values, false)]
    {
        for upper in [false, true] {
            let order = |a: &(usize, &f64), b: &(usize, &f64)| a.1.total_cmp(b.1);
            let values = values.iter().enumerate();
            let Some((at, end)) = (if upper { values.max_by(order) } else { values.min_by(order) }) else {
                continue;
            };
            let place = |k: usize| if along_first { k * n + at } else { at * n + k };
            let edge = (0..if along_first { rows } else { n }).map(place);
            let lowest = edge.filter_map(|k| *result.twice_delta_nll.get(k)?).fold(f64::INFINITY, f64::min);
            let cut: Vec<String> = result
                .levels
                .iter()
                .filter(|level| lowest < level.twice_delta_nll)
                .map(|level| significant(level.twice_delta_nll))
                .collect();
            if cut.is_empty() {
                continue;
            }
            let what = if cut.len() == 1 { "the contour" } else { "the contours" };
            let goes = if cut.len() == 1 { "ends" } else { "end" };
            let bound = if upper { scanned.bounds.1 } else { scanned.bounds.0 };
            let side = if upper { "upper" } else { "lower" };
            let why = if *end == bound {
                format!("the {side} bound of {}", scanned.name)
            } else {
                let way = if upper { "larger" } else { "smaller" };
                format!("where the scan ends; scan {way} values to see the rest")
            };
            warnings.push(format!(
                "{what} of twice_delta_nll = {} {goes} at {} = {}, {why}",
                cut.join(", "),
                scanned.name,
                significant(*end)
            ));
        }
    }
    warnings
}
