//! The term of `-ln L` by which correlated Gaussian constraints differ from independent ones:
//! `u' (R^-1 - 1) u / 2` with the pulls `u = (theta - a) / sigma`. The constant `ln(det R) / 2` belongs to the saturated
//! model.

use ns_core::{Constraint, Correlations, Model};

use super::chain::Derivatives;
use super::sums::triangle;

/// Compiled correlations between the Gaussian constraints of parameters. All lists are in ascending order of the
/// parameters.
#[derive(Debug, Clone)]
pub(crate) struct CorrelationPlan {
    pub(super) parameters: Vec<usize>,
    /// Indices of the auxiliary data.
    data: Vec<usize>,
    /// One divided by the widths of the constraints.
    weights: Vec<f64>,
    /// The matrix `R^-1 - 1`, row by row.
    excess: Vec<f64>,
    /// Second derivatives, as the lower triangle of a matrix.
    curvature: Vec<f64>,
    /// The constant `ln(det R) / 2`.
    pub(super) constant: f64,
}

impl CorrelationPlan {
    /// Compiles the correlations `own` of a valid model.
    pub(super) fn new(model: &Model, own: &Correlations) -> Self {
        let n = own.parameters().len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_unstable_by_key(|&k| own.parameters()[k]);
        let parameters: Vec<usize> = order.iter().map(|&k| own.parameters()[k]).collect();
        let constraint = |&p: &usize| match model.parameters[p].constraint {
            Constraint::Gaussian { sigma, aux } => (aux, 1.0 / sigma),
            Constraint::None | Constraint::Poisson { .. } => (0, 0.0),
        };
        let (data, weights): (Vec<usize>, Vec<f64>) = parameters.iter().map(constraint).unzip();
        let excess: Vec<f64> =
            order.iter().flat_map(|&i| order.iter().map(move |&j| own.excess()[i * n + j])).collect();
        let mut curvature = vec![0.0; n * (n + 1) / 2];
        for i in 0..n {
            for j in 0..=i {
                curvature[triangle(i, j)] = excess[i * n + j] * weights[i] * weights[j];
            }
        }
        Self { parameters, data, weights, excess, curvature, constant: own.half_log_determinant() }
    }

    /// Returns the number of parameters.
    pub(crate) fn len(&self) -> usize {
        self.parameters.len()
    }

    /// Iterates over the parameters. Each element contains the index of the parameter, the index of its auxiliary datum, and
    /// one divided by the width of its constraint.
    pub(crate) fn constraints(&self) -> impl ExactSizeIterator<Item = (usize, usize, f64)> {
        let all = self.parameters.iter().zip(&self.data).zip(&self.weights);
        all.map(|((&p, &a), &weight)| (p, a, weight))
    }

    /// Returns row `i` of the matrix `R^-1 - 1`.
    pub(crate) fn excess(&self, i: usize) -> &[f64] {
        let n = self.len();
        &self.excess[i * n..(i + 1) * n]
    }

    /// Returns the second derivative of the term with respect to its parameters `i` and `j <= i`.
    pub(crate) fn second(&self, i: usize, j: usize) -> f64 {
        self.curvature[triangle(i, j)]
    }

    /// Evaluates the term at `theta`, writes its derivatives to `term`, and returns its value and the sum of the absolute
    /// values of its parts.
    ///
    /// All second derivatives count as certain: together with those of the independent constraints they are positive
    /// definite.
    pub(super) fn evaluate(&self, theta: &[f64], aux: &[f64], term: &mut Derivatives) -> (f64, f64) {
        let n = self.parameters.len();
        let pull = |k: usize| (theta[self.parameters[k]] - aux[self.data[k]]) * self.weights[k];
        let (mut twice, mut scale) = (0.0, 0.0);
        for i in 0..n {
            let row = &self.excess[i * n..(i + 1) * n];
            let slope: f64 = row.iter().enumerate().map(|(j, e)| e * pull(j)).sum();
            let own = pull(i);
            term.gradient[i] = slope * self.weights[i];
            twice += own * slope;
            scale += (own * slope).abs();
        }
        term.squares.copy_from_slice(&self.curvature);
        (0.5 * twice, 0.5 * scale)
    }
}
