//! The correlation matrix of the parameters of interest.

use ns_core::{FitOutcome, Model};
use serde::{Deserialize, Serialize};

/// Correlations of the parameters of interest at the best fit, with all other parameters fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct PoiCorrelation {
    /// Names of the parameters of interest, in the order of the model.
    pub parameters: Vec<String>,
    /// Correlation coefficients, with a row and a column for each parameter. `None` if a parameter has no uncertainty.
    pub matrix: Vec<Vec<Option<f64>>>,
}

impl PoiCorrelation {
    /// Reads the correlations from the covariance matrix of `fit`, or from the factors of its Hessian. `None` if the model
    /// has fewer than two parameters of interest.
    pub(super) fn of(model: &Model, fit: &FitOutcome) -> Option<Self> {
        if model.pois.len() < 2 {
            return None;
        }
        // After a correction for weights, only the covariance matrix has the right numbers.
        let dense = fit.covariance.as_deref();
        let factors = fit.inverse_hessian().filter(|_| dense.is_none());
        let known = |i: usize| fit.uncertainties.get(i).copied().flatten().is_some();
        let row = |i: usize| -> Option<Vec<f64>> {
            match (dense, &factors) {
                (Some(matrix), _) => {
                    let start = i.checked_mul(matrix.n)?;
                    matrix.values.get(start..start.checked_add(matrix.n)?).map(<[f64]>::to_vec)
                }
                (None, Some(factors)) => factors.row(i).map(std::borrow::Cow::into_owned),
                (None, None) => None,
            }
        };
        let rows: Vec<Option<Vec<f64>>> = model.pois.iter().map(|i| row(*i).filter(|_| known(*i))).collect();
        let element = |a: usize, j: usize| rows.get(a)?.as_ref()?.get(j).copied();
        let coefficient = |(a, i): (usize, usize), (b, j): (usize, usize)| {
            let rho = element(a, j)? / (element(a, i)? * element(b, j)?).sqrt();
            // Rounding may give a coefficient slightly outside [-1, 1].
            rho.is_finite().then(|| if i == j { 1.0 } else { rho.clamp(-1.0, 1.0) })
        };
        let places = || model.pois.iter().copied().enumerate();
        Some(Self {
            parameters: model.poi_names().map(str::to_owned).collect(),
            matrix: places().map(|a| places().map(|b| coefficient(a, b)).collect()).collect(),
        })
    }
}
