//! Moments of expected yields, and the coefficients of a simplified likelihood.

use crate::linear::eigen;

/// Number of groups of draws, whose scatter gives the errors of moments.
const GROUPS: usize = 20;

/// Mean, covariance and third moments of yields.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Moments {
    pub(super) mean: Vec<f64>,
    /// Covariance matrix, row by row.
    pub(super) covariance: Vec<f64>,
    /// Third central moment of each bin.
    pub(super) third: Vec<f64>,
    /// Error of the variance of each bin, relative to the variance.
    pub(super) variance_error: Vec<f64>,
    /// Error of each third moment, in units of the third power of the standard deviation.
    pub(super) skewness_error: Vec<f64>,
}

impl Moments {
    /// Computes the moments of draws of `n` numbers each.
    pub(super) fn of(draws: &[f64], n: usize) -> Self {
        let rows: Vec<&[f64]> = draws.chunks(n.max(1)).collect();
        let mean = mean_of(&rows, n);
        let mut covariance = vec![0.0; n * n];
        let mut third = vec![0.0; n];
        for row in &rows {
            for (i, (x, m)) in row.iter().zip(&mean).enumerate() {
                let shift = x - m;
                if let Some(sum) = third.get_mut(i) {
                    *sum += shift.powi(3);
                }
                let sums = covariance.get_mut(i * n..(i + 1) * n).unwrap_or_default();
                for ((sum, y), k) in sums.iter_mut().zip(*row).zip(&mean) {
                    *sum += shift * (y - k);
                }
            }
        }
        let count = rows.len() as f64;
        covariance.iter_mut().for_each(|sum| *sum /= count);
        third.iter_mut().for_each(|sum| *sum /= count);
        let (variance_error, skewness_error) = errors(&rows, &mean, &covariance, n);
        Self { mean, covariance, third, variance_error, skewness_error }
    }

    /// Standard deviation of a bin.
    pub(super) fn sigma(&self, i: usize) -> f64 {
        self.covariance.get(i * (self.mean.len() + 1)).copied().unwrap_or(0.0).max(0.0).sqrt()
    }
}

fn mean_of(rows: &[&[f64]], n: usize) -> Vec<f64> {
    let mut mean = vec![0.0; n];
    for row in rows {
        mean.iter_mut().zip(*row).for_each(|(sum, x)| *sum += x);
    }
    mean.iter_mut().for_each(|sum| *sum /= rows.len().max(1) as f64);
    mean
}

/// Errors of variances and of third moments, from the scatter of the moments of groups of draws.
fn errors(rows: &[&[f64]], mean: &[f64], covariance: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let size = rows.len() / GROUPS;
    let mut found = (Vec::with_capacity(n), Vec::with_capacity(n));
    for (i, m) in mean.iter().enumerate() {
        let variance = covariance.get(i * (n + 1)).copied().unwrap_or(0.0);
        let of_group = |power: i32, scale: f64| {
            let groups: Vec<f64> = rows
                .chunks(size.max(1))
                .take(GROUPS)
                .map(|group| {
                    let sum: f64 =
                        group.iter().filter_map(|row| row.get(i)).map(|x| (x - m).powi(power)).sum();
                    sum / group.len() as f64 / scale
                })
                .collect();
            let count = groups.len() as f64;
            let centre = groups.iter().sum::<f64>() / count;
            (groups.iter().map(|x| (x - centre).powi(2)).sum::<f64>() / (count * (count - 1.0))).sqrt()
        };
        let is_constant = !(variance > 0.0);
        found.0.push(if is_constant { 0.0 } else { of_group(2, variance) });
        found.1.push(if is_constant { 0.0 } else { of_group(3, variance.powf(1.5)) });
    }
    found
}

/// The background of a bin as `a + b theta + c theta^2`, and the correlations of the `theta` of all bins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Coefficients {
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    pub(super) c: Vec<f64>,
    /// Correlation matrix of the normal parameters, row by row.
    pub(super) correlation: Vec<f64>,
    /// Bins whose third moment is too large for a quadratic function; they have the largest possible one.
    pub(super) too_skew: Vec<usize>,
}

impl Coefficients {
    /// Computes the coefficients with the given moments: equations 2.11 to 2.14 of A. Buckley et al., JHEP 04 (2019) 064,
    /// arXiv:1809.05548, which are those of CMS NOTE-2017/001.
    pub(super) fn of(moments: &Moments, third: bool) -> Self {
        let n = moments.mean.len();
        let mut found = Self {
            a: Vec::with_capacity(n),
            b: Vec::with_capacity(n),
            c: Vec::with_capacity(n),
            correlation: vec![0.0; n * n],
            too_skew: Vec::new(),
        };
        for (i, (mean, third_moment)) in moments.mean.iter().zip(&moments.third).enumerate() {
            let variance = moments.sigma(i).powi(2);
            let (c, is_too_skew) = if third { quadratic(variance, *third_moment) } else { (0.0, false) };
            if is_too_skew {
                found.too_skew.push(i);
            }
            found.a.push(mean - c);
            found.b.push((variance - 2.0 * c * c).max(0.0).sqrt());
            found.c.push(c);
        }
        for i in 0..n {
            for j in 0..n {
                let of = |list: &[f64], k: usize| list.get(k).copied().unwrap_or(0.0);
                let covariance = of(&moments.covariance, i * n + j);
                let value = if i == j {
                    1.0
                } else {
                    correlation(
                        of(&found.b, i) * of(&found.b, j),
                        of(&found.c, i) * of(&found.c, j),
                        covariance,
                    )
                };
                if let Some(to) = found.correlation.get_mut(i * n + j) {
                    *to = value;
                }
            }
        }
        found
    }
}

/// Returns the coefficient of `theta^2` of a bin with this variance and third moment, and whether the third moment is too
/// large.
fn quadratic(variance: f64, third: f64) -> (f64, bool) {
    if !(variance > 0.0) || third == 0.0 {
        return (0.0, false);
    }
    let ratio = 8.0 * variance.powi(3) / (third * third);
    let is_too_skew = ratio < 1.0;
    let angle = (ratio - 1.0).max(0.0).sqrt().atan();
    // With the angle near 90 degrees the cosine is that of 3/2 pi - small, where it loses digits: c = m3 / (6 m2) there.
    if ratio > 1e12 {
        return (third / (6.0 * variance), false);
    }
    let cosine = (4.0 * std::f64::consts::PI / 3.0 + angle / 3.0).cos();
    (-third.signum() * (2.0 * variance).sqrt() * cosine, is_too_skew)
}

/// Solves `rho b_i b_j + 2 rho^2 c_i c_j = covariance` for the root that is `covariance / (b_i b_j)` for small `c`.
fn correlation(b: f64, c: f64, covariance: f64) -> f64 {
    let root = (b * b + 8.0 * c * covariance).max(0.0).sqrt();
    let rho = 2.0 * covariance / (b + root);
    if rho.is_finite() { rho.clamp(-1.0, 1.0) } else { 0.0 }
}

/// Returns a factor `L` of a correlation matrix, so that `L L'` is the matrix, or the nearest positive one, with the diagonal
/// kept at 1. The factor has one column per positive eigenvalue. Also returns the largest change of an element.
pub(super) fn factor(correlation: &[f64], n: usize) -> (Vec<Vec<f64>>, f64) {
    let (values, vectors) = eigen(correlation, n);
    let largest = values.iter().copied().fold(0.0, f64::max);
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for (k, value) in values.iter().enumerate().filter(|(_, value)| **value > 1e-9 * largest) {
        let at = |i: usize| vectors.get(i * n + k).copied().unwrap_or(0.0) * value.sqrt();
        columns.push((0..n).map(at).collect());
    }
    let mut changed: f64 = 0.0;
    for i in 0..n {
        let norm: f64 = columns.iter().filter_map(|column| column.get(i)).map(|x| x * x).sum::<f64>().sqrt();
        if norm > 0.0 {
            columns.iter_mut().filter_map(|column| column.get_mut(i)).for_each(|x| *x /= norm);
        }
    }
    for i in 0..n {
        for j in 0..i {
            let product = |column: &Vec<f64>| Some(column.get(i)? * column.get(j)?);
            let now: f64 = columns.iter().filter_map(product).sum();
            changed = changed.max((now - correlation.get(i * n + j).copied().unwrap_or(0.0)).abs());
        }
    }
    (columns, changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments of `a + b theta + c theta^2` for a normal `theta`.
    fn of_quadratic(a: f64, b: f64, c: f64) -> (f64, f64, f64) {
        (a + c, b * b + 2.0 * c * c, 6.0 * b * b * c + 8.0 * c.powi(3))
    }

    #[test]
    fn coefficients_come_back_from_their_moments() {
        for (b, c) in [(2.0, 0.3), (2.0, -0.3), (1.0, 0.0), (1.0, 1e-9), (1.0, 0.5)] {
            let (mean, variance, third) = of_quadratic(10.0, b, c);
            let (found, too_skew) = quadratic(variance, third);
            assert!((found - c).abs() < 1e-7 * (1.0 + c.abs()) && !too_skew, "{found} {c}");
            assert!(((mean - found) - 10.0).abs() < 1e-6);
            assert!(((variance - 2.0 * found * found).sqrt() - b).abs() < 1e-6);
        }
        assert!(quadratic(1.0, 4.0).1, "no quadratic function is so skew");
        let (b, c, rho) = (2.0 * 3.0, 0.2 * 0.5, 0.6);
        assert!((correlation(b, c, rho * b + 2.0 * rho * rho * c) - rho).abs() < 1e-12);
    }

    #[test]
    fn factors_give_the_matrix_or_the_nearest() {
        let matrix = [1.0, 0.5, -0.2, 0.5, 1.0, 0.3, -0.2, 0.3, 1.0];
        let (columns, changed) = factor(&matrix, 3);
        assert!(columns.len() == 3 && changed < 1e-12, "{changed}");
        let (columns, changed) = factor(&[1.0, 1.0, 1.0, 1.0], 2);
        assert!(columns.len() == 1 && changed < 1e-12);
        // Not positive: three pairs of -0.9 cannot be.
        let (_, changed) = factor(&[1.0, -0.9, -0.9, -0.9, 1.0, -0.9, -0.9, -0.9, 1.0], 3);
        assert!((changed - 0.4).abs() < 1e-9, "{changed}");
    }

    #[test]
    fn moments_have_errors() {
        let draws: Vec<f64> = (0..20_000).map(|i| f64::from(i * 7919 % 20_000) / 20_000.0).collect();
        let moments = Moments::of(&draws, 1);
        assert!((moments.mean[0] - 0.5).abs() < 1e-3 && (moments.covariance[0] - 1.0 / 12.0).abs() < 1e-3);
        assert!(moments.third[0].abs() < 1e-3 && moments.variance_error[0] < 0.02);
    }
}
