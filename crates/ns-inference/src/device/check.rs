//! The largest differences between the fits of a GPU and the CPU, in the form in which results contain them.

use ns_core::{DeviceCheck, Difference, Session};
use serde::{Deserialize, Serialize};

/// The largest differences between the fits of a GPU and the CPU. The CPU evaluates some of the fits again, at the
/// points that the GPU returns. Results contain the largest differences of a session under the key `gpu_check`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct GpuCheck {
    /// Number of fits that the GPU made.
    pub n_fits: u64,
    /// Number of fits of the GPU that the CPU evaluated again.
    pub n_checked: u64,
    /// Difference in `-ln L` between GPU and CPU; `None` if `-ln L` was not compared.
    pub nll: Option<Compared>,
    /// Difference in a gradient element of `-ln L` between GPU and CPU; `None` if gradients were not compared. For a
    /// parameter with a Gaussian constraint, the difference is multiplied by the width of the constraint.
    pub gradient: Option<Compared>,
    /// Estimated distance to the minimum (EDM) in units of `-ln L`, computed by the CPU at the points that the GPU
    /// returns. `None` if no EDM was computed.
    pub edm: Option<Compared>,
}

/// The worst of all comparisons of one quantity, i.e. the comparison with the largest ratio of difference to tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Compared {
    /// Absolute difference between GPU and CPU. In [`GpuCheck::edm`], this is the EDM itself.
    pub difference: f64,
    /// Largest difference that the parity contract (`docs/numerics.md`) allows.
    pub tolerance: f64,
}

impl GpuCheck {
    /// Returns the comparison of the fits of a session with the CPU; `None` if the CPU made these fits.
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
