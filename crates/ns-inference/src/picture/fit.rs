//! Plots of the pulls and correlations of a fit.

use ns_viz::{Correlation, PullRow, Pulls};

use super::{cluster, drawn, remarks};
use crate::present::{measurement, significant};
use crate::{FitResult, PoiCorrelation};

/// Builds the plot of the pulls of all free parameters that have a constraint, and of the ratios of their post-fit to
/// pre-fit uncertainties. Free parameters without a constraint, such as norm factors, have their value in place of a pull.
/// The parameters have the order of the model. Without free parameters the plot is empty.
#[must_use]
pub fn pulls(result: &FitResult) -> Pulls {
    let rows = result.parameter_names.iter().enumerate().filter_map(|(i, name)| {
        let pull = result.pulls.get(i).copied().flatten();
        let constraint = result.constraints.get(i).copied().flatten();
        if pull.is_none() && result.fixed.contains(name) {
            return None;
        }
        let note = match (pull, result.bestfit.get(i), result.uncertainties.get(i).copied().flatten()) {
            (None, Some(value), Some(sigma)) => drawn(&measurement(*value, sigma)),
            (None, Some(value), None) => drawn(&significant(*value)),
            _ => String::new(),
        };
        Some(PullRow { parameter: name.clone(), pull, constraint, note })
    });
    // Results of earlier versions have no pulls.
    let rows = if result.pulls.is_empty() { Vec::new() } else { rows.collect() };
    Pulls { rows, subtitle: subtitle(result), ..Pulls::default() }
}

/// Number of parameters up to which a plot of correlations shows all of them by default.
pub const MOST_CORRELATED: usize = 40;

/// Builds the plot of the correlations of all parameters that have a variance. A parameter is shown only if its
/// correlation with another parameter is at least `threshold` in magnitude. By default, all are shown if there are at
/// most [`MOST_CORRELATED`]. With more, this number of parameters is shown: the parameters of interest, and those with the
/// largest correlations. Parameters with large correlations then stand next to each other.
/// Returns `None` if the fit has no covariance.
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
    let matrix: Vec<Vec<Option<f64>>> =
        known.iter().map(|i| known.iter().map(|j| coefficient(*i, *j)).collect()).collect();
    let names: Vec<String> = super::pick(&result.parameter_names, &known);
    let is_poi: Vec<bool> = known.iter().map(|i| is_of_interest(result, *i)).collect();
    let few = threshold.is_none().then(|| most_correlated(&matrix, &is_poi)).flatten();
    let Some(few) = few else {
        let (parameters, subtitle) = (names, subtitle(result));
        return Some(Correlation { parameters, matrix, threshold, subtitle, ..Correlation::default() });
    };
    let part: Vec<Vec<Option<f64>>> = few.iter().map(|i| row(&matrix, *i, &few)).collect();
    let order = super::pick(&few, &cluster::order(&part));
    let remark = format!("{} of {} parameters, those with the largest correlations", few.len(), names.len());
    Some(Correlation {
        parameters: super::pick(&names, &order),
        matrix: order.iter().map(|i| row(&matrix, *i, &order)).collect(),
        subtitle: [subtitle(result), remark]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" · "),
        ..Correlation::default()
    })
}

/// Returns the coefficients of parameter `i` with the parameters `order`.
fn row(matrix: &[Vec<Option<f64>>], i: usize, order: &[usize]) -> Vec<Option<f64>> {
    matrix.get(i).map(|row| super::pick(row, order)).unwrap_or_default()
}

fn is_of_interest(result: &FitResult, i: usize) -> bool {
    let among =
        |of: &PoiCorrelation| result.parameter_names.get(i).is_some_and(|name| of.parameters.contains(name));
    result.poi_index == Some(i) || result.poi_correlation.as_ref().is_some_and(among)
}

/// Builds the plot of the correlations of the parameters of interest. Returns `None` if there are fewer than two, or if
/// the fit has no uncertainties.
#[must_use]
pub fn poi_correlation(result: &FitResult) -> Option<Correlation> {
    let PoiCorrelation { parameters, matrix } = result.poi_correlation.clone()?;
    Some(Correlation { parameters, matrix, subtitle: subtitle(result), ..Correlation::default() })
}

/// Returns the indices of the [`MOST_CORRELATED`] parameters to show, in ascending order: those of interest, and those with
/// the largest coefficients with another parameter. Returns `None` if there are no more parameters than that.
fn most_correlated(matrix: &[Vec<Option<f64>>], is_poi: &[bool]) -> Option<Vec<usize>> {
    if matrix.len() <= MOST_CORRELATED {
        return None;
    }
    let largest = |(i, row): (usize, &Vec<Option<f64>>)| {
        let others = row.iter().enumerate().filter(|(j, _)| *j != i);
        let size = others.filter_map(|(_, rho)| *rho).map(f64::abs).fold(0.0, f64::max);
        (is_poi.get(i).copied().unwrap_or(false), size, i)
    };
    let mut ranked: Vec<(bool, f64, usize)> = matrix.iter().enumerate().map(largest).collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let mut few: Vec<usize> = ranked.into_iter().take(MOST_CORRELATED).map(|(.., i)| i).collect();
    few.sort_unstable();
    Some(few)
}

fn subtitle(result: &FitResult) -> String {
    remarks([
        (!result.converged).then_some("the fit did not converge"),
        result.interrupted.then_some("interrupted"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand parameters whose first is of interest and has no correlations. All others have nearly the same ones.
    fn flat(n: usize) -> Vec<Vec<Option<f64>>> {
        let rho = |i: usize, j: usize| match (i, j) {
            (i, j) if i == j => 1.0,
            (0, _) | (_, 0) => 0.0,
            (i, j) => 0.005 + 1e-9 * (i + j) as f64,
        };
        (0..n).map(|i| (0..n).map(|j| Some(rho(i, j))).collect()).collect()
    }

    #[test]
    fn the_most_correlated_parameters_are_shown_with_those_of_interest() {
        let is_poi: Vec<bool> = (0..1000).map(|i| i == 0).collect();
        assert_eq!(most_correlated(&flat(40), &is_poi), None);
        let few = most_correlated(&flat(1000), &is_poi).unwrap_or_default();
        let wanted: Vec<usize> = std::iter::once(0).chain(961..1000).collect();
        assert_eq!(few, wanted);
        let uncorrelated: Vec<Vec<Option<f64>>> =
            (0..60).map(|i| (0..60).map(|j| Some(f64::from(u8::from(i == j)))).collect()).collect();
        assert_eq!(most_correlated(&uncorrelated, &[]).map(|few| few.len()), Some(MOST_CORRELATED));
    }
}
