//! The formula of a density at one parameter point. It contains the steps of the density's program that depend on the
//! event. The results of all other steps are stored as numbers.

use crate::events::program::{
    Binary, Interval, Memory, Program, Slot, Sources, Step, Table, Unary, fixed, step_bounds,
};
use crate::events::special;
use crate::simd::{Level, Separate};

/// The formula of a density as a function of the observables alone. The parameters have been replaced by numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Formula {
    /// For each slot (index of a step), the result of the step if it is the same for all events, and 0 otherwise.
    numbers: Vec<f64>,
    /// The steps that depend on the event, in order, each with the slot for its result.
    steps: Vec<(Slot, Step)>,
    tables: Vec<Table>,
    /// Slot that contains the value of the formula.
    result: Slot,
}

/// Working memory for evaluations of a formula: the value of each slot (the result of one step), and lower and upper
/// bounds of each slot.
#[derive(Debug, Clone, Default)]
pub(super) struct FormulaMemory {
    values: Vec<f64>,
    bounds: Vec<Interval>,
}

impl Formula {
    /// Returns a formula with the constant value `x`.
    pub(super) fn number(x: f64) -> Self {
        Self { numbers: vec![x], ..Self::default() }
    }

    /// Appends the steps of a program, with numbers in place of its variables: `variables` contains their values.
    /// Returns the slot that contains the result of the program. Results that do not depend on the event are computed
    /// without fused multiply-add operations, so they have the same bits on every CPU.
    pub(super) fn append(&mut self, program: &Program, variables: &[f64]) -> Slot {
        let mut memory = Memory::new(program, 1);
        program.prepare(Level::Baseline, Sources::of(variables), &mut memory);
        let (first, first_table) = (self.numbers.len(), self.tables.len());
        self.tables.extend(program.tables().iter().cloned());
        for (slot, (step, uniform)) in program.all_steps().enumerate() {
            self.numbers.push(if uniform { memory.number(program, slot) } else { 0.0 });
            if !uniform {
                self.steps.push((first + slot, moved(step, first, first_table)));
            }
        }
        self.result = self.numbers.len() - 1;
        self.result
    }

    /// Appends the product of a constant and the values of some slots. If `sum` is given, the product is added to the
    /// value of the slot `sum`. Returns the slot of the result.
    pub(super) fn add_product(&mut self, sum: Option<Slot>, factor: f64, slots: &[Slot]) -> Slot {
        let mut product = self.constant(factor);
        for &slot in slots {
            product = self.push(Step::Mul(product, slot));
        }
        if let Some(sum) = sum {
            product = self.push(Step::Add(sum, product));
        }
        self.result = product;
        product
    }

    /// Replaces the index of each observable in the formula by the position of this index in `own`.
    pub(super) fn renumber(&mut self, own: &[usize]) {
        for table in &mut self.tables {
            table.renumber(own);
        }
        for (_, step) in &mut self.steps {
            if let Step::Observable(x) = step
                && let Some(k) = own.iter().position(|o| o == x)
            {
                *x = k;
            }
        }
    }

    fn constant(&mut self, x: f64) -> Slot {
        self.numbers.push(x);
        self.numbers.len() - 1
    }

    fn push(&mut self, step: Step) -> Slot {
        let slot = self.constant(0.0);
        self.steps.push((slot, step));
        slot
    }

    /// Returns the bin edges and knots of the formula's tables along an observable. At these points the density may
    /// have a jump or a kink.
    pub(super) fn breaks(&self, observable: usize) -> Vec<f64> {
        let mut breaks = Vec::new();
        for table in &self.tables {
            match table {
                Table::Histogram { observables, edges, .. } => {
                    let own = observables.iter().zip(edges).filter(|(x, _)| **x == observable);
                    breaks.extend(own.flat_map(|(_, edges)| edges.iter().copied()));
                }
                Table::Spline { observable: x, knots, .. } if *x == observable => breaks.extend(knots),
                Table::Spline { .. } => {}
            }
        }
        breaks.sort_by(f64::total_cmp);
        breaks.dedup();
        breaks
    }

    /// Returns the value of the formula for an event.
    pub(super) fn at(&self, event: &[f64], memory: &mut FormulaMemory) -> f64 {
        let values = &mut memory.values;
        if values.len() != self.numbers.len() {
            values.clone_from(&self.numbers);
        }
        for &(slot, step) in &self.steps {
            values[slot] = match step {
                Step::Observable(x) => event[x],
                Step::Table(table, row) => self.tables[table].at_point(row, event),
                Step::Add(a, b) => values[a] + values[b],
                Step::Sub(a, b) => values[a] - values[b],
                Step::Mul(a, b) => values[a] * values[b],
                Step::Unary(unary, a) => unary_at(unary, values[a]),
                Step::Binary(binary, a, b) => binary_at(binary, values[a], values[b]),
                Step::Less(a, b) => f64::from(u8::from(values[a] < values[b])),
                Step::LessEqual(a, b) => f64::from(u8::from(values[a] <= values[b])),
                Step::Equal(a, b) => f64::from(u8::from(values[a] == values[b])),
                Step::Select(c, a, b) => values[if values[c] == 0.0 { b } else { a }],
                Step::Number(x) => x,
                Step::Variable(_) | Step::Input(_) | Step::Datum(_) => f64::NAN,
            };
        }
        values[self.result]
    }

    /// Returns the results of all comparisons in the formula for an event.
    pub(super) fn comparisons(&self, event: &[f64], memory: &mut FormulaMemory) -> Vec<bool> {
        self.at(event, memory);
        let is_comparison =
            |step: &Step| matches!(step, Step::Less(..) | Step::LessEqual(..) | Step::Equal(..));
        let compared = self.steps.iter().filter(|(_, step)| is_comparison(step));
        compared.map(|&(slot, _)| memory.values.get(slot).is_some_and(|value| *value != 0.0)).collect()
    }

    /// Returns a lower and an upper bound of the formula in a box. `sides` contains one interval per observable.
    pub(super) fn bounds(&self, sides: &[Interval], memory: &mut FormulaMemory) -> Interval {
        let bounds = &mut memory.bounds;
        if bounds.len() != self.numbers.len() {
            bounds.clear();
            bounds.extend(self.numbers.iter().map(|&x| Interval::new(x, x)));
        }
        for &(slot, step) in &self.steps {
            bounds[slot] = step_bounds(step, &self.tables, sides, bounds);
        }
        bounds[self.result]
    }
}

/// Returns a step with `by` added to the slots of its operands, and `tables` added to the index of its table.
fn moved(step: Step, by: usize, tables: usize) -> Step {
    match step {
        Step::Table(table, row) => Step::Table(table + tables, row),
        Step::Add(a, b) => Step::Add(a + by, b + by),
        Step::Sub(a, b) => Step::Sub(a + by, b + by),
        Step::Mul(a, b) => Step::Mul(a + by, b + by),
        Step::Unary(unary, a) => Step::Unary(unary, a + by),
        Step::Binary(binary, a, b) => Step::Binary(binary, a + by, b + by),
        Step::Less(a, b) => Step::Less(a + by, b + by),
        Step::LessEqual(a, b) => Step::LessEqual(a + by, b + by),
        Step::Equal(a, b) => Step::Equal(a + by, b + by),
        Step::Select(a, b, c) => Step::Select(a + by, b + by, c + by),
        other => other,
    }
}

fn unary_at(unary: Unary, x: f64) -> f64 {
    match unary {
        Unary::Neg => -x,
        Unary::Exp => fixed::exp(x),
        Unary::Ln => fixed::ln(x),
        Unary::Sqrt => x.sqrt(),
        Unary::Abs => x.abs(),
        Unary::Sin => libm::sin(x),
        Unary::Cos => libm::cos(x),
        Unary::Tan => libm::tan(x),
        Unary::Asin => libm::asin(x),
        Unary::Acos => libm::acos(x),
        Unary::Atan => libm::atan(x),
        Unary::Asinh => libm::asinh(x),
        Unary::Reciprocal => 1.0 / x,
        Unary::Power(p) => fixed::power(x, p),
        Unary::Special(function) => function.value(x),
        Unary::Decay => special::decay(x)[0],
        // No density of events applies this function to an observable.
        Unary::Interpolation(_) => f64::NAN,
    }
}

fn binary_at(binary: Binary, a: f64, b: f64) -> f64 {
    match binary {
        Binary::Div => a * (1.0 / b),
        Binary::Pow => fixed::power(a, b),
        Binary::Voigt => special::voigt(a, b)[0],
        Binary::Atan2 => libm::atan2(a, b),
        Binary::FaddeevaImaginary => special::faddeeva_imaginary(a, b)[0],
        Binary::SmearedDecay => special::smeared_decay::<Separate>(a, b, fixed::exp)[0],
        Binary::NormalIntegral => special::normal_integral(a, b)[0],
    }
}
