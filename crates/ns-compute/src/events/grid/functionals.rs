//! The integrals that a grid of Asimov data has to reproduce.
//!
//! The likelihood of Asimov data is `nu - sum_i W_i ln f(x_i)`, where the sum is a rule for the integral of
//! `f_A ln f`. `f_A` is the density at the point where the data were made, and `f` the density at any point that an
//! analysis visits. The rule has to be right for all these points. They differ from the first point by the strengths of
//! the terms of the density, and by their shapes.

use super::Point;
use super::values::Values;

/// Largest error of the integral of `f_A ln f`. It is half the error of twice `-ln L`.
pub(super) const LOGS: f64 = 5e-7;

/// Largest error of the integral of a term of the density, as a fraction of the integral.
const TERMS: f64 = 1e-9;

/// Factor by which a density is raised more than needed where it is negative.
const LIFT: f64 = 1.01;

/// Largest number of terms of a density that are all tested with several strengths.
const MANY: usize = 8;

/// A function of the observables whose integral a grid has to reproduce. `f` is the expected number of events per unit
/// of volume.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// The density `p` of one term.
    Term(usize),
    /// `f`.
    Density,
    /// `f ln (f / c)` with a constant `c`.
    Log(f64),
    /// `f ln(1 + s p / f)`: the term with the second index has `s` more events. `p` is its density at the parameter point
    /// with the first index.
    More(usize, usize, f64),
    /// `f ln(g / f)`: `g` is `f` without the term with this index.
    Without(usize),
    /// `f ln(g / f + l)`: `g` is the density at another parameter point, and `l` is 0 if `g` is not negative anywhere.
    Other(usize),
}

/// The functions of the observables whose integrals a grid has to reproduce.
#[derive(Debug, Clone, Default)]
pub(super) struct Functionals {
    /// Each function comes with the reciprocal of the largest error of its integral.
    list: Vec<(Kind, f64)>,
    /// Whether the function is not finite at a node. Such a function is not considered.
    is_broken: Vec<bool>,
    /// For each parameter point and each term, the reciprocal of the integral of the term's product of leaves.
    normalise: Vec<Vec<f64>>,
    amplitudes: Vec<f64>,
    /// For each parameter point, a number that is added to the density in units of the density at the first point.
    lifts: Vec<f64>,
    /// Factor that turns the density into expected numbers of events.
    events: f64,
}

impl Functionals {
    /// Returns the functions for a first, rough integration: the terms of the density, with their rough integrals.
    pub(super) fn of_terms(rough: &[f64], tolerance: f64) -> Self {
        let list: Vec<(Kind, f64)> = (0..rough.len()).map(|t| (Kind::Term(t), 1.0 / tolerance)).collect();
        Self {
            is_broken: vec![false; list.len()],
            list,
            normalise: vec![rough.iter().map(inverse).collect()],
            amplitudes: Vec::new(),
            lifts: Vec::new(),
            events: 1.0,
        }
    }

    /// Returns all functions. `integrals` contains, for each parameter point and each term, the integral of the term's
    /// product of leaves; it is 0 for terms with the same shape as at the first point. `squares` contains the integral
    /// of `p^2 / f` for each term with density `p`. `total` is the expected number of events.
    pub(super) fn new(
        point: &Point,
        integrals: &[Vec<f64>],
        squares: &[f64],
        (total, volume): (f64, f64),
    ) -> Self {
        let terms = point.amplitudes.len();
        let sum: f64 = integrals[0].iter().zip(&point.amplitudes).map(|(p, a)| p * a).sum();
        let logs = 1.0 / LOGS.max(1e-14 * total);
        let mut list = vec![(Kind::Density, 1e7 / total.sqrt().max(1.0)), (Kind::Log(total / volume), logs)];
        for (t, square) in squares.iter().enumerate() {
            list.push((Kind::Term(t), 1.0 / TERMS));
            // The uncertainty of the number of events of a term, as far as the other terms are known.
            let sigma = if *square > 0.0 { square.sqrt().recip() } else { 1.0 };
            let strengths = [3.0 + 6.0 * sigma, 2.0 * sigma, 10.0 + 30.0 * sigma];
            let tested = if terms > MANY { 1 } else { strengths.len() };
            list.extend(strengths.iter().take(tested).map(|s| (Kind::More(0, t, *s), logs)));
            let moved = (1..integrals.len()).filter(|j| integrals[*j][t] != 0.0);
            list.extend(moved.map(|j| (Kind::More(j, t, strengths[0]), logs)));
            if point.amplitudes.get(t).is_some_and(|a| *a != 0.0) && terms > 1 {
                list.push((Kind::Without(t), logs));
            }
        }
        list.extend((1..integrals.len()).map(|j| (Kind::Other(j), logs)));
        Self {
            is_broken: vec![false; list.len()],
            list,
            normalise: integrals.iter().map(|own| own.iter().map(inverse).collect()).collect(),
            amplitudes: point.amplitudes.clone(),
            lifts: vec![0.0; integrals.len()],
            events: if sum > 0.0 { total / sum } else { 0.0 },
        }
    }

    /// Returns the number of functions.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the reciprocal of the largest error of the integral of a function, or 0 if the function is not
    /// considered.
    pub(super) fn weight(&self, function: usize) -> f64 {
        if self.is_broken[function] { 0.0 } else { self.list[function].1 }
    }

    /// Takes note that the density at the parameter point `other` is `lowest` in units of the density at the first point.
    ///
    /// A fit may end where a density is negative between two nodes. This function of the observables is then raised, so
    /// that its singularity is where the density is lowest. The rule gets many nodes there, and the next fit cannot end at
    /// such a point.
    pub(super) fn lift(&mut self, other: usize, lowest: f64) {
        if lowest < 0.0 && lowest.is_finite() {
            self.lifts[other] = self.lifts[other].max(-LIFT * lowest);
        }
    }

    /// Computes a function at all nodes for which `values` contains densities.
    pub(super) fn fill(&mut self, function: usize, values: &Values, out: &mut Vec<f64>) {
        let density = &values.densities[0];
        out.clear();
        let events = self.events;
        let log = |f: f64, ratio: f64| if f == 0.0 { 0.0 } else { events * f * ratio.ln() };
        match self.list[function].0 {
            Kind::Term(t) => {
                let scale = self.normalise[0][t];
                out.extend(values.products[0][t].iter().map(|p| scale * p));
            }
            Kind::Density => out.extend(density.iter().map(|f| events * f)),
            Kind::Log(scale) => out.extend(density.iter().map(|&f| log(f, events * f / scale))),
            Kind::More(j, t, strength) => {
                let scale = strength * self.normalise[j][t];
                let at = |(&f, p): (&f64, &f64)| match events * f {
                    0.0 => 0.0,
                    f => f * (scale * p / f).ln_1p(),
                };
                out.extend(density.iter().zip(&values.products[j][t]).map(at));
            }
            Kind::Without(t) => {
                out.extend(density.iter().enumerate().map(|(i, &f)| {
                    let others =
                        values.products[0].iter().zip(&self.amplitudes).enumerate().filter(|o| o.0 != t);
                    let rest: f64 = others.map(|(_, (product, a))| a * product[i]).sum();
                    log(f, rest / f)
                }));
            }
            Kind::Other(j) => {
                let ratios = density.iter().zip(&values.densities[j]).filter(|(f, _)| **f > 0.0);
                self.lift(j, ratios.map(|(f, g)| g / f).fold(0.0, f64::min));
                let ratio = |f: f64, g: f64| (g / f + self.lifts[j]).max(f64::MIN_POSITIVE);
                out.extend(density.iter().zip(&values.densities[j]).map(|(&f, &g)| log(f, ratio(f, g))));
            }
        }
        if out.iter().any(|x| !x.is_finite()) {
            self.is_broken[function] = true;
        }
    }
}

fn inverse(x: &f64) -> f64 {
    if *x == 0.0 { 0.0 } else { 1.0 / x }
}
