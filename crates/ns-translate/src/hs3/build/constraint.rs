//! Builds constraint terms. These are distributions that do not depend on the observables of a channel.

use ns_core::{Correlations, FunctionForm, Measured, Op, Penalty, PenaltyForm, Value};

use crate::hs3::document::{Arg, Argument, Data, Distribution, Function, Named};
use crate::hs3::index::Object;
use crate::pyhf::names::quoted;

use super::channel::Space;
use super::parameters::{Parameters, Written};
use super::value::operation;
use super::{Builder, Trouble};

/// Adds `by` to the index of the auxiliary datum of a penalty. A penalty is a constraint term that is not the
/// constraint of a single parameter. In the finished model, the data of penalties come after the `by` data of
/// parameters.
pub(super) fn shift_datum(form: &mut PenaltyForm, by: usize) {
    if let Some(datum) = form.datum_mut() {
        *datum += by;
    }
}

impl Builder<'_, '_> {
    /// Adds a distribution as a constraint term. Without `given`, the distribution is added only once per likelihood.
    /// If `given` is a number, this number is the observed value (datum) of the distribution.
    pub(super) fn constrain(&mut self, i: usize, given: Option<f64>) {
        if given.is_none() && !self.constrained.insert(i) {
            return;
        }
        let index = self.index;
        let Some(distribution) = index.document.distributions.get(i) else { return };
        // An error needs no further action, because it has been reported.
        let _ = self.term(distribution, given);
    }

    fn term(&mut self, distribution: &Named<Distribution>, given: Option<f64>) -> Result<(), Trouble> {
        use Distribution as D;
        let space = Space::none();
        let path = &distribution.path;
        let datum = |x: &Arg| match given {
            Some(number) => Arg { value: Argument::Number(number), path: x.path.clone() },
            None => x.clone(),
        };
        match &distribution.content {
            D::Gaussian { x, mean, sigma } => {
                // The datum replaces the measured side. That is `x`, unless only `mean` is constant.
                let swapped = given.is_some() && self.constant(x).is_none() && self.constant(mean).is_some();
                let (x, mean) = if swapped { (mean, x) } else { (x, mean) };
                self.gaussian(distribution, &datum(x), mean, sigma)?;
            }
            D::Poisson { x, mean } => {
                let x = datum(x);
                if self.scaled_poisson(distribution, &x, mean)? {
                    return Ok(());
                }
                let mean = self.value(mean, &space)?;
                let count = self.measured(&x)?;
                self.penalty(&distribution.name, PenaltyForm::Poisson { count, mean });
            }
            D::Lognormal { x, mu, sigma } => {
                let x = datum(x);
                let sigma = self.value(sigma, &space)?;
                let (x, mu) = match (self.constant(&x), self.constant(mu)) {
                    (Some(x), None) if x > 0.0 => {
                        (self.datum(x.ln()), Measured::Value(self.value(mu, &space)?))
                    }
                    (None, Some(mu)) => (Measured::Value(self.value(&x, &space)?), self.datum(mu)),
                    _ => (Measured::Value(self.value(&x, &space)?), Measured::Value(self.value(mu, &space)?)),
                };
                self.penalty(&distribution.name, PenaltyForm::Lognormal { x, mu, sigma });
            }
            D::Gamma { x, gamma, beta, mu } => {
                let x = datum(x);
                let shape = match (self.constant(&x), self.constant(gamma)) {
                    (None, Some(shape)) if shape >= 1.0 => self.datum(shape - 1.0),
                    _ => Measured::Value(self.value(gamma, &space)?),
                };
                let (x, mu) = (self.value(&x, &space)?, self.value(mu, &space)?);
                let beta = self.value(beta, &space)?;
                let x = match mu {
                    Value::Number(0.0) => x,
                    mu => self.combined(distribution, "shifted variable of", x, mu, Op::Sub)?,
                };
                let rate = match beta {
                    Value::Number(scale) => Value::Number(1.0 / scale),
                    beta => self.combined(distribution, "rate of", Value::Number(1.0), beta, Op::Div)?,
                };
                self.penalty(&distribution.name, PenaltyForm::Gamma { x, shape, rate });
            }
            D::MultivariateNormal { x, mean, covariances } if given.is_none() => {
                self.check_matrix(x.len(), mean.len(), covariances, path)?;
                if self.correlated(distribution, x, mean, covariances)? {
                    return Ok(());
                }
                let (x, mean) = (self.values(x, &space)?, self.values(mean, &space)?);
                self.multivariate(distribution, &x, &mean, covariances)?;
            }
            D::Product { factors } if given.is_none() => {
                let index = self.index;
                for factor in factors.iter().filter_map(|factor| index.named_distribution(factor)) {
                    self.constrain(factor, None);
                }
            }
            // A uniform distribution is a constant factor and does not change the fit.
            D::Uniform { .. } => {}
            D::Unsupported { kind } => {
                let what = format!("Distributions of type {}", quoted(kind));
                self.unsupported(
                    &format!("{path}/type"),
                    &what,
                    "Use a Gaussian, Poisson, log-normal or gamma term.",
                );
                return Err(Trouble::Reported);
            }
            _ => {
                self.report.error(
                    path.clone(),
                    format!("The distribution {} is used as a constraint term, which is not supported for its type.", quoted(&distribution.name)),
                    "Use a gaussian_dist, poisson_dist, lognormal_dist, gamma_dist or multivariate_normal_dist.",
                );
                return Err(Trouble::Reported);
            }
        }
        Ok(())
    }

    /// Adds a Gaussian constraint term. If the term constrains a single parameter, and its datum and its width are
    /// constants, it becomes the constraint of this parameter. Otherwise, or if the parameter already has a
    /// constraint, the term stays separate, as a penalty.
    fn gaussian(
        &mut self,
        distribution: &Named<Distribution>,
        x: &Arg,
        mean: &Arg,
        sigma: &Arg,
    ) -> Result<(), Trouble> {
        let space = Space::none();
        // The term is symmetric in `x` and `mean`. The one that is a constant number is the datum.
        let (x, mean) =
            if self.constant(x).is_some() && self.constant(mean).is_none() { (mean, x) } else { (x, mean) };
        let width = self.constant(sigma);
        if width.is_some_and(|width| !(width > 0.0)) {
            self.report.error(
                sigma.path.clone(),
                format!("The width of the Gaussian term {} is not positive.", quoted(&distribution.name)),
                "Write a positive number.",
            );
            return Err(Trouble::Reported);
        }
        let x = self.value(x, &space)?;
        if let (Value::Parameter(parameter), Some(datum), Some(sigma)) = (x, self.constant(mean), width)
            && self.parameters.constrain(parameter, Written::Gaussian { sigma, datum }, &distribution.path)
        {
            return Ok(());
        }
        let form = PenaltyForm::Gaussian { x, mean: self.measured(mean)?, sigma: self.value(sigma, &space)? };
        self.penalty(&distribution.name, form);
        Ok(())
    }

    /// Makes a Poisson term the constraint of a parameter. This is possible if the count is constant and the mean
    /// is the parameter times a constant. Returns whether the term has become a constraint.
    fn scaled_poisson(
        &mut self,
        distribution: &Named<Distribution>,
        x: &Arg,
        mean: &Arg,
    ) -> Result<bool, Trouble> {
        let Some(datum) = self.constant(x) else { return Ok(false) };
        let index = self.index;
        let Argument::Name(name) = &mean.value else { return Ok(false) };
        let Some(Object::Function(i)) = index.find(name) else { return Ok(false) };
        let Some(Function::Product { factors }) = index.document.functions.get(i).map(|f| &f.content) else {
            return Ok(false);
        };
        // A constant parameter that other parts of the model use stays a parameter.
        let used = |argument: &Arg, parameters: &Parameters<'_>| match &argument.value {
            Argument::Name(name) => index.find(name).is_none() && parameters.find(name).is_some(),
            _ => false,
        };
        let (mut tau, mut free) = (1.0, Vec::new());
        for factor in factors {
            match self.constant(factor) {
                Some(number) if !used(factor, &self.parameters) => tau *= number,
                _ => free.push(factor),
            }
        }
        let [parameter] = *free else { return Ok(false) };
        let is_function = matches!(&parameter.value, Argument::Name(name) if index.find(name).is_some());
        if is_function || !(tau > 0.0) {
            return Ok(false);
        }
        let Value::Parameter(parameter) = self.value(parameter, &Space::none())? else { return Ok(false) };
        Ok(self.parameters.constrain(parameter, Written::Poisson { tau, datum }, &distribution.path))
    }

    /// Converts an argument of a constraint term. An argument that never changes becomes a new auxiliary datum. Any
    /// other argument becomes a value of the model.
    fn measured(&mut self, argument: &Arg) -> Result<Measured, Trouble> {
        match self.constant(argument) {
            Some(number) => Ok(self.datum(number)),
            None => Ok(Measured::Value(self.value(argument, &Space::none())?)),
        }
    }

    fn datum(&mut self, number: f64) -> Measured {
        self.penalty_data.push(number);
        Measured::Datum(self.penalty_data.len() - 1)
    }

    fn penalty(&mut self, name: &str, form: PenaltyForm) {
        self.penalties.push(Penalty { name: name.to_owned(), form });
    }

    /// Adds a function of the values `a` and `b` to the model, and returns its value. `operator` makes the
    /// operation from the indices of its two operands.
    fn combined(
        &mut self,
        distribution: &Named<Distribution>,
        what: &str,
        a: Value,
        b: Value,
        operator: impl Fn(usize, usize) -> Op,
    ) -> Result<Value, Trouble> {
        let tape = self.tape(vec![operation(a), operation(b), operator(0, 1)], 2, &distribution.path)?;
        Ok(self.add_function(format!("{what} {}", distribution.name), FunctionForm::Expression(tape)))
    }

    /// Makes a multivariate normal term the correlated constraints of parameters. This is possible if it compares single
    /// parameters, which have no other constraint, with constants. Returns whether it was possible.
    fn correlated(
        &mut self,
        distribution: &Named<Distribution>,
        x: &[Arg],
        mean: &[Arg],
        covariances: &[Vec<f64>],
    ) -> Result<bool, Trouble> {
        if x.len() < 2 {
            return Ok(false);
        }
        let mut parameters: Vec<usize> = Vec::with_capacity(x.len());
        let mut written = Vec::with_capacity(x.len());
        for (i, (x, mean)) in x.iter().zip(mean).enumerate() {
            // The term is symmetric in `x` and `mean`. The one that is a constant number is the datum.
            let (argument, datum) = match (self.constant(x), self.constant(mean)) {
                (None, Some(datum)) => (x, datum),
                (Some(datum), None) => (mean, datum),
                _ => return Ok(false),
            };
            let Value::Parameter(parameter) = self.value(argument, &Space::none())? else { return Ok(false) };
            let variance = covariances.get(i).and_then(|row| row.get(i)).copied().unwrap_or(f64::NAN);
            if self.parameters.constraint(parameter).is_some()
                || parameters.contains(&parameter)
                || !(variance > 0.0 && variance.is_finite())
            {
                return Ok(false);
            }
            parameters.push(parameter);
            written.push((variance.sqrt(), datum));
        }
        let element = |i: usize, j: usize, value: f64| match (written.get(i), written.get(j)) {
            _ if i == j => 1.0,
            (Some((a, _)), Some((b, _))) => value / (a * b),
            _ => f64::NAN,
        };
        let matrix = covariances
            .iter()
            .enumerate()
            .flat_map(|(i, row)| row.iter().enumerate().map(move |(j, value)| (i, j, *value)))
            .map(|(i, j, value)| element(i, j, value))
            .collect();
        match Correlations::new(parameters.clone(), matrix) {
            Ok(own) => {
                for (parameter, (sigma, datum)) in parameters.into_iter().zip(written) {
                    let term = Written::Gaussian { sigma, datum };
                    self.parameters.constrain(parameter, term, &distribution.path);
                }
                self.penalty(&distribution.name, PenaltyForm::Correlated(own));
                Ok(true)
            }
            Err(error) => {
                self.report.error(
                    format!("{}/covariances", distribution.path),
                    format!("The correlations of {} cannot be used: {error}.", quoted(&distribution.name)),
                    "Correct the covariances.",
                );
                Err(Trouble::Reported)
            }
        }
    }

    /// Adds a multivariate normal term as a sum of independent Gaussian terms. The covariance matrix is written as
    /// `L D L'`. Here `L` is a lower triangular matrix with ones on its diagonal, `L'` is its transpose, and `D` is
    /// diagonal. The elements of `L^-1 (x - mean)` are then independent, and `D` has their variances.
    fn multivariate(
        &mut self,
        distribution: &Named<Distribution>,
        x: &[Value],
        mean: &[Value],
        covariances: &[Vec<f64>],
    ) -> Result<(), Trouble> {
        let Some((lower, variances)) = decomposed(covariances) else {
            self.report.error(
                format!("{}/covariances", distribution.path),
                format!("The covariance matrix of {} is not positive definite.", quoted(&distribution.name)),
                "Correct the matrix; two variables may be fully correlated.",
            );
            return Err(Trouble::Reported);
        };
        for (i, variance) in variances.iter().enumerate() {
            // Row i of the inverse of L.
            let mut row = vec![0.0; i + 1];
            row[i] = 1.0;
            for j in (0..i).rev() {
                row[j] = -(j + 1..=i).map(|k| row[k] * lower[k][j]).sum::<f64>();
            }
            let mut ops = vec![Op::Number(0.0)];
            let mut last = 0;
            for (j, factor) in row.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
                let from = ops.len();
                ops.extend([
                    operation(x[j]),
                    operation(mean[j]),
                    Op::Sub(from, from + 1),
                    Op::Number(*factor),
                ]);
                ops.extend([Op::Mul(from + 2, from + 3), Op::Add(last, from + 4)]);
                last = from + 5;
            }
            let tape = self.tape(ops, last, &distribution.path)?;
            let name = format!("{} {i}", distribution.name);
            let x = self.add_function(name.clone(), FunctionForm::Expression(tape));
            let mean = self.datum(0.0);
            self.penalty(&name, PenaltyForm::Gaussian { x, mean, sigma: Value::Number(variance.sqrt()) });
        }
        Ok(())
    }

    /// Adds a Poisson constraint term for each count of a data set.
    pub(super) fn counts(&mut self, i: usize, data: &Named<Data>) {
        let numbers: &[f64] = match &data.content {
            Data::Unbinned { columns, weights: None, .. } => match columns.as_slice() {
                [only] => &only[..],
                _ => &[],
            },
            Data::Point { value, .. } => std::slice::from_ref(value),
            _ => &[],
        };
        if numbers.is_empty() || numbers.len() > 1000 {
            self.report.error(
                data.path.clone(),
                format!(
                    "The counts of {} must be 1 to 1000 events of one observable, without weights.",
                    quoted(&data.name)
                ),
                "Use a histfactory_dist for more counts.",
            );
            return;
        }
        for number in numbers {
            self.constrain(i, Some(*number));
        }
    }
}

/// Returns the lower triangular matrix `L` and the diagonal elements of `D` in the decomposition `matrix = L D L'`;
/// `None` if the matrix is not positive definite. The diagonal elements of `L` are 1.
fn decomposed(matrix: &[Vec<f64>]) -> Option<(Vec<Vec<f64>>, Vec<f64>)> {
    let n = matrix.len();
    let mut lower = vec![vec![0.0; n]; n];
    let mut diagonal: Vec<f64> = Vec::with_capacity(n);
    for i in 0..n {
        for j in 0..i {
            let sum: f64 = (0..j).map(|k| lower[i][k] * lower[j][k] * diagonal[k]).sum();
            lower[i][j] = (matrix[i][j] - sum) / diagonal[j];
        }
        let rest = matrix[i][i] - (0..i).map(|k| lower[i][k] * lower[i][k] * diagonal[k]).sum::<f64>();
        if !(rest > 1e-12 * matrix[i][i]) {
            return None;
        }
        lower[i][i] = 1.0;
        diagonal.push(rest);
    }
    Some((lower, diagonal))
}
