//! A convolution at rows of equal distance, and its interpolation between them.

/// Number of rows through which `ln h` is interpolated.
pub(super) const WINDOW: usize = 20;

/// Logarithms of a convolution at equally spaced rows.
pub(super) struct Lattice {
    /// Place of the first row, and the distance of the rows.
    pub(super) from: f64,
    pub(super) step: f64,
    /// Value and derivatives of `ln h`, row after row.
    pub(super) rows: Vec<f64>,
    pub(super) size: usize,
    /// Beyond these ends `h` counts as zero.
    pub(super) ends: (f64, f64),
    /// Upper estimate of the integral of `h` beyond the ends.
    pub(super) beyond: f64,
    /// Estimate of the relative error of `h`.
    pub(super) error: f64,
}

impl Lattice {
    /// Writes the first components of `ln h(x)` (value and derivatives), as many as `out` has, to `out`.
    pub(super) fn at(&self, x: f64, out: &mut [f64]) {
        let count = self.rows.len() / self.size;
        let t = (x - self.from) / self.step;
        let first = (t.floor() as usize).saturating_sub(WINDOW / 2 - 1).min(count - WINDOW);
        let rows = &self.rows[first * self.size..(first + WINDOW) * self.size];
        let local = t - first as f64;
        let nearest = local.round();
        if nearest == local {
            let row = (nearest as usize).min(WINDOW - 1);
            out.copy_from_slice(&rows[row * self.size..][..out.len()]);
            return;
        }
        out.fill(0.0);
        let mut total = 0.0;
        for (k, (row, weight)) in rows.chunks_exact(self.size).zip(&WEIGHTS).enumerate() {
            let share = weight / (local - k as f64);
            total += share;
            out.iter_mut().zip(row).for_each(|(to, value)| *to += share * value);
        }
        out.iter_mut().for_each(|to| *to /= total);
    }
}

/// Weights of the barycentric formula for [`WINDOW`] rows.
const WEIGHTS: [f64; WINDOW] = weights();

/// Returns the largest error of the interpolation of `ln h`, whose values at neighbouring rows are given, in the middle between two
/// rows, relative to 1 and to a hundredth of `ln h`. It is the difference to the interpolation without the outermost rows.
pub(super) fn interpolation_error(logs: &[f64]) -> f64 {
    let middle = |weights: &[f64]| -> Vec<f64> {
        let place = 0.5 * (weights.len() - 1) as f64;
        let shares: Vec<f64> = weights.iter().enumerate().map(|(k, w)| w / (place - k as f64)).collect();
        let total: f64 = shares.iter().sum();
        shares.iter().map(|share| share / total).collect()
    };
    let mut difference = middle(&WEIGHTS);
    difference[1..WINDOW - 1]
        .iter_mut()
        .zip(middle(&weights::<{ WINDOW - 2 }>()))
        .for_each(|(to, w)| *to -= w);
    let error = |window: &[f64]| {
        let sum: f64 = window.iter().zip(&difference).map(|(y, w)| y * w).sum();
        sum.abs() / (1.0 + 0.01 * window[WINDOW / 2].abs())
    };
    logs.windows(WINDOW).map(error).fold(0.0, f64::max)
}

/// Returns the weights of the barycentric formula for equally spaced places: binomial coefficients of alternating sign.
const fn weights<const N: usize>() -> [f64; N] {
    let mut weights = [1.0; N];
    let mut k = 1;
    while k < N {
        weights[k] = weights[k - 1] * -((N - k) as f64) / k as f64;
        k += 1;
    }
    weights
}
