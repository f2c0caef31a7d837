//! A density at equally spaced places, and sums of products of two such densities.

use crate::events::program::{Memory, Program, Sources, components};
use crate::simd::{Level, MulAdd, Vector, isa_fn};

/// Number of places that are evaluated together.
const LANES: usize = 64;

/// Number of sums that are computed together.
const TOGETHER: usize = 32;

/// A density with its derivatives at the places `origin + i step`, from one `i` to another.
pub(super) struct Samples {
    memory: Memory,
    origin: f64,
    pub(super) step: f64,
    /// The first `i`.
    pub(super) first: i64,
    /// Value and derivatives. Those that are always zero are empty.
    columns: Vec<Vec<f64>>,
}

impl Samples {
    /// Evaluates the density. `ends` are the first and the last `i`.
    pub(super) fn new(
        level: Level,
        (program, context): (&Program, &[f64]),
        (origin, step): (f64, f64),
        ends: (i64, i64),
    ) -> Self {
        let mut memory = Memory::new(program, LANES);
        program.prepare(level, Sources::of(context), &mut memory);
        let columns = vec![Vec::new(); components(program.variables())];
        let mut own = Self { memory, origin, step, first: ends.0, columns };
        let places: Vec<f64> = (ends.0..=ends.1).map(|i| origin + step * i as f64).collect();
        own.columns = own.evaluate(level, program, &places);
        own
    }

    fn evaluate(&mut self, level: Level, program: &Program, places: &[f64]) -> Vec<Vec<f64>> {
        let d = program.variables();
        let mut columns = vec![Vec::new(); components(d)];
        let Some(active) = program.result() else { return columns };
        for block in places.chunks(LANES) {
            program.run(level, &[block], 0, block.len(), &mut self.memory);
            let value = self.memory.value(program);
            for component in active.columns(d) {
                columns[component].extend_from_slice(&value[component * LANES..][..block.len()]);
            }
        }
        columns
    }

    /// Halves the distance of the places.
    pub(super) fn refine(&mut self, level: Level, program: &Program) {
        self.step *= 0.5;
        self.first *= 2;
        let middle = |k: usize| self.origin + self.step * (self.first + 1 + 2 * k as i64) as f64;
        let places: Vec<f64> = (0..self.len() - 1).map(middle).collect();
        let between = self.evaluate(level, program, &places);
        for (column, between) in self.columns.iter_mut().zip(between) {
            let old = std::mem::take(column);
            column.reserve(old.len() + between.len());
            let mut between = between.into_iter();
            for x in old {
                column.push(x);
                column.extend(between.next());
            }
        }
    }

    /// Returns every second place, if the one with `i = 0` is among them.
    pub(super) fn coarser(&self) -> Option<Self> {
        let every_second = |column: &Vec<f64>| column.iter().step_by(2).copied().collect();
        (self.first % 2 == 0).then(|| Self {
            memory: Memory::default(),
            origin: self.origin,
            step: 2.0 * self.step,
            first: self.first / 2,
            columns: self.columns.iter().map(every_second).collect(),
        })
    }

    /// Returns the number of places.
    pub(super) fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Returns the last `i`.
    pub(super) fn last(&self) -> i64 {
        self.first + self.len() as i64 - 1
    }

    /// Returns the place with the index `index`.
    pub(super) fn place(&self, index: usize) -> f64 {
        self.origin + self.step * (self.first + index as i64) as f64
    }

    pub(super) fn columns(&self) -> &[Vec<f64>] {
        &self.columns
    }

    pub(super) fn column(&self, component: usize) -> &[f64] {
        self.columns.get(component).map_or(&[], Vec::as_slice)
    }
}

isa_fn! {
    /// Writes the sums over `j` of `f[i + j] g[j]` to `out[i]`.
    pub(super) fn sums(f: &[f64], g: &[f64], out: &mut [f64]) = body
}

#[inline(always)]
fn body<M: MulAdd>(f: &[f64], g: &[f64], out: &mut [f64]) {
    if out.len() < TOGETHER {
        for (i, to) in out.iter_mut().enumerate() {
            *to = f[i..].iter().zip(g).fold(0.0, |sum, (a, b)| M::mul_add(*a, *b, sum));
        }
        return;
    }
    // The last sums overlap with those before.
    let last = out.len() - TOGETHER;
    for from in (0..last).step_by(TOGETHER).chain([last]) {
        let mut parts = [M::V8::splat(0.0); TOGETHER / 8];
        for (window, b) in f[from..].windows(TOGETHER).zip(g) {
            let b = M::V8::splat(*b);
            for (i, part) in parts.iter_mut().enumerate() {
                *part = M::V8::load(&window[8 * i..]).mul_add(b, *part);
            }
        }
        for (part, to) in parts.iter().zip(out[from..].chunks_exact_mut(8)) {
            part.store(to);
        }
    }
}
