//! Builds the normalisation of a process in Combine.

use ns_core::{FunctionForm, Op};

use crate::hs3::document::Arg;

use super::channel::Space;
use super::value::operation;
use super::{Builder, Trouble};

impl Builder<'_, '_> {
    /// Builds `nominal exp(sum) factors`. A symmetric `(theta, k)` adds `theta k` to the sum. An asymmetric
    /// `(theta, (low, high))` adds `theta high` from 1/2 on, and `-theta low` up to -1/2. Between them the slope is
    /// `(high - low) / 2 + (high + low) / 2 * h(2 theta)` with `h(x) = (3 x^5 - 10 x^3 + 15 x) / 8`.
    pub(super) fn normalization(
        &mut self,
        (nominal, factors): (&Arg, &[Arg]),
        symmetric: &[(Arg, f64)],
        asymmetric: &[(Arg, (f64, f64))],
        path: &str,
    ) -> Result<FunctionForm, Trouble> {
        let space = Space::none();
        let mut ops = vec![Op::Number(0.0)];
        let push = |ops: &mut Vec<Op>, op: Op| {
            ops.push(op);
            ops.len() - 1
        };
        let mut sum = 0;
        for (theta, kappa) in symmetric {
            let theta = push(&mut ops, operation(self.value(theta, &space)?));
            let kappa = push(&mut ops, Op::Number(*kappa));
            let shift = push(&mut ops, Op::Mul(theta, kappa));
            sum = push(&mut ops, Op::Add(sum, shift));
        }
        for (theta, (low, high)) in asymmetric {
            let number = |ops: &mut Vec<Op>, x: f64| push(ops, Op::Number(x));
            let (up, down) = (number(&mut ops, *high), number(&mut ops, -low));
            let (mean, half) = (number(&mut ops, 0.5 * (high - low)), number(&mut ops, 0.5 * (high + low)));
            let [zero, edge, three, ten, fifteen, eighth] =
                [0.0, 0.5, 3.0, 10.0, 15.0, 0.125].map(|x| number(&mut ops, x));
            let theta = push(&mut ops, operation(self.value(theta, &space)?));
            let positive = push(&mut ops, Op::LessEqual(zero, theta));
            let outside = push(&mut ops, Op::Select(positive, up, down));
            let x = push(&mut ops, Op::Add(theta, theta));
            let square = push(&mut ops, Op::Mul(x, x));
            let inner = push(&mut ops, Op::Mul(three, square));
            let inner = push(&mut ops, Op::Sub(inner, ten));
            let inner = push(&mut ops, Op::Mul(square, inner));
            let inner = push(&mut ops, Op::Add(inner, fifteen));
            let step = push(&mut ops, Op::Mul(x, inner));
            let step = push(&mut ops, Op::Mul(eighth, step));
            let step = push(&mut ops, Op::Mul(step, half));
            let inside = push(&mut ops, Op::Add(mean, step));
            let distance = push(&mut ops, Op::Abs(theta));
            let far = push(&mut ops, Op::LessEqual(edge, distance));
            let slope = push(&mut ops, Op::Select(far, outside, inside));
            let shift = push(&mut ops, Op::Mul(theta, slope));
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
