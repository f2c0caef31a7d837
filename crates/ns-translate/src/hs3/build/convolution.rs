//! Convolutions of two densities: those that have a formula, and all others.

use ns_core::{Convolution, Density, FunctionForm, Op, Value};

use crate::hs3::document::{Distribution, Named};
use crate::pyhf::names::quoted;

use super::channel::Space;
use super::value::operation;
use super::{Builder, Trouble};

impl Builder<'_, '_> {
    /// Returns the convolution of two densities. That of two Gaussians is a Gaussian, and that of a Gaussian with a
    /// Breit-Wigner or Voigt density is a Voigt density: means add up, and so do the squares of the widths of Gaussians. All
    /// others are computed numerically.
    pub(super) fn convolution(
        &mut self,
        distribution: &Named<Distribution>,
        space: &Space,
    ) -> Result<Density, Trouble> {
        let Distribution::Convolution { x, first, second } = &distribution.content else {
            return Err(Trouble::Reported);
        };
        let along = self.observable(x, space)?;
        let both = (self.density_of(first), self.density_of(second));
        let (a, b) = (both.0?, both.1?);
        // Parameters of both are combined, so none may depend on an observable.
        let captured = self.captured.take();
        let both = (self.density(a, space), self.density(b, space));
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
            (first, second) => self.table((name, path), along, first, second),
        }
    }

    /// Returns a convolution without a formula, which is computed numerically.
    fn table(
        &mut self,
        (name, path): (&str, &str),
        x: usize,
        first: Density,
        second: Density,
    ) -> Result<Density, Trouble> {
        let mut problem = None;
        for density in [&first, &second] {
            if density.observables() != [x] {
                problem = Some((
                    "one of its densities depends on another observable than conv_var",
                    "Convolve densities of conv_var alone.",
                ));
            } else if !density.has_formula() || holds(density, |d| matches!(d, Density::Given(_))) {
                problem = Some((
                    "one of its densities is a flow, a convolution or a density at given observables",
                    "Convolve densities that have a formula; widths of Gaussians can be added in one convolution.",
                ));
            }
        }
        if [&first, &second].iter().any(|density| matches!(density, Density::Exponential { .. })) {
            self.report.warn(
                path.to_owned(),
                format!(
                    "The convolution {} has an exponential that is not cut: it has the same slope after it.",
                    quoted(name)
                ),
                "Write a decay_dist for a decay that begins at 0, or a generic_dist with a comparison.",
            );
        }
        let is_table = |d: &Density| {
            matches!(d, Density::Histogram { .. } | Density::Template { .. } | Density::Spline { .. })
        };
        if holds(&first, is_table) && holds(&second, is_table) {
            problem = Some((
                "both densities are histograms or splines",
                "Write one of them as a formula, such as a gaussian_dist.",
            ));
        }
        let Some((problem, remedy)) = problem else {
            return Ok(Density::Convolution(Box::new(Convolution { x, first, second })));
        };
        let message = format!("The convolution {} cannot be computed: {problem}.", quoted(name));
        self.report.error(path.to_owned(), message, remedy);
        Err(Trouble::Reported)
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

/// Returns whether a density, or one of its factors and summands, is of a kind.
fn holds(density: &Density, is: impl Fn(&Density) -> bool + Copy) -> bool {
    is(density) || density.parts().iter().any(|part| holds(part, is))
}
