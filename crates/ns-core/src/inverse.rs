//! The inverse Hessian at the minimum of a fit. It is used to predict the minima of fits of similar data.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

/// A full covariance matrix, row-major, `n x n`. The rows and columns of fixed parameters are zero. Those of
/// inactive parameters (free parameters without a symmetric uncertainty) are zero too. The exception is a parameter
/// on a kink at which the slopes of both sides are 0 ([`Inactive::TwoSided`](crate::Inactive::TwoSided)).
#[derive(Debug, Clone, PartialEq)]
pub struct Covariance {
    /// Number of parameters.
    pub n: usize,
    /// Matrix elements, row after row.
    pub values: Vec<f64>,
}

impl Covariance {
    /// Returns element (i, j).
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.n + j]
    }
}

/// The inverse Hessian of a model with many parameters. The full matrix is not stored. Instead, the Hessian is divided
/// into blocks of rows and columns, and the factors of these blocks are stored.
///
/// Rows and columns of fixed and inactive parameters are zero, as in a [`Covariance`].
pub trait FactoredHessian: Debug + Send + Sync {
    /// Returns the number of parameters.
    fn n_parameters(&self) -> usize;

    /// Returns whether the inverse Hessian has a row for this parameter. It has a row if the parameter is free and the
    /// likelihood determines its value.
    fn has(&self, parameter: usize) -> bool;

    /// Writes the product of the inverse Hessian and `x` to `to`. Both have one number per parameter.
    /// `memory` is working memory with any content. The product requires the solution of one system of linear
    /// equations.
    fn apply(&self, x: &[f64], to: &mut [f64], memory: &mut Vec<f64>);
}

/// The inverse Hessian at the minimum of a fit.
#[derive(Debug, Clone)]
pub enum InverseHessian {
    /// A matrix over all parameters.
    Dense(Arc<Covariance>),
    /// The factors of the blocks (submatrices) of the Hessian. They are stored if the full inverse would need more time
    /// and memory than the fit.
    Factored(Arc<dyn FactoredHessian>),
}

impl InverseHessian {
    /// Returns the number of parameters.
    #[must_use]
    pub fn n_parameters(&self) -> usize {
        match self {
            Self::Dense(matrix) => matrix.n,
            Self::Factored(factors) => factors.n_parameters(),
        }
    }

    /// Writes the product of the inverse Hessian and `x` to `to`. Both have one number per parameter.
    /// `memory` is working memory with any content.
    pub fn apply(&self, x: &[f64], to: &mut [f64], memory: &mut Vec<f64>) {
        match self {
            Self::Dense(matrix) => {
                for (to, row) in to.iter_mut().zip(matrix.values.chunks(matrix.n.max(1))) {
                    *to = row.iter().zip(x).map(|(c, x)| c * x).sum();
                }
            }
            Self::Factored(factors) => factors.apply(x, to, memory),
        }
    }

    /// Returns whether the inverse Hessian has a row for this parameter. It has a row if the parameter is free and the
    /// likelihood determines its value.
    #[must_use]
    pub fn has(&self, parameter: usize) -> bool {
        match self {
            Self::Dense(matrix) => {
                let variance = matrix.values.get(parameter * (matrix.n + 1)).copied().unwrap_or(0.0);
                variance > 0.0 && variance.is_finite()
            }
            Self::Factored(factors) => factors.has(parameter),
        }
    }

    /// Returns the row of the inverse Hessian for this parameter; `None` if there is no such parameter. If the inverse
    /// is stored as factors, one system of linear equations is solved.
    #[must_use]
    pub fn row(&self, parameter: usize) -> Option<Cow<'_, [f64]>> {
        match self {
            Self::Dense(matrix) => {
                let row = matrix.values.get(parameter * matrix.n..(parameter + 1) * matrix.n);
                row.map(Cow::Borrowed)
            }
            Self::Factored(factors) => {
                let n = factors.n_parameters();
                let mut unit = vec![0.0; n];
                *unit.get_mut(parameter)? = 1.0;
                let mut row = vec![0.0; n];
                factors.apply(&unit, &mut row, &mut Vec::new());
                Some(Cow::Owned(row))
            }
        }
    }
}

/// Compares two inverse Hessians. Two full matrices are equal if all their elements are equal. Two sets of factors are
/// equal only if they are the same object.
impl PartialEq for InverseHessian {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dense(a), Self::Dense(b)) => a == b,
            (Self::Factored(a), Self::Factored(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}
