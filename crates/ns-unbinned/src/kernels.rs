//! Estimates densities from samples of events. A density is a sum of Gaussian kernels and is stored as a cubic
//! spline.
//!
//! The widths of the kernels follow K. Cranmer, "Kernel estimation in high-energy physics", Comput. Phys. Commun.
//! 136 (2001) 198, hep-ex/0011057. `sigma` is the standard deviation of the sample, and `n` is the number of
//! events; for weighted events `n` is `(sum w)^2 / sum w^2`. In a first estimate `f` of the density, all kernels
//! have the width `(4/3)^(1/5) sigma n^(-1/5)`. In the final estimate, the kernel of the event at `x` has the width
//! `(4/3)^(1/5) sqrt(sigma / f(x)) n^(-1/5)`.

use thiserror::Error;

/// Options of a density estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelOptions {
    /// Lower and upper end of the range of the density.
    pub range: (f64, f64),
    /// Factor by which all kernel widths are multiplied. With 1, the widths are those of K. Cranmer, hep-ex/0011057.
    pub bandwidth: f64,
    /// Whether kernels are mirrored at the ends of the range. Without mirror images, the density is too small near
    /// the ends.
    pub reflect: bool,
    /// Largest allowed difference between the spline and the sum of kernels, relative to the largest density.
    pub tolerance: f64,
}

impl KernelOptions {
    /// Returns the default options for the range from `low` to `high`.
    #[must_use]
    pub fn new(low: f64, high: f64) -> Self {
        Self { range: (low, high), bandwidth: 1.0, reflect: true, tolerance: 1e-6 }
    }
}

/// A density as a natural cubic spline. Its integral is not normalised.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelDensity {
    /// Positions of the spline's points in ascending order, from the lower to the upper end of the range.
    pub knots: Vec<f64>,
    /// Density at each position in `knots`; all values are positive.
    pub values: Vec<f64>,
    /// Largest difference between the spline and the sum of kernels, estimated halfway between the points. It is
    /// relative to the largest density.
    pub error: f64,
}

/// Reason why a density cannot be estimated.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The range is empty.
    #[error("the range from {low} to {high} is empty")]
    EmptyRange {
        /// Lower end of the range.
        low: f64,
        /// Upper end of the range.
        high: f64,
    },
    /// There are too few events within the range.
    #[error("{count} events of the sample lie within the range; at least 2 different ones are needed")]
    TooFew {
        /// Number of events within the range.
        count: usize,
    },
    /// The number of weights is not the number of events.
    #[error("there are {weights} weights for {events} events")]
    Weights {
        /// Number of weights.
        weights: usize,
        /// Number of events.
        events: usize,
    },
    /// An event or a weight is not a finite number.
    #[error("event {index} of the sample, or its weight, is not a finite number")]
    NotFinite {
        /// Index of the event in the sample.
        index: usize,
    },
    /// The sum of the weights is not positive, or the weighted density is negative at some position.
    #[error("the weighted sample has no positive density near {at}; use larger bandwidths or other weights")]
    NotPositive {
        /// Position at which the density is not positive.
        at: f64,
    },
    /// The bandwidth or the tolerance is not positive.
    #[error("the bandwidth and the tolerance must be positive")]
    Options,
    /// The sum of kernels has structures that are too narrow for a spline with the largest number of points.
    #[error("the density is too fine for a spline with {most} points; use a larger bandwidth")]
    TooFine {
        /// Largest allowed number of points.
        most: usize,
    },
}

/// Number of points of the first spline, and largest number of points of a spline.
const POINTS: (usize, usize) = (65, 16_385);
/// Distance from the centre of a kernel, in units of its width, beyond which the kernel counts as 0. `exp(-8^2/2)` is
/// `1e-14`.
const REACH: f64 = 8.0;
/// Smallest width of a kernel, as a fraction of the range.
const NARROWEST: f64 = 1e-4;

/// Estimates the density of a sample over a range. Events outside the range are ignored. `weights` has one weight per
/// event; without weights, all events count equally.
///
/// # Errors
/// If the options or the sample are not valid, there are fewer than two different events, or the density is not
/// positive.
pub fn kernel_density(
    sample: &[f64],
    weights: Option<&[f64]>,
    options: &KernelOptions,
) -> Result<KernelDensity, KernelError> {
    let (low, high) = options.range;
    if !(low < high && (high - low).is_finite()) {
        return Err(KernelError::EmptyRange { low, high });
    }
    if !(options.bandwidth > 0.0 && options.tolerance > 0.0 && options.bandwidth.is_finite()) {
        return Err(KernelError::Options);
    }
    if let Some(weights) = weights.filter(|weights| weights.len() != sample.len()) {
        return Err(KernelError::Weights { weights: weights.len(), events: sample.len() });
    }
    let weight = |i: usize| weights.and_then(|w| w.get(i)).copied().unwrap_or(1.0);
    let mut events: Vec<(f64, f64)> = Vec::with_capacity(sample.len());
    for (index, &x) in sample.iter().enumerate() {
        let w = weight(index);
        if !x.is_finite() || !w.is_finite() {
            return Err(KernelError::NotFinite { index });
        }
        if (low..=high).contains(&x) {
            events.push((x, w));
        }
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let few = KernelError::TooFew { count: events.len() };
    let (first, last) = events.first().zip(events.last()).ok_or_else(|| few.clone())?;
    if first.0 == last.0 {
        return Err(few);
    }
    let (sum, squares) = events.iter().fold((0.0, 0.0), |(s, q), (_, w)| (s + w, q + w * w));
    if !(sum > 0.0) {
        return Err(KernelError::NotPositive { at: 0.5 * (low + high) });
    }
    let mean = events.iter().map(|(x, w)| w * x).sum::<f64>() / sum;
    let variance = events.iter().map(|(x, w)| w * (x - mean).powi(2)).sum::<f64>() / sum;
    // Negative weights far from the mean can make the variance zero or negative. The kernels then have no width.
    if !(variance > 0.0) {
        return Err(KernelError::NotPositive { at: mean.clamp(low, high) });
    }
    let n = sum * sum / squares;
    let rule = options.bandwidth * (4.0_f64 / 3.0).powf(0.2) * n.powf(-0.2);
    let sigma = variance.sqrt();
    let least = NARROWEST * (high - low);
    let fixed = Kernels::new(&events, |_| (rule * sigma).max(least), options);
    // Far from other events, only the event itself contributes to the first estimate.
    let pilot: Vec<f64> = events.iter().map(|(x, _)| fixed.at(*x) / sum).collect();
    let floor = 1.0 / (n * (2.0 * std::f64::consts::PI).sqrt() * (rule * sigma).max(least));
    let widths: Vec<f64> =
        pilot.iter().map(|f| (rule * (sigma / f.max(floor)).sqrt()).clamp(least, high - low)).collect();
    let width = |i: usize| widths.get(i).copied().unwrap_or(least);
    splined(&Kernels::new(&events, width, options), options)
}

/// A sum of kernels.
struct Kernels {
    /// Position, height and inverse width of each kernel, in ascending order of position. Mirror images are included.
    kernels: Vec<(f64, f64, f64)>,
    /// Distance beyond which all kernels count as 0.
    reach: f64,
}

impl Kernels {
    fn new(events: &[(f64, f64)], width: impl Fn(usize) -> f64, options: &KernelOptions) -> Self {
        let (low, high) = options.range;
        let (mut kernels, mut reach) = (Vec::with_capacity(events.len()), 0.0_f64);
        for (i, &(x, w)) in events.iter().enumerate() {
            let h = width(i);
            reach = reach.max(REACH * h);
            let height = w / (h * (2.0 * std::f64::consts::PI).sqrt());
            let mut add = |x: f64| kernels.push((x, height, 1.0 / h));
            add(x);
            if options.reflect {
                for end in [low, high] {
                    if (x - end).abs() < REACH * h {
                        add(2.0 * end - x);
                    }
                }
            }
        }
        kernels.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { kernels, reach }
    }

    /// Returns the sum of all kernels at `x`.
    fn at(&self, x: f64) -> f64 {
        let from = self.kernels.partition_point(|(position, ..)| *position < x - self.reach);
        let near = self.kernels.get(from..).unwrap_or_default();
        near.iter()
            .take_while(|(position, ..)| *position <= x + self.reach)
            .map(|(position, height, inverse)| height * (-0.5 * ((x - position) * inverse).powi(2)).exp())
            .sum()
    }
}

/// Approximates a sum of kernels by a spline. The number of points is doubled until the spline is accurate enough.
fn splined(kernels: &Kernels, options: &KernelOptions) -> Result<KernelDensity, KernelError> {
    let (low, high) = options.range;
    let point = |i: usize, n: usize| low + (high - low) * i as f64 / (n - 1) as f64;
    let mut n = POINTS.0;
    let mut values: Vec<f64> = (0..n).map(|i| kernels.at(point(i, n))).collect();
    loop {
        // The midpoints are also points of the next spline, which has twice as many intervals.
        let between: Vec<f64> = (0..n - 1).map(|i| kernels.at(point(2 * i + 1, 2 * n - 1))).collect();
        let most = values.iter().chain(&between).copied().fold(0.0, f64::max);
        let middles = middles(&values);
        let error = middles.iter().zip(&between).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / most;
        if error <= options.tolerance {
            // In regions without events the spline may be 0 or negative. All values are then raised by the possible
            // error of the spline.
            let least = values.iter().chain(&middles).copied().fold(f64::INFINITY, f64::min) / most;
            let lift = if least > options.tolerance { 0.0 } else { options.tolerance };
            if let Some(i) = values.iter().position(|x| !(*x >= -options.tolerance * most)) {
                return Err(KernelError::NotPositive { at: point(i, n) });
            }
            let lifted = |x: &f64| x.max(0.0) + 2.0 * lift * most;
            return Ok(KernelDensity {
                knots: (0..n).map(|i| point(i, n)).collect(),
                values: values.iter().map(lifted).collect(),
                error: error + 2.0 * lift,
            });
        }
        if n >= POINTS.1 {
            return Err(KernelError::TooFine { most: POINTS.1 });
        }
        let mut finer = Vec::with_capacity(2 * n - 1);
        for (i, value) in values.iter().enumerate() {
            finer.push(*value);
            finer.extend(between.get(i));
        }
        values = finer;
        n = 2 * n - 1;
    }
}

/// Returns the values of the natural cubic spline through `values` at the midpoints of all intervals. The positions
/// of `values` are equidistant.
fn middles(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    // Second derivatives times the squared distance, from a tridiagonal system with the coefficients 1, 4, 1.
    let mut bends = vec![0.0; n];
    let mut ratio = vec![0.0; n];
    for i in 1..n.saturating_sub(1) {
        let right = 6.0 * (values[i + 1] - 2.0 * values[i] + values[i - 1]);
        let pivot = 4.0 - ratio[i - 1];
        ratio[i] = 1.0 / pivot;
        bends[i] = (right - bends[i - 1]) / pivot;
    }
    for i in (1..n.saturating_sub(1)).rev() {
        bends[i] -= ratio[i] * bends[i + 1];
    }
    let middle = |(values, bends): (&[f64], &[f64])| match (values, bends) {
        ([a, b], [p, q]) => 0.5 * (a + b) - (p + q) / 16.0,
        _ => f64::NAN,
    };
    values.windows(2).zip(bends.windows(2)).map(middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `n` quantiles of a normal distribution with mean 5 and width 1. They are found by bisection of a
    /// numerical integral.
    fn normal(n: usize) -> Vec<f64> {
        let cumulative = |x: f64| {
            let steps = 400;
            let h = (x + 8.0) / f64::from(steps);
            let f = |t: f64| (-0.5 * t * t).exp() / (2.0 * std::f64::consts::PI).sqrt();
            (0..steps).map(|i| h * f(-8.0 + h * (f64::from(i) + 0.5))).sum::<f64>()
        };
        let quantile = |p: f64| {
            let (mut low, mut high) = (-7.0, 7.0);
            for _ in 0..50 {
                let middle = 0.5 * (low + high);
                if cumulative(middle) < p { low = middle } else { high = middle }
            }
            5.0 + 0.5 * (low + high)
        };
        (0..n).map(|i| quantile((i as f64 + 0.5) / n as f64)).collect()
    }

    #[test]
    fn the_spline_is_as_close_to_the_kernels_as_it_says() {
        let sample = normal(300);
        let options = KernelOptions::new(0.0, 10.0);
        let density = kernel_density(&sample, None, &options).unwrap();
        assert!(density.error <= 3e-6, "{}", density.error);
        assert!(density.values.iter().all(|x| *x > 0.0));
        // The density agrees with the normal distribution, within the statistical accuracy of 300 events and the
        // widening by the kernels.
        let step = density.knots[1] - density.knots[0];
        let total: f64 = density.values.iter().sum::<f64>() * step;
        for (x, value) in density.knots.iter().zip(&density.values) {
            let right = (-0.5 * (x - 5.0).powi(2)).exp() / (2.0 * std::f64::consts::PI).sqrt();
            assert!((value / total - right).abs() < 0.04, "{x}: {} {right}", value / total);
        }
    }

    #[test]
    fn equal_weights_change_the_height_alone() {
        let sample = normal(50);
        let options = KernelOptions::new(0.0, 10.0);
        let plain = kernel_density(&sample, None, &options).unwrap();
        let weighted = kernel_density(&sample, Some(&[2.5; 50]), &options).unwrap();
        assert_eq!(weighted.knots, plain.knots);
        for (a, b) in weighted.values.iter().zip(&plain.values) {
            assert!((a - 2.5 * b).abs() <= 1e-12 * b, "{a} {b}");
        }
        // An event of weight 0 does not change the density.
        let more: Vec<f64> = sample.iter().copied().chain([9.0]).collect();
        let weights: Vec<f64> = std::iter::repeat_n(1.0, 50).chain([0.0]).collect();
        let same = kernel_density(&more, Some(&weights), &options).unwrap();
        for (a, b) in same.values.iter().zip(&plain.values) {
            assert!((a - b).abs() <= 1e-9 * b, "{a} {b}");
        }
    }

    #[test]
    fn reflection_keeps_a_flat_density_flat() {
        let sample: Vec<f64> = (0..2000).map(|i| (f64::from(i) + 0.5) / 200.0).collect();
        let options = KernelOptions::new(0.0, 10.0);
        let flat = kernel_density(&sample, None, &options).unwrap();
        let open = kernel_density(&sample, None, &KernelOptions { reflect: false, ..options }).unwrap();
        let middle = flat.values[flat.values.len() / 2];
        assert!(flat.values.iter().all(|x| (x / middle - 1.0).abs() < 1e-3));
        assert!(open.values[0] < 0.6 * middle);
    }

    #[test]
    fn bad_samples_are_errors() {
        let options = KernelOptions::new(0.0, 10.0);
        let error =
            |sample: &[f64], weights: Option<&[f64]>| kernel_density(sample, weights, &options).unwrap_err();
        assert_eq!(error(&[1.0, f64::NAN], None), KernelError::NotFinite { index: 1 });
        assert_eq!(error(&[1.0, 11.0], None), KernelError::TooFew { count: 1 });
        assert_eq!(error(&[1.0, 1.0], None), KernelError::TooFew { count: 2 });
        assert_eq!(error(&[1.0, 2.0], Some(&[1.0])), KernelError::Weights { weights: 1, events: 2 });
        assert!(matches!(error(&[1.0, 2.0], Some(&[1.0, -1.0])), KernelError::NotPositive { .. }));
        let empty = KernelOptions::new(1.0, 1.0);
        assert!(matches!(kernel_density(&[1.0], None, &empty), Err(KernelError::EmptyRange { .. })));
    }
}
