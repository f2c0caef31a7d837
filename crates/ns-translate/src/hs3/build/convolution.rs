//! Convolutions of two densities that are a density with a formula.

use ns_core::{Density, FunctionForm, Op, Value};

use crate::hs3::document::{Arg, Distribution, Named};
use crate::pyhf::names::quoted;

use super::channel::Space;
use super::value::operation;
use super::{Builder, Trouble};

impl Builder<'_, '_> {
    /// Returns the convolution of two densities. One of them is a Gaussian; the other one is a Gaussian, which gives a
    /// Gaussian, or a Breit-Wigner or Voigt density, which gives a Voigt density. Means add up, and so do the squares of the
    /// widths of Gaussians.
    pub(super) fn convolution(
        &mut self,
        distribution: &Named<Distribution>,
        space: &Space,
    ) -> Result<Density, Trouble> {
        let Distribution::Convolution { x, first, second } = &distribution.content else {
            return Err(Trouble::Reported);
        };
        let along = self.observable(x, space)?;
        let index = self.index;
        let of = |argument: &Arg| {
            index.named_distribution(argument).and_then(|i| index.document.distributions.get(i))
        };
        let (Some(a), Some(b)) = (of(first), of(second)) else { return Err(Trouble::Reported) };
        // Parameters of both are combined, so none may depend on an observable.
        let captured = self.captured.take();
        let both = (self.direct(a, space), self.direct(b, space));
        self.captured = captured;
        let (a, b) = (both.0?, both.1?);
        let (a, b) = if matches!(b, Density::Gaussian { .. }) { (a, b) } else { (b, a) };
        let name = distribution.name.as_str();
        let path = distribution.path.as_str();
        match (a, b) {
            (Density::Gaussian { x, mean, sigma }, Density::Gaussian { x: y, mean: shift, sigma: width })
                if x == along && y == along =>
            {
                let mean = self.sum_of(name, mean, shift);
                Ok(Density::Gaussian { x, mean, sigma: self.root_of_squares((name, path), sigma, width)? })
            }
            (Density::BreitWigner { x, mean, width }, Density::Gaussian { x: y, mean: shift, sigma })
                if x == along && y == along =>
            {
                Ok(Density::Voigt { x, mean: self.sum_of(name, mean, shift), width, sigma })
            }
            (
                Density::Voigt { x, mean, width, sigma },
                Density::Gaussian { x: y, mean: shift, sigma: more },
            ) if x == along && y == along => {
                let mean = self.sum_of(name, mean, shift);
                Ok(Density::Voigt { x, mean, width, sigma: self.root_of_squares((name, path), sigma, more)? })
            }
            _ => {
                self.report.error(
                    distribution.path.clone(),
                    format!("The convolution {} has no formula here.", quoted(name)),
                    "Convolve a Gaussian with a Gaussian, a Breit-Wigner or a Voigt density of the conv_var; write a decay with a resolution as a decay_dist.",
                );
                Err(Trouble::Reported)
            }
        }
    }

    fn sum_of(&mut self, name: &str, a: Value, b: Value) -> Value {
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => Value::Number(a + b),
            (Value::Number(0.0), other) | (other, Value::Number(0.0)) => other,
            _ => self.add_function(format!("{name} mean"), FunctionForm::Sum(vec![a, b])),
        }
    }

    fn root_of_squares(&mut self, (name, path): (&str, &str), a: Value, b: Value) -> Result<Value, Trouble> {
        if let (Value::Number(a), Value::Number(b)) = (a, b) {
            return Ok(Value::Number(a.hypot(b)));
        }
        let ops = vec![operation(a), operation(b), Op::Mul(0, 0), Op::Mul(1, 1), Op::Add(2, 3), Op::Sqrt(4)];
        let tape = self.tape(ops, 5, path)?;
        Ok(self.add_function(format!("{name} sigma"), FunctionForm::Expression(tape)))
    }
}
