//! One step of a search for a root inside a bracket by Chandrupatla's method (Adv. Eng. Softw. 28 (1997) 145).

/// Returns the position at which to evaluate the function next, as a fraction of the distance from `a` to `b`.
///
/// `a`, `b` and `third` are pairs of a position and the function's value at this position. The root lies between `a`
/// and `b`. `third` is the end of this interval that was replaced last. If `third` is given and its function value is
/// finite, the fraction comes from inverse quadratic interpolation. Otherwise the fraction comes from the secant
/// through `a` and `b`. The fraction is 0.5 if the parabola through the three points is not monotonic, if the
/// function is infinite at `a` or `b`, or if the interpolated position does not lie between `a` and `b`.
pub(crate) fn fraction(a: (f64, f64), b: (f64, f64), third: Option<(f64, f64)>) -> f64 {
    let ((a, fa), (b, fb)) = (a, b);
    if fa.is_infinite() || fb.is_infinite() {
        return 0.5;
    }
    let found = match third {
        Some((c, fc)) if fc.is_finite() => {
            let (xi, phi) = ((a - b) / (c - b), (fa - fb) / (fc - fb));
            let monotonic = phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi;
            if !monotonic {
                return 0.5;
            }
            fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        }
        _ => fa / (fa - fb),
    };
    if (0.0..=1.0).contains(&found) { found } else { 0.5 }
}

#[cfg(test)]
mod tests {
    use super::fraction;

    #[test]
    fn two_points_give_the_secant_and_three_the_inverse_parabola() {
        assert_eq!(fraction((1.0, 1.0), (3.0, -3.0), None), 0.25);
        // The root of y = x^2 - 2 is found by interpolation of x as a function of y. The function is -1, 2 and 7 at x
        // = 1, 2 and 3.
        let inverse = 2.0 - fraction((2.0, 2.0), (1.0, -1.0), Some((3.0, 7.0)));
        let expected = 1.0 * 14.0 / ((-1.0 - 2.0) * (-1.0 - 7.0))
            + 2.0 * -7.0 / ((2.0 + 1.0) * (2.0 - 7.0))
            + 3.0 * -2.0 / ((7.0 + 1.0) * (7.0 - 2.0));
        assert!((inverse - expected).abs() < 1e-14, "{inverse} {expected}");
    }

    #[test]
    fn points_that_allow_no_interpolation_give_the_middle() {
        assert_eq!(fraction((0.0, 1.0), (1.0, f64::NEG_INFINITY), None), 0.5);
        assert_eq!(fraction((0.0, 1.0), (1.0, -1e-9), Some((2.0, -1e-9))), 0.5);
        assert_eq!(fraction((0.0, f64::NAN), (1.0, -1.0), None), 0.5);
    }
}
