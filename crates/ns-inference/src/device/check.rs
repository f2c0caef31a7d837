//! The check of a GPU run, as part of results.

use ns_core::{DeviceCheck, Difference, Session};
use serde::{Deserialize, Serialize};

/// How far the fits of a GPU are from what the CPU finds at the same points: the key `gpu_check` of
/// results. The fits are those of the session so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GpuCheck {
    /// Fits that the GPU made.
    pub n_fits: u64,
    /// Fits that the CPU evaluated again.
    pub n_checked: u64,
    /// `-ln L`.
    pub nll: Option<Compared>,
    /// Gradient elements times the widths of Gaussian constraints.
    pub gradient: Option<Compared>,
    /// How far `-ln L` still falls if the CPU continues from the point.
    pub edm: Option<Compared>,
}

/// The largest difference, and what the parity contract allows there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Absolute difference.
    pub difference: f64,
    /// What is allowed.
    pub tolerance: f64,
}

impl GpuCheck {
    /// The check of a session, where a GPU made its fits.
    #[must_use]
    pub fn of(session: &dyn Session) -> Option<Self> {
        session.check().map(Self::from)
    }
}

impl From<DeviceCheck> for GpuCheck {
    fn from(check: DeviceCheck) -> Self {
        let compared = |d: Difference| {
            d.tolerance.is_finite().then_some(Compared { difference: d.largest, tolerance: d.tolerance })
        };
        Self {
            n_fits: check.n_fits,
            n_checked: check.n_checked,
            nll: compared(check.nll),
            gradient: compared(check.gradient),
            edm: compared(check.edm),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_compared_is_left_open() {
        let mut check = DeviceCheck { n_fits: 9, n_checked: 1, ..DeviceCheck::default() };
        check.nll.add(1e-13, 1e-12);
        let shown = GpuCheck::from(check);
        assert_eq!(shown.nll, Some(Compared { difference: 1e-13, tolerance: 1e-12 }));
        assert_eq!((shown.n_fits, shown.gradient), (9, None));
    }
}
