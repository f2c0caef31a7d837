//! Runs programs on columns of numbers.

use std::fmt;

use super::{Binary, Components, Program, Slot, Step, Unary, components, pair};
use crate::events::wide::{Wide, WideMemory, WideSources};
use crate::simd::{Level, MulAdd, isa_fn};

/// The result of another computation, which is an input of a program.
#[derive(Debug, Clone, Copy)]
pub(in crate::events) struct Input<'a> {
    /// Value and derivatives of the input with respect to its `variables.len()` variables, with one number per lane for
    /// each of them.
    pub(in crate::events) result: &'a [f64],
    /// For each variable of the input, the index of the same variable in the program.
    pub(in crate::events) variables: &'a [usize],
}

/// The results of other computations that a program reads, by their index.
pub(in crate::events) trait Inputs: fmt::Debug {
    /// Returns the input with the index `i`.
    fn get(&self, i: usize) -> Input<'_>;
}

impl<const N: usize> Inputs for [Input<'_>; N] {
    fn get(&self, i: usize) -> Input<'_> {
        self[i]
    }
}

impl Inputs for Vec<Input<'_>> {
    fn get(&self, i: usize) -> Input<'_> {
        self[i]
    }
}

/// The inputs of a program without any.
pub(in crate::events) const NONE: [Input<'static>; 0] = [];

/// Everything that a program reads, except the columns of events.
#[derive(Debug, Clone, Copy)]
pub(in crate::events) struct Sources<'a> {
    /// Values of the program's variables, with one number per lane for each of them.
    pub(in crate::events) variables: &'a [f64],
    /// Results of other computations, which are inputs of the program.
    pub(in crate::events) inputs: &'a dyn Inputs,
    /// Auxiliary data that the program reads.
    pub(in crate::events) data: &'a [f64],
}

impl<'a> Sources<'a> {
    /// Returns sources with the given variables, and without inputs and data.
    pub(in crate::events) fn of(variables: &'a [f64]) -> Self {
        Self { variables, inputs: &NONE, data: &[] }
    }
}

/// The results of all operations of a program for a block of events (events that are evaluated together).
#[derive(Debug, Clone, Default)]
pub(in crate::events) struct Memory {
    /// Number of events in a block.
    lanes: usize,
    /// Components (value and derivatives) of all results, with `lanes` numbers per component. Components that are
    /// always zero are never computed and stay zero.
    results: Vec<f64>,
    /// Working memory: value and derivatives of one operation, in six columns of `lanes` numbers.
    slopes: Vec<f64>,
    /// Whether operations that depend on events compute their values alone.
    values_only: bool,
    /// Set if the value of the program is computed with numbers of a wide range, and multiplied by 2 to the power of
    /// this exponent.
    wide: Option<Box<(WideMemory, i64)>>,
}

/// The components of an operation of which only the value is computed.
static NO_DERIVATIVES: Components = Components { first: Vec::new(), second: Vec::new() };

impl Memory {
    /// Allocates the memory of a program for blocks of `lanes` events.
    pub(in crate::events) fn new(program: &Program, lanes: usize) -> Self {
        let size = program.steps.len() * components(program.variables) * lanes;
        Self { lanes, results: vec![0.0; size], slopes: vec![0.0; 6 * lanes], values_only: false, wide: None }
    }

    /// Sets whether [`Program::run`] computes values alone, or values and derivatives.
    pub(in crate::events) fn set_values_only(&mut self, values_only: bool) {
        self.values_only = values_only;
    }

    /// Lets the program compute its value times `2^exponent`. The value itself may be out of the range of doubles.
    pub(in crate::events) fn scale(&mut self, program: &Program, exponent: i64) {
        self.wide = Some(Box::new((WideMemory::new(program), exponent)));
    }

    /// Returns the value of a result that is the same for all events. `slot` is the index of the result.
    /// [`Program::prepare`] must have been called before.
    pub(in crate::events) fn number(&self, program: &Program, slot: Slot) -> f64 {
        self.results[slot * components(program.variables) * self.lanes]
    }

    /// Returns the components (value and derivatives) of the result with the index `slot`, with `lanes` numbers per
    /// component.
    pub(in crate::events) fn components(&self, program: &Program, slot: Slot) -> &[f64] {
        let size = components(program.variables) * self.lanes;
        &self.results[slot * size..(slot + 1) * size]
    }

    /// Returns the components (value and derivatives) of the program's value, with `lanes` numbers per component.
    pub(in crate::events) fn value(&self, program: &Program) -> &[f64] {
        let size = components(program.variables) * self.lanes;
        &self.results[self.results.len() - size..]
    }

    /// Returns the same numbers as [`Self::value`], to change them.
    pub(in crate::events) fn value_mut(&mut self, program: &Program) -> &mut [f64] {
        let start = self.results.len() - components(program.variables) * self.lanes;
        &mut self.results[start..]
    }
}

impl Program {
    /// Computes the operations that do not depend on events. Their results are valid for all blocks of events.
    pub(in crate::events) fn prepare(&self, level: Level, sources: Sources<'_>, memory: &mut Memory) {
        if let Some(wide) = &mut memory.wide {
            let Sources { variables, data, .. } = sources;
            wide.0.prepare(self, WideSources { variables, inputs: &[], data });
            return;
        }
        run(level, self, sources, None, 0, 1, memory);
        let (size, lanes) = (components(self.variables), memory.lanes);
        if lanes > 1 {
            for (slot, active) in self.active.iter().enumerate().filter(|(slot, _)| self.uniform[*slot]) {
                for component in active.columns(self.variables) {
                    let column = &mut memory.results[(slot * size + component) * lanes..][..lanes];
                    column.fill(column[0]);
                }
            }
        }
    }

    /// Computes all operations of a program without events at as many points as `memory` has lanes. Variables, inputs and
    /// results have one number per point.
    pub(in crate::events) fn at_points(&self, level: Level, sources: Sources<'_>, memory: &mut Memory) {
        run(level, self, sources, None, 0, memory.lanes, memory);
    }

    /// Computes the operations that depend on events, for the events `from..from + n` of `columns`.
    /// [`Program::prepare`] must have been called before.
    pub(in crate::events) fn run(
        &self,
        level: Level,
        columns: &[&[f64]],
        from: usize,
        n: usize,
        memory: &mut Memory,
    ) {
        if memory.wide.is_some() {
            self.run_scaled(columns, from, n, memory);
            return;
        }
        run(level, self, Sources::of(&[]), Some(columns), from, n, memory);
    }

    /// Computes the value of the program for the events `from..from + n`, and its derivatives, with numbers of a wide
    /// range.
    fn run_scaled(&self, columns: &[&[f64]], from: usize, n: usize, memory: &mut Memory) {
        let Memory { lanes, results, wide, .. } = memory;
        let (Some(wide), Some(active)) = (wide, self.result()) else { return };
        let start = results.len() - components(self.variables) * *lanes;
        let (own, exponent) = &mut **wide;
        for i in 0..n {
            own.run(self, columns, from + i);
            let value: &[Wide] = own.value();
            for c in active.columns(self.variables) {
                results[start + c * *lanes + i] = value[c].scaled(*exponent);
            }
        }
    }
}

isa_fn! {
    fn run(program: &Program, sources: Sources<'_>, columns: Option<&[&[f64]]>, from: usize, n: usize, memory: &mut Memory) = run_body
}

/// The operands of one step, and the memory for the step's result.
struct Place<'a> {
    earlier: &'a [f64],
    out: &'a mut [f64],
    slopes: &'a mut [f64],
    lanes: usize,
    /// Number of events of the block that are in use.
    n: usize,
    /// Number of components (value and derivatives) of a result.
    size: usize,
}

impl Place<'_> {
    /// Computes component `c` (the value or a derivative) of the result as the function `f` of component `c` of two
    /// operands.
    #[inline(always)]
    fn both(&mut self, c: usize, a: Slot, b: Slot, f: impl Fn(f64, f64) -> f64) {
        let (first, second) = (slice(self.earlier, a, c, self), slice(self.earlier, b, c, self));
        let out = &mut self.out[c * self.lanes..][..self.n];
        for ((to, x), y) in out.iter_mut().zip(first).zip(second) {
            *to = f(*x, *y);
        }
    }
}

#[inline(always)]
fn slice<'a>(earlier: &'a [f64], slot: Slot, c: usize, place: &Place<'_>) -> &'a [f64] {
    &earlier[(slot * place.size + c) * place.lanes..][..place.n]
}

#[inline(always)]
fn run_body<M: MulAdd>(
    program: &Program,
    sources: Sources<'_>,
    columns: Option<&[&[f64]]>,
    from: usize,
    n: usize,
    memory: &mut Memory,
) {
    let (d, lanes) = (program.variables, memory.lanes);
    let size = components(d);
    let Memory { results, slopes, values_only, .. } = memory;
    let values_only = *values_only && columns.is_some();
    for (slot, step) in program.steps.iter().enumerate() {
        if program.uniform[slot] != columns.is_none() {
            continue;
        }
        let active = if values_only { &NO_DERIVATIVES } else { &program.active[slot] };
        let (earlier, rest) = results.split_at_mut(slot * size * lanes);
        let mut place = Place { earlier, out: &mut rest[..size * lanes], slopes, lanes, n, size };
        match *step {
            Step::Number(x) => place.out[..n].fill(x),
            Step::Variable(i) => {
                place.out[..n].copy_from_slice(&sources.variables[i * n..][..n]);
                place.out[(1 + i) * lanes..][..n].fill(1.0);
            }
            Step::Input(i) => input(sources.inputs.get(i), d, &mut place),
            Step::Datum(i) => place.out[..n].fill(sources.data[i]),
            Step::Observable(i) => {
                if let Some(columns) = columns {
                    place.out[..n].copy_from_slice(&columns[i][from..from + n]);
                }
            }
            Step::Table(table, row) => {
                if let Some(columns) = columns {
                    for (i, to) in place.out[..n].iter_mut().enumerate() {
                        *to = program.tables[table].at(row, columns, from + i);
                    }
                }
            }
            Step::Add(a, b) => {
                for c in active.columns(d) {
                    place.both(c, a, b, |x, y| x + y);
                }
            }
            Step::Sub(a, b) => {
                for c in active.columns(d) {
                    place.both(c, a, b, |x, y| x - y);
                }
            }
            Step::Mul(a, b) => product::<M>(d, active, (a, b), &mut place),
            Step::Unary(unary, a) => {
                unary_slopes::<M>(unary, a, &mut place);
                unary_chain::<M>(d, active, a, &mut place);
            }
            Step::Binary(binary, a, b) => {
                binary_slopes::<M>(binary, a, b, &mut place);
                binary_chain::<M>(d, active, (a, b), &mut place);
            }
            Step::Less(a, b) => place.both(0, a, b, |x, y| if x < y { 1.0 } else { 0.0 }),
            Step::LessEqual(a, b) => place.both(0, a, b, |x, y| if x <= y { 1.0 } else { 0.0 }),
            Step::Equal(a, b) => place.both(0, a, b, |x, y| if x == y { 1.0 } else { 0.0 }),
            Step::Select(condition, a, b) => {
                for c in active.columns(d) {
                    let choice = slice(place.earlier, condition, 0, &place);
                    let (yes, no) = (slice(place.earlier, a, c, &place), slice(place.earlier, b, c, &place));
                    let out = &mut place.out[c * lanes..][..n];
                    for i in 0..n {
                        out[i] = if choice[i] != 0.0 { yes[i] } else { no[i] };
                    }
                }
            }
        }
    }
}

/// Copies an input to the result. Its derivatives become derivatives with respect to the `d` variables of the program.
/// If several variables of the input are the same variable of the program, their derivatives are added.
fn input(input: Input<'_>, d: usize, place: &mut Place<'_>) {
    let own = input.variables.len();
    place.out.fill(0.0);
    let mut add = |to: usize, factor: f64, from: usize| {
        let from = &input.result[from * place.n..][..place.n];
        for (sum, x) in place.out[to * place.lanes..].iter_mut().zip(from) {
            *sum += factor * x;
        }
    };
    for (i, &to) in input.variables.iter().enumerate() {
        add(1 + to, 1.0, 1 + i);
        for (j, &other) in input.variables[..=i].iter().enumerate() {
            // If two different variables of the input are the same variable of the program, their mixed
            // derivative counts twice.
            let twice = if i != j && to == other { 2.0 } else { 1.0 };
            add(pair(d, to, other), twice, pair(own, i, j));
        }
    }
    place.out[..place.n].copy_from_slice(&input.result[..place.n]);
}

#[inline(always)]
fn product<M: MulAdd>(d: usize, active: &Components, (a, b): (Slot, Slot), place: &mut Place<'_>) {
    let (lanes, n) = (place.lanes, place.n);
    place.both(0, a, b, |x, y| x * y);
    for &v in &active.first {
        let (x, y) = (slice(place.earlier, a, 0, place), slice(place.earlier, b, 0, place));
        let (dx, dy) = (slice(place.earlier, a, 1 + v, place), slice(place.earlier, b, 1 + v, place));
        let out = &mut place.out[(1 + v) * lanes..][..n];
        for i in 0..n {
            out[i] = M::mul_add(dx[i], y[i], x[i] * dy[i]);
        }
    }
    for &(v, w) in &active.second {
        let c = pair(d, v, w);
        let (x, y) = (slice(place.earlier, a, 0, place), slice(place.earlier, b, 0, place));
        let (xv, yv) = (slice(place.earlier, a, 1 + v, place), slice(place.earlier, b, 1 + v, place));
        let (xw, yw) = (slice(place.earlier, a, 1 + w, place), slice(place.earlier, b, 1 + w, place));
        let (xvw, yvw) = (slice(place.earlier, a, c, place), slice(place.earlier, b, c, place));
        let out = &mut place.out[c * lanes..][..n];
        for i in 0..n {
            let mixed = M::mul_add(xv[i], yw[i], xw[i] * yv[i]);
            out[i] = M::mul_add(xvw[i], y[i], M::mul_add(x[i], yvw[i], mixed));
        }
    }
}

/// Computes a function of one operand for each event. Writes its value and its first two derivatives to `slopes`.
#[inline(always)]
fn unary_slopes<M: MulAdd>(unary: Unary, a: Slot, place: &mut Place<'_>) {
    #[inline(always)]
    fn each(place: &mut Place<'_>, a: Slot, f: impl Fn(f64) -> [f64; 3]) {
        let (lanes, n) = (place.lanes, place.n);
        let x = slice(place.earlier, a, 0, place);
        let (value, rest) = place.slopes.split_at_mut(lanes);
        let (first, second) = rest.split_at_mut(lanes);
        let (value, first, second) = (&mut value[..n], &mut first[..n], &mut second[..n]);
        for i in 0..n {
            [value[i], first[i], second[i]] = f(x[i]);
        }
    }
    // Each common function has its own loop, which the compiler can vectorise.
    match unary {
        Unary::Neg => each(place, a, |x| Unary::Neg.at::<M>(x)),
        Unary::Exp => each(place, a, |x| Unary::Exp.at::<M>(x)),
        Unary::Ln => each(place, a, |x| Unary::Ln.at::<M>(x)),
        Unary::Sqrt => each(place, a, |x| Unary::Sqrt.at::<M>(x)),
        Unary::Reciprocal => each(place, a, |x| Unary::Reciprocal.at::<M>(x)),
        other => each(place, a, |x| other.at::<M>(x)),
    }
}

#[inline(always)]
fn unary_chain<M: MulAdd>(d: usize, active: &Components, a: Slot, place: &mut Place<'_>) {
    let (lanes, n) = (place.lanes, place.n);
    let (value, rest) = place.slopes.split_at(lanes);
    let (first, second) = rest.split_at(lanes);
    place.out[..n].copy_from_slice(&value[..n]);
    for &v in &active.first {
        let x = slice(place.earlier, a, 1 + v, place);
        let out = &mut place.out[(1 + v) * lanes..][..n];
        for i in 0..n {
            out[i] = first[i] * x[i];
        }
    }
    for &(v, w) in &active.second {
        let c = pair(d, v, w);
        let (xv, xw) = (slice(place.earlier, a, 1 + v, place), slice(place.earlier, a, 1 + w, place));
        let xvw = slice(place.earlier, a, c, place);
        let out = &mut place.out[c * lanes..][..n];
        for i in 0..n {
            out[i] = M::mul_add(first[i], xvw[i], second[i] * xv[i] * xw[i]);
        }
    }
}

/// Computes a function of two operands for each event. Writes its value and its derivatives to `slopes`.
#[inline(always)]
fn binary_slopes<M: MulAdd>(binary: Binary, a: Slot, b: Slot, place: &mut Place<'_>) {
    #[inline(always)]
    fn each(place: &mut Place<'_>, a: Slot, b: Slot, f: impl Fn(f64, f64) -> [f64; 6]) {
        let (lanes, n) = (place.lanes, place.n);
        let (x, y) = (slice(place.earlier, a, 0, place), slice(place.earlier, b, 0, place));
        let mut columns = place.slopes.chunks_exact_mut(lanes);
        let [Some(f0), Some(fa), Some(fb), Some(faa), Some(fab), Some(fbb)] =
            std::array::from_fn(|_| columns.next())
        else {
            return;
        };
        let (f0, fa, fb) = (&mut f0[..n], &mut fa[..n], &mut fb[..n]);
        let (faa, fab, fbb) = (&mut faa[..n], &mut fab[..n], &mut fbb[..n]);
        for i in 0..n {
            [f0[i], fa[i], fb[i], faa[i], fab[i], fbb[i]] = f(x[i], y[i]);
        }
    }
    match binary {
        Binary::Div => each(place, a, b, |x, y| Binary::Div.at::<M>(x, y)),
        Binary::SmearedDecay => each(place, a, b, |x, y| Binary::SmearedDecay.at::<M>(x, y)),
        other => each(place, a, b, |x, y| other.at::<M>(x, y)),
    }
}

#[inline(always)]
fn binary_chain<M: MulAdd>(d: usize, active: &Components, (a, b): (Slot, Slot), place: &mut Place<'_>) {
    let (lanes, n) = (place.lanes, place.n);
    let column = |k: usize| &place.slopes[k * lanes..][..n];
    let (f, fa, fb, faa, fab, fbb) = (column(0), column(1), column(2), column(3), column(4), column(5));
    place.out[..n].copy_from_slice(f);
    for &v in &active.first {
        let (x, y) = (slice(place.earlier, a, 1 + v, place), slice(place.earlier, b, 1 + v, place));
        let out = &mut place.out[(1 + v) * lanes..][..n];
        for i in 0..n {
            out[i] = M::mul_add(fa[i], x[i], fb[i] * y[i]);
        }
    }
    for &(v, w) in &active.second {
        let c = pair(d, v, w);
        let (xv, yv) = (slice(place.earlier, a, 1 + v, place), slice(place.earlier, b, 1 + v, place));
        let (xw, yw) = (slice(place.earlier, a, 1 + w, place), slice(place.earlier, b, 1 + w, place));
        let (xvw, yvw) = (slice(place.earlier, a, c, place), slice(place.earlier, b, c, place));
        let out = &mut place.out[c * lanes..][..n];
        for i in 0..n {
            let linear = M::mul_add(fa[i], xvw[i], fb[i] * yvw[i]);
            let mixed = fab[i] * M::mul_add(xv[i], yw[i], xw[i] * yv[i]);
            out[i] = linear + mixed + faa[i] * xv[i] * xw[i] + fbb[i] * yv[i] * yw[i];
        }
    }
}
