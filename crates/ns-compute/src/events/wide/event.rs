//! Adds single events to the sums of a channel, with numbers of a wide range.

use super::{Wide, WideAmplitudes, WideMemory, WideSources};
use crate::events::channel::ChannelPlan;
use crate::events::program::pair;
use crate::events::sums::{Point, Sums, triangle};

/// Working memory of one thread.
#[derive(Debug, Clone, Default)]
pub(in crate::events) struct EventMemory {
    leaves: Vec<WideMemory>,
    /// Value and derivatives of each leaf (basic density) at the event.
    values: Vec<Vec<Wide>>,
    amplitudes: Vec<Wide>,
    /// For each term, its amplitude times the product of its leaves.
    terms: Vec<Wide>,
    /// Derivative of the density with respect to each coordinate, divided by the density.
    slopes: Vec<f64>,
}

impl EventMemory {
    /// Prepares the leaves (basic densities) of a channel for all events.
    pub(in crate::events) fn prepare(&mut self, plan: &ChannelPlan, point: Point<'_>) {
        if self.leaves.is_empty() {
            self.leaves = plan.leaves.iter().map(|leaf| WideMemory::new(leaf.program())).collect();
            self.values = vec![Vec::new(); plan.leaves.len()];
            self.slopes = vec![0.0; plan.coordinates];
        }
        for (leaf, memory) in plan.leaves.iter().zip(&mut self.leaves) {
            let variables: Vec<f64> = leaf.variables.iter().map(|&local| point.locals[local]).collect();
            let sources = WideSources { variables: &variables, inputs: &[], data: &variables };
            memory.prepare(leaf.program(), sources);
        }
        self.amplitudes.clear();
        self.amplitudes.extend(match point.wide {
            Some(WideAmplitudes { values, exponents, .. }) => {
                values.iter().zip(exponents).map(|(&value, &exponent)| Wide::new(value, exponent)).collect()
            }
            None => point.amplitudes.iter().map(|&a| Wide::from(a)).collect::<Vec<_>>(),
        });
    }

    /// Computes the densities of all leaves and terms for the event `index` of `columns`, and returns the density of
    /// the channel.
    fn density(&mut self, plan: &ChannelPlan, point: Point<'_>, columns: &[&[f64]], index: usize) -> Wide {
        for ((leaf, memory), value) in plan.leaves.iter().zip(&mut self.leaves).zip(&mut self.values) {
            value.clear();
            match leaf.wide(point, columns, index) {
                Some(own) => value.extend(own),
                None => {
                    memory.run(leaf.program(), columns, index);
                    value.extend_from_slice(memory.value());
                }
            }
        }
        self.terms.clear();
        let mut density = Wide::ZERO;
        for (term, &a) in plan.terms.iter().zip(&self.amplitudes) {
            let whole = self.product(&term.leaves, &[], a);
            self.terms.push(whole);
            density = density.add(whole);
        }
        density
    }

    /// Returns `factor` times the product of the values of `leaves`, without those in `without`.
    fn product(&self, leaves: &[usize], without: &[usize], factor: Wide) -> Wide {
        let kept = leaves.iter().filter(|leaf| !without.contains(leaf));
        kept.fold(factor, |product, &leaf| product.mul(self.values[leaf][0]))
    }

    /// Returns the exponent by which the derivative with respect to the amplitude of a term is scaled.
    fn exponent(point: Point<'_>, term: usize) -> i64 {
        point.wide.map_or(0, |wide| wide.exponents[term])
    }
}

/// What one event adds to a sum of a function of the density `f`. The derivatives of the function are those of `f`,
/// multiplied by `inverse` and by one of the other factors.
struct Factors {
    inverse: Wide,
    /// Factor of first and second derivatives of `f`.
    single: f64,
    /// Factor of products of two first derivatives of `f`.
    square: f64,
}

/// Adds the event `index` with the weight `weight` to `sums`. Returns false, and adds nothing, if the density of the
/// event is not positive. [`EventMemory::prepare`] must have been called before.
///
/// If the density is not positive and `point.least` is given, adds the parabola that continues `-ln f` below this
/// density, and returns false.
pub(in crate::events) fn add_event(
    plan: &ChannelPlan,
    point: Point<'_>,
    columns: &[&[f64]],
    (index, weight): (usize, f64),
    memory: &mut EventMemory,
    sums: &mut Sums,
) -> bool {
    let density = memory.density(plan, point, columns, index);
    if density.is_finite() && density.is_positive() {
        let log = density.ln();
        sums.value -= weight * log;
        // The logarithm of the amplitude and those of the leaves cancel in part.
        let size = |x: Wide| x.exponent().map_or(0.0, |e| (e as f64 * std::f64::consts::LN_2).abs());
        let largest = memory.amplitudes.iter().map(|a| size(*a)).fold(log.abs(), f64::max);
        sums.scale += weight.abs() * largest;
        let factors = Factors { inverse: Wide::ONE.div(density), single: -weight, square: weight };
        add_derivatives(plan, point, &factors, memory, sums);
        return true;
    }
    if let Some(least) = point.least {
        let (weight, below) = (weight.abs(), 1.0 - density.to_f64() / least);
        let value = weight * (below + 0.5 * below * below - least.ln());
        sums.value += value;
        sums.scale += value.abs();
        let (single, square) = (-weight * (1.0 + below), weight);
        let factors = Factors { inverse: Wide::ONE.div(Wide::from(least)), single, square };
        add_derivatives(plan, point, &factors, memory, sums);
    }
    false
}

fn add_derivatives(
    plan: &ChannelPlan,
    point: Point<'_>,
    factors: &Factors,
    memory: &mut EventMemory,
    sums: &mut Sums,
) {
    let &Factors { inverse, single, square } = factors;
    memory.slopes.fill(0.0);
    for (t, term) in plan.terms.iter().enumerate() {
        let scale = Wide::new(1.0, EventMemory::exponent(point, t));
        memory.slopes[t] = memory.product(&term.leaves, &[], scale).mul(inverse).to_f64();
        for (j, &leaf) in term.leaves.iter().enumerate() {
            let own = &plan.leaves[leaf];
            let (first, d) = (plan.first[leaf], own.variables.len());
            let (ones, pairs) = own.active();
            let share = memory.product(&term.leaves, &[leaf], inverse);
            let whole = share.mul(memory.amplitudes[t]);
            for &v in ones {
                let derivative = memory.values[leaf][1 + v];
                memory.slopes[first + v] += whole.mul(derivative).to_f64();
                let mixed = share.mul(derivative).mul(scale).to_f64();
                sums.bends[triangle(first + v, t)] += single * mixed;
            }
            for &(v, w) in pairs {
                let second = whole.mul(memory.values[leaf][pair(d, v, w)]).to_f64();
                sums.bends[triangle(first + v, first + w)] += single * second;
            }
            for &other in &term.leaves[j + 1..] {
                let rest = memory.product(&term.leaves, &[leaf, other], inverse).mul(memory.amplitudes[t]);
                for &v in ones {
                    let one = rest.mul(memory.values[leaf][1 + v]);
                    for &w in plan.leaves[other].active().0 {
                        let both = one.mul(memory.values[other][1 + w]).to_f64();
                        sums.bends[triangle(first + v, plan.first[other] + w)] += single * both;
                    }
                }
            }
        }
    }
    let mut at = 0;
    for (a, slope) in memory.slopes.iter().enumerate() {
        sums.gradient[a] += single * slope;
        for other in &memory.slopes[..=a] {
            sums.squares[at] += square * slope * other;
            at += 1;
        }
    }
}
