//! The integral of an exponential function over an interval.

/// The integral is computed by its power series for arguments whose absolute value is below this number.
const SMALL: f64 = 0.5;

/// Number of terms of the power series. For arguments up to [`SMALL`] the next term is below 1e-17.
const TERMS: i32 = 16;

/// Returns `(1 - e^-x) / x` with its first and second derivatives. It is the integral of `e^(-x t)` over `t` from 0
/// to 1.
pub(in crate::events) fn decay(x: f64) -> [f64; 3] {
    if x.abs() < SMALL {
        // sum_k (-x)^k / (k + 1)!
        let [mut value, mut first, mut second] = [0.0; 3];
        let mut term = 1.0;
        for k in 0..TERMS {
            let k = f64::from(k);
            // `term` is (-x)^k / k!. The integrals of t^k have the factors 1/(k+1), 1/(k+2) and 1/(k+3).
            value += term / (k + 1.0);
            first -= term / (k + 2.0);
            second += term / (k + 3.0);
            term *= -x / (k + 1.0);
        }
        return [value, first, second];
    }
    // Events are drawn from this function, so it has the same bits on every CPU.
    let e = libm::exp(-x);
    let value = -libm::expm1(-x) / x;
    let first = (e - value) / x;
    let second = -(e + 2.0 * first) / x;
    [value, first, second]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_and_closed_form_agree() {
        let inside = decay(SMALL * (1.0 - 1e-12));
        let outside = decay(SMALL * (1.0 + 1e-12));
        for (a, b) in inside.iter().zip(outside) {
            assert!((a - b).abs() < 1e-11, "{a} {b}");
        }
        assert_eq!(decay(0.0), [1.0, -0.5, 1.0 / 3.0]);
        for x in [-30.0, -2.0, -0.3, 0.2, 1.0, 50.0] {
            let h = 1e-4;
            let slope = (decay(x + h)[0] - decay(x - h)[0]) / (2.0 * h);
            let bend = (decay(x + h)[1] - decay(x - h)[1]) / (2.0 * h);
            let [_, first, second] = decay(x);
            assert!(
                (first - slope).abs() < 1e-6 * first.abs() && (second - bend).abs() < 1e-6 * second.abs()
            );
        }
    }
}
