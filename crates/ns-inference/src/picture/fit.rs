//! Plots of the pulls and correlations of a fit.

use ns_core::Model;
use ns_viz::{Correlation, PullRow, Pulls};

use super::remarks;
use crate::{FitResult, PoiCorrelation};

/// Builds the plot of the pulls of all free parameters that have a constraint, and of the ratios of their post-fit to
/// pre-fit uncertainties. The parameters have the order of `model`.
#[must_use]
pub fn pulls(model: &Model, result: &FitResult) -> Pulls {
    let rows = model.parameters.iter().enumerate().filter_map(|(i, parameter)| {
        let pull = result.pulls.get(i).copied().flatten()?;
        let width = parameter.constraint.prefit_sigma()?;
        let sigma = result.uncertainties.get(i).copied().flatten();
        Some(PullRow {
            parameter: parameter.name.clone(),
            pull: Some(pull),
            constraint: sigma.map(|sigma| sigma / width),
        })
    });
    Pulls { rows: rows.collect(), subtitle: subtitle(result), ..Pulls::default() }
}

/// Builds the plot of the correlations of all parameters that have a variance. If `threshold` is given, a parameter
/// is shown only if its correlation with another parameter is at least `threshold` in magnitude. Returns `None` if
/// the fit has no covariance.
#[must_use]
pub fn correlation(result: &FitResult, threshold: Option<f64>) -> Option<Correlation> {
    let covariance = result.covariance.as_ref()?;
    let n = covariance.n;
    let element = |i: usize, j: usize| covariance.values.get(i * n + j).copied().unwrap_or(f64::NAN);
    let known: Vec<usize> = (0..n).filter(|i| element(*i, *i) > 0.0 && element(*i, *i).is_finite()).collect();
    let coefficient = |i: usize, j: usize| {
        let rho = element(i, j) / (element(i, i) * element(j, j)).sqrt();
        // Rounding may give a coefficient slightly outside [-1, 1].
        rho.is_finite().then(|| if i == j { 1.0 } else { rho.clamp(-1.0, 1.0) })
    };
    Some(Correlation {
        parameters: super::pick(&result.parameter_names, &known),
        matrix: known.iter().map(|i| known.iter().map(|j| coefficient(*i, *j)).collect()).collect(),
        threshold,
        subtitle: subtitle(result),
        ..Correlation::default()
    })
}

/// Builds the plot of the correlations of the parameters of interest. Returns `None` if there are fewer than two, or if
/// the fit has no uncertainties.
#[must_use]
pub fn poi_correlation(result: &FitResult) -> Option<Correlation> {
    let PoiCorrelation { parameters, matrix } = result.poi_correlation.clone()?;
    Some(Correlation { parameters, matrix, subtitle: subtitle(result), ..Correlation::default() })
}

fn subtitle(result: &FitResult) -> String {
    remarks([
        (!result.converged).then_some("the fit did not converge"),
        result.interrupted.then_some("interrupted"),
    ])
}
