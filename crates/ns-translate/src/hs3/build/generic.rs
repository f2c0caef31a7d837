//! Writes densities for which the engine has no formula of its own as expressions, i.e. lists of operations.

use std::collections::HashMap;

use ns_core::{Density, Op, Special, Tape, Value};

use crate::hs3::document::{Arg, Argument, Distribution, Function as Written, Named};
use crate::hs3::index::Object;
use crate::pyhf::names::quoted;

use super::channel::Space;
use super::value::operation;
use super::{Builder, Trouble};

/// Largest number of operations of one expression.
const MOST_OPERATIONS: usize = 100_000;

/// An expression that is being built. The operations of a function of observables are added only once, even if the
/// function is used several times.
#[derive(Default)]
struct Draft {
    ops: Vec<Op>,
    functions: HashMap<usize, usize>,
}

impl Draft {
    fn push(&mut self, op: Op) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }

    fn number(&mut self, number: f64) -> usize {
        self.push(Op::Number(number))
    }

    fn square(&mut self, x: usize) -> usize {
        self.push(Op::Mul(x, x))
    }

    /// Appends the operations for `exp(-v^2 / 2)`, where `v` is the value of the operation with the index `t`.
    /// Returns the index of the last new operation.
    fn bell(&mut self, t: usize) -> usize {
        let square = self.square(t);
        let factor = self.number(-0.5);
        let exponent = self.push(Op::Mul(factor, square));
        self.push(Op::Exp(exponent))
    }

    /// Appends the operations for `(a - b) / c`. The arguments are the indices of the operations that give these
    /// three values. Returns the index of the last new operation.
    fn distance(&mut self, a: usize, b: usize, c: usize) -> usize {
        let difference = self.push(Op::Sub(a, b));
        self.push(Op::Div(difference, c))
    }

    fn polynomial(&mut self, x: usize, coefficients: &[usize]) -> usize {
        let mut sum = None;
        for coefficient in coefficients.iter().rev() {
            sum = Some(match sum {
                None => *coefficient,
                Some(sum) => {
                    let product = self.push(Op::Mul(sum, x));
                    self.push(Op::Add(product, *coefficient))
                }
            });
        }
        sum.unwrap_or_else(|| self.number(0.0))
    }
}

impl Builder<'_, '_> {
    /// Returns the product of distributions as one expression. The product is normalised as a whole.
    pub(super) fn generic(
        &mut self,
        factors: &[usize],
        path: &str,
        space: &Space,
    ) -> Result<Density, Trouble> {
        if let Some(flow) = factors.iter().find(|factor| self.has_flow(**factor)) {
            return Err(self.flow_in_product(*flow));
        }
        let mut draft = Draft::default();
        let mut product = None;
        for factor in factors {
            let shape = self.shape(*factor, space, &mut draft)?;
            product = Some(match product {
                None => shape,
                Some(before) => draft.push(Op::Mul(before, shape)),
            });
        }
        let Some(last) = product else { return Err(Trouble::Reported) };
        let tape = self.tape(draft.ops, last, path)?;
        if tape.observables().next().is_none() {
            self.report.error(
                path.to_owned(),
                "The density does not depend on any observable of its channel.",
                "Name the observables as the axes of the data.",
            );
            return Err(Trouble::Reported);
        }
        Ok(Density::Generic(tape))
    }

    /// Returns the expression of an argument that depends on observables.
    pub(super) fn tape_of(&mut self, argument: &Arg, space: &Space) -> Result<Tape, Trouble> {
        let mut draft = Draft::default();
        let last = self.operand(argument, space, &mut draft)?;
        self.tape(draft.ops, last, &argument.path)
    }

    /// Appends the formula of a distribution, without normalisation. Returns the index of the operation that gives
    /// the value of the formula.
    fn shape(&mut self, i: usize, space: &Space, draft: &mut Draft) -> Result<usize, Trouble> {
        use Distribution as D;
        let index = self.index;
        let Some(distribution) = index.document.distributions.get(i) else { return Err(Trouble::Reported) };
        self.count_density(&distribution.path)?;
        self.warn_of_conditional(distribution, space);
        let mut operand = |argument: &Arg, draft: &mut Draft| self.operand(argument, space, draft);
        Ok(match &distribution.content {
            D::Gaussian { x, mean, sigma } => {
                let (x, mean) = (operand(x, draft)?, operand(mean, draft)?);
                let sigma = operand(sigma, draft)?;
                let t = draft.distance(x, mean, sigma);
                draft.bell(t)
            }
            D::BifurcatedGaussian { x, mean, left, right } => {
                let (x, mean) = (operand(x, draft)?, operand(mean, draft)?);
                let (left, right) = (operand(left, draft)?, operand(right, draft)?);
                let below = draft.push(Op::Less(x, mean));
                let sigma = draft.push(Op::Select(below, left, right));
                let t = draft.distance(x, mean, sigma);
                draft.bell(t)
            }
            D::Exponential { x, c } => {
                let (x, c) = (operand(x, draft)?, operand(c, draft)?);
                let product = draft.push(Op::Mul(c, x));
                let exponent = draft.push(Op::Neg(product));
                draft.push(Op::Exp(exponent))
            }
            D::Polynomial { x, coefficients } => {
                let x = operand(x, draft)?;
                let coefficients: Result<Vec<usize>, Trouble> =
                    coefficients.iter().map(|coefficient| operand(coefficient, draft)).collect();
                draft.polynomial(x, &coefficients?)
            }
            D::Landau { x, mean, sigma } => {
                let (x, mean) = (operand(x, draft)?, operand(mean, draft)?);
                let width = operand(sigma, draft)?;
                self.check_width_of_landau(distribution, sigma)?;
                let t = draft.distance(x, mean, width);
                let value = draft.push(Op::Special(Special::Landau, t));
                // ROOT's density is 0 if its width is not positive. It is no mirrored density.
                let (zero, one) = (draft.number(0.0), draft.number(1.0));
                let is_density = draft.push(Op::Less(zero, width));
                let factor = draft.push(Op::Select(is_density, one, zero));
                draft.push(Op::Mul(factor, value))
            }
            D::PowerSum { x, coefficients, exponents } => {
                let x = operand(x, draft)?;
                let mut sum = draft.number(0.0);
                for (coefficient, exponent) in coefficients.iter().zip(exponents) {
                    let (c, p) = (operand(coefficient, draft)?, operand(exponent, draft)?);
                    let power = draft.push(Op::Pow(x, p));
                    let term = draft.push(Op::Mul(c, power));
                    sum = draft.push(Op::Add(sum, term));
                }
                sum
            }
            D::Uniform { .. } => draft.number(1.0),
            D::Lognormal { x, mu, sigma } => {
                let (x, mu) = (operand(x, draft)?, operand(mu, draft)?);
                let sigma = operand(sigma, draft)?;
                let logarithm = draft.push(Op::Ln(x));
                let t = draft.distance(logarithm, mu, sigma);
                let bell = draft.bell(t);
                draft.push(Op::Div(bell, x))
            }
            D::Gamma { x, gamma, beta, mu } => {
                let (x, mu) = (operand(x, draft)?, operand(mu, draft)?);
                let (gamma, beta) = (operand(gamma, draft)?, operand(beta, draft)?);
                let beyond = draft.push(Op::Sub(x, mu));
                let one = draft.number(1.0);
                let power = draft.push(Op::Sub(gamma, one));
                let rise = draft.push(Op::Pow(beyond, power));
                let decay = draft.push(Op::Div(beyond, beta));
                let exponent = draft.push(Op::Neg(decay));
                let fall = draft.push(Op::Exp(exponent));
                draft.push(Op::Mul(rise, fall))
            }
            D::BreitWigner { x, mean, width } => {
                let (x, mean) = (operand(x, draft)?, operand(mean, draft)?);
                let width = operand(width, draft)?;
                let difference = draft.push(Op::Sub(x, mean));
                let square = draft.square(difference);
                let half = draft.number(0.5);
                let half = draft.push(Op::Mul(width, half));
                let half = draft.square(half);
                let sum = draft.push(Op::Add(square, half));
                let one = draft.number(1.0);
                draft.push(Op::Div(one, sum))
            }
            D::Generic { expression, .. } => {
                let Some(parsed) = index.distribution_expression(i) else { return Err(Trouble::Reported) };
                self.expression(parsed, &expression.path, space, draft)?
            }
            D::DensityFunction { function, logarithmic } => {
                let value = operand(function, draft)?;
                if *logarithmic { draft.push(Op::Exp(value)) } else { value }
            }
            D::WeightedSum { samples, coefficients } => {
                self.weighted_sum((samples, coefficients), &distribution.path, space, draft)?
            }
            D::EfficiencyProduct { pdf, efficiency } => {
                let efficiency = operand(efficiency, draft)?;
                let pdf = self.density_of(pdf)?;
                let shape = self.shape(pdf, space, draft)?;
                draft.push(Op::Mul(shape, efficiency))
            }
            D::Product { factors } => {
                let factors: Vec<usize> =
                    factors.iter().filter_map(|factor| index.named_distribution(factor)).collect();
                let mut product = draft.number(1.0);
                for factor in factors {
                    let shape = self.shape(factor, space, draft)?;
                    product = draft.push(Op::Mul(product, shape));
                }
                product
            }
            D::Unsupported { kind } => {
                let what = format!("Distributions of type {}", quoted(kind));
                let path = format!("{}/type", distribution.path);
                self.unsupported(&path, &what, "Write it as a generic_dist, if it has a formula.");
                return Err(Trouble::Reported);
            }
            _ => {
                self.report.error(
                    distribution.path.clone(),
                    format!(
                        "The distribution {} depends on observables in a way that is not supported: through its parameters, or with \
                         observables that another factor has too.",
                        quoted(&distribution.name)
                    ),
                    "Write it as a generic_dist.",
                );
                return Err(Trouble::Reported);
            }
        })
    }

    /// Appends a weighted sum of functions and of densities before normalisation. If there is one coefficient less than
    /// summands, the last one is 1 minus the sum of the others.
    fn weighted_sum(
        &mut self,
        (samples, coefficients): (&[Arg], &[Arg]),
        path: &str,
        space: &Space,
        draft: &mut Draft,
    ) -> Result<usize, Trouble> {
        let (n, given) = (samples.len(), coefficients.len());
        if n == 0 || (given != n && given + 1 != n) {
            self.report.error(
                format!("{path}/coefficients"),
                format!("There are {n} samples and {given} coefficients."),
                "Write one coefficient per sample, or one less.",
            );
            return Err(Trouble::Reported);
        }
        let (mut sum, mut rest) = (draft.number(0.0), draft.number(1.0));
        for (i, sample) in samples.iter().enumerate() {
            let weight = match coefficients.get(i) {
                Some(coefficient) => self.operand(coefficient, space, draft)?,
                None => rest,
            };
            let value = match self.index.named_distribution(sample) {
                Some(density) => self.shape(density, space, draft)?,
                None => self.operand(sample, space, draft)?,
            };
            let product = draft.push(Op::Mul(weight, value));
            sum = draft.push(Op::Add(sum, product));
            rest = draft.push(Op::Sub(rest, weight));
        }
        Ok(sum)
    }

    /// Refuses a width of a Landau density that is never positive, and warns of a free one that may be negative.
    fn check_width_of_landau(&mut self, of: &Named<Distribution>, sigma: &Arg) -> Result<(), Trouble> {
        if self.constant(sigma).is_some_and(|width| !(width > 0.0)) {
            self.report.error(
                sigma.path.clone(),
                format!(
                    "The width of the Landau density {} is not positive: the density is 0.",
                    quoted(&of.name)
                ),
                "Write a positive number.",
            );
            return Err(Trouble::Reported);
        }
        let Argument::Name(name) = &sigma.value else { return Ok(()) };
        let entry = self.parameters.find(name).and_then(|i| self.parameters.entries.get(i));
        if entry.is_some_and(|entry| !entry.fixed && entry.bounds.0 < 0.0)
            && self.conditional.insert(sigma.path.clone())
        {
            self.report.warn(
                sigma.path.clone(),
                format!(
                    "The width {} of the Landau density {} may be negative, where the density is 0.",
                    quoted(name),
                    quoted(&of.name)
                ),
                "Give the parameter a lower bound that is not negative.",
            );
        }
        Ok(())
    }

    /// Warns if a width or a slope depends on an observable. The integral of the distribution over its own observable then
    /// depends on the other one, and the distribution is not divided by it.
    fn warn_of_conditional(&mut self, distribution: &Named<Distribution>, space: &Space) {
        use Distribution as D;
        let (x, scales): (&Arg, Vec<&Arg>) = match &distribution.content {
            D::Gaussian { x, sigma, .. } | D::Lognormal { x, sigma, .. } => (x, vec![sigma]),
            D::BifurcatedGaussian { x, left, right, .. } => (x, vec![left, right]),
            D::Exponential { x, c } => (x, vec![c]),
            D::Gamma { x, gamma, beta, .. } => (x, vec![gamma, beta]),
            D::BreitWigner { x, width, .. } => (x, vec![width]),
            _ => return,
        };
        let own = self.observables_of(x, space);
        let found = scales.into_iter().find_map(|scale| {
            let mut others = self.observables_of(scale, space).into_iter();
            others.find(|other| !own.contains(other)).map(|other| (scale, other))
        });
        let Some((scale, other)) = found else { return };
        if own.is_empty() || !self.conditional.insert(distribution.path.clone()) {
            return;
        }
        let x = own.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        self.report.warn(
            scale.path.clone(),
            format!(
                "A width or slope of {} depends on the observable {other}. The distribution is not taken as a density of {x} \
                 at a given {other}: the product of all factors is normalised as a whole, over all observables.",
                quoted(&distribution.name),
                other = quoted(&other)
            ),
            format!(
                "If a density of {x} at a given {} is meant, as with a resolution of each event, write it as a generic_dist \
                 that is divided by its integral over {x}; for a Gaussian far from the ends of the axis that is \
                 exp(-((x - mean)/sigma)^2/2)/sigma.",
                quoted(&other)
            ),
        );
    }

    /// Returns the names of the observables of the channel on which an argument depends.
    fn observables_of(&mut self, argument: &Arg, space: &Space) -> Vec<String> {
        let Argument::Name(name) = &argument.value else { return Vec::new() };
        if space.observable(name).is_some() {
            return vec![name.clone()];
        }
        match self.index.find(name) {
            Some(object @ Object::Function(_)) => {
                let leaves = self.leaves(object);
                leaves.iter().filter(|leaf| space.observable(leaf).is_some()).cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Appends the operations of a parsed expression. Returns the index of the operation that gives the value of the
    /// expression.
    fn expression(
        &mut self,
        parsed: &ns_unbinned::expression::Expression,
        path: &str,
        space: &Space,
        draft: &mut Draft,
    ) -> Result<usize, Trouble> {
        let mut operands = Vec::with_capacity(parsed.names().len());
        for name in parsed.names() {
            operands.push(self.named_operand(name, path, space, draft)?);
        }
        if draft.ops.len() + parsed.nodes().len() > MOST_OPERATIONS {
            let message = format!(
                "The density has more than {MOST_OPERATIONS} operations, with all functions that it uses."
            );
            self.report.error(path.to_owned(), message, "Simplify the functions.");
            return Err(Trouble::Reported);
        }
        Ok(parsed.append_to(&mut draft.ops, &operands))
    }

    fn operand(&mut self, argument: &Arg, space: &Space, draft: &mut Draft) -> Result<usize, Trouble> {
        match &argument.value {
            Argument::Number(number) => Ok(draft.number(*number)),
            Argument::Name(name) => self.named_operand(name, &argument.path, space, draft),
            Argument::Broken => Err(Trouble::Reported),
        }
    }

    /// Appends the operation that computes the observable, parameter or function of this name. Returns its index.
    fn named_operand(
        &mut self,
        name: &str,
        path: &str,
        space: &Space,
        draft: &mut Draft,
    ) -> Result<usize, Trouble> {
        if let Some(x) = space.observable(name) {
            return Ok(draft.push(Op::Observable(x)));
        }
        match self.named_value(name, path, space) {
            Ok(Value::Number(number)) => Ok(draft.number(number)),
            Ok(value) => Ok(draft.push(operation(value))),
            Err(Trouble::Reported) => Err(Trouble::Reported),
            Err(Trouble::Observables) => match self.index.find(name) {
                Some(Object::Function(i)) => self.inlined(i, space, draft),
                _ => Err(Trouble::Reported),
            },
        }
    }

    /// Appends the operations of a function that depends on observables, unless they are already there. Returns the
    /// index of the operation that gives the value of the function.
    fn inlined(&mut self, i: usize, space: &Space, draft: &mut Draft) -> Result<usize, Trouble> {
        if let Some(known) = draft.functions.get(&i) {
            return Ok(*known);
        }
        let index = self.index;
        let Some(function) = index.document.functions.get(i) else { return Err(Trouble::Reported) };
        let result = match &function.content {
            Written::Sum { summands: arguments } | Written::Product { factors: arguments } => {
                let sum = matches!(function.content, Written::Sum { .. });
                let mut result = draft.number(if sum { 0.0 } else { 1.0 });
                for argument in arguments {
                    let operand = self.operand(argument, space, draft)?;
                    result =
                        draft.push(if sum { Op::Add(result, operand) } else { Op::Mul(result, operand) });
                }
                result
            }
            Written::Polynomial { x, coefficients } => {
                let x = self.operand(x, space, draft)?;
                let coefficients: Result<Vec<usize>, Trouble> =
                    coefficients.iter().map(|coefficient| self.operand(coefficient, space, draft)).collect();
                draft.polynomial(x, &coefficients?)
            }
            Written::Generic { expression, .. } => {
                let Some(parsed) = index.function_expression(i) else { return Err(Trouble::Reported) };
                self.expression(parsed, &expression.path, space, draft)?
            }
            Written::Interpolation { .. }
            | Written::ProcessNormalization { .. }
            | Written::Unsupported { .. } => {
                let what = "A function of this type of observables";
                self.unsupported(&function.path, what, "Write it as a generic_function.");
                return Err(Trouble::Reported);
            }
        };
        draft.functions.insert(i, result);
        Ok(result)
    }
}
