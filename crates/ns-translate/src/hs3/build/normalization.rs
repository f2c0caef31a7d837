//! Builds the normalisation of a process in Combine.

use ns_core::{FunctionForm, Op};

use crate::hs3::document::Arg;
use crate::log_normal::{logarithm, push};

use super::channel::Space;
use super::value::operation;
use super::{Builder, Trouble};

impl Builder<'_, '_> {
    /// Builds `nominal exp(sum) factors`. A symmetric `(theta, k)` adds `theta k` to the sum, an asymmetric
    /// `(theta, (low, high))` the [`logarithm`] of its factor.
    pub(super) fn normalization(
        &mut self,
        (nominal, factors): (&Arg, &[Arg]),
        symmetric: &[(Arg, f64)],
        asymmetric: &[(Arg, (f64, f64))],
        path: &str,
    ) -> Result<FunctionForm, Trouble> {
        let space = Space::none();
        let mut ops = vec![Op::Number(0.0)];
        let mut sum = 0;
        for (theta, kappa) in symmetric {
            let theta = push(&mut ops, operation(self.value(theta, &space)?));
            let kappa = push(&mut ops, Op::Number(*kappa));
            let shift = push(&mut ops, Op::Mul(theta, kappa));
            sum = push(&mut ops, Op::Add(sum, shift));
        }
        for (theta, (low, high)) in asymmetric {
            let theta = push(&mut ops, operation(self.value(theta, &space)?));
            let shift = logarithm(&mut ops, theta, *low, *high);
            sum = push(&mut ops, Op::Add(sum, shift));
        }
        let mut product = push(&mut ops, Op::Exp(sum));
        for factor in std::iter::once(nominal).chain(factors) {
            let factor = push(&mut ops, operation(self.value(factor, &space)?));
            product = push(&mut ops, Op::Mul(product, factor));
        }
        Ok(FunctionForm::Expression(self.tape(ops, product, path)?))
    }
}
