//! Bounds of the operations of a program within a box, by interval arithmetic.

use ns_core::Special;

use super::fixed;
use super::{Binary, Interval, Slot, Step, Table, Unary};
use crate::events::special;
use crate::simd::Separate;

/// Logarithm of the largest ratio, within a box, of two values of an exponential. With a larger ratio, a rule with a few
/// nodes per side may miss the place where the exponential is large.
const WIDEST_EXPONENT: f64 = 64.0;

/// Logarithm of the largest ratio of two denominators within a box.
const WIDEST_DENOMINATOR: f64 = 7.0;

/// Place of the maximum of the Landau density.
const LANDAU_PEAK: f64 = -0.222_782_981_256_4;

/// The maximum of the Landau density, rounded up.
const LANDAU_HIGHEST: f64 = 0.180_655_633_9;

/// Returns bounds of the result of a step. `bounds` contains the bounds of all earlier results. `sides` contains the
/// interval of each observable. `input` and variables have no bounds here.
pub(in crate::events) fn step_bounds(
    step: Step,
    tables: &[Table],
    sides: &[Interval],
    bounds: &[Interval],
) -> Interval {
    match step {
        Step::Observable(x) => sides[x],
        Step::Table(table, row) => {
            let (lo, hi) = tables[table].bounds(row, &|x| (sides[x].lo, sides[x].hi));
            Interval::new(lo, hi)
        }
        Step::Add(a, b) => bounds[a].add(bounds[b]),
        Step::Sub(a, b) => bounds[a].sub(bounds[b]),
        Step::Mul(a, b) if a == b => bounds[a].square(),
        Step::Mul(a, b) => bounds[a].mul(bounds[b]),
        Step::Unary(unary, a) => unary_bounds(unary, bounds[a]),
        Step::Binary(binary, a, b) => binary_bounds(binary, bounds[a], bounds[b]),
        Step::Less(a, b) => decided(bounds[a].hi < bounds[b].lo, bounds[a].lo >= bounds[b].hi),
        Step::LessEqual(a, b) => decided(bounds[a].hi <= bounds[b].lo, bounds[a].lo > bounds[b].hi),
        Step::Equal(a, b) => {
            let apart = bounds[a].hi < bounds[b].lo || bounds[a].lo > bounds[b].hi;
            let one = bounds[a].lo == bounds[a].hi && bounds[a] == bounds[b];
            decided(one, apart)
        }
        Step::Select(c, a, b) => match (bounds[c].lo, bounds[c].hi) {
            (0.0, 0.0) => bounds[b],
            (lo, hi) if lo > 0.0 || hi < 0.0 => bounds[a],
            _ => bounds[a].hull(bounds[b]),
        },
        Step::Number(x) => Interval::new(x, x),
        Step::Variable(_) | Step::Input(_) | Step::Datum(_) => Interval::ALL,
    }
}

/// Returns the operand of a step, if the result of the step may have a peak or an oscillation within the box, as a
/// function of this operand, that a rule with a few nodes per side does not see. `bounds` contains the bounds of the
/// step's operands and of its result, at `slot`.
pub(in crate::events) fn wide_operand(step: Step, slot: Slot, bounds: &[Interval]) -> Option<Slot> {
    let length = |a: Slot| bounds[a].hi - bounds[a].lo;
    let (operand, is_wide) = match step {
        Step::Unary(Unary::Exp, a) => {
            let least = -745.0;
            (a, bounds[a].hi > least && bounds[a].hi - bounds[a].lo.max(least) > WIDEST_EXPONENT)
        }
        Step::Unary(Unary::Reciprocal, a) | Step::Binary(Binary::Div, _, a) => {
            (a, spread(bounds[a]) > WIDEST_DENOMINATOR)
        }
        Step::Unary(Unary::Power(p), a) => (a, is_wide_power(Interval::point(p), bounds[a])),
        Step::Binary(Binary::Pow, a, p) => (a, is_wide_power(bounds[p], bounds[a])),
        Step::Unary(Unary::Sin | Unary::Cos, a) => (a, length(a) > 12.0),
        Step::Unary(Unary::Tan, a) => (a, length(a) > 1.5),
        Step::Unary(Unary::Special(Special::BesselJ(_)), a) => (a, length(a) > 12.0),
        Step::Unary(Unary::Special(Special::Erf | Special::Erfc | Special::Tanh), a) => {
            (a, length(a) > 16.0 && bounds[slot].lo < bounds[slot].hi)
        }
        Step::Unary(Unary::Special(Special::Landau), a) if bounds[a].lo > 3.0 => {
            (a, spread(bounds[a]) > WIDEST_DENOMINATOR)
        }
        Step::Unary(Unary::Special(Special::Landau), a) => (a, length(a) > 8.0 && bounds[slot].hi > 0.0),
        Step::Unary(Unary::Special(Special::Sinh | Special::Cosh), a) => (a, length(a) > WIDEST_EXPONENT),
        Step::Binary(Binary::Voigt, a, b) => (a, length(a) > 40.0 * bounds[b].hi.max(1.0)),
        Step::Binary(Binary::FaddeevaImaginary, a, b) => (a, length(a) > 40.0 * bounds[b].hi.max(1.0)),
        Step::Binary(Binary::SmearedDecay, a, b) => {
            let peak = length(a) > 16.0;
            (a, bounds[slot].hi > 0.0 && (peak || bounds[b].hi * length(a) > WIDEST_EXPONENT))
        }
        Step::Binary(Binary::NormalIntegral, a, b) => {
            let longer = if length(a) > length(b) { a } else { b };
            (longer, bounds[slot].hi > 0.0 && length(longer) > 16.0)
        }
        _ => return None,
    };
    is_wide.then_some(operand)
}

/// Returns whether the result of a step, at `slot`, has no bound because the function has a pole within the box, such as
/// `1 / x`. An exponential that is too large for a number has no pole.
pub(in crate::events) fn is_pole(step: Step, slot: Slot, bounds: &[Interval]) -> bool {
    let is_infinite = |x: Interval| x.lo == f64::NEG_INFINITY || x.hi == f64::INFINITY;
    let is_finite = |a: Slot| !is_infinite(bounds[a]);
    is_infinite(bounds[slot])
        && match step {
            Step::Unary(Unary::Exp, _) => false,
            Step::Unary(_, a) => is_finite(a),
            Step::Binary(_, a, b) => is_finite(a) && is_finite(b),
            _ => false,
        }
}

fn is_wide_power(power: Interval, base: Interval) -> bool {
    let spread = spread(base);
    if power.hi < 0.0 {
        -power.lo * spread > WIDEST_DENOMINATOR
    } else {
        power.hi > 4.0 && power.hi * spread.min(745.0) > WIDEST_EXPONENT
    }
}

/// Returns the logarithm of the ratio of the largest and the smallest absolute value in an interval.
fn spread(x: Interval) -> f64 {
    let size = x.abs();
    if size.hi > 0.0 { (size.hi / size.lo).ln() } else { 0.0 }
}

/// Returns bounds of the value of a condition, which is 1 where the condition is true and 0 where it is false.
/// `always` says that the condition is certainly true, and `never` that it is certainly false.
fn decided(always: bool, never: bool) -> Interval {
    if always {
        Interval::new(1.0, 1.0)
    } else if never {
        Interval::new(0.0, 0.0)
    } else {
        Interval::new(0.0, 1.0)
    }
}

fn unary_bounds(unary: Unary, x: Interval) -> Interval {
    match unary {
        Unary::Neg => x.neg(),
        Unary::Exp => x.rising(fixed::exp),
        Unary::Ln => x.within(0.0, f64::INFINITY).rising(fixed::ln),
        Unary::Sqrt => x.within(0.0, f64::INFINITY).rising(f64::sqrt),
        Unary::Abs => x.abs(),
        Unary::Sin => x.sin(0.0),
        Unary::Cos => x.sin(std::f64::consts::FRAC_PI_2),
        Unary::Tan => x.tan(),
        Unary::Asin => x.within(-1.0, 1.0).rising(libm::asin),
        Unary::Acos => x.within(-1.0, 1.0).falling(libm::acos),
        Unary::Atan => x.rising(libm::atan),
        Unary::Asinh => x.rising(libm::asinh),
        Unary::Reciprocal => x.reciprocal(),
        Unary::Power(p) => x.power(p),
        Unary::Special(function) => special_bounds(function, x),
        Unary::Decay => {
            x.falling(|x| if x == f64::NEG_INFINITY { f64::INFINITY } else { special::decay(x)[0] })
        }
        Unary::Interpolation(_) => Interval::ALL,
    }
}

fn special_bounds(function: Special, x: Interval) -> Interval {
    // The gamma function of positive numbers is smallest at 1.46163.
    let (before, behind) = (1.461, 1.462);
    let at = |x: f64| function.value(x);
    match function {
        Special::Erf | Special::Sinh | Special::Tanh | Special::Asinh => x.rising(at),
        Special::Erfc => x.falling(at),
        Special::Cosh => x.abs().rising(at),
        Special::Gamma | Special::LnGamma => {
            let x = x.within(0.0, f64::INFINITY);
            let least = if function == Special::Gamma { 0.8856 } else { -0.1215 };
            if x.is_empty() || x.lo >= behind {
                x.rising(at)
            } else if x.hi <= before {
                Interval::new(
                    at(x.hi) - 1e-14,
                    if x.lo > 0.0 { at(x.lo) * (1.0 + 1e-14) } else { f64::INFINITY },
                )
            } else {
                let high = if x.lo > 0.0 { at(x.lo).max(at(x.hi)) + 1e-14 } else { f64::INFINITY };
                Interval::new(least, high)
            }
        }
        Special::BesselJ(_) | Special::Landau if x.is_empty() => x,
        // The density has one maximum.
        Special::Landau => {
            let ends = Interval::new(at(x.lo).min(at(x.hi)), at(x.lo).max(at(x.hi)));
            let high = if x.lo < LANDAU_PEAK && x.hi > LANDAU_PEAK { LANDAU_HIGHEST } else { ends.hi };
            Interval::new(ends.lo * (1.0 - 1e-13), high * (1.0 + 1e-13))
        }
        Special::BesselJ(_) => Interval::new(-1.0, 1.0),
    }
}

/// Returns bounds of the real or the imaginary part of the Faddeeva function in the upper half plane. `of` returns this part.
/// There the absolute value of the function is at most 1, and that of its derivative at most `2 / sqrt(pi)`.
fn near_middle(x: Interval, y: Interval, of: impl Fn(f64, f64) -> f64) -> Interval {
    if x.is_empty() || y.is_empty() {
        return Interval::EMPTY;
    }
    if !(y.lo >= 0.0) {
        return Interval::ALL;
    }
    let middle = |i: Interval| 0.5 * i.lo + 0.5 * i.hi;
    let reach = std::f64::consts::FRAC_2_SQRT_PI * 0.5 * f64::hypot(x.hi - x.lo, y.hi - y.lo) + 1e-12;
    let value = of(middle(x), middle(y));
    if value.is_finite() && reach.is_finite() {
        Interval::new((value - reach).max(-1.0), (value + reach).min(1.0))
    } else {
        Interval::new(-1.0, 1.0)
    }
}

/// Returns bounds of a smeared decay `F(u, c)`. It falls with `c`, and `exp(c u) F(u, c)` rises with `u`. At most, it is the
/// integral of the normal density up to `u`.
fn smeared_bounds(u: Interval, c: Interval) -> Interval {
    if u.is_empty() || c.is_empty() {
        return Interval::EMPTY;
    }
    if !(c.lo >= 0.0) {
        return Interval::ALL;
    }
    let at = |u: f64, c: f64| special::smeared_decay::<Separate>(u, c, fixed::exp)[0];
    let length = u.hi - u.lo;
    let normal = 0.5 * libm::erfc(-u.hi * std::f64::consts::FRAC_1_SQRT_2);
    let high = (at(u.hi, c.lo) * fixed::exp(c.lo * length)).min(normal);
    let low = at(u.lo, c.hi) * fixed::exp(-c.hi * length);
    // A product of an underflow and an overflow says nothing.
    let high = if high.is_nan() { normal } else { high };
    let low = if low.is_nan() { 0.0 } else { low };
    let room = 1e-12 * (1.0 + c.hi * u.lo.abs().max(u.hi.abs()));
    if room < 0.5 {
        Interval::new(low * (1.0 - room), high * (1.0 + room))
    } else {
        Interval::new(0.0, normal)
    }
}

fn binary_bounds(binary: Binary, a: Interval, b: Interval) -> Interval {
    match binary {
        Binary::Div => a.mul(b.reciprocal()),
        Binary::Pow => a.pow(b),
        Binary::Voigt if b.lo == b.hi => {
            // The profile decreases with the distance from its peak. Its relative error is at most 1e-13.
            let profile = a.abs().falling(|x| special::voigt(x, b.lo)[0]);
            Interval::new(profile.lo * (1.0 - 1e-12), profile.hi * (1.0 + 1e-12))
        }
        Binary::Voigt if b.lo >= 0.0 => {
            let near = near_middle(a, b, |x, y| special::voigt(x, y)[0]);
            near.within(0.0, special::voigt(0.0, b.lo)[0] * (1.0 + 1e-12))
        }
        Binary::Voigt => Interval::ALL,
        Binary::FaddeevaImaginary => near_middle(a, b, |x, y| special::faddeeva_imaginary(x, y)[0]),
        Binary::SmearedDecay => smeared_bounds(a, b),
        Binary::Atan2 if a.is_empty() || b.is_empty() => Interval::EMPTY,
        Binary::Atan2 => Interval::new(-std::f64::consts::PI, std::f64::consts::PI).widened(),
        Binary::NormalIntegral if a.is_empty() || b.is_empty() => Interval::EMPTY,
        Binary::NormalIntegral => {
            // The integral grows with its upper limit and falls with its lower limit.
            let least = special::normal_integral(a.hi, b.lo)[0];
            let most = special::normal_integral(a.lo, b.hi)[0];
            Interval::new(least - 1e-12 * least.abs(), most + 1e-12 * most.abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks for many boxes that the values at points of the box are within the bounds.
    fn check(name: &str, bounds: impl Fn(Interval, Interval) -> Interval, at: impl Fn(f64, f64) -> f64) {
        for i in -12..12 {
            for j in 0..6 {
                for length in [0.0, 0.05, 0.8, 6.0] {
                    let (x, y) = (0.9 * f64::from(i), 0.4 * f64::from(j));
                    let (a, b) = (Interval::new(x, x + length), Interval::new(y, y + 0.7 * length));
                    let all = bounds(a, b);
                    for k in 0..=10 {
                        for l in 0..=10 {
                            let part = |i: Interval, k: i32| i.lo + (i.hi - i.lo) * f64::from(k) / 10.0;
                            let value = at(part(a, k), part(b, l));
                            let inside = all.lo <= value && value <= all.hi;
                            assert!(inside || value.is_nan(), "{name} {a:?} {b:?}: {value} {all:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn bounds_of_functions_of_two_numbers_hold() {
        for binary in [Binary::Voigt, Binary::FaddeevaImaginary, Binary::SmearedDecay, Binary::Atan2] {
            let name = format!("{binary:?}");
            check(&name, |a, b| binary_bounds(binary, a, b), |x, y| binary.at::<Separate>(x, y)[0]);
        }
    }

    #[test]
    fn bounds_of_special_functions_hold() {
        let all = [
            Special::Erf,
            Special::Erfc,
            Special::Sinh,
            Special::Cosh,
            Special::Tanh,
            Special::Asinh,
            Special::Gamma,
            Special::LnGamma,
            Special::BesselJ(0),
            Special::BesselJ(3),
            Special::Landau,
        ];
        for function in all {
            let name = format!("{function:?}");
            check(&name, |a, _| special_bounds(function, a), |x, _| function.value(x));
        }
        check("decay", |a, _| unary_bounds(Unary::Decay, a), |x, _| special::decay(x)[0]);
        assert_eq!(unary_bounds(Unary::Decay, Interval::ALL), Interval::new(0.0, f64::INFINITY));
    }
}
