//! Smooths with running medians: "353QH, twice".
//!
//! Source: J. H. Friedman, "Data analysis techniques for high energy particle physics", Proc. 1974 CERN School of
//! Computing, CERN 74-23, page 292. ROOT's `TH1::Smooth` does the same with the values at both ends.

/// Smallest number of values that can be smoothed.
const FEWEST: usize = 3;

/// Smooths the ratio of `varied` to `nominal`, and returns the template with this ratio and the sum of `varied`.
///
/// A bin where the nominal template has nothing has no ratio. It counts as 1 between its neighbours, and its contents
/// stay as they are. Both arguments have the same length; templates of less than three bins do not change.
#[must_use]
pub fn smoothed(varied: &[f64], nominal: &[f64]) -> Vec<f64> {
    if varied.len() < FEWEST {
        return varied.to_vec();
    }
    let ratio: Vec<f64> =
        varied.iter().zip(nominal).map(|(v, n)| if *n == 0.0 { 1.0 } else { v / n }).collect();
    let ratio = medians_353qh_twice(&ratio);
    let shape: Vec<f64> = ratio.iter().zip(nominal).map(|(r, n)| r * n).collect();
    let untouched = |(v, n): (&f64, &f64)| if *n == 0.0 { *v } else { 0.0 };
    let rest: f64 = varied.iter().zip(nominal).map(untouched).sum();
    let wanted = varied.iter().sum::<f64>() - rest;
    let sum: f64 = shape.iter().sum();
    if sum == 0.0 {
        return varied.to_vec();
    }
    let bins = shape.iter().zip(varied).zip(nominal);
    bins.map(|((s, v), n)| if *n == 0.0 { *v } else { s * wanted / sum }).collect()
}

/// Smooths values once, as ROOT's `TH1::Smooth(1)` does.
///
/// The running medians and means are applied to the values, and then to what is left of them, which is added back.
/// Results are not below 0 unless a value is. Less than three values do not change.
#[must_use]
pub fn medians_353qh_twice(values: &[f64]) -> Vec<f64> {
    if values.len() < FEWEST {
        return values.to_vec();
    }
    let smooth = medians_353qh(values);
    let rough: Vec<f64> = values.iter().zip(&smooth).map(|(v, s)| v - s).collect();
    let again = medians_353qh(&rough);
    let negative = values.iter().any(|v| *v < 0.0);
    let sum = |(a, b): (&f64, &f64)| if negative { a + b } else { (a + b).max(0.0) };
    smooth.iter().zip(&again).map(sum).collect()
}

fn medians_353qh(values: &[f64]) -> Vec<f64> {
    let mut x = running_medians(values, 3);
    let n = x.len();
    // The ends follow from a line through their neighbours.
    x[0] = median(&mut [3.0 * x[1] - 2.0 * x[2], values[0], x[1]]);
    x[n - 1] = median(&mut [x[n - 2], values[n - 1], 3.0 * x[n - 2] - 2.0 * x[n - 3]]);
    let mut five = running_medians(&x, 5);
    five[1] = median(&mut [x[0], x[1], x[2]]);
    five[n - 2] = median(&mut [x[n - 3], x[n - 2], x[n - 1]]);
    means(&without_plateaus(&running_medians(&five, 3)))
}

/// Medians of `width` neighbours; values too close to an end for that stay.
fn running_medians(values: &[f64], width: usize) -> Vec<f64> {
    let mut out = values.to_vec();
    for (i, window) in values.windows(width).enumerate() {
        out[i + width / 2] = median(&mut window.to_vec());
    }
    out
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Replaces tops and bottoms of three equal values by a parabola.
fn without_plateaus(x: &[f64]) -> Vec<f64> {
    let mut out = x.to_vec();
    for i in 2..x.len().saturating_sub(2) {
        let (left, right) = (x[i - 2] - x[i], x[i + 2] - x[i]);
        if x[i - 1] != x[i] || x[i] != x[i + 1] || left * right <= 0.0 {
            continue;
        }
        // The vertex of the parabola moves towards the flatter side.
        let (steep, flat, next) =
            if right.abs() > left.abs() { (x[i + 2], x[i - 2], i - 1) } else { (x[i - 2], x[i + 2], i + 1) };
        out[i] = -0.5 * steep + x[i] / 0.75 + flat / 6.0;
        out[next] = 0.5 * (flat - steep) + x[i];
    }
    out
}

/// Means of three neighbours with weights 1, 2, 1 (Hanning); the ends stay.
fn means(x: &[f64]) -> Vec<f64> {
    let mut out = x.to_vec();
    for (i, w) in x.windows(3).enumerate() {
        out[i + 1] = 0.25 * w[0] + 0.5 * w[1] + 0.25 * w[2];
    }
    out
}

#[cfg(test)]
#[path = "smooth_tests.rs"]
mod tests;
