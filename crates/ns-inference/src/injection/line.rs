//! The straight line through points with errors, by least squares.

use super::result::{Injected, Line};
use crate::goodness::chi2_tail;

/// Returns the line through the mean fitted values. `None` with fewer than two values, or if a mean has no error.
pub(super) fn through(points: &[Injected]) -> Option<Line> {
    if points.len() < 2 {
        return None;
    }
    let mut known = Vec::with_capacity(points.len());
    for point in points {
        known.push((point.value, point.study.mean?, point.study.bias_error.filter(|error| *error > 0.0)?));
    }
    line(&known)
}

/// Fits a line to points (`x`, `y`, error of `y`).
fn line(points: &[(f64, f64, f64)]) -> Option<Line> {
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y, e)| f(*x, *y) / (e * e)).sum::<f64>();
    let weight = sum(&|_, _| 1.0);
    // The centre of the values makes slope and height at the centre independent.
    let centre = sum(&|x, _| x) / weight;
    let spread = sum(&|x, _| (x - centre).powi(2));
    let slope = sum(&|x, y| (x - centre) * y) / spread;
    let height = sum(&|_, y| y) / weight;
    let intercept = height - slope * centre;
    let intercept_error = (1.0 / weight + centre * centre / spread).sqrt();
    let slope_error = spread.sqrt().recip();
    let chi2 = sum(&|x, y| (y - intercept - slope * x).powi(2));
    let n_dof = points.len().checked_sub(2)?;
    let p_value = (n_dof > 0).then(|| chi2_tail(chi2, n_dof as f64));
    let correlation = -centre * slope_error / intercept_error;
    let line = Line { slope, slope_error, intercept, intercept_error, correlation, chi2, n_dof, p_value };
    slope.is_finite().then_some(line)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::line;

    #[test]
    fn a_line_is_that_of_the_normal_equations() {
        let found = line(&[(0.0, 0.1, 0.1), (1.0, 1.0, 0.2), (3.0, 3.2, 0.1)]).unwrap();
        // Solved with the 2 x 2 normal equations in exact arithmetic: weights 100, 25, 100.
        let (s, x, xx, y, xy) = (225.0, 325.0, 925.0, 10.0 + 25.0 + 320.0, 25.0 + 960.0);
        let determinant = s * xx - x * x;
        assert!((found.slope - (s * xy - x * y) / determinant).abs() < 1e-12);
        assert!((found.intercept - (xx * y - x * xy) / determinant).abs() < 1e-12);
        assert!((found.slope_error.powi(2) - s / determinant).abs() < 1e-14);
        assert!((found.intercept_error.powi(2) - xx / determinant).abs() < 1e-14);
        let covariance = found.correlation * found.slope_error * found.intercept_error;
        assert!((covariance + x / determinant).abs() < 1e-14);
        assert_eq!(found.n_dof, 1);
        assert!(line(&[(1.0, 1.0, 0.1), (1.0, 2.0, 0.1)]).is_none(), "one value twice has no slope");
    }
}
