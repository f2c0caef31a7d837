//! Integrals of multivariate normal densities over boxes.
//!
//! An observable whose box holds the whole density drops out: its integral over all numbers is closed. So is the integral
//! over one of the others, given the rest (A. Genz, F. Bretz, "Computation of Multivariate Normal and t Probabilities",
//! 2009, section 4.1). Quadrature is left for all others but this one, so a density whose box cuts it in two observables
//! needs one dimension. Which observables drop out depends on the parameters, and is decided at every point.

use super::super::conditional::ContextNumber;
use super::Purpose;
use super::cubature::Cubature;
use super::edges::edges;
use crate::events::program::{Memory, Program, Sources};
use crate::simd::Level;

/// An end of a box does not cut the density if it is at least this number of standard deviations from the mean. The
/// density beyond is 1e-17 of the whole.
const FAR: f64 = 8.5;

/// Largest number of observables for which there is a program for every choice of the observables that drop out.
pub(in crate::events) const MOST_OBSERVABLES: usize = 5;

/// Largest number of observables with ends, for densities with more observables than [`MOST_OBSERVABLES`].
const MOST_CUT: usize = 3;

/// The integral of a multivariate normal density over a box.
#[derive(Debug, Clone)]
pub(in crate::events) struct NormalIntegral {
    /// Ends of the box, one pair per observable of the density.
    sides: Vec<(f64, f64)>,
    mean: Vec<ContextNumber>,
    variances: Vec<ContextNumber>,
    /// One program per choice of the observables with ends, and the edges of the box of the program. Bit `i` of an index
    /// says whether observable `i` has ends. `None` for choices that are not offered.
    choices: Vec<Option<(Program, Vec<Vec<f64>>)>>,
    pub(super) purpose: Purpose,
}

/// Working memory. The memory of each choice is allocated when it is first needed.
#[derive(Debug, Clone)]
pub(in crate::events) struct NormalMemory {
    choices: Vec<Option<Choice>>,
    /// Estimated error of the last integral, as a fraction of the integral.
    pub(super) error: f64,
}

#[derive(Debug, Clone)]
enum Choice {
    Closed(Memory),
    Numeric(Box<Cubature>),
}

impl NormalIntegral {
    /// Compiles the integral. `program` makes the program for an order of the observables, of which the first `cut` have
    /// ends.
    pub(in crate::events) fn new(
        sides: Vec<(f64, f64)>,
        (mean, variances): (Vec<ContextNumber>, Vec<ContextNumber>),
        purpose: Purpose,
        program: &mut dyn FnMut(&[usize], usize) -> Program,
    ) -> Self {
        let n = sides.len();
        let is_offered = |cut: usize| n <= MOST_OBSERVABLES || cut <= MOST_CUT || cut == n;
        let choice = |mask: usize| {
            let has_ends = |i: &usize| mask >> i & 1 == 1;
            let mut order: Vec<usize> = (0..n).filter(has_ends).collect();
            let cut = order.len();
            if !is_offered(cut) {
                return None;
            }
            order.extend((0..n).filter(|i| !has_ends(i)));
            let made = program(&order, cut);
            let outer: Vec<(f64, f64)> =
                order.iter().take(cut.saturating_sub(1)).map(|&i| sides[i]).collect();
            let edges = edges(&made, &outer, purpose);
            Some((made, edges))
        };
        let choices = (0..1 << n).map(choice).collect();
        Self { sides, mean, variances, choices, purpose }
    }

    pub(super) fn memory(&self) -> NormalMemory {
        NormalMemory { choices: self.choices.iter().map(|_| None).collect(), error: 0.0 }
    }

    /// Iterates over the programs of all choices.
    pub(super) fn programs(&self) -> impl Iterator<Item = &Program> {
        self.choices.iter().flatten().map(|(program, _)| program)
    }

    /// Computes the integral and its derivatives with respect to the variables, and writes them to `out`.
    pub(super) fn evaluate(
        &self,
        level: Level,
        variables: &[f64],
        memory: &mut NormalMemory,
        out: &mut [f64],
    ) {
        let mask = self.choice(variables);
        let Some((program, edges)) = &self.choices[mask] else {
            out.fill(f64::NAN);
            return;
        };
        let choice = memory.choices[mask].get_or_insert_with(|| match edges.len() {
            0 => Choice::Closed(Memory::new(program, 1)),
            d => Choice::Numeric(Box::new(Cubature::new(program, d, self.purpose))),
        });
        let sources = Sources::of(variables);
        match choice {
            Choice::Closed(own) => {
                program.prepare(level, sources, own);
                out.copy_from_slice(own.value(program));
                memory.error = 0.0;
            }
            Choice::Numeric(own) => {
                own.integrate(level, program, sources, edges, out);
                memory.error = own.error;
            }
        }
    }

    /// Returns the program of the integral at `variables`, and the edges of the box over which it is integrated. There
    /// are no edges if the program is a closed form.
    pub(super) fn at(&self, variables: &[f64]) -> Option<(&Program, &[Vec<f64>])> {
        let (program, edges) = self.choices[self.choice(variables)].as_ref()?;
        Some((program, edges))
    }

    fn choice(&self, variables: &[f64]) -> usize {
        let mask = self.cut(variables);
        if self.choices[mask].is_some() { mask } else { self.choices.len() - 1 }
    }

    /// Returns which observables have ends that cut the density, as a mask.
    fn cut(&self, variables: &[f64]) -> usize {
        let standard = |i: usize| {
            let (mean, sigma) = (self.mean[i].of(variables), self.variances[i].of(variables).sqrt());
            let (lo, hi) = self.sides[i];
            ((lo - mean) / sigma, (hi - mean) / sigma)
        };
        // If the box does not contain the mean, the part of the density within the box may lie far from the mean in all
        // observables.
        let beyond = |(lo, hi): (f64, f64)| lo.max(-hi).max(0.0);
        let distance: f64 = (0..self.sides.len()).map(|i| beyond(standard(i))).sum();
        let far = FAR + distance;
        let is_cut = |i: &usize| {
            let (lo, hi) = standard(*i);
            !(lo <= -far && hi >= far)
        };
        (0..self.sides.len()).filter(is_cut).fold(0, |mask, i| mask | 1 << i)
    }
}
