//! The Landau density `p(x) = 1/pi int_0^inf exp(-t ln t - x t) sin(pi t) dt` (L. Landau, J. Phys. USSR 8 (1944) 201).
//!
//! The logarithm of the density, without its leading behaviour at both ends, is a series of Chebyshev polynomials on each of
//! several intervals. The series come from integrals with 40 digits (`scripts/make_landau.py`).

use super::landau_terms::{ABOVE, BELOW, END, MIDDLE, TERMS};

/// The ends of the intervals of `x` where the middle series are used.
const MIDDLE_ENDS: (f64, f64) = (-1.0, 4.0);

/// Below this number the density is 0 as a double.
const LEAST: f64 = -7.7;

/// Returns the density, its first derivative and its second derivative.
pub(super) fn landau(x: f64) -> [f64; 3] {
    if x.is_nan() {
        return [f64::NAN; 3];
    }
    if x < LEAST || x == f64::INFINITY {
        return [0.0; 3];
    }
    let [l, first, second] = logarithm(x);
    let p = libm::exp(l);
    [p, p * first, p * (second + first * first)]
}

/// Returns the logarithm of the density with its derivatives.
fn logarithm(x: f64) -> [f64; 3] {
    let (left, right) = MIDDLE_ENDS;
    if x < left {
        // ln p = -s + ln(s / 2 pi) / 2 + f(r) with r = 1 / s = exp(x + 1)
        let r = libm::exp(x + 1.0);
        let s = 1.0 / r;
        let [f, first, second] = series(&BELOW, r, (0.0, 1.0));
        let l = -s - 0.5 * (x + 1.0) - 0.5 * libm::log(std::f64::consts::TAU) + f;
        return [l, s - 0.5 + r * first, -s + r * (first + r * second)];
    }
    if x < right {
        return series(&MIDDLE, x, (left, right));
    }
    let (q, inverse) = (libm::log(x), 1.0 / x);
    // Beyond the last series the density is 1 / x^2 within rounding.
    let [f, first, second] = if q < END { series(&ABOVE, q, (libm::log(right), END)) } else { [0.0; 3] };
    let slope = first - 2.0;
    [f - 2.0 * q, slope * inverse, (second - slope) * inverse * inverse]
}

/// Returns the sum of the series of the interval that contains `x`, with its derivatives. The intervals have equal lengths.
fn series(tables: &[[f64; TERMS]], x: f64, (low, high): (f64, f64)) -> [f64; 3] {
    let step = (high - low) / tables.len() as f64;
    let place = ((x - low) / step).max(0.0) as usize;
    let place = place.min(tables.len() - 1);
    let z = 2.0 * (x - low - step * place as f64) / step - 1.0;
    let Some(terms) = tables.get(place) else { return [f64::NAN; 3] };
    // Clenshaw's recurrence, and its derivatives.
    let (mut b, mut c) = ([0.0; 3], [0.0; 3]);
    for a in terms.iter().skip(1).rev() {
        let next =
            [a + 2.0 * z * b[0] - c[0], 2.0 * (b[0] + z * b[1]) - c[1], 2.0 * (2.0 * b[1] + z * b[2]) - c[2]];
        (b, c) = (next, b);
    }
    let first = terms.first().copied().unwrap_or(0.0);
    let by = 2.0 / step;
    [first + z * b[0] - c[0], (b[0] + z * b[1] - c[1]) * by, (2.0 * b[1] + z * b[2] - c[2]) * by * by]
}
