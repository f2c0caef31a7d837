//! Predicts the minimum of a refit, in which a parameter is fixed away from its best fit. The prediction uses the
//! covariance of the best fit and earlier refits of the same parameter.
//!
//! If parameter `p` is fixed at the distance `d` from its best fit, every other parameter `q` moves from its best fit
//! by `a d + b d^2 + c d^3 + ...`. Here `a = C_qp / C_pp`, where `C` is the covariance matrix. One refit of `p`
//! determines `b`. Two refits determine `b` and `c`.

use super::study::Study;

/// A prediction at the distance `d` from the best fit is a cubic polynomial through two refits only if `d` is at most
/// this number times the distance of the farther refit.
const CUBIC_REACH: f64 = 2.0;
/// A prediction at the distance `d` from the best fit uses an earlier refit only if `d` is at most this number times
/// the distance of the refit.
const QUADRATIC_REACH: f64 = 4.0;

/// A finished refit of a parameter: the parameter's value minus its best fit, and the values of all parameters.
pub(super) type KnownRefit = (f64, Vec<f64>);

/// Returns a starting point for the fit with `parameter` fixed at `value`. `known` are the earlier refits of this
/// parameter, and `row` is its row of the covariance matrix.
pub(super) fn along(
    study: &Study<'_>,
    parameter: usize,
    value: f64,
    known: &[KnownRefit],
    row: Option<&[f64]>,
) -> Vec<f64> {
    let best = &study.lowest.fit.parameters;
    let distance = value - study.best(parameter);
    let mut point = best.clone();
    let variance = row.and_then(|row| row.get(parameter)).copied();
    let variance = variance.filter(|v| *v > 0.0 && v.is_finite());
    if let (Some(variance), Some(row)) = (variance, row) {
        let bent = |(d, _): &&KnownRefit| *d != 0.0 && distance.abs() <= QUADRATIC_REACH * d.abs();
        let mut used = known.iter().filter(bent);
        let (first, mut second) = (used.next(), used.next());
        if let (Some((d1, _)), Some((d2, _))) = (first, second)
            && (d1 == d2 || distance.abs() > CUBIC_REACH * d1.abs().max(d2.abs()))
        {
            second = None;
        }
        for (q, x) in point.iter_mut().enumerate() {
            let slope = row.get(q).filter(|c| c.is_finite()).map_or(0.0, |c| c / variance);
            let origin = *x;
            // Deviation of the refit from the straight line, divided by the square of the distance.
            let bend = |(d, there): &KnownRefit| {
                there.get(q).map_or(0.0, |there| (there - origin - slope * d) / (d * d))
            };
            let curve = match (first, second) {
                (Some(one), Some(two)) => {
                    let (b1, b2) = (bend(one), bend(two));
                    b1 + (b2 - b1) * (distance - one.0) / (two.0 - one.0)
                }
                (Some(one), None) => bend(one),
                _ => 0.0,
            };
            *x += distance * (slope + distance * curve);
        }
    } else if let Some((d, there)) = known.iter().find(|(d, _)| d * distance > 0.0) {
        // For a parameter on a kink or at a bound there is no covariance, and its two sides are independent. The
        // prediction therefore uses only a refit on the same side.
        for (x, there) in point.iter_mut().zip(there) {
            *x += (there - *x) * distance / d;
        }
    }
    study.analysis.admit(&study.lowest.fit, &[(parameter, value)], point)
}
