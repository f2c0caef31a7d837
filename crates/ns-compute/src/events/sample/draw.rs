//! Draws events by the rejection method. A hat is a function that is nowhere below the density. Points are proposed
//! below the hat, and those below the density are accepted.

use ns_core::random::{Poisson, Stream, open_uniform};
use ns_core::{DrawEvents, EventColumns, NotDrawn};

use super::formula::{Formula, FormulaMemory};
use super::hat::Hat;
use crate::simd::{Level, MulAdd, isa_fn};

/// Distribution of the number of events in a toy.
#[derive(Debug, Clone)]
pub(super) enum Number {
    Poisson(Poisson),
    Fixed(usize),
}

impl Number {
    /// Draws the number of events. Returns this number and the first slot (index in the random stream) that is still
    /// unused.
    pub(super) fn draw(&self, stream: &Stream, slot: u32) -> (usize, u32) {
        match self {
            Self::Poisson(poisson) => (poisson.draw(stream, slot) as usize, slot.wrapping_add(1)),
            Self::Fixed(count) => (*count, slot),
        }
    }
}

/// A group of observables that are drawn together.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) observables: Vec<usize>,
    /// Density of the group as a formula. In the formula, an observable is given by its position in `observables`.
    pub(super) formula: Formula,
    pub(super) hat: Hat,
}

impl Group {
    /// Appends the coordinates of a proposed point to `point`, computed from one uniform number per observable. Returns
    /// the index of the cell of the hat (piece of constant height) that contains the point.
    pub(super) fn propose(&self, uniforms: &[f64], point: &mut Vec<f64>) -> usize {
        let Some((&u, rest)) = uniforms.split_first() else { return 0 };
        let at = self.hat.find(u);
        let cell = &self.hat.cells[at];
        point.push((cell.low + (u - cell.begin) * cell.slope).min(cell.last));
        let others = self.observables.len() - 1;
        for (k, u) in rest.iter().enumerate() {
            let (low, length, last) = self.hat.others[at * others + k];
            point.push((low + length * u).min(last));
        }
        at
    }

    /// Returns whether the proposed point is accepted. `cell` is the index of the cell of the hat (piece of constant
    /// height) that contains the point, and `decision` is a uniform random number between 0 and 1.
    pub(super) fn accepts(
        &self,
        decision: f64,
        cell: usize,
        point: &[f64],
        memory: &mut FormulaMemory,
    ) -> Result<bool, NotDrawn> {
        if decision < self.hat.cells[cell].sure {
            return Ok(true);
        }
        let (height, value) = (self.hat.heights[cell], self.formula.at(point, memory));
        // The height of the hat is a proven upper bound. So this happens only if the density is NaN or negative.
        if !(value >= -1e-12 * height) || value > height {
            return Err(NotDrawn);
        }
        Ok(decision * height < value)
    }
}

/// Returns the cumulative fractions of the weights of the parts: element `i` is the sum of the weights of the parts 0
/// to `i`, divided by the sum of all weights.
pub(super) fn ends(parts: &[Part]) -> Vec<f64> {
    let total: f64 = parts.iter().map(|part| part.weight).sum();
    let mut sum = 0.0;
    let end = |part: &Part| {
        sum += part.weight;
        sum / total
    };
    parts.iter().map(end).collect()
}

/// A part of a density: a product of the densities of some groups.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) groups: Vec<usize>,
    /// Weight of the part: its amplitude times the areas below the hats of its groups.
    pub(super) weight: f64,
}

/// The distribution from which the events of a channel are drawn, at one parameter point.
#[derive(Debug, Clone)]
pub(super) struct Sampler {
    level: Level,
    observables: usize,
    number: Number,
    groups: Vec<Group>,
    parts: Vec<Part>,
    /// Cumulative fractions of the weights of the parts: element `i` is the sum of the weights of the parts 0 to `i`,
    /// divided by the sum of all weights.
    ends: Vec<f64>,
    /// Number of 128-bit blocks of the random stream per attempt to draw an event.
    blocks: u32,
}

/// Working memory for drawing events.
pub(crate) struct Attempt {
    uniforms: Vec<f64>,
    event: Vec<f64>,
    own: Vec<f64>,
    memories: Vec<FormulaMemory>,
}

impl Sampler {
    pub(super) fn new(
        level: Level,
        observables: usize,
        number: Number,
        groups: Vec<Group>,
        parts: Vec<Part>,
    ) -> Self {
        let ends = ends(&parts);
        // An attempt needs one number per observable, one that decides on acceptance, and one that chooses the part.
        let uniforms = 1 + observables + usize::from(parts.len() > 1);
        Self { level, observables, number, groups, parts, ends, blocks: uniforms.div_ceil(2) as u32 }
    }

    pub(super) fn memory(&self) -> Attempt {
        Attempt {
            uniforms: vec![0.0; 2 * self.blocks as usize],
            event: vec![0.0; self.observables],
            own: Vec::with_capacity(self.observables),
            memories: vec![FormulaMemory::default(); self.groups.len()],
        }
    }

    /// Returns the hat (an upper bound) of the whole density in a channel with one observable, and `None` in a channel
    /// with several observables.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(super) fn only_hat(&self) -> Option<&Hat> {
        match (self.observables, self.groups.as_slice()) {
            (1, [group]) => Some(&group.hat),
            _ => None,
        }
    }

    /// Draws the number of events in a toy. Returns this number and the slot (index in the random stream) of the first
    /// event.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(super) fn number(&self, stream: &Stream, slot: u32) -> (usize, u32) {
        self.number.draw(stream, slot)
    }

    /// Draws the event that belongs to the given slot (index in the random stream), in a channel with one observable.
    /// Returns the value of the observable.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(super) fn single(&self, stream: &Stream, slot: u32, memory: &mut Attempt) -> Result<f64, NotDrawn> {
        self.event(stream, slot, memory)?;
        memory.event.first().copied().ok_or(NotDrawn)
    }

    /// Draws the event that belongs to the given slot (index in the random stream), and writes it to `memory.event`.
    /// Attempts are made in order until one is accepted.
    fn event(&self, stream: &Stream, slot: u32, memory: &mut Attempt) -> Result<(), NotDrawn> {
        for attempt in 0..Stream::ATTEMPTS / self.blocks {
            for (block, pair) in (0..).zip(memory.uniforms.chunks_exact_mut(2)) {
                let [a, b, c, d] = stream.block(slot, attempt * self.blocks + block);
                pair[0] = open_uniform(a, b);
                pair[1] = open_uniform(c, d);
            }
            if self.attempt(memory)? {
                return Ok(());
            }
        }
        Err(NotDrawn)
    }

    /// Makes one attempt to draw an event. Returns whether it is accepted.
    fn attempt(&self, memory: &mut Attempt) -> Result<bool, NotDrawn> {
        let Attempt { uniforms, event, own, memories } = memory;
        let decision = uniforms[0];
        let part = match self.parts.as_slice() {
            [only] => only,
            parts => {
                let u = uniforms[1 + self.observables];
                let index = self.ends.partition_point(|&end| end <= u).min(parts.len().saturating_sub(1));
                parts.get(index).ok_or(NotDrawn)?
            }
        };
        let (mut height, mut sure, mut next) = (1.0, 1.0, 1);
        for group in part.groups.iter().map(|&g| &self.groups[g]) {
            own.clear();
            let at = group.propose(&uniforms[next..next + group.observables.len()], own);
            height *= group.hat.heights[at];
            sure *= group.hat.cells[at].sure;
            for (&x, value) in group.observables.iter().zip(own.iter()) {
                event[x] = *value;
            }
            next += group.observables.len();
        }
        if decision < sure {
            return Ok(true);
        }
        let mut density = 1.0;
        for &g in &part.groups {
            let group = &self.groups[g];
            own.clear();
            own.extend(group.observables.iter().map(|&x| event[x]));
            let value = group.formula.at(own, &mut memories[g]);
            // The height of the hat is a proven upper bound. So this happens only if the density is NaN or negative.
            if !(value >= -1e-12 * height) {
                return Err(NotDrawn);
            }
            density *= value.max(0.0);
        }
        if density > height {
            return Err(NotDrawn);
        }
        Ok(decision * height < density)
    }
}

impl DrawEvents for Sampler {
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn draw(&self, stream: &Stream, slot: u32, out: &mut EventColumns) -> Result<u32, NotDrawn> {
        let (count, first) = self.number.draw(stream, slot);
        out.clear(self.observables);
        out.columns.iter_mut().for_each(|column| column.resize(count, 0.0));
        let mut memory = self.memory();
        if let ([column], [group]) = (out.columns.as_mut_slice(), self.groups.as_slice()) {
            let left = draw_column(self.level, &group.hat, stream, first, column);
            for i in left {
                self.event(stream, first.wrapping_add(i as u32), &mut memory)?;
                column[i] = memory.event[0];
            }
        } else {
            for i in 0..count {
                self.event(stream, first.wrapping_add(i as u32), &mut memory)?;
                for (column, x) in out.columns.iter_mut().zip(&memory.event) {
                    column[i] = *x;
                }
            }
        }
        Ok(first.wrapping_add(count as u32))
    }
}

isa_fn! {
    /// Makes the first attempt for every event of a channel with one observable, and writes the proposed events to
    /// `column`. Eight events are processed at a time. Returns the indices of the events that are not accepted yet.
    /// For these, the density has to be evaluated, because its lower bound does not suffice to accept the event.
    fn draw_column(hat: &Hat, stream: &Stream, first: u32, column: &mut [f64]) -> Vec<usize> = body
}

#[inline(always)]
fn body<M: MulAdd>(hat: &Hat, stream: &Stream, first: u32, column: &mut [f64]) -> Vec<usize> {
    let mut left = Vec::new();
    for (eight, events) in column.chunks_mut(8).enumerate() {
        let words = stream.eight_slots(first.wrapping_add(8 * eight as u32));
        for (l, x) in events.iter_mut().enumerate() {
            let (decision, u) =
                (open_uniform(words[0][l], words[1][l]), open_uniform(words[2][l], words[3][l]));
            let cell = &hat.cells[hat.find(u)];
            *x = (cell.low + (u - cell.begin) * cell.slope).min(cell.last);
            if !(decision < cell.sure) {
                left.push(8 * eight + l);
            }
        }
    }
    left
}
