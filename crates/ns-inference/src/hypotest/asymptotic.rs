//! Asymptotic distributions of the test statistics (Cowan, Cranmer, Gross and Vitells, arXiv:1007.1727). The formulas
//! are those of `pyhf.infer.calculators.AsymptoticCalculator`.

use ns_core::ModelFormat;

use crate::normal::{ln_upper_tail, quantile, upper_tail};

use super::TestStatistic;

/// Numbers of standard deviations at which expected values are computed, in ascending order of CLs. The unit is the
/// standard deviation of the square root of the test statistic under the background-only hypothesis. This root is
/// larger for data with less signal, so the sign is opposite to that of [`super::NsigmaOrder`].
pub const EXPECTED_SIGMAS: [f64; 5] = [2.0, 1.0, 0.0, -1.0, -2.0];

/// The probabilities of values above each of the five in Combine's bands, close to those of one and two standard deviations.
const OF_CARDS: [f64; 5] = [0.025, 0.16, 0.5, 0.84, 0.975];

/// Returns the numbers of standard deviations at which expected values of a model are computed: [`EXPECTED_SIGMAS`], or those
/// of Combine for a model of a datacard.
pub(crate) fn expected_sigmas(format: ModelFormat) -> [f64; 5] {
    match format {
        ModelFormat::Datacard => OF_CARDS.map(quantile),
        _ => EXPECTED_SIGMAS,
    }
}

/// The p-values CLs+b and CLb, and their ratio CLs. Each of the three is `None` if it cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PValues {
    pub(crate) clsb: Option<f64>,
    pub(crate) clb: Option<f64>,
    pub(crate) cls: Option<f64>,
}

/// Computes the p-values of the observed data. `q` is the test statistic of the observed data, and `q_asimov` is that
/// of the Asimov set (the data expected without signal, or for q0 with a signal of strength 1).
pub(crate) fn observed(statistic: TestStatistic, q: f64, q_asimov: f64) -> PValues {
    let (root, spread) = (q.sqrt(), q_asimov.sqrt());
    let value = match statistic {
        TestStatistic::Qtilde if root > spread => (q - q_asimov) / (2.0 * spread),
        _ => root - spread,
    };
    let p = at(value, spread);
    match statistic {
        // The p-value of q0 does not depend on the Asimov set. It therefore exists even if there is no Asimov set.
        TestStatistic::Q0 => PValues { clsb: Some(upper_tail(root)).filter(|p| p.is_finite()), ..p },
        _ => p,
    }
}

/// Computes the natural logarithm of the observed CLs. `q` is the test statistic of the observed data, and `q_asimov`
/// is that of the Asimov set (expected data). If `q_asimov` is 0, the result is the limit of CLs for `q_asimov` towards
/// 0. This limit exists for every `q`.
pub(crate) fn ln_cls(statistic: TestStatistic, q: f64, q_asimov: f64) -> f64 {
    let (root, spread) = (q.sqrt(), q_asimov.sqrt());
    match statistic {
        TestStatistic::Qtilde if root > spread && spread < 1e-6 => -0.5 * q,
        TestStatistic::Qtilde if root > spread => ln_ratio((q - q_asimov) / (2.0 * spread), spread),
        _ => ln_ratio(root - spread, spread),
    }
}

/// Computes the natural logarithm of CLs, which is the ratio of the p-values CLs+b and CLb. `value` is a form of the
/// test statistic that is normally distributed with width 1. Its mean is 0 for background only, and `-spread` for
/// signal and background.
fn ln_ratio(value: f64, spread: f64) -> f64 {
    ln_upper_tail(value + spread) - ln_upper_tail(value)
}

/// Computes the expected p-values of an outcome that lies `n_sigma` standard deviations from the median of the
/// background-only distribution. `q_asimov` is the test statistic of the Asimov set (expected data).
pub(crate) fn expected(n_sigma: f64, q_asimov: f64) -> PValues {
    at(n_sigma, q_asimov.sqrt())
}

/// Computes the p-values CLs+b and CLb and their ratio CLs. `value` is a form of the test statistic that is normally
/// distributed with width 1. Its mean is 0 for background only, and `-spread` for signal and background.
fn at(value: f64, spread: f64) -> PValues {
    let exists = |p: f64| p.is_finite().then_some(p);
    // The ratio is computed from logarithms. It therefore exists even if both tail probabilities underflow to 0.
    let cls = ln_ratio(value, spread).exp();
    PValues { clsb: exists(upper_tail(value + spread)), clb: exists(upper_tail(value)), cls: exists(cls) }
}

/// Computes the square root of the Asimov statistic (the test statistic of the expected data) for which the expected
/// CLs, `n_sigma` standard deviations from the median, equals `alpha`.
pub(crate) fn expected_root(n_sigma: f64, alpha: f64) -> f64 {
    quantile(alpha * upper_tail(n_sigma)) - n_sigma
}

/// Returns the density of the standard normal distribution at `z`.
fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Computes the derivatives of CLs with respect to `value` and to `spread`. The function [`at`] defines these
/// arguments.
fn slopes_at(value: f64, spread: f64) -> (f64, f64) {
    let cls = ln_ratio(value, spread).exp();
    let ratio = |z: f64| density(z) / upper_tail(z);
    // The logarithmic derivative of a tail probability is minus its hazard rate.
    let by_spread = -cls * ratio(value + spread);
    (by_spread + cls * ratio(value), by_spread)
}

/// Computes the derivatives of the observed CLs with respect to `q`, the test statistic of the observed data, and to
/// `q_asimov`, that of the Asimov set (expected data). At `q = 0` the derivative with respect to `q` is set to 0,
/// because `q` stays 0 if the data change a little.
pub(crate) fn observed_slopes(statistic: TestStatistic, q: f64, q_asimov: f64) -> (f64, f64) {
    let (root, spread) = (q.sqrt(), q_asimov.sqrt());
    let is_beyond = statistic == TestStatistic::Qtilde && root > spread;
    let value = if is_beyond { (q - q_asimov) / (2.0 * spread) } else { root - spread };
    let (by_value, by_spread) = slopes_at(value, spread);
    let (value_by_q, value_by_spread) = match (is_beyond, q > 0.0) {
        (true, _) => (0.5 / spread, -0.5 - 0.5 * q / q_asimov),
        (false, true) => (0.5 / root, -1.0),
        (false, false) => (0.0, -1.0),
    };
    (by_value * value_by_q, (by_value * value_by_spread + by_spread) * 0.5 / spread)
}

/// Computes the derivative of the expected CLs, `n_sigma` standard deviations from the median, with respect to
/// `q_asimov`, the test statistic of the Asimov set (expected data).
pub(crate) fn expected_slope(n_sigma: f64, q_asimov: f64) -> f64 {
    let spread = q_asimov.sqrt();
    slopes_at(n_sigma, spread).1 * 0.5 / spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_form_of_an_expected_limit_gives_its_level() {
        for n in EXPECTED_SIGMAS {
            for alpha in [0.05, 0.1, 0.32] {
                let root = expected_root(n, alpha);
                let cls = expected(n, root * root).cls.unwrap_or(0.0);
                assert!((cls / alpha - 1.0).abs() < 1e-12, "{n} {alpha}: {cls}");
            }
        }
    }

    #[test]
    fn bands_of_cards_have_the_quantiles_of_combine() {
        let sigmas = expected_sigmas(ModelFormat::Datacard);
        for (sigma, wanted) in sigmas.into_iter().zip([1.959963984540054, 0.994457883209753, 0.0]) {
            assert!((sigma - wanted).abs() < 1e-12, "{sigma}");
        }
        assert!((sigmas[4] + sigmas[0]).abs() < 1e-12 && (sigmas[3] + sigmas[1]).abs() < 1e-12);
    }

    #[test]
    fn slopes_are_differences_of_cls() {
        let difference = |f: &dyn Fn(f64) -> f64| (8.0 * (f(1e-3) - f(-1e-3)) - (f(2e-3) - f(-2e-3))) / 12e-3;
        for statistic in [TestStatistic::Qtilde, TestStatistic::Q] {
            for (q, asimov) in [(1.3, 4.0), (9.0, 4.0), (0.4, 0.7), (25.0, 9.0)] {
                let cls = |q: f64, asimov: f64| observed(statistic, q, asimov).cls.unwrap_or(f64::NAN);
                let (by_q, by_asimov) = observed_slopes(statistic, q, asimov);
                assert!((by_q - difference(&|h| cls(q + h, asimov))).abs() < 1e-10, "{statistic:?} {q}");
                assert!((by_asimov - difference(&|h| cls(q, asimov + h))).abs() < 1e-10, "{statistic:?} {q}");
                for n in EXPECTED_SIGMAS {
                    let cls = |h: f64| expected(n, asimov + h).cls.unwrap_or(f64::NAN);
                    assert!((expected_slope(n, asimov) - difference(&cls)).abs() < 1e-10, "{n} {asimov}");
                }
            }
        }
    }

    #[test]
    fn values_of_pyhf() {
        // pyhf 0.7.6, two-bin model at mu = 1: sqrt(q) and sqrt(q_A) as printed by pyhf.
        let root = 0.9153953418854808_f64;
        let p = observed(TestStatistic::Qtilde, root * root, root * root);
        assert!((p.cls.unwrap_or(0.0) - 0.3599841228971994).abs() < 1e-12);
        assert!((expected(1.0, root * root).cls.unwrap_or(0.0) - 0.17472498277579762).abs() < 1e-6);
    }

    #[test]
    fn the_formula_beyond_the_asimov_value_belongs_to_qtilde_alone() {
        // pyhf 0.7.6, `AsymptoticTestStatDistribution`: CLs+b, CLb and CLs.
        let known = [
            (TestStatistic::Qtilde, 9.0, [0.0005770250423907659, 0.10564977366685535, 0.005461677979645226]),
            (TestStatistic::Q, 9.0, [0.0013498980316300933, 0.15865525393145707, 0.008508372702320226]),
            (TestStatistic::Qtilde, 2.25, [0.06680720126885807, 0.6914624612740131, 0.0966172496852055]),
        ];
        for (statistic, q, expected) in known {
            let p = observed(statistic, q, 4.0);
            for (found, expected) in [p.clsb, p.clb, p.cls].into_iter().zip(expected) {
                let found = found.unwrap_or(f64::NAN);
                assert!((found / expected - 1.0).abs() < 1e-12, "{statistic:?} {q}: {found}, not {expected}");
            }
            assert!((ln_cls(statistic, q, 4.0) / expected[2].ln() - 1.0).abs() < 1e-12, "{statistic:?} {q}");
        }
    }

    #[test]
    fn a_hypothesis_without_signal_has_no_cls_beyond_the_atom() {
        assert_eq!(observed(TestStatistic::Qtilde, 0.0, 0.0).cls, Some(1.0));
        assert_eq!(observed(TestStatistic::Qtilde, 1.0, 0.0).cls, None);
        let (near, limit) =
            (ln_cls(TestStatistic::Qtilde, 9.0, 1e-9), ln_cls(TestStatistic::Qtilde, 9.0, 0.0));
        assert!((near - limit).abs() < 1e-3 && (limit + 4.5).abs() < 1e-12, "{near} {limit}");
    }
}
