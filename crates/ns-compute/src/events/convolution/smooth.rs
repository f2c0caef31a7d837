//! Convolutions of two smooth densities by sums.
//!
//! For functions without kinks that vanish at both ends a sum over equally spaced places (the trapezoidal rule) is as exact as a
//! Gauss rule (Trefethen and Weideman, SIAM Review 56 (2014) 385). Each density is evaluated once per place, and not once per place
//! and node. The distance of the places is halved until the sums over the even and over the odd places agree, and until interval
//! arithmetic finds no peak between them that a quadrature rule might miss (`sum`). Between the rows of the result `ln h` is
//! interpolated by polynomials through its neighbours (`lattice`).

use ns_core::Observable;

use super::lattice::Lattice;
use super::nodes::line;
use super::places::Factors;
use super::sum::{Refused, Sum};
use super::support::Support;
use crate::events::integral::Reaches;
use crate::events::program::{Memory, Program, Sources};
use crate::simd::Level;

/// The summed density is cut where bounds of its integrals are below this fraction of the largest one. The second number is
/// for axes that end far away from the peaks.
const CUTS: [f64; 2] = [1e-40, 1e-300];

/// Computes the convolution of two densities, each a function of its own argument. Returns `None` if another method has
/// to do it.
pub(super) fn lattice(
    level: Level,
    factors: &[Program; 2],
    context: &[f64],
    axis: &Observable,
) -> Option<Lattice> {
    let mut pair = factors.each_ref().map(|factor| {
        let mut memory = Memory::new(factor, 1);
        factor.prepare(level, Sources::of(context), &mut memory);
        let mut reaches = Reaches::default();
        reaches.prepare(factor, &memory);
        (factor, reaches)
    });
    let edges = line(axis);
    for (index, cut) in CUTS.into_iter().enumerate() {
        let supports = pair.each_mut().map(|(program, reaches)| Support::of(program, reaches, &edges, cut));
        let [Some(first), Some(second)] = supports else { return None };
        let summed = usize::from(second.width() < first.width());
        let (g, f) = ([first, second][summed], [first, second][1 - summed]);
        if !(g.width().is_finite() && g.width() > 0.0 && f.highest.is_finite()) {
            return None;
        }
        let [a, b] = &mut pair;
        let (of_g, of_f) = if summed == 0 { (a, b) } else { (b, a) };
        let lost = g.outside * f.highest;
        let is_last = index + 1 == CUTS.len();
        let of = Factors { level, context, axis, f: of_f.0, g: of_g.0, ends: g.ends };
        let sum = Sum { of, lost, is_last };
        match sum.lattice((&mut of_f.1, &mut of_g.1)) {
            Ok(made) => return Some(made),
            Err(Refused::Cut) => {}
            Err(Refused::Unsuitable) => return None,
        }
    }
    None
}
