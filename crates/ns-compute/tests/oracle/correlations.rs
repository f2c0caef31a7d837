//! Random correlations between Gaussian constraints.

use ns_core::{Constraint, Correlations, Model, Penalty, PenaltyForm};

use super::models::Random;

/// Returns the model with one or two random groups of correlated constraints, if it has enough Gaussian constraints.
pub(super) fn with_correlations(mut model: Model, r: &mut Random) -> Model {
    let gaussian = |p: &usize| matches!(model.parameters[*p].constraint, Constraint::Gaussian { .. });
    let mut left: Vec<usize> = (0..model.parameters.len()).filter(gaussian).collect();
    for _ in 0..2 {
        let n = (2 + r.below(3)).min(left.len());
        if n < 2 {
            break;
        }
        let parameters: Vec<usize> = (0..n).map(|_| left.remove(r.below(left.len()))).collect();
        // The covariance of sums of independent numbers.
        let parts: Vec<f64> = (0..n * n).map(|_| r.between(-1.0, 1.0)).collect();
        let covariance = |i: usize, j: usize| {
            let sum: f64 = (0..n).map(|k| parts[i * n + k] * parts[j * n + k]).sum();
            if i == j { sum + 0.3 } else { sum }
        };
        let element = |k: usize| {
            let (i, j) = (k / n, k % n);
            covariance(i, j) / (covariance(i, i) * covariance(j, j)).sqrt()
        };
        let own = Correlations::new(parameters, (0..n * n).map(element).collect()).unwrap();
        model.penalties.push(Penalty { name: "correlations".into(), form: PenaltyForm::Correlated(own) });
    }
    model
}
