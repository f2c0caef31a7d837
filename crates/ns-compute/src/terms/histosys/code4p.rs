//! code4p: sixth-order polynomial inside `|alpha| <= 1`, linear outside
//! (`pyhf.interpolators.code4p`).

use super::Curved;

/// `f = (3 alpha^6 - 10 alpha^4 + 15 alpha^2)/8` inside, `|alpha|` outside.
#[inline(always)]
pub(super) fn curved(alpha: f64) -> Curved {
    if alpha.abs() <= 1.0 {
        let s = alpha * alpha;
        Curved {
            f: s * (15.0 + s * (-10.0 + 3.0 * s)) * 0.125,
            first: alpha * (30.0 + s * (-40.0 + 18.0 * s)) * 0.125,
            second: (30.0 + s * (-120.0 + 90.0 * s)) * 0.125,
        }
    } else {
        Curved { f: alpha.abs(), first: alpha.signum(), second: 0.0 }
    }
}
