//! Builds programs, step by step or from expressions.

use ns_core::{Op, Special, Tape, Value};

use super::{Binary, Components, Program, Slot, Step, Table, Unary};

/// Function that returns the slot (index of the result) of a value in a program. The value is a constant, a variable or
/// an input of the program.
pub(in crate::events) type Values<'a> = &'a mut dyn FnMut(&mut Builder, Value) -> Slot;

/// A program that is being built. Most methods append a step and return the slot (the index) of its result.
#[derive(Debug, Clone, Default)]
pub(in crate::events) struct Builder {
    steps: Vec<Step>,
    tables: Vec<Table>,
    /// An observable, and the result that takes its place.
    substitute: Option<(usize, Slot)>,
}

impl Builder {
    /// Appends a step and returns its slot (the index of its result). If the program already has an equal step, returns
    /// the slot of that step.
    pub(in crate::events) fn push(&mut self, step: Step) -> Slot {
        if let (Step::Observable(x), Some((of, slot))) = (step, self.substitute)
            && x == of
        {
            return slot;
        }
        if let Some(known) = self.steps.iter().position(|other| *other == step) {
            return known;
        }
        self.steps.push(step);
        self.steps.len() - 1
    }

    /// Lets a result take the place of an observable in all further steps but tables. `None` ends this.
    pub(in crate::events) fn substitute(&mut self, substitute: Option<(usize, Slot)>) {
        self.substitute = substitute;
    }

    /// Adds a table and returns its index. If the program already has an equal table, returns the index of that
    /// table.
    pub(in crate::events) fn table(&mut self, table: Table) -> usize {
        self.tables.iter().position(|known| *known == table).unwrap_or_else(|| {
            self.tables.push(table);
            self.tables.len() - 1
        })
    }

    /// Appends a constant, and returns its slot (the index of the result).
    pub(in crate::events) fn number(&mut self, x: f64) -> Slot {
        self.push(Step::Number(x))
    }

    /// Returns the constant in a slot (the result with this index), or `None` if the slot does not contain a constant.
    pub(in crate::events) fn constant(&self, slot: Slot) -> Option<f64> {
        match self.steps.get(slot) {
            Some(Step::Number(x)) => Some(*x),
            _ => None,
        }
    }

    /// Returns the index of the variable in a slot (the result with this index), or `None` if the slot does not contain
    /// a variable.
    pub(in crate::events) fn variable(&self, slot: Slot) -> Option<usize> {
        match self.steps.get(slot) {
            Some(Step::Variable(variable)) => Some(*variable),
            _ => None,
        }
    }

    /// Appends the sum of two results, and returns the slot (the index) of the sum.
    pub(in crate::events) fn add(&mut self, a: Slot, b: Slot) -> Slot {
        match (self.constant(a), self.constant(b)) {
            (Some(x), Some(y)) => self.number(x + y),
            (Some(0.0), None) => b,
            (None, Some(0.0)) => a,
            _ => self.push(Step::Add(a, b)),
        }
    }

    /// Appends the difference of the results `a` and `b`, and returns the slot (the index) of the difference.
    pub(in crate::events) fn sub(&mut self, a: Slot, b: Slot) -> Slot {
        match (self.constant(a), self.constant(b)) {
            (Some(x), Some(y)) => self.number(x - y),
            (None, Some(0.0)) => a,
            _ => self.push(Step::Sub(a, b)),
        }
    }

    /// Appends the product of two results, and returns the slot (the index) of the product.
    pub(in crate::events) fn mul(&mut self, a: Slot, b: Slot) -> Slot {
        match (self.constant(a), self.constant(b)) {
            (Some(x), Some(y)) => self.number(x * y),
            (Some(1.0), None) => b,
            (None, Some(1.0)) => a,
            _ => self.push(Step::Mul(a, b)),
        }
    }

    /// Appends the product of a constant and a result, and returns the slot (the index) of the product.
    pub(in crate::events) fn scale(&mut self, factor: f64, a: Slot) -> Slot {
        let factor = self.number(factor);
        self.mul(factor, a)
    }

    /// Appends the result `a` divided by the result `b`, and returns the slot (the index) of the quotient.
    pub(in crate::events) fn div(&mut self, a: Slot, b: Slot) -> Slot {
        match (self.constant(a), self.constant(b)) {
            (Some(x), Some(y)) => self.number(x / y),
            (None, Some(y)) => self.scale(1.0 / y, a),
            _ => self.push(Step::Binary(Binary::Div, a, b)),
        }
    }

    /// Appends a function of one result, and returns the slot (the index) of its value.
    pub(in crate::events) fn unary(&mut self, unary: Unary, a: Slot) -> Slot {
        self.push(Step::Unary(unary, a))
    }

    /// Appends the result `a` to the power of the result `b`, and returns the slot (the index) of the power.
    pub(in crate::events) fn pow(&mut self, a: Slot, b: Slot) -> Slot {
        match self.constant(b) {
            Some(1.0) => a,
            Some(2.0) => self.mul(a, a),
            Some(0.5) => self.unary(Unary::Sqrt, a),
            Some(p) => self.unary(Unary::Power(p), a),
            None => self.push(Step::Binary(Binary::Pow, a, b)),
        }
    }

    /// Appends the smaller of two results.
    pub(in crate::events) fn min(&mut self, a: Slot, b: Slot) -> Slot {
        let less = self.push(Step::Less(a, b));
        self.push(Step::Select(less, a, b))
    }

    /// Appends the larger of two results.
    pub(in crate::events) fn max(&mut self, a: Slot, b: Slot) -> Slot {
        let less = self.push(Step::Less(a, b));
        self.push(Step::Select(less, b, a))
    }

    /// Appends the operations of an expression, and returns the slot (the index) of its value. `value` returns the
    /// slots of the parameters and functions that the expression uses.
    pub(in crate::events) fn tape(
        &mut self,
        tape: &Tape,
        value: &mut dyn FnMut(&mut Self, Value) -> Slot,
    ) -> Slot {
        let mut slots: Vec<Slot> = Vec::with_capacity(tape.ops().len());
        for op in tape.ops() {
            let slot = self.op(*op, &slots, value);
            slots.push(slot);
        }
        slots.last().copied().unwrap_or(0)
    }

    fn op(&mut self, op: Op, at: &[Slot], value: &mut dyn FnMut(&mut Self, Value) -> Slot) -> Slot {
        match op {
            Op::Number(x) => self.number(x),
            Op::Value(v) => value(self, v),
            Op::Observable(i) => self.push(Step::Observable(i)),
            Op::Add(a, b) => self.add(at[a], at[b]),
            Op::Sub(a, b) => self.sub(at[a], at[b]),
            Op::Mul(a, b) => self.mul(at[a], at[b]),
            Op::Div(a, b) => self.div(at[a], at[b]),
            Op::Pow(a, b) => self.pow(at[a], at[b]),
            Op::Min(a, b) => self.min(at[a], at[b]),
            Op::Max(a, b) => self.max(at[a], at[b]),
            Op::Neg(a) => self.unary(Unary::Neg, at[a]),
            Op::Exp(a) => self.unary(Unary::Exp, at[a]),
            Op::Ln(a) => self.unary(Unary::Ln, at[a]),
            Op::Sqrt(a) => self.unary(Unary::Sqrt, at[a]),
            Op::Abs(a) => self.unary(Unary::Abs, at[a]),
            Op::Sin(a) => self.unary(Unary::Sin, at[a]),
            Op::Cos(a) => self.unary(Unary::Cos, at[a]),
            Op::Tan(a) => self.unary(Unary::Tan, at[a]),
            Op::Asin(a) => self.unary(Unary::Asin, at[a]),
            Op::Acos(a) => self.unary(Unary::Acos, at[a]),
            Op::Atan(a) => self.unary(Unary::Atan, at[a]),
            Op::Atan2(a, b) => self.push(Step::Binary(Binary::Atan2, at[a], at[b])),
            Op::Special(Special::Asinh, a) => self.unary(Unary::Asinh, at[a]),
            Op::Special(function, a) => self.unary(Unary::Special(function), at[a]),
            Op::Less(a, b) => self.push(Step::Less(at[a], at[b])),
            Op::LessEqual(a, b) => self.push(Step::LessEqual(at[a], at[b])),
            Op::Equal(a, b) => self.push(Step::Equal(at[a], at[b])),
            Op::NotEqual(a, b) => {
                let equal = self.push(Step::Equal(at[a], at[b]));
                self.choose(equal, 0.0, 1.0)
            }
            Op::And(a, b) => {
                let second = self.choose(at[b], 1.0, 0.0);
                let zero = self.number(0.0);
                self.push(Step::Select(at[a], second, zero))
            }
            Op::Or(a, b) => {
                let second = self.choose(at[b], 1.0, 0.0);
                let one = self.number(1.0);
                self.push(Step::Select(at[a], one, second))
            }
            Op::Not(a) => self.choose(at[a], 0.0, 1.0),
            Op::Select(a, b, c) => self.push(Step::Select(at[a], at[b], at[c])),
        }
    }

    /// Appends a choice between two constants, and returns the slot (the index) of its result. The result is `yes`
    /// where the condition is not 0, and `no` elsewhere.
    fn choose(&mut self, condition: Slot, yes: f64, no: f64) -> Slot {
        let (yes, no) = (self.number(yes), self.number(no));
        self.push(Step::Select(condition, yes, no))
    }

    /// Renumbers the observables: the observable with the index `observables[k]` gets the index `k`.
    pub(in crate::events) fn renumber(&mut self, observables: &[usize]) {
        for table in &mut self.tables {
            table.renumber(observables);
        }
        for step in &mut self.steps {
            if let Step::Observable(x) = step
                && let Some(k) = observables.iter().position(|o| o == x)
            {
                *x = k;
            }
        }
    }

    /// Returns the finished program. Its value is the result in the slot `result`. `variables` is the number of its
    /// variables. `inputs` contains, for each input, the derivatives that may differ from zero.
    pub(in crate::events) fn finish(
        mut self,
        result: Slot,
        variables: usize,
        inputs: &[Components],
    ) -> Program {
        self.steps.truncate(result + 1);
        // Steps on which the result does not depend are dropped.
        let mut needed = vec![false; self.steps.len()];
        if let Some(last) = needed.last_mut() {
            *last = true;
        }
        for slot in (0..self.steps.len()).rev() {
            if needed[slot] {
                for operand in operands(self.steps[slot]).into_iter().flatten() {
                    needed[operand] = true;
                }
            }
        }
        let mut moved = vec![0; self.steps.len()];
        let mut program = Program {
            variables,
            steps: Vec::new(),
            tables: self.tables,
            active: Vec::new(),
            uniform: Vec::new(),
        };
        for (slot, step) in self.steps.into_iter().enumerate() {
            if !needed[slot] {
                continue;
            }
            let step = renamed(step, &moved);
            moved[slot] = program.steps.len();
            let uniform = !matches!(step, Step::Observable(_) | Step::Table(..))
                && operands(step).into_iter().flatten().all(|operand| program.uniform[operand]);
            program.active.push(Components::of(step, &program.active, inputs, variables));
            program.uniform.push(uniform);
            program.steps.push(step);
        }
        program
    }
}

/// Returns the slots (indices of results) of the operands of a step.
pub(super) fn operands(step: Step) -> [Option<Slot>; 3] {
    match step {
        Step::Number(_)
        | Step::Variable(_)
        | Step::Input(_)
        | Step::Observable(_)
        | Step::Datum(_)
        | Step::Table(..) => [None; 3],
        Step::Unary(_, a) => [Some(a), None, None],
        Step::Add(a, b)
        | Step::Sub(a, b)
        | Step::Mul(a, b)
        | Step::Binary(_, a, b)
        | Step::Less(a, b)
        | Step::LessEqual(a, b)
        | Step::Equal(a, b) => [Some(a), Some(b), None],
        Step::Select(a, b, c) => [Some(a), Some(b), Some(c)],
    }
}

/// Returns the step with the slots (indices of results) of its operands replaced. `moved` contains the new slot for
/// each old slot.
fn renamed(step: Step, moved: &[Slot]) -> Step {
    match step {
        Step::Unary(unary, a) => Step::Unary(unary, moved[a]),
        Step::Add(a, b) => Step::Add(moved[a], moved[b]),
        Step::Sub(a, b) => Step::Sub(moved[a], moved[b]),
        Step::Mul(a, b) => Step::Mul(moved[a], moved[b]),
        Step::Binary(binary, a, b) => Step::Binary(binary, moved[a], moved[b]),
        Step::Less(a, b) => Step::Less(moved[a], moved[b]),
        Step::LessEqual(a, b) => Step::LessEqual(moved[a], moved[b]),
        Step::Equal(a, b) => Step::Equal(moved[a], moved[b]),
        Step::Select(a, b, c) => Step::Select(moved[a], moved[b], moved[c]),
        other => other,
    }
}
