//! Runs programs with numbers of a wide range, for one event at a time.

use std::cmp::Ordering;

use super::Wide;
use super::functions::{binary, unary};
use crate::events::program::{Components, Program, Slot, Step, components, pair};

/// The result of another computation, which is an input of a program.
#[derive(Debug, Clone, Copy)]
pub(in crate::events) struct WideInput<'a> {
    /// Value and derivatives of the input with respect to its `variables.len()` variables.
    pub(in crate::events) result: &'a [Wide],
    /// For each variable of the input, the index of the same variable in the program.
    pub(in crate::events) variables: &'a [usize],
}

/// Everything that a program reads, except the columns of events.
#[derive(Debug, Clone, Copy)]
pub(in crate::events) struct WideSources<'a> {
    pub(in crate::events) variables: &'a [f64],
    pub(in crate::events) inputs: &'a [WideInput<'a>],
    pub(in crate::events) data: &'a [f64],
}

/// The results of all operations of a program for one event. Components that are always zero stay zero.
#[derive(Debug, Clone, Default)]
pub(in crate::events) struct WideMemory {
    results: Vec<Wide>,
    /// Number of components (value and derivatives) of a result.
    size: usize,
}

impl WideMemory {
    pub(in crate::events) fn new(program: &Program) -> Self {
        let size = components(program.variables());
        Self { results: vec![Wide::ZERO; program.all_steps().count() * size], size }
    }

    /// Returns the components (value and derivatives) of the program's value.
    pub(in crate::events) fn value(&self) -> &[Wide] {
        &self.results[self.results.len() - self.size..]
    }

    /// Computes the operations that do not depend on events.
    pub(in crate::events) fn prepare(&mut self, program: &Program, sources: WideSources<'_>) {
        self.steps(program, true, sources, (&[], 0));
    }

    /// Computes the operations that depend on events, for the event `index` of `columns`. [`Self::prepare`] must have
    /// been called before.
    pub(in crate::events) fn run(&mut self, program: &Program, columns: &[&[f64]], index: usize) {
        let sources = WideSources { variables: &[], inputs: &[], data: &[] };
        self.steps(program, false, sources, (columns, index));
    }

    fn steps(
        &mut self,
        program: &Program,
        uniform: bool,
        sources: WideSources<'_>,
        (columns, index): (&[&[f64]], usize),
    ) {
        let (d, size) = (program.variables(), self.size);
        let none = Components::default();
        for (slot, (step, is_uniform)) in program.all_steps().enumerate() {
            if is_uniform != uniform {
                continue;
            }
            let active = program.active(slot).unwrap_or(&none);
            let (earlier, rest) = self.results.split_at_mut(slot * size);
            let mut place = Place { earlier, out: &mut rest[..size], active, d };
            match step {
                Step::Number(x) => place.out[0] = x.into(),
                Step::Variable(i) => {
                    place.out[0] = sources.variables[i].into();
                    place.out[1 + i] = Wide::ONE;
                }
                Step::Input(i) => place.input(sources.inputs[i]),
                Step::Datum(i) => place.out[0] = sources.data[i].into(),
                Step::Observable(i) => place.out[0] = columns[i][index].into(),
                Step::Table(table, row) => {
                    place.out[0] = program.tables()[table].at(row, columns, index).into();
                }
                Step::Add(a, b) => place.each(|c, place| place.at(a, c).add(place.at(b, c))),
                Step::Sub(a, b) => place.each(|c, place| place.at(a, c).sub(place.at(b, c))),
                Step::Mul(a, b) => place.product(a, b),
                Step::Unary(function, a) => place.unary(unary(function, place.at(a, 0)), a),
                Step::Binary(function, a, b) => {
                    place.binary(binary(function, place.at(a, 0), place.at(b, 0)), a, b);
                }
                Step::Less(a, b) => place.compare(a, b, |order| order == Ordering::Less),
                Step::LessEqual(a, b) => place.compare(a, b, |order| order != Ordering::Greater),
                Step::Equal(a, b) => place.compare(a, b, |order| order == Ordering::Equal),
                Step::Select(condition, a, b) => {
                    let from = if place.at(condition, 0).is_zero() { b } else { a };
                    place.each(|c, place| place.at(from, c));
                }
            }
        }
    }
}

/// The operands of one step, and the memory for the step's result.
struct Place<'a> {
    earlier: &'a [Wide],
    out: &'a mut [Wide],
    /// The derivatives of the result that may differ from zero.
    active: &'a Components,
    /// Number of variables of the program.
    d: usize,
}

impl Place<'_> {
    /// Returns component `c` (the value or a derivative) of an earlier result.
    fn at(&self, slot: Slot, c: usize) -> Wide {
        self.earlier[slot * components(self.d) + c]
    }

    fn each(&mut self, f: impl Fn(usize, &Self) -> Wide) {
        let active = self.active;
        for c in active.columns(self.d) {
            self.out[c] = f(c, self);
        }
    }

    fn compare(&mut self, a: Slot, b: Slot, f: impl Fn(Ordering) -> bool) {
        let holds = self.at(a, 0).compare(self.at(b, 0)).is_some_and(f);
        self.out[0] = if holds { Wide::ONE } else { Wide::ZERO };
    }

    fn product(&mut self, a: Slot, b: Slot) {
        let (x, y) = (self.at(a, 0), self.at(b, 0));
        // The derivatives of a product: first with respect to both operands, then twice.
        let one = Wide::ONE;
        self.binary([x.mul(y), y, x, Wide::ZERO, one, Wide::ZERO], a, b);
    }

    fn unary(&mut self, [value, first, second]: [Wide; 3], a: Slot) {
        let (active, d) = (self.active, self.d);
        self.out[0] = value;
        for &v in &active.first {
            self.out[1 + v] = first.mul(self.at(a, 1 + v));
        }
        for &(v, w) in &active.second {
            let c = pair(d, v, w);
            let squares = second.mul(self.at(a, 1 + v)).mul(self.at(a, 1 + w));
            self.out[c] = first.mul(self.at(a, c)).add(squares);
        }
    }

    fn binary(&mut self, [value, by_a, by_b, aa, ab, bb]: [Wide; 6], a: Slot, b: Slot) {
        let (active, d) = (self.active, self.d);
        self.out[0] = value;
        for &v in &active.first {
            self.out[1 + v] = by_a.mul(self.at(a, 1 + v)).add(by_b.mul(self.at(b, 1 + v)));
        }
        for &(v, w) in &active.second {
            let c = pair(d, v, w);
            let (xv, xw) = (self.at(a, 1 + v), self.at(a, 1 + w));
            let (yv, yw) = (self.at(b, 1 + v), self.at(b, 1 + w));
            let mixed = xv.mul(yw).add(xw.mul(yv));
            let straight = by_a.mul(self.at(a, c)).add(by_b.mul(self.at(b, c)));
            let squares = aa.mul(xv).mul(xw).add(bb.mul(yv).mul(yw));
            self.out[c] = straight.add(squares).add(ab.mul(mixed));
        }
    }

    /// Copies an input to the result. If several variables of the input are the same variable of the program, their
    /// derivatives are added.
    fn input(&mut self, input: WideInput<'_>) {
        let own = input.variables.len();
        self.out.fill(Wide::ZERO);
        self.out[0] = input.result[0];
        for (i, &to) in input.variables.iter().enumerate() {
            self.out[1 + to] = self.out[1 + to].add(input.result[1 + i]);
            for (j, &other) in input.variables[..=i].iter().enumerate() {
                let twice = if i != j && to == other { 2.0 } else { 1.0 };
                let c = pair(self.d, to, other);
                self.out[c] = self.out[c].add(input.result[pair(own, i, j)].times(twice));
            }
        }
    }
}
