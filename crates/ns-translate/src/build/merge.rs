//! Smooths by merging bins until a template has few changes of slope, as TRExFitter does by default (`Smoothing: 40` with
//! `SmoothingOption: MAXVARIATION`).
//!
//! Groups of neighbouring bins are merged until the statistics of the nominal template is good enough, and each bin gets
//! the ratio of its group. With more changes of slope than are allowed, the demand is doubled. Running medians then smooth
//! the steps between the groups. Source: the documentation of TRExFitter, and the behaviour of its tool for smoothing.

use super::smooth::medians_353qh_twice;

/// Relative uncertainty of a group at first.
const TOLERANCE: f64 = 0.08;
/// Ratios nearer than this are no step.
const STEP: f64 = 1e-7;
/// Ratios nearer than this belong to one group.
const LEVEL: f64 = 1e-5;
/// Offset that makes all values positive for the medians.
const OFFSET: f64 = 100.0;

/// Smooths `varied` until its ratio to `nominal` has no more than `most` changes of slope. The result has the sum of
/// `varied`. `sigmas` are the uncertainties of `nominal` in events. All have the same length.
#[must_use]
pub fn merged(varied: &[f64], nominal: &[f64], sigmas: &[f64], most: usize) -> Vec<f64> {
    if varied.len() < 2 {
        return varied.to_vec();
    }
    let sum: f64 = varied.iter().sum();
    let mut out = varied.to_vec();
    let mut tolerance = TOLERANCE;
    let mut ratios = grouped(&mut out, nominal, sigmas, tolerance);
    // The tolerance ends at 0, where all bins are one group.
    while slope_changes(&ratios) > most && tolerance > 0.0 {
        tolerance /= 2.0;
        ratios = grouped(&mut out, nominal, sigmas, tolerance);
    }
    let ratio = |(v, n): (&f64, &f64)| if *n == 0.0 { 0.0 } else { v / n };
    let ratios: Vec<f64> = out.iter().zip(nominal).map(ratio).collect();
    let first = ratios.iter().position(|r| *r != 0.0).unwrap_or(0);
    let last = ratios.iter().rposition(|r| *r != 0.0).unwrap_or(ratios.len() - 1);
    let times = 2 * narrowest(&ratios).min(4);
    let change = |(r, n): (&f64, &f64)| if *n == 0.0 { OFFSET } else { r - 1.0 + OFFSET };
    let mut changes: Vec<f64> = ratios.iter().zip(nominal).map(change).collect();
    let part = changes.get_mut(first..=last).unwrap_or_default();
    for _ in 0..times {
        if times < last.saturating_sub(first) {
            let smooth = medians_353qh_twice(part);
            part.copy_from_slice(&smooth);
        }
    }
    let mut out: Vec<f64> = changes.iter().zip(nominal).map(|(c, n)| (c - OFFSET) * n + n).collect();
    let total: f64 = out.iter().sum();
    if total != 0.0 {
        out.iter_mut().for_each(|x| *x *= sum / total);
    }
    out.iter_mut().for_each(|x| *x = x.max(0.0));
    out
}

/// Merges bins until the relative uncertainty of each group is below `tolerance`, gives each bin the ratio of its group,
/// and returns the ratios of the groups.
fn grouped(varied: &mut [f64], nominal: &[f64], sigmas: &[f64], tolerance: f64) -> Vec<f64> {
    // Ends of the groups.
    let mut ends: Vec<usize> = Vec::new();
    let (mut sum, mut square, mut varied_sum) = (0.0, 0.0, 0.0);
    // Groups without events, or without a known uncertainty, are never good enough.
    let mut error = f64::INFINITY;
    for bin in 0..nominal.len() {
        sum += nominal[bin].abs();
        square += sigmas[bin] * sigmas[bin];
        varied_sum += varied[bin];
        if sum != 0.0 && varied_sum != 0.0 {
            error = square.sqrt() / sum;
        }
        if error == 0.0 {
            error = f64::INFINITY;
        }
        let is_last = bin + 1 == nominal.len();
        if error > tolerance && !is_last {
            continue;
        }
        match ends.last_mut() {
            // What is left at the end belongs to the group before.
            Some(end) if error >= tolerance => *end = bin + 1,
            _ => ends.push(bin + 1),
        }
        (sum, square, error) = (0.0, 0.0, f64::INFINITY);
    }
    let mut ratios = Vec::with_capacity(ends.len());
    let mut begin = 0;
    for end in ends {
        let total: f64 = nominal[begin..end].iter().sum();
        let ratio = if total == 0.0 { 0.0 } else { varied[begin..end].iter().sum::<f64>() / total };
        for (v, n) in varied[begin..end].iter_mut().zip(&nominal[begin..end]) {
            *v = n * ratio;
        }
        ratios.push(ratio);
        begin = end;
    }
    ratios
}

/// Counts how often the ratios change between going up and going down. A change right behind another counts twice.
fn slope_changes(ratios: &[f64]) -> usize {
    let (mut count, mut used, mut previous) = (0, 0, 0.0);
    let (mut going_up, mut has_changed) = (true, false);
    for ratio in ratios.iter().copied().filter(|r| *r != 0.0) {
        let step = ratio - previous;
        previous = ratio;
        if step.abs() < STEP {
            continue;
        }
        used += 1;
        let up = step > 0.0;
        let changes = used > 2 && up != going_up;
        if changes {
            count += if has_changed { 2 } else { 1 };
        }
        has_changed = changes;
        going_up = up;
    }
    count
}

/// The smallest number of neighbouring bins with one ratio.
fn narrowest(ratios: &[f64]) -> usize {
    let (mut count, mut least, mut previous) = (1, usize::MAX, 0.0);
    for ratio in ratios.iter().copied().filter(|r| *r != 0.0) {
        if previous != 0.0 {
            if (ratio - previous).abs() < LEVEL {
                count += 1;
            } else {
                least = least.min(count);
                count = 1;
            }
        }
        previous = ratio;
    }
    least.min(count)
}

#[cfg(test)]
mod tests {
    use super::{grouped, merged, slope_changes};

    #[test]
    fn bins_of_poor_statistics_are_merged() {
        let nominal = [100.0, 75.0, 20.0, 10.0];
        let mut varied = [90.0, 70.0, 30.0, 30.0];
        let ratios = grouped(&mut varied, &nominal, &[1.0, 1.0, 2.0, 0.5], 0.08);
        assert_eq!(ratios, [0.9, 70.0 / 75.0, 2.0]);
        assert_eq!(varied, [90.0, 70.0, 40.0, 20.0]);
    }

    #[test]
    fn changes_of_slope_are_counted() {
        assert_eq!(slope_changes(&[0.9, 0.95, 1.0]), 0);
        assert_eq!(slope_changes(&[0.9, 1.1, 0.9]), 1);
        assert_eq!(slope_changes(&[0.9, 1.1, 0.9, 1.1]), 3);
    }

    #[test]
    fn the_sum_stays() {
        let found = merged(&[90.0, 70.0, 30.0, 30.0], &[100.0, 75.0, 20.0, 10.0], &[1.0, 1.0, 2.0, 0.5], 4);
        assert!((found.iter().sum::<f64>() - 220.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn wild_templates_end_with_few_groups() {
        let found = merged(&[3.0, 1.0, 3.0, 1.0, 3.0], &[2.0; 5], &[0.1; 5], 0);
        let expected = [2.0, 2.0, 7.0 / 3.0, 7.0 / 3.0, 7.0 / 3.0];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        assert_eq!(merged(&[3.0], &[2.0], &[1.0], 4), [3.0]);
    }
}
