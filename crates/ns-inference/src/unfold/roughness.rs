//! The penalty `tau/2 |L (mu - 1)|^2` on the factors of truth bins.

use ns_core::{Function, FunctionForm, Measured, Model, Penalty, PenaltyForm, Value};

use super::matrix::{Square, dot};
use super::options::Regularisation;

/// The matrix `L`, and what follows from it.
#[derive(Debug, Clone)]
pub(super) struct Roughness {
    rows: Vec<Vec<f64>>,
    /// `L'L`.
    pub(super) squares: Square,
}

impl Roughness {
    /// Creates the penalty for `n` truth bins.
    pub(super) fn new(regularisation: Regularisation, n: usize) -> Self {
        let row = |weights: &[(usize, f64)]| -> Vec<f64> {
            let weight = |j: usize| weights.iter().find(|(k, _)| *k == j).map_or(0.0, |(_, w)| *w);
            (0..n).map(weight).collect()
        };
        let rows: Vec<Vec<f64>> = match regularisation {
            Regularisation::None => Vec::new(),
            Regularisation::Tikhonov => (0..n).map(|i| row(&[(i, 1.0)])).collect(),
            Regularisation::Curvature => {
                (2..n).map(|i| row(&[(i - 2, 1.0), (i - 1, -2.0), (i, 1.0)])).collect()
            }
        };
        let element = |row: &Vec<f64>, i: usize| row.get(i).copied().unwrap_or(0.0);
        let squares =
            Square::from_fn(n, |i, j| rows.iter().map(|row| element(row, i) * element(row, j)).sum());
        Self { rows, squares }
    }

    /// Returns `|L d|^2`.
    pub(super) fn of(&self, differences: &[f64]) -> f64 {
        self.rows.iter().map(|row| dot(row, differences).powi(2)).sum()
    }

    /// Returns the model with the penalty on the parameters `truth`. Each row of `L` is a Gaussian term with the width
    /// `tau^(-1/2)`, whose mean is a constant: neither toys nor Asimov data change it.
    pub(super) fn model(&self, model: &Model, truth: &[usize], tau: f64) -> Model {
        let mut penalised = model.clone();
        if !(tau > 0.0) {
            return penalised;
        }
        for row in &self.rows {
            let weighted: Vec<(usize, f64)> =
                truth.iter().copied().zip(row.iter().copied()).filter(|(_, weight)| *weight != 0.0).collect();
            let mean = weighted.iter().map(|(_, weight)| weight).sum();
            let terms: Vec<Value> =
                weighted.iter().map(|(index, weight)| term(&mut penalised, *index, *weight)).collect();
            let x = match terms.as_slice() {
                [one] => *one,
                _ => function(&mut penalised, FunctionForm::Sum(terms)),
            };
            let form = PenaltyForm::Gaussian {
                x,
                mean: Measured::Value(Value::Number(mean)),
                sigma: Value::Number(tau.powf(-0.5)),
            };
            penalised.penalties.push(Penalty { name: "regularisation".to_owned(), form });
        }
        penalised
    }
}

/// Returns `weight` times the parameter `index`.
fn term(model: &mut Model, index: usize, weight: f64) -> Value {
    let parameter = Value::Parameter(index);
    if weight == 1.0 {
        return parameter;
    }
    function(model, FunctionForm::Product(vec![Value::Number(weight), parameter]))
}

/// Adds a function to the model.
fn function(model: &mut Model, form: FunctionForm) -> Value {
    model.functions.push(Function { name: "regularisation".to_owned(), form });
    Value::Function(model.functions.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_lines_have_no_curvature() {
        let curved = Roughness::new(Regularisation::Curvature, 5);
        let line: Vec<f64> = (0..5).map(|i| 0.3 + 0.7 * f64::from(i)).collect();
        assert!(curved.of(&line) < 1e-28 && curved.squares.form(&line) < 1e-13);
        let bent = [0.0, 0.0, 1.0, 0.0, 0.0];
        assert_eq!(curved.of(&bent), 6.0);
        assert_eq!(Roughness::new(Regularisation::Tikhonov, 5).of(&bent), 1.0);
        assert_eq!(Roughness::new(Regularisation::None, 5).of(&bent), 0.0);
    }
}
