//! Covariances of unfolded factors.

use ns_core::Covariance;

use super::matrix::Square;
use super::roughness::Roughness;

/// The covariances of the factors at one strength of the penalty.
///
/// `C` is the inverse of the second derivatives of the penalised `-ln L`, marginal over all other parameters. The factors
/// that minimise it are, to first order, `C` times the derivatives of `-ln L`, whose covariance is `C^-1 - P` with `P = tau L'L`.
/// In repeated measurements the factors therefore have the covariance `S = C (C^-1 - P) C = C - C P C`.
#[derive(Debug, Clone)]
pub(super) struct Spread {
    /// Places of the truth bins that have a variance. The other factors are at a bound.
    active: Vec<usize>,
    /// Number of all truth bins.
    n: usize,
    penalised: Square,
    sampling: Square,
    /// Inverse of `sampling`; `None` if the data do not determine all factors.
    inverse: Option<Square>,
}

impl Spread {
    /// Computes the covariances from the covariance matrix of all parameters of a fit with the penalty `tau`.
    pub(super) fn new(all: &Covariance, truth: &[usize], roughness: &Roughness, tau: f64) -> Self {
        let element = |i: usize, j: usize| all.values.get(i * all.n + j).copied().unwrap_or(0.0);
        let index = |place: usize| truth.get(place).copied().unwrap_or(usize::MAX);
        let variance = |place: &usize| element(index(*place), index(*place));
        let active: Vec<usize> =
            (0..truth.len()).filter(|place| variance(place) > 0.0 && variance(place).is_finite()).collect();
        let place = |k: usize| index(active.get(k).copied().unwrap_or(usize::MAX));
        let penalised = Square::from_fn(active.len(), |i, j| element(place(i), place(j)));
        let squares = roughness.squares.part(&active);
        let sampling = penalised.less(tau, &penalised.times(&squares).times(&penalised));
        // S^-1 = C^-1 (C^-1 - P)^-1 C^-1, which does not invert S: its small eigenvalues are lost in rounding errors.
        let inverse = penalised.inverse().and_then(|information| {
            let plain = information.less(tau, &squares).inverse()?;
            Some(information.times(&plain).times(&information))
        });
        Self { active, n: truth.len(), penalised, sampling, inverse }
    }

    /// Returns whether all factors have a variance.
    pub(super) fn is_complete(&self) -> bool {
        self.active.len() == self.n
    }

    pub(super) fn n_active(&self) -> usize {
        self.active.len()
    }

    fn spread(&self, matrix: &Square) -> Square {
        let place = |i: usize| self.active.iter().position(|place| *place == i);
        Square::from_fn(self.n, |i, j| place(i).zip(place(j)).map_or(0.0, |(k, l)| matrix.get(k, l)))
    }

    /// Returns the covariance in repeated measurements. Rows of factors at a bound are 0.
    pub(super) fn covariance(&self) -> Square {
        self.spread(&self.sampling)
    }

    /// Returns the covariance of the penalised likelihood. Rows of factors at a bound are 0.
    pub(super) fn penalised(&self) -> Square {
        self.spread(&self.penalised)
    }

    /// Returns the correlations in repeated measurements. Rows of factors at a bound are 0.
    pub(super) fn correlation(&self) -> Square {
        let covariance = self.covariance();
        let sigma = |i: usize| covariance.get(i, i).max(0.0).sqrt();
        Square::from_fn(self.n, |i, j| {
            let scale = sigma(i) * sigma(j);
            match (scale > 0.0, i == j) {
                (true, true) => 1.0,
                (true, false) => (covariance.get(i, j) / scale).clamp(-1.0, 1.0),
                (false, _) => 0.0,
            }
        })
    }

    /// Returns the standard deviation of each factor in repeated measurements.
    pub(super) fn uncertainties(&self) -> Vec<Option<f64>> {
        roots(&self.covariance())
    }

    /// Returns the uncertainty of each factor from the penalised likelihood.
    pub(super) fn uncertainties_penalised(&self) -> Vec<Option<f64>> {
        roots(&self.penalised())
    }

    /// Returns the global correlation coefficient `sqrt(1 - 1 / (S_ii (S^-1)_ii))` of each factor.
    pub(super) fn global_correlations(&self) -> Vec<Option<f64>> {
        let at = |place: usize| {
            let k = self.active.iter().position(|active| *active == place)?;
            let product = self.sampling.get(k, k) * self.inverse.as_ref()?.get(k, k);
            (product > 0.0 && product.is_finite()).then(|| (1.0 - 1.0 / product).max(0.0).sqrt())
        };
        (0..self.n).map(at).collect()
    }

    /// Returns the mean of the global correlation coefficients; `None` if there are none.
    pub(super) fn mean_correlation(&self) -> Option<f64> {
        let all: Vec<f64> = self.global_correlations().into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }

    /// Returns `d' S^-1 d` for a difference of each factor.
    pub(super) fn chi2(&self, differences: &[f64]) -> Option<f64> {
        let inverse = self.inverse.as_ref()?;
        Some(inverse.form(&self.active_of(differences))).filter(|chi2| chi2.is_finite())
    }

    /// Returns the derivative of `|L d|^2` by `tau`, `-2 d' M C M d` with `M = L'L`, for the differences `d` from 1.
    pub(super) fn slope(&self, differences: &[f64], roughness: &Roughness) -> f64 {
        let pull = roughness.squares.apply(differences);
        -2.0 * self.penalised.form(&self.active_of(&pull))
    }

    fn active_of(&self, vector: &[f64]) -> Vec<f64> {
        self.active.iter().map(|place| vector.get(*place).copied().unwrap_or(0.0)).collect()
    }
}

/// Returns the roots of the positive diagonal elements.
fn roots(matrix: &Square) -> Vec<Option<f64>> {
    let variance = |i: usize| matrix.get(i, i);
    (0..matrix.n()).map(|i| (variance(i) > 0.0).then(|| variance(i).sqrt())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unfold::options::Regularisation;

    /// Covariance matrices of a model with the information `J` of the data: `C = (J + tau M)^-1`.
    fn spread(tau: f64) -> (Spread, Square) {
        let values = [[5.0, 2.0, 0.3], [2.0, 4.0, 1.1], [0.3, 1.1, 3.0]];
        let information = Square::from_fn(3, |i, j| values[i][j]);
        let roughness = Roughness::new(Regularisation::Curvature, 3);
        let penalised = information.less(-tau, &roughness.squares).inverse().unwrap();
        let all = Covariance { n: 3, values: penalised.rows().concat() };
        (Spread::new(&all, &[0, 1, 2], &roughness, tau), information)
    }

    #[test]
    fn repeated_measurements_have_the_covariance_of_the_linear_estimator() {
        for tau in [0.0, 0.2, 30.0] {
            let (spread, information) = spread(tau);
            // The estimator is C times a vector with the covariance J.
            let expected = spread.penalised.times(&information).times(&spread.penalised);
            let inverse = expected.inverse().unwrap();
            let differences = [0.3, -0.2, 0.1];
            for i in 0..3 {
                for j in 0..3 {
                    assert!((spread.sampling.get(i, j) - expected.get(i, j)).abs() < 1e-13, "{tau}");
                }
                let global = (1.0 - 1.0 / (expected.get(i, i) * inverse.get(i, i))).sqrt();
                assert!((spread.global_correlations()[i].unwrap() - global).abs() < 1e-9, "{tau}");
            }
            assert!((spread.chi2(&differences).unwrap() / inverse.form(&differences) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn factors_at_a_bound_have_no_uncertainty() {
        let roughness = Roughness::new(Regularisation::Tikhonov, 2);
        let all = Covariance { n: 3, values: vec![0.0, 0.0, 0.0, 0.0, 4.0, 1.0, 0.0, 1.0, 2.0] };
        let spread = Spread::new(&all, &[0, 1], &roughness, 0.1);
        assert!(!spread.is_complete() && spread.n_active() == 1);
        assert_eq!(spread.uncertainties_penalised(), [None, Some(2.0)]);
        assert_eq!(spread.correlation().rows(), [[0.0, 0.0], [0.0, 1.0]]);
        assert!((spread.uncertainties()[1].unwrap() - (4.0_f64 - 0.1 * 16.0).sqrt()).abs() < 1e-12);
    }
}
