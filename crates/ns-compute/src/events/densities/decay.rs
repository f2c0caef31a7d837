//! Decays in time, smeared by a resolution.
//!
//! The density is a sum of *kernels*: decays `exp(-rate s)` of a time `s >= 0`, with a real or a complex rate, smeared by a
//! Gaussian. `s` is the decay time, or its negative for decays before 0. Let `u` be the measured time without the bias, in
//! units of the width of the Gaussian, and `c` the rate times this width. Then a kernel is
//! `F(u, c) = exp(-u^2/2) w(i (c - u) / sqrt(2)) / 2` with the Faddeeva function `w`, and its integral over the time is the
//! integral of the normal density minus the difference of `F`, divided by the rate.

use ns_core::{Decay, DecaySides};

use super::gaussian;
use crate::events::program::{Binary, Builder, Slot, Step, Unary};

/// The number 1 / sqrt(2 pi).
const INVERSE_ROOT_TWO_PI: f64 = 0.398_942_280_401_432_677_94;

/// The place at which a decay is computed, or the interval over which it is integrated.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// The time in this slot.
    At(Slot),
    /// The times between two numbers.
    Between(f64, f64),
}

/// A Gaussian of the resolution: slots of its mean and of its width.
type Gauss = Option<(Slot, Slot)>;

/// Appends to the program `b` the steps that compute the density at a time, or its integral. Returns the slot (the index)
/// of the result. `own` contains the slots of [`Decay::values`]. Returns `None` if their number is wrong.
pub(super) fn decay(b: &mut Builder, decay: &Decay, own: &[Slot], place: Place) -> Option<Slot> {
    let (&tau, mut rest) = own.split_first()?;
    let mut waves = None;
    if decay.oscillation.is_some() {
        let (own, behind) = rest.split_at_checked(6)?;
        waves = Some(own);
        rest = behind;
    }
    let (fractions, gaussians) = rest.split_at_checked(decay.fractions.len())?;
    let one = b.number(1.0);
    let rate = b.div(one, tau);
    let mut total = b.number(0.0);
    let pairs: Vec<Gauss> = gaussians.chunks_exact(2).map(|pair| Some((pair[0], pair[1]))).collect();
    let gaussians = if pairs.is_empty() { vec![None] } else { pairs };
    for (index, &gauss) in gaussians.iter().enumerate() {
        let share = share(b, fractions, index, gaussians.len());
        let part = match waves {
            Some(own) => oscillation(b, (decay.sides, gauss), rate, own, place)?,
            None => sides(b, decay.sides, |b, sign| Some(kernel(b, (gauss, sign), rate, place)), false)?,
        };
        let part = b.mul(share, part);
        total = b.add(total, part);
    }
    Some(total)
}

/// Appends the fraction of the Gaussian with the index `index` of `count`.
fn share(b: &mut Builder, fractions: &[Slot], index: usize, count: usize) -> Slot {
    let start = b.number(if fractions.len() < count { 1.0 } else { 0.0 });
    if fractions.len() < count {
        let others = fractions.iter().fold(start, |rest, &fraction| b.sub(rest, fraction));
        return fractions.get(index).copied().unwrap_or(others);
    }
    let sum = fractions.iter().fold(start, |sum, &fraction| b.add(sum, fraction));
    let own = fractions.get(index).copied().unwrap_or(start);
    b.div(own, sum)
}

/// Appends the sum over the sides of 0 on which there are decays. `odd` says whether the function changes its sign at 0.
fn sides(
    b: &mut Builder,
    sides: DecaySides,
    mut of: impl FnMut(&mut Builder, f64) -> Option<Slot>,
    odd: bool,
) -> Option<Slot> {
    let before = |b: &mut Builder, slot: Slot| if odd { b.scale(-1.0, slot) } else { slot };
    Some(match sides {
        DecaySides::After => of(b, 1.0)?,
        DecaySides::Before => {
            let slot = of(b, -1.0)?;
            before(b, slot)
        }
        DecaySides::Both => {
            let (after, other) = (of(b, 1.0)?, of(b, -1.0)?);
            let other = before(b, other);
            b.add(after, other)
        }
    })
}

/// Appends a decay with the terms of mixing and CP violation, whose slots are `own`.
fn oscillation(
    b: &mut Builder,
    (on, gauss): (DecaySides, Gauss),
    rate: Slot,
    own: &[Slot],
    place: Place,
) -> Option<Slot> {
    let &[delta_gamma, delta_m, cosh, sinh, cos, sin] = own else { return None };
    let is_zero = |b: &Builder, slot: Slot| b.constant(slot) == Some(0.0);
    let half = b.scale(0.5, delta_gamma);
    let (slow, fast) = (b.sub(rate, half), b.add(rate, half));
    let mut total = b.number(0.0);
    for (coefficient, odd) in [(cosh, false), (sinh, true)] {
        if is_zero(b, coefficient) || (odd && is_zero(b, delta_gamma)) {
            continue;
        }
        let wave = sides(
            b,
            on,
            |b, sign| {
                let (slow, fast) =
                    (kernel(b, (gauss, sign), slow, place), kernel(b, (gauss, sign), fast, place));
                let sum = if odd { b.sub(slow, fast) } else { b.add(slow, fast) };
                Some(b.scale(0.5, sum))
            },
            odd,
        )?;
        let wave = b.mul(coefficient, wave);
        total = b.add(total, wave);
    }
    for (coefficient, odd) in [(cos, false), (sin, true)] {
        if is_zero(b, coefficient) {
            continue;
        }
        let part = |b: &mut Builder, sign| {
            let (real, imaginary) = complex_kernel(b, (gauss, sign), (rate, delta_m), place);
            Some(if odd { imaginary } else { real })
        };
        let wave = sides(b, on, part, odd)?;
        let wave = b.mul(coefficient, wave);
        total = b.add(total, wave);
    }
    Some(total)
}

/// Returns the interval of `s` that belongs to an interval of times. `sign` is -1 for decays before 0.
fn between(sign: f64, (lo, hi): (f64, f64)) -> (f64, f64) {
    if sign > 0.0 { (lo, hi) } else { (-hi, -lo) }
}

/// Appends the time `s` without the bias, in units of the width. `sign` is -1 for decays before 0.
fn pull(b: &mut Builder, sign: f64, time: Slot, (mean, sigma): (Slot, Slot)) -> Slot {
    let u = gaussian::pull(b, time, mean, sigma);
    b.scale(sign, u)
}

/// Appends both ends of an interval of times as [`pull`]s, the smaller one first, and the integral of the normal density
/// between them.
fn pulls(b: &mut Builder, sign: f64, (lo, hi): (f64, f64), gauss: (Slot, Slot)) -> (Slot, Slot, Slot) {
    let (lo, hi) = (b.number(lo), b.number(hi));
    let (at_lo, at_hi) = (pull(b, sign, lo, gauss), pull(b, sign, hi, gauss));
    let (from, to) = if sign > 0.0 { (at_lo, at_hi) } else { (at_hi, at_lo) };
    let normal = b.push(Step::Binary(Binary::NormalIntegral, from, to));
    (from, to, b.scale(INVERSE_ROOT_TWO_PI, normal))
}

/// Appends a kernel with a real rate.
fn kernel(b: &mut Builder, (gauss, sign): (Gauss, f64), rate: Slot, place: Place) -> Slot {
    match (gauss, place) {
        (Some(gauss), Place::At(time)) => {
            let u = pull(b, sign, time, gauss);
            let c = b.mul(rate, gauss.1);
            b.push(Step::Binary(Binary::SmearedDecay, u, c))
        }
        (Some(gauss), Place::Between(lo, hi)) => {
            let (from, to, normal) = pulls(b, sign, (lo, hi), gauss);
            let c = b.mul(rate, gauss.1);
            let at_from = b.push(Step::Binary(Binary::SmearedDecay, from, c));
            let at_to = b.push(Step::Binary(Binary::SmearedDecay, to, c));
            let drop = b.sub(at_from, at_to);
            let area = b.add(normal, drop);
            b.div(area, rate)
        }
        (None, Place::At(time)) => {
            let zero = b.number(0.0);
            let s = b.scale(sign, time);
            let product = b.mul(rate, s);
            let exponent = b.scale(-1.0, product);
            let value = b.unary(Unary::Exp, exponent);
            let exists = b.push(Step::LessEqual(zero, s));
            b.push(Step::Select(exists, value, zero))
        }
        (None, Place::Between(lo, hi)) => {
            let (lo, hi) = between(sign, (lo, hi));
            let (lo, hi) = (lo.max(0.0), hi.max(0.0));
            let start = b.scale(-lo, rate);
            let height = b.unary(Unary::Exp, start);
            let drop = b.scale(hi - lo, rate);
            let mean = b.unary(Unary::Decay, drop);
            let area = b.mul(height, mean);
            b.scale(hi - lo, area)
        }
    }
}

/// Appends a kernel with the complex rate `rate - i frequency`. Its real part belongs to the cosine, its imaginary part to
/// the sine of `frequency s`.
fn complex_kernel(
    b: &mut Builder,
    (gauss, sign): (Gauss, f64),
    (rate, frequency): (Slot, Slot),
    place: Place,
) -> (Slot, Slot) {
    match (gauss, place) {
        (Some(gauss), Place::At(time)) => {
            let u = pull(b, sign, time, gauss);
            let (c, d) = (b.mul(rate, gauss.1), b.mul(frequency, gauss.1));
            smeared_wave(b, u, (c, d))
        }
        (Some(gauss), Place::Between(lo, hi)) => {
            let (from, to, normal) = pulls(b, sign, (lo, hi), gauss);
            let (c, d) = (b.mul(rate, gauss.1), b.mul(frequency, gauss.1));
            let (from, to) = (smeared_wave(b, from, (c, d)), smeared_wave(b, to, (c, d)));
            let drop = b.sub(from.0, to.0);
            let above = (b.add(normal, drop), b.sub(from.1, to.1));
            over(b, above, (rate, frequency))
        }
        (None, Place::At(time)) => {
            let zero = b.number(0.0);
            let s = b.scale(sign, time);
            let wave = wave(b, s, (rate, frequency));
            let exists = b.push(Step::LessEqual(zero, s));
            let mut choose = |part| b.push(Step::Select(exists, part, zero));
            (choose(wave.0), choose(wave.1))
        }
        (None, Place::Between(lo, hi)) => {
            let (lo, hi) = between(sign, (lo, hi));
            let (lo, hi) = (b.number(lo.max(0.0)), b.number(hi.max(0.0)));
            let (from, to) = (wave(b, lo, (rate, frequency)), wave(b, hi, (rate, frequency)));
            let above = (b.sub(from.0, to.0), b.sub(from.1, to.1));
            over(b, above, (rate, frequency))
        }
    }
}

/// Appends real and imaginary part of `exp(-(rate - i frequency) s)`.
fn wave(b: &mut Builder, s: Slot, (rate, frequency): (Slot, Slot)) -> (Slot, Slot) {
    let product = b.mul(rate, s);
    let exponent = b.scale(-1.0, product);
    let height = b.unary(Unary::Exp, exponent);
    turned(b, height, s, frequency)
}

/// Appends `height` times cosine and sine of `s` times `frequency`.
fn turned(b: &mut Builder, height: Slot, s: Slot, frequency: Slot) -> (Slot, Slot) {
    let angle = b.mul(s, frequency);
    let (cos, sin) = (b.unary(Unary::Cos, angle), b.unary(Unary::Sin, angle));
    (b.mul(height, cos), b.mul(height, sin))
}

/// Appends a complex number, divided by `rate - i frequency`.
fn over(b: &mut Builder, (re, im): (Slot, Slot), (rate, frequency): (Slot, Slot)) -> (Slot, Slot) {
    let (a, d) = (b.mul(rate, rate), b.mul(frequency, frequency));
    let size = b.add(a, d);
    let (x, y) = (b.mul(re, rate), b.mul(im, frequency));
    let real = b.sub(x, y);
    let (x, y) = (b.mul(re, frequency), b.mul(im, rate));
    let imaginary = b.add(x, y);
    (b.div(real, size), b.div(imaginary, size))
}

/// Appends real and imaginary part of the kernel `F(u, c - i d)`.
///
/// With `x = d / sqrt(2)` and `y = (c - u) / sqrt(2)` it is `exp(-u^2/2) w(x + i y) / 2`. Where `y` is negative, that is
/// `exp(c^2/2 - d^2/2 - c u) exp(i d (u - c))` minus the complex conjugate of `exp(-u^2/2) w(x - i y) / 2`.
fn smeared_wave(b: &mut Builder, u: Slot, (c, d): (Slot, Slot)) -> (Slot, Slot) {
    let root = std::f64::consts::FRAC_1_SQRT_2;
    let zero = b.number(0.0);
    let distance = b.sub(c, u);
    let size = b.unary(Unary::Abs, distance);
    let (x, y) = (b.scale(root, d), b.scale(root, size));
    let re = b.push(Step::Binary(Binary::Voigt, x, y));
    let im = b.push(Step::Binary(Binary::FaddeevaImaginary, x, y));
    let gauss = gaussian::core(b, u);
    let gauss = b.scale(0.5, gauss);
    let (re, im) = (b.mul(gauss, re), b.mul(gauss, im));
    // exp(c^2/2 - d^2/2 - c u)
    let (c_square, d_square) = (b.mul(c, c), b.mul(d, d));
    let squares = b.sub(c_square, d_square);
    let squares = b.scale(0.5, squares);
    let product = b.mul(c, u);
    let exponent = b.sub(squares, product);
    let height = b.unary(Unary::Exp, exponent);
    let behind = b.scale(-1.0, distance);
    let far = turned(b, height, behind, d);
    let far = (b.sub(far.0, re), b.add(far.1, im));
    let is_far = b.push(Step::Less(distance, zero));
    (b.push(Step::Select(is_far, far.0, re)), b.push(Step::Select(is_far, far.1, im)))
}
