//! code2: quadratic inside `|alpha| <= 1`, linear outside (`pyhf.interpolators.code2`).

use super::Curved;

/// `f = alpha^2` inside, `2 |alpha| - 1` outside.
#[inline(always)]
pub(super) fn curved(alpha: f64) -> Curved {
    if alpha.abs() <= 1.0 {
        Curved { f: alpha * alpha, first: 2.0 * alpha, second: 2.0 }
    } else {
        Curved { f: 2.0 * alpha.abs() - 1.0, first: 2.0 * alpha.signum(), second: 0.0 }
    }
}
