//! Integrals that are out of the range of doubles. Integrands are multiplied by a power of 2 such that their integral is
//! in the range.

use super::cubature::Cubature;
use super::{Integral, IntegralMemory, Rule};
use crate::events::program::Program;
use crate::events::wide::{Wide, WideMemory, WideSources, in_range};
use crate::simd::Level;

/// Number of equal steps along the range of an integral over one observable. The integrand is evaluated at their ends
/// to find where it is largest.
const STEPS: usize = 256;
/// The same number for each observable of an integral over several observables.
const FEW_STEPS: usize = 8;

/// Number of times that the distance from the largest value is halved. Far from its peak a density falls by many powers
/// of e within a small part of the range.
const HALVINGS: i32 = 40;
/// The same number for an integral over several observables.
const FEW_HALVINGS: i32 = 5;

/// Largest number of integrations with different scales.
const MOST_TRIES: usize = 6;

/// Change of the exponent if an integral overflows because a narrow peak is higher than all points that were tried.
const HIGHER: i64 = 900;

impl Integral {
    /// Computes the integral and its derivatives. `variables` contains the values of the variables of the integral.
    /// `known` is the memory of the last integration with doubles; the error of the integral is written to it.
    pub(in crate::events) fn evaluate_wide(
        &self,
        level: Level,
        variables: &[f64],
        known: &mut IntegralMemory,
    ) -> Vec<Wide> {
        if let IntegralMemory::Numeric(cubature) = &*known
            && cubature.diverges
        {
            let mut infinite = vec![Wide::from(f64::NAN); self.size()];
            infinite[0] = Wide::from(f64::INFINITY);
            return infinite;
        }
        let chosen = match &self.rule {
            Rule::Closed(program) => Some((program, &[][..])),
            Rule::Numeric(program, edges) => Some((program, edges.as_slice())),
            Rule::Normal(normal) => normal.at(variables),
            Rule::Conditional(_) => None,
        };
        let mut out = vec![0.0; self.size()];
        let Some((program, edges)) = chosen else {
            self.evaluate(level, variables, known, &mut out);
            return out.into_iter().map(Wide::from).collect();
        };
        let sources = WideSources { variables, inputs: &[], data: &[] };
        if edges.is_empty() {
            let mut memory = WideMemory::new(program);
            memory.prepare(program, sources);
            return memory.value().to_vec();
        }
        let Some((mut exponent, place)) = largest(program, sources, edges) else {
            return vec![Wide::ZERO; out.len()];
        };
        let edges = divided(edges, &place);
        let mut cubature = Cubature::new(program, edges.len(), self.purpose);
        for _ in 0..MOST_TRIES {
            cubature.scale(program, -exponent);
            cubature.integrate(level, program, super::Sources::of(variables), &edges, &mut out);
            match Wide::from(out[0]).exponent() {
                _ if out[0].is_infinite() => exponent += HIGHER,
                Some(own) if !in_range(out[0]) => exponent += own,
                _ => break,
            }
        }
        match known {
            IntegralMemory::Numeric(known) => known.error = cubature.error,
            IntegralMemory::Normal(known) => known.error = cubature.error,
            IntegralMemory::Closed(_) | IntegralMemory::Conditional(_) => {}
        }
        out.into_iter().map(|x| Wide::new(x, exponent)).collect()
    }
}

/// Finds where an integrand is largest: among equally spaced points of a box, and then in steps that are halved again and
/// again, because a peak may be much narrower than the distance of these points. Returns the exponent of its value and
/// the point; `None` if it is 0 at all of them. `edges` contains the ends of the box and places between them.
fn largest(program: &Program, sources: WideSources<'_>, edges: &[Vec<f64>]) -> Option<(i64, Vec<f64>)> {
    let mut memory = WideMemory::new(program);
    memory.prepare(program, sources);
    let mut exponent_at = |point: &[f64]| {
        let columns: Vec<&[f64]> = point.chunks_exact(1).collect();
        memory.run(program, &columns, 0);
        memory.value().first().and_then(|value| value.exponent())
    };
    let (steps, halvings) = match edges.len() {
        1 => (STEPS, HALVINGS),
        _ => (FEW_STEPS, FEW_HALVINGS),
    };
    let ends: Vec<(f64, f64)> = edges.iter().map(|edges| (edges[0], edges[edges.len() - 1])).collect();
    let count = (steps + 1).pow(edges.len() as u32);
    let mut most: Option<(i64, Vec<f64>)> = None;
    for index in 0..count {
        let mut rest = index;
        let mut place = |&(lo, hi): &(f64, f64)| {
            let step = rest % (steps + 1);
            rest /= steps + 1;
            lo + (hi - lo) * step as f64 / steps as f64
        };
        let point: Vec<f64> = ends.iter().map(&mut place).collect();
        let exponent = exponent_at(&point);
        if let Some(exponent) = exponent.filter(|e| most.as_ref().is_none_or(|(known, _)| e > known)) {
            most = Some((exponent, point));
        }
    }
    let (mut exponent, mut point) = most?;
    for part in (1..=halvings).map(|k| 0.5_f64.powi(k) / steps as f64) {
        for (axis, (lo, hi)) in ends.iter().enumerate() {
            let here = point[axis];
            for step in [-part, part] {
                let mut trial = point.clone();
                trial[axis] = (here + step * (hi - lo)).clamp(*lo, *hi);
                if let Some(higher) = exponent_at(&trial).filter(|other| *other > exponent) {
                    (exponent, point) = (higher, trial);
                }
            }
        }
    }
    Some((exponent, point))
}

/// Adds edges around the point `place`, at distances that are halved again and again.
fn divided(edges: &[Vec<f64>], place: &[f64]) -> Vec<Vec<f64>> {
    let halvings = if edges.len() == 1 { HALVINGS } else { FEW_HALVINGS };
    let around = |(edges, &x): (&Vec<f64>, &f64)| {
        let (lo, hi) = (edges[0], edges[edges.len() - 1]);
        let distances = (1..=halvings).map(|k| (hi - lo) * 0.5_f64.powi(k));
        let mut all: Vec<f64> = edges.iter().copied().chain([x]).collect();
        all.extend(distances.flat_map(|distance| [x - distance, x + distance]));
        all.retain(|edge| (lo..=hi).contains(edge));
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    };
    edges.iter().zip(place).map(around).collect()
}
