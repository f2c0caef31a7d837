//! Comparison of the fits of a device, such as a GPU, with values that the CPU computes at the same points.
//! Every result from such a device contains this comparison.

/// The difference between a device and the CPU in one quantity, with its tolerance. The tolerance can differ
/// from fit to fit. Of all comparisons, the one with the largest ratio of difference to tolerance is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Absolute difference between the value of the device and that of the CPU.
    pub largest: f64,
    /// Largest allowed difference for the fit that has the difference `largest`.
    pub tolerance: f64,
}

impl Difference {
    /// The value before the first comparison. Its difference is 0, and its tolerance is infinite.
    pub const NONE: Self = Self { largest: 0.0, tolerance: f64::INFINITY };

    /// Adds another comparison. The stored comparison is replaced if the new one has a larger ratio of
    /// difference to tolerance.
    pub fn add(&mut self, difference: f64, tolerance: f64) {
        let other = Self { largest: difference.abs(), tolerance };
        // NaN is worse than any ratio.
        let first = self.tolerance == f64::INFINITY;
        let worse = other.ratio().is_nan() || other.ratio() > self.ratio();
        if first || (worse && !self.ratio().is_nan()) {
            *self = other;
        }
    }

    /// Returns the difference divided by the tolerance; at most 1 if the difference is allowed.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.largest / self.tolerance
    }

    /// Returns whether the difference is at most the tolerance; false for a difference of NaN.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.largest <= self.tolerance
    }
}

/// Reasons why the CPU makes fits that were requested from a device. The displayed text of a reason completes
/// the sentence "the CPU made the fits, because".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftToCpu {
    /// The matrices of a fit are too large for a thread block of the GPU.
    Large,
    /// At the starting point of the fits, a free parameter has no effect or a derivative is not finite.
    WithoutEffect,
    /// A parameter has the same effect on the yields at alpha = +1 and at alpha = -1. A descent may then begin on a
    /// ridge between two minima.
    Ridge,
    /// The model fixes a parameter that is free in a fit.
    Released,
    /// The model has event channels, and the data have few events. For such a model a device computes only
    /// sums over many events, and the CPU does all other work.
    FewEvents,
    /// A density uses a function that the GPU kernels do not implement.
    Density,
    /// The device makes fits of toys only, and only those that suit vector lanes.
    NotToys,
    /// Factors are functions of parameters, which the kernels of the device lack.
    Functions,
    /// Constraints are correlated, which the kernels of the device lack.
    Correlations,
    /// A parameter has several constraint terms, and the kernels of the device have one per parameter.
    Constraints,
    /// Too many descents of the device in single precision have not converged.
    SinglePrecision,
}

impl std::fmt::Display for LeftToCpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Large => "the model has too many bins and parameters for a thread block of the GPU",
            Self::WithoutEffect => "a free parameter has no effect where the fits start",
            Self::Ridge => {
                "an effect is the same in both directions, so that a fit may start on a ridge between two minima"
            }
            Self::Released => "a fit sets a parameter free that the model fixes",
            Self::FewEvents => "a GPU takes the sums over 32 768 events or more, and the data have fewer",
            Self::Density => "a density has a function that the kernels lack",
            Self::NotToys => {
                "this device makes the fits of toys, of models without kinks and events that are not too large"
            }
            Self::SinglePrecision => "too many descents in single precision have not converged",
            Self::Functions => "factors are functions of parameters, which the kernels lack",
            Self::Correlations => "constraints are correlated, which the kernels lack",
            Self::Constraints => "a parameter has several constraint terms, and the kernels have one per parameter",
        })
    }
}

/// The comparison of the fits of a device with the CPU. For some of these fits, the CPU evaluates the likelihood again,
/// in double precision, at the parameters that the device returned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceCheck {
    /// Number of fits that the device made.
    pub n_fits: u64,
    /// Number of fits that the CPU evaluated again.
    pub n_checked: u64,
    /// Difference of `-ln L` between device and CPU.
    pub nll: Difference,
    /// Largest difference of a gradient element between device and CPU, over the parameters that the fit does
    /// not fix. For a parameter with a Gaussian constraint of width `sigma`, the unit is `1 / sigma`.
    pub gradient: Difference,
    /// Estimated distance to the minimum (EDM), which the CPU computes at the point that the device returned. It is the
    /// sum of `g^2 / (2 m)` over the parameters that are not held, with the gradient `g` and the diagonal `m` of the
    /// Gauss-Newton Hessian. A parameter counts as held if it is fixed, on a kink, or at a bound beyond which `-ln L`
    /// falls.
    pub edm: Difference,
}

impl Default for DeviceCheck {
    fn default() -> Self {
        Self {
            n_fits: 0,
            n_checked: 0,
            nll: Difference::NONE,
            gradient: Difference::NONE,
            edm: Difference::NONE,
        }
    }
}

impl DeviceCheck {
    /// Adds the numbers of fits and the differences of another check, for example that of a second device.
    pub fn merge(&mut self, other: &Self) {
        self.n_fits += other.n_fits;
        self.n_checked += other.n_checked;
        for (mine, theirs) in
            [(&mut self.nll, other.nll), (&mut self.gradient, other.gradient), (&mut self.edm, other.edm)]
        {
            if theirs.tolerance < f64::INFINITY {
                mine.add(theirs.largest, theirs.tolerance);
            }
        }
    }

    /// Returns the name and the difference of the first quantity that exceeds its tolerance; `None` if there
    /// is none.
    #[must_use]
    pub fn violation(&self) -> Option<(&'static str, Difference)> {
        [("-ln L", self.nll), ("the gradient", self.gradient), ("the EDM", self.edm)]
            .into_iter()
            .find(|(_, difference)| !difference.holds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_comparison_is_kept_by_its_own_tolerance() {
        let mut check = DeviceCheck::default();
        assert!(check.violation().is_none());
        check.nll.add(-1e-10, 1e-9);
        check.nll.add(2e-10, 1e-6);
        assert_eq!(check.nll, Difference { largest: 1e-10, tolerance: 1e-9 });
        check.gradient.add(0.0, 1e-9);
        assert_eq!(check.gradient.tolerance, 1e-9);

        let mut other = DeviceCheck { n_fits: 7, n_checked: 3, ..DeviceCheck::default() };
        other.edm.add(1e-3, 1e-12);
        check.merge(&other);
        assert_eq!((check.n_fits, check.n_checked), (7, 3));
        assert_eq!(check.nll.largest, 1e-10);
        assert_eq!(check.violation().map(|(what, _)| what), Some("the EDM"));
    }

    #[test]
    fn what_is_not_a_number_is_never_within_the_contract() {
        let mut check = DeviceCheck::default();
        check.nll.add(1.0, 1e-9);
        check.nll.add(f64::NAN, 1e-9);
        check.nll.add(1e-12, 1e-9);
        assert!(check.nll.largest.is_nan() && check.violation().is_some());
    }
}
