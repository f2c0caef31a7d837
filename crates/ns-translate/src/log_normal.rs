//! Combine's log-normal factors as operations of expressions.

use ns_core::Op;

/// Appends an operation. Returns its index.
pub(crate) fn push(ops: &mut Vec<Op>, op: Op) -> usize {
    ops.push(op);
    ops.len() - 1
}

/// Appends the logarithm of an asymmetric log-normal factor (`AsymPow`) of the parameter with index `theta` among the
/// operations. `low` and `high` are the logarithms of the factor at -1 and +1. Returns the index of the result.
///
/// The logarithm is `theta high` from 1/2 on, and `-theta low` up to -1/2. Between them its slope is
/// `(high - low) / 2 + (high + low) / 2 * h(2 theta)` with `h(x) = (3 x^5 - 10 x^3 + 15 x) / 8`.
pub(crate) fn logarithm(ops: &mut Vec<Op>, theta: usize, low: f64, high: f64) -> usize {
    smooth_slope(ops, theta, low, high, 0.5)
}

/// Appends `theta` times a slope that changes smoothly from `-low` to `high` within `region` around 0. Returns the index
/// of the result.
pub(crate) fn smooth_slope(ops: &mut Vec<Op>, theta: usize, low: f64, high: f64, region: f64) -> usize {
    let number = |ops: &mut Vec<Op>, x: f64| push(ops, Op::Number(x));
    // Without the asymmetric part there is no branch, at which derivatives might jump.
    if high + low == 0.0 {
        let slope = number(ops, high);
        return push(ops, Op::Mul(theta, slope));
    }
    let (up, down) = (number(ops, high), number(ops, -low));
    let (mean, half) = (number(ops, 0.5 * (high - low)), number(ops, 0.5 * (high + low)));
    let [zero, edge, per_region, three, ten, fifteen, eighth] =
        [0.0, region, 1.0 / region, 3.0, 10.0, 15.0, 0.125].map(|x| number(ops, x));
    let positive = push(ops, Op::LessEqual(zero, theta));
    let outside = push(ops, Op::Select(positive, up, down));
    let x = push(ops, Op::Mul(per_region, theta));
    let square = push(ops, Op::Mul(x, x));
    let inner = push(ops, Op::Mul(three, square));
    let inner = push(ops, Op::Sub(inner, ten));
    let inner = push(ops, Op::Mul(square, inner));
    let inner = push(ops, Op::Add(inner, fifteen));
    let step = push(ops, Op::Mul(x, inner));
    let step = push(ops, Op::Mul(eighth, step));
    let step = push(ops, Op::Mul(step, half));
    let inside = push(ops, Op::Add(mean, step));
    let distance = push(ops, Op::Abs(theta));
    let far = push(ops, Op::LessEqual(edge, distance));
    let slope = push(ops, Op::Select(far, outside, inside));
    push(ops, Op::Mul(theta, slope))
}
