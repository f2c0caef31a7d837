//! Draws the events of channels with densities that have no formula, such as flows.
//!
//! All events of a toy are drawn together, in rounds. Each round makes one attempt for every event that is not accepted
//! yet. A flow is thus called only a few times per toy. If the flow has a sampler, the sampler proposes the events, and
//! events outside the fit range are rejected. Otherwise events are drawn below a [`Table`], a piecewise constant
//! function above the density. The log-densities of the events are computed once, at the end.

use ns_core::random::{Stream, centred_uniform, normal_quantile, open_uniform};
use ns_core::{Base, DrawEvents, EventColumns, LogDensity, LogProb, NotDrawn, SharedLogProb};

use super::draw::{Group, Number, Part};
use super::formula::FormulaMemory;
use super::table::Table;

/// Largest number of rounds in which events are proposed. The first round proposes all events. Every later round
/// proposes only those events again that all previous rounds rejected.
const MOST_ROUNDS: u32 = 10_000;

/// A density that has no formula, such as a flow, with the values of its context (the numbers on which it depends
/// besides its features).
#[derive(Debug, Clone)]
pub(super) struct Neural {
    /// Indices of the observables that are the features of the density.
    pub(super) observables: Vec<usize>,
    pub(super) source: SharedLogProb,
    pub(super) context: Vec<f64>,
}

impl Neural {
    pub(super) fn density(&self) -> &dyn LogProb {
        &*self.source.0
    }
}

/// A distribution of observables (features) that are drawn together.
#[derive(Debug, Clone)]
pub(super) enum Member {
    /// Features whose density has a formula. They are drawn below its hat (an upper bound of the density).
    Formula(Group),
    /// Features that the sampler of a flow draws. They are accepted if they are inside the box with the given sides.
    Sampler { density: Neural, sides: Vec<(f64, f64)>, base: Base, numbers: usize },
    /// Features that are drawn below a table (a piecewise constant function above the density). The density of the flow
    /// decides whether they are accepted.
    Table { density: Neural, table: Table },
}

impl Member {
    /// Returns the area below the hat or the table from which the features are drawn. It is 1 for a sampler.
    pub(super) fn area(&self) -> f64 {
        match self {
            Self::Formula(group) => group.hat.area,
            Self::Sampler { .. } => 1.0,
            Self::Table { table, .. } => table.area,
        }
    }

    /// Returns the number of random numbers per attempt to draw the features.
    fn numbers(&self) -> usize {
        match self {
            Self::Formula(group) => 1 + group.observables.len(),
            Self::Sampler { numbers, .. } => *numbers,
            Self::Table { density, .. } => 2 + density.observables.len(),
        }
    }
}

/// The distribution from which the events of a channel with flows are drawn, at one parameter point.
#[derive(Debug, Clone)]
pub(super) struct Rounds {
    observables: usize,
    number: Number,
    /// All densities of the channel whose logarithms are stored as columns of the events.
    logs: Vec<LogDensity>,
    members: Vec<Member>,
    parts: Vec<Part>,
    /// Cumulative fractions of the weights of the parts: element `i` is the sum of the weights of the parts 0 to `i`,
    /// divided by the sum of all weights.
    ends: Vec<f64>,
    /// Number of 128-bit blocks of the random stream per attempt to draw an event.
    blocks: u32,
}

/// The points at which the flow of one member (a distribution of features that are drawn together) is evaluated in a
/// round.
#[derive(Debug, Clone, Default)]
struct Batch {
    /// For each point, the index of its event among the events of the round.
    places: Vec<usize>,
    /// Inputs of the flow, one row per point: random numbers for a sampler, or proposed features for a table.
    rows: Vec<f64>,
    /// For a table, two numbers per point: the density must exceed the first and must not exceed the second. The second
    /// is the height of the table's cell (piece of constant height) at the point. The first is this height times a
    /// uniform random number.
    limits: Vec<(f64, f64)>,
}

/// The random numbers for a single attempt to draw an event.
struct Numbers<'a> {
    stream: &'a Stream,
    slot: u32,
    block: u32,
}

impl Numbers<'_> {
    fn words(&self, index: usize) -> (u32, u32) {
        let [a, b, c, d] = self.stream.block(self.slot, self.block.wrapping_add(index as u32 / 2));
        if index.is_multiple_of(2) { (a, b) } else { (c, d) }
    }

    fn uniform(&self, index: usize) -> f64 {
        let (low, high) = self.words(index);
        open_uniform(low, high)
    }

    fn of(&self, base: Base, index: usize) -> f64 {
        let (low, high) = self.words(index);
        match base {
            Base::Uniform => open_uniform(low, high),
            Base::Normal => normal_quantile(centred_uniform(low, high)),
        }
    }
}

impl Rounds {
    pub(super) fn new(
        observables: usize,
        number: Number,
        logs: Vec<LogDensity>,
        members: Vec<Member>,
        parts: Vec<Part>,
    ) -> Self {
        let of = |part: &Part| part.groups.iter().map(|&m| members[m].numbers()).sum::<usize>();
        let most = parts.iter().map(of).max().unwrap_or(0);
        let ends = super::draw::ends(&parts);
        // The first number chooses the part.
        let blocks = (1 + most).div_ceil(2) as u32;
        Self { observables, number, logs, members, parts, ends, blocks }
    }

    /// Makes one attempt for each event in `pending`. Returns the indices of the events that are not accepted.
    fn round(
        &self,
        stream: &Stream,
        (first, round): (u32, u32),
        pending: &[usize],
        columns: &mut [Vec<f64>],
    ) -> Result<Vec<usize>, NotDrawn> {
        let mut accepted = vec![true; pending.len()];
        let mut batches = vec![Batch::default(); self.members.len()];
        let mut memories = vec![FormulaMemory::default(); self.members.len()];
        let (mut uniforms, mut own) = (Vec::new(), Vec::new());
        for (place, &event) in pending.iter().enumerate() {
            let slot = first.wrapping_add(event as u32);
            let numbers = Numbers { stream, slot, block: round * self.blocks };
            let u = numbers.uniform(0);
            let chosen = self.ends.partition_point(|&end| end <= u).min(self.parts.len().saturating_sub(1));
            let mut next = 1;
            for &m in &self.parts.get(chosen).ok_or(NotDrawn)?.groups {
                let member = &self.members[m];
                let range = next..next + member.numbers();
                next = range.end;
                uniforms.clear();
                own.clear();
                let batch = &mut batches[m];
                match member {
                    Member::Formula(group) => {
                        uniforms.extend(range.map(|i| numbers.uniform(i)));
                        let cell = group.propose(&uniforms[1..], &mut own);
                        accepted[place] &= group.accepts(uniforms[0], cell, &own, &mut memories[m])?;
                        for (&x, value) in group.observables.iter().zip(&own) {
                            columns[x][event] = *value;
                        }
                    }
                    Member::Sampler { base, .. } => {
                        batch.places.push(place);
                        batch.rows.extend(range.map(|i| numbers.of(*base, i)));
                    }
                    Member::Table { table, .. } => {
                        uniforms.extend(range.map(|i| numbers.uniform(i)));
                        let height = table.propose(&uniforms[1..], &mut own);
                        batch.places.push(place);
                        batch.limits.push((uniforms[0] * height, height));
                        batch.rows.extend_from_slice(&own);
                    }
                }
            }
        }
        for (member, batch) in self.members.iter().zip(&batches) {
            match member {
                Member::Sampler { density, sides, .. } if !batch.places.is_empty() => {
                    let d = density.observables.len();
                    let mut rows = vec![0.0; batch.places.len() * d];
                    let source = density.density();
                    source.sample(&batch.rows, &density.context, &mut rows).map_err(|_| NotDrawn)?;
                    for (&place, row) in batch.places.iter().zip(rows.chunks_exact(d)) {
                        let inside = row.iter().zip(sides).all(|(x, (lo, hi))| lo <= x && x <= hi);
                        accepted[place] &= inside;
                        write(columns, &density.observables, pending[place], row);
                    }
                }
                Member::Table { density, .. } if !batch.places.is_empty() => {
                    let mut logs = vec![0.0; batch.places.len()];
                    let source = density.density();
                    source.log_prob(&batch.rows, &density.context, &mut logs).map_err(|_| NotDrawn)?;
                    let rows = batch.rows.chunks_exact(density.observables.len());
                    for (i, (&place, row)) in batch.places.iter().zip(rows).enumerate() {
                        let ((limit, height), p) = (batch.limits[i], logs[i].exp());
                        // The table is not above the density at this point. The drawn events would have a wrong
                        // distribution.
                        if p > height {
                            return Err(NotDrawn);
                        }
                        accepted[place] &= limit < p;
                        write(columns, &density.observables, pending[place], row);
                    }
                }
                _ => {}
            }
        }
        Ok(pending
            .iter()
            .zip(&accepted)
            .filter(|(_, accepted)| !**accepted)
            .map(|(event, _)| *event)
            .collect())
    }
}

fn write(columns: &mut [Vec<f64>], observables: &[usize], event: usize, row: &[f64]) {
    for (&x, value) in observables.iter().zip(row) {
        columns[x][event] = *value;
    }
}

impl DrawEvents for Rounds {
    fn draw(&self, stream: &Stream, slot: u32, out: &mut EventColumns) -> Result<u32, NotDrawn> {
        let (count, first) = self.number.draw(stream, slot);
        out.clear(self.observables + self.logs.len());
        let (observables, logs) = out.columns.split_at_mut(self.observables);
        observables.iter_mut().for_each(|column| column.resize(count, 0.0));
        let mut pending: Vec<usize> = (0..count).collect();
        for round in 0..MOST_ROUNDS {
            if pending.is_empty() {
                break;
            }
            pending = self.round(stream, (first, round), &pending, observables)?;
        }
        if !pending.is_empty() {
            return Err(NotDrawn);
        }
        for (density, column) in self.logs.iter().zip(logs) {
            *column = density.evaluate(observables).map_err(|_| NotDrawn)?;
        }
        Ok(first.wrapping_add(count as u32))
    }
}
