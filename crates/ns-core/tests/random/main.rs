//! Tests of the random numbers: published test vectors, bits that must not change, accuracy, and
//! distributions.
//!
//! The statistical tests have fixed seeds, so each of them either always passes or always fails. A correct
//! sampler would fail such a test for less than one seed in a thousand.

#![allow(clippy::unwrap_used)]

mod elementary;
mod normal;
mod philox;
mod poisson;
mod streams;
mod uniform;

/// Returns the greatest distance between the empirical distribution function of `sample` and `cdf`, times the square
/// root of the sample's size. If the sample is drawn from the distribution `cdf`, the result is above 1.95 with a
/// probability of 1e-3 (Kolmogorov).
fn kolmogorov(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let mut distance = 0.0_f64;
    for (i, &x) in sample.iter().enumerate() {
        let p = cdf(x);
        distance = distance.max(p - i as f64 / n).max((i + 1) as f64 / n - p);
    }
    distance * n.sqrt()
}

/// Returns the mean and the variance of a sample.
fn moments(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    // The sums are of distances from the first value, so that no digits cancel for large means.
    let origin = sample[0];
    let shift = sample.iter().map(|x| x - origin).sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - origin - shift).powi(2)).sum::<f64>() / (n - 1.0);
    (origin + shift, variance)
}

/// Returns the linear correlation of two samples, in units of its standard deviation for uncorrelated
/// samples.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let ((mean_a, var_a), (mean_b, var_b)) = (moments(a), moments(b));
    let n = a.len() as f64;
    let covariance = a.iter().zip(b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum::<f64>() / n;
    covariance / (var_a * var_b).sqrt() * n.sqrt()
}
