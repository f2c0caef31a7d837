//! The best linear unbiased estimate (BLUE) of quantities from given results with correlated uncertainties.
//!
//! The estimate is the linear combination of the results with the smallest variance whose weights leave the quantity as it is
//! (L. Lyons, D. Gibaut, P. Clifford, Nucl. Instrum. Methods A 270 (1988) 110; for several quantities A. Valassi, ibid. A 500
//! (2003) 391). It is the minimum of a chi2 with the covariance of the results.

mod input;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use input::{BlueError, BlueInput, Correlation, GivenResult};

use crate::goodness::chi2_tail;
use crate::linear::cholesky;

/// A combined quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Combined {
    /// Name of the quantity; empty if the results have none.
    pub quantity: String,
    /// The combined value.
    pub value: f64,
    /// Its standard deviation.
    pub uncertainty: f64,
    /// Standard deviation by source. The sum of the squares is the square of `uncertainty`.
    pub uncertainties: BTreeMap<String, f64>,
    /// Weight of each result, in the order of `results`.
    pub weights: Vec<f64>,
}

/// The result of a combination. Serialises to the JSON of `nextstat blue`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct BlueResult {
    /// Names of the results.
    pub results: Vec<String>,
    /// The combined quantities, in the order in which results name them.
    pub combined: Vec<Combined>,
    /// Covariance of the combined quantities, one row for each.
    pub covariance: Vec<Vec<f64>>,
    /// Difference of each result and the combined value, in units of the standard deviation of the difference; `None` if the
    /// difference has none.
    pub pulls: Vec<Option<f64>>,
    /// The chi2 of the results at the combined values.
    pub chi2: f64,
    /// Number of results minus the number of quantities.
    pub n_dof: usize,
    /// Probability of a larger chi2; `None` without degrees of freedom.
    pub p_value: Option<f64>,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

/// Combines given results.
///
/// # Errors
/// [`BlueError`] if the results or their correlations are not valid, or the covariance cannot be inverted.
pub fn blue(input: &BlueInput) -> Result<BlueResult, BlueError> {
    let sources = input.sources()?;
    let n = input.results.len();
    let mut total = vec![0.0; n * n];
    for (_, covariance) in &sources {
        total.iter_mut().zip(covariance).for_each(|(to, entry)| *to += entry);
    }
    let factor = cholesky(&total, n).ok_or(BlueError::Singular)?;
    let mut names: Vec<&str> = Vec::new();
    for result in &input.results {
        if !names.contains(&result.quantity.as_str()) {
            names.push(&result.quantity);
        }
    }
    let m = names.len();
    // The columns of C^-1 U, where U says which result measures which quantity.
    let columns: Vec<Vec<f64>> = names
        .iter()
        .map(|name| {
            let unit = input.results.iter().map(|result| f64::from(u8::from(result.quantity == *name)));
            solved(&factor, &unit.collect::<Vec<_>>())
        })
        .collect();
    let measures = |i: usize, a: usize| {
        let quantity = input.results.get(i).map(|result| result.quantity.as_str());
        quantity.is_some() && quantity == names.get(a).copied()
    };
    let mut information = vec![0.0; m * m];
    for (a, column) in columns.iter().enumerate() {
        for b in 0..m {
            let sum = column.iter().enumerate().filter(|(i, _)| measures(*i, b)).map(|(_, x)| x).sum();
            if let Some(to) = information.get_mut(a * m + b) {
                *to = sum;
            }
        }
    }
    let inner = cholesky(&information, m).ok_or(BlueError::Singular)?;
    let covariance: Vec<Vec<f64>> = (0..m)
        .map(|a| solved(&inner, &(0..m).map(|b| f64::from(u8::from(a == b))).collect::<Vec<_>>()))
        .collect();
    let values: Vec<f64> = input.results.iter().map(|result| result.value).collect();
    let combined: Vec<Combined> = names
        .iter()
        .zip(&covariance)
        .enumerate()
        .map(|(a, (name, row))| {
            let weight = |i: usize| {
                row.iter().zip(&columns).map(|(c, column)| c * column.get(i).unwrap_or(&0.0)).sum()
            };
            let weights: Vec<f64> = (0..n).map(weight).collect();
            let part = |covariance: &[f64]| form(covariance, &weights).max(0.0).sqrt();
            Combined {
                quantity: (*name).to_owned(),
                value: dot(&weights, &values),
                uncertainty: row.get(a).copied().unwrap_or(f64::NAN).sqrt(),
                uncertainties: sources
                    .iter()
                    .map(|(source, matrix)| (source.clone(), part(matrix)))
                    .collect(),
                weights,
            }
        })
        .collect();
    let of = |i: usize| (0..m).find(|a| measures(i, *a)).and_then(|a| Some((a, combined.get(a)?)));
    let rests: Vec<f64> =
        (0..n).map(|i| values.get(i).zip(of(i)).map_or(0.0, |(x, (_, own))| x - own.value)).collect();
    let chi2 = dot(&rests, &solved(&factor, &rests)).max(0.0);
    // The combination is not correlated with the differences, so that their variance is a difference of variances.
    let pull = |i: usize| {
        let (_, own) = of(i)?;
        let own_variance = own.uncertainty.powi(2);
        let variance = total.get(i * n + i)? - own_variance;
        (variance > 1e-12 * own_variance).then(|| rests.get(i).map(|rest| rest / variance.sqrt()))?
    };
    let n_dof = n - m;
    let mut warnings = Vec::new();
    for own in &combined {
        let negative: Vec<&str> = input
            .results
            .iter()
            .zip(&own.weights)
            .filter(|(result, weight)| result.quantity == own.quantity && **weight < 0.0)
            .map(|(result, _)| result.name.as_str())
            .collect();
        if !negative.is_empty() {
            warnings.push(format!(
                "the weight of {} is negative: its correlation with a more precise result is so large that the combined value \
                 may lie outside the results; a small error of the correlations then changes much",
                negative.join(", ")
            ));
        }
    }
    Ok(BlueResult {
        results: input.results.iter().map(|result| result.name.clone()).collect(),
        pulls: (0..n).map(pull).collect(),
        chi2,
        n_dof,
        p_value: (n_dof > 0).then(|| chi2_tail(chi2, n_dof as f64)),
        combined,
        covariance,
        warnings,
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Returns `w C w` with the matrix `C`.
fn form(matrix: &[f64], w: &[f64]) -> f64 {
    matrix.chunks(w.len().max(1)).zip(w).map(|(row, weight)| weight * dot(row, w)).sum()
}

/// Returns `C^-1 b` from the lower triangular factor of `C`.
fn solved(factor: &[f64], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut x = b.to_vec();
    let at = |i: usize, j: usize| factor.get(i * n + j).copied().unwrap_or(0.0);
    let set = |x: &mut [f64], i: usize, value: f64| {
        if let Some(to) = x.get_mut(i) {
            *to = value;
        }
    };
    for i in 0..n {
        let sum: f64 = x.iter().take(i).enumerate().map(|(j, x)| at(i, j) * x).sum();
        let value = (x.get(i).copied().unwrap_or(0.0) - sum) / at(i, i);
        set(&mut x, i, value);
    }
    for i in (0..n).rev() {
        let sum: f64 = x.iter().enumerate().skip(i + 1).map(|(j, x)| at(j, i) * x).sum();
        let value = (x.get(i).copied().unwrap_or(0.0) - sum) / at(i, i);
        set(&mut x, i, value);
    }
    x
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
