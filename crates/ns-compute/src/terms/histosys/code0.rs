//! code0: piecewise linear (`pyhf.interpolators.code0`).

use super::Curved;

/// `f = |alpha|`; at 0 the mean slope, 0.
#[inline(always)]
pub(super) fn curved(alpha: f64) -> Curved {
    let first = if alpha == 0.0 { 0.0 } else { alpha.signum() };
    Curved { f: alpha.abs(), first, second: 0.0 }
}
