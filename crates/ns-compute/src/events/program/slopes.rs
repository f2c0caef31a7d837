//! Bounds of derivatives with respect to observables, by interval arithmetic.

use ns_core::Special;

use super::{Binary, Interval, Slot, Step, Unary, fixed};

const ZERO: Interval = Interval::point(0.0);
const ONE: Interval = Interval::point(1.0);

/// Returns bounds of the derivative of the result of a step, at `slot`, with respect to one observable, `axis`. `bounds`
/// contains the bounds of all results up to this one. `slope` returns the bounds of the derivative of an earlier result.
pub(in crate::events) fn slope_bounds(
    step: Step,
    (slot, axis): (Slot, usize),
    bounds: &[Interval],
    slope: &dyn Fn(Slot) -> Interval,
) -> Interval {
    let chain =
        |derivative: Interval, a: Slot| if slope(a) == ZERO { ZERO } else { derivative.mul(slope(a)) };
    let found = match step {
        Step::Observable(x) => {
            if x == axis {
                ONE
            } else {
                ZERO
            }
        }
        Step::Add(a, b) => slope(a).add(slope(b)),
        Step::Sub(a, b) => slope(a).sub(slope(b)),
        Step::Mul(a, b) if a == b => chain(bounds[a].mul(Interval::point(2.0)), a),
        Step::Mul(a, b) => chain(bounds[b], a).add(chain(bounds[a], b)),
        Step::Unary(unary, a) => chain(derivative(unary, bounds[a], bounds[slot]), a),
        Step::Binary(Binary::Div, a, b) => {
            let inverse = bounds[b].reciprocal();
            chain(inverse, a).sub(chain(bounds[slot].mul(inverse), b))
        }
        Step::Binary(Binary::Pow, a, p) if bounds[p].lo == bounds[p].hi => {
            chain(derivative(Unary::Power(bounds[p].lo), bounds[a], bounds[slot]), a)
        }
        Step::Binary(Binary::NormalIntegral, a, b) => {
            let density = |t: Slot| bounds[t].square().mul(Interval::point(-0.5)).rising(fixed::exp);
            chain(density(b), b).sub(chain(density(a), a))
        }
        Step::Binary(Binary::SmearedDecay, a, b) => {
            // The normal density minus `c` times the value, and a derivative with respect to `c` that is not bounded here.
            if slope(b) == ZERO {
                let density = bounds[a].square().mul(Interval::point(-0.5)).rising(fixed::exp);
                let density = density.mul(Interval::point(0.398_942_280_401_432_7));
                chain(density.sub(bounds[b].mul(bounds[slot])), a)
            } else {
                Interval::ALL
            }
        }
        Step::Binary(_, a, b) => {
            if slope(a) == ZERO && slope(b) == ZERO {
                ZERO
            } else {
                Interval::ALL
            }
        }
        Step::Select(condition, a, b) => match (bounds[condition].lo, bounds[condition].hi) {
            (0.0, 0.0) => slope(b),
            (lo, hi) if lo > 0.0 || hi < 0.0 => slope(a),
            _ => Interval::ALL,
        },
        Step::Table(..) => Interval::ALL,
        // The result of a comparison may jump.
        Step::Less(..) | Step::LessEqual(..) | Step::Equal(..) => {
            if bounds[slot].lo == bounds[slot].hi {
                ZERO
            } else {
                Interval::ALL
            }
        }
        Step::Number(_) | Step::Variable(_) | Step::Input(_) | Step::Datum(_) => ZERO,
    };
    if found.is_empty() { Interval::ALL } else { found }
}

/// Returns bounds of the derivative of a function of one number. `x` contains the numbers, and `value` the values.
fn derivative(unary: Unary, x: Interval, value: Interval) -> Interval {
    let half_pi = std::f64::consts::FRAC_PI_2;
    match unary {
        Unary::Neg => Interval::point(-1.0),
        Unary::Exp => value,
        Unary::Ln => x.within(0.0, f64::INFINITY).reciprocal(),
        Unary::Sqrt => value.reciprocal().mul(Interval::point(0.5)),
        Unary::Abs if x.lo >= 0.0 => ONE,
        Unary::Abs if x.hi <= 0.0 => Interval::point(-1.0),
        Unary::Abs => Interval::new(-1.0, 1.0),
        Unary::Sin => x.sin(half_pi),
        Unary::Cos => x.sin(0.0).neg(),
        Unary::Tan => value.square().add(ONE),
        Unary::Atan => x.square().add(ONE).reciprocal(),
        Unary::Asinh => x.square().add(ONE).power(-0.5),
        Unary::Reciprocal => value.square().neg(),
        Unary::Power(p) => x.power(p - 1.0).mul(Interval::point(p)),
        Unary::Special(Special::Erf | Special::Erfc) => {
            let peak =
                x.square().neg().rising(fixed::exp).mul(Interval::point(std::f64::consts::FRAC_2_SQRT_PI));
            if unary == Unary::Special(Special::Erf) { peak } else { peak.neg() }
        }
        Unary::Special(Special::Sinh) => x.abs().rising(libm::cosh),
        Unary::Special(Special::Cosh) => x.rising(libm::sinh),
        Unary::Special(Special::Tanh) => x.abs().rising(libm::cosh).square().reciprocal(),
        // The slope is steepest at -1.6062, where it is 0.118750.
        Unary::Special(Special::Landau) => Interval::new(-0.11876, 0.11876),
        Unary::Special(Special::BesselJ(_)) => Interval::new(-1.0, 1.0),
        Unary::Special(_) => Interval::ALL,
        Unary::Asin | Unary::Acos | Unary::Decay | Unary::Interpolation(_) => Interval::ALL,
    }
}
