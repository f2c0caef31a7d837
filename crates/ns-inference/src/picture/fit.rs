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
/// most [`MOST_CORRELATED`]. With more, the threshold is the smallest multiple of 0.01 that leaves at most this number, and
/// parameters with large correlations stand next to each other.
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
    let (parameters, matrix, threshold) = match threshold.is_none().then(|| readable(&matrix)).flatten() {
        Some(few) => {
            let (names, matrix) = clustered(&names, &matrix, few);
            (names, matrix, Some(few))
        }
        None => (names, matrix, threshold),
    };
    Some(Correlation { parameters, matrix, threshold, subtitle: subtitle(result), ..Correlation::default() })
}

/// Brings parameters with large correlations together. Those that the threshold leaves out come last.
fn clustered(
    names: &[String],
    matrix: &[Vec<Option<f64>>],
    threshold: f64,
) -> (Vec<String>, Vec<Vec<Option<f64>>>) {
    let is_kept = |i: usize| {
        let row = matrix.get(i).into_iter().flatten().enumerate();
        row.filter(|(j, _)| *j != i).any(|(_, rho)| rho.is_some_and(|rho| rho.abs() >= threshold))
    };
    let (kept, others): (Vec<usize>, Vec<usize>) = (0..names.len()).partition(|i| is_kept(*i));
    let part: Vec<Vec<Option<f64>>> =
        kept.iter().filter_map(|i| matrix.get(*i)).map(|row| super::pick(row, &kept)).collect();
    let order: Vec<usize> = super::pick(&kept, &cluster::order(&part)).into_iter().chain(others).collect();
    let rows = order.iter().filter_map(|i| matrix.get(*i)).map(|row| super::pick(row, &order)).collect();
    (super::pick(names, &order), rows)
}

/// Builds the plot of the correlations of the parameters of interest. Returns `None` if there are fewer than two, or if
/// the fit has no uncertainties.
#[must_use]
pub fn poi_correlation(result: &FitResult) -> Option<Correlation> {
    let PoiCorrelation { parameters, matrix } = result.poi_correlation.clone()?;
    Some(Correlation { parameters, matrix, subtitle: subtitle(result), ..Correlation::default() })
}

/// Returns the threshold that leaves at most [`MOST_CORRELATED`] parameters; `None` if there are no more.
fn readable(matrix: &[Vec<Option<f64>>]) -> Option<f64> {
    let largest = |(i, row): (usize, &Vec<Option<f64>>)| {
        let others = row.iter().enumerate().filter(|(j, _)| *j != i);
        others.filter_map(|(_, rho)| *rho).map(f64::abs).fold(0.0, f64::max)
    };
    let mut sizes: Vec<f64> = matrix.iter().enumerate().map(largest).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let first_left_out = *sizes.get(MOST_CORRELATED)?;
    // With perfect correlations among more parameters, all of these are shown.
    Some(((100.0 * first_left_out).floor() / 100.0 + 0.01).min(*sizes.first()?))
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

    #[test]
    fn many_parameters_are_shown_where_they_are_correlated() {
        let matrix = |n: usize| -> Vec<Vec<Option<f64>>> {
            let rho = |i: usize, j: usize| 1.0 / (1.0 + i.abs_diff(j) as f64 + (i + j) as f64 / 7.0);
            (0..n).map(|i| (0..n).map(|j| Some(if i == j { 1.0 } else { rho(i, j) })).collect()).collect()
        };
        assert_eq!(readable(&matrix(40)), None);
        let threshold = readable(&matrix(100)).unwrap_or(f64::NAN);
        let kept = matrix(100)
            .iter()
            .enumerate()
            .filter(|(i, row)| row.iter().enumerate().any(|(j, rho)| j != *i && *rho >= Some(threshold)))
            .count();
        assert!((20..=40).contains(&kept), "{kept} at {threshold}");
        let uncorrelated: Vec<Vec<Option<f64>>> =
            (0..60).map(|i| (0..60).map(|j| Some(f64::from(u8::from(i == j)))).collect()).collect();
        assert_eq!(readable(&uncorrelated), Some(0.0));
    }
}
