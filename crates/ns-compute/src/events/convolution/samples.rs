//! A density at equally spaced places, and sums of products of two such densities.

use crate::events::program::{Memory, Program, Sources, components};
use crate::simd::{Level, MulAdd, Vector, isa_fn};

/// Number of places that are evaluated together.
const LANES: usize = 64;

/// Number of sums that are computed together.
const TOGETHER: usize = 4;

/// Number of products that are added together.
pub(super) const GROUP: usize = 8;

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
            let mut all = vec![0.0; column.len() + between.len()];
            all.iter_mut().step_by(2).zip(&*column).for_each(|(to, x)| *to = *x);
            all.iter_mut().skip(1).step_by(2).zip(&between).for_each(|(to, x)| *to = *x);
            *column = all;
        }
    }

    /// Returns the number of places.
    pub(super) fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
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
    /// Writes the sums over `j` of `f[stride i + j] g[j]` to `out[i]`. `g` consists of groups of eight places.
    pub(super) fn sums(f: &[f64], stride: usize, g: &[f64], out: &mut [f64]) = body
}

#[inline(always)]
fn body<M: MulAdd>(f: &[f64], stride: usize, g: &[f64], out: &mut [f64]) {
    let groups = g.as_chunks::<GROUP>().0;
    let length = GROUP * groups.len();
    for (index, out) in out.chunks_mut(TOGETHER).enumerate() {
        let mut own = [&[][..]; TOGETHER];
        for (k, own) in own.iter_mut().enumerate() {
            // The last sums may be fewer.
            let row = TOGETHER * index + k.min(out.len() - 1);
            *own = f[stride * row..][..length].as_chunks::<GROUP>().0;
        }
        let [a, b, c, d] = own;
        let mut parts = [M::V8::splat(0.0); TOGETHER];
        for ((((g, a), b), c), d) in groups.iter().zip(a).zip(b).zip(c).zip(d) {
            let g = M::V8::load(g);
            parts[0] = M::V8::load(a).mul_add(g, parts[0]);
            parts[1] = M::V8::load(b).mul_add(g, parts[1]);
            parts[2] = M::V8::load(c).mul_add(g, parts[2]);
            parts[3] = M::V8::load(d).mul_add(g, parts[3]);
        }
        let mut found = [0.0; TOGETHER];
        M::V8::sums(parts, &mut found);
        out.copy_from_slice(&found[..out.len()]);
    }
}
