//! Programs: formulae as lists of operations. They are evaluated with first and second derivatives for many events at
//! once.
//!
//! For `d` variables, the result of an operation has `1 + d + d (d + 1) / 2` components: the value, the first
//! derivatives, and the second derivatives. The second derivative with respect to the variables `i` and `j <= i` is
//! at [`pair`]`(d, i, j)`. Each component is a column with one number per event (forward-mode differentiation:
//! Griewank and Walther, "Evaluating Derivatives", 2nd edition, chapter 3). Components that are always zero are found
//! when the formula is compiled, and are never computed.

mod active;
mod bounds;
mod build;
mod elementary;
pub(super) mod fixed;
mod interval;
mod lookup;
mod run;
mod slopes;
mod step;
mod third;

pub(super) use active::Components;
pub(super) use bounds::{is_pole, step_bounds, wide_operand};
pub(super) use build::{Builder, Values};
pub(super) use elementary::{Binary, Unary};
pub(super) use interval::Interval;
pub(crate) use lookup::Table;
pub(super) use run::{Input, Inputs, Memory, Sources};
pub(super) use slopes::slope_bounds;
use step::Branches;
pub(super) use step::Step;
pub(super) use third::Truncated;

/// Index of an operation in a program. The result of the operation has the same index.
pub(super) type Slot = usize;

/// Returns the number of components of a result with `d` variables: its value, first derivatives and second
/// derivatives.
pub(super) fn components(d: usize) -> usize {
    1 + d + d * (d + 1) / 2
}

/// Returns the index of the component that is the second derivative with respect to the variables `i` and `j`. There
/// are `d` variables.
pub(crate) fn pair(d: usize, i: usize, j: usize) -> usize {
    let (i, j) = if i < j { (j, i) } else { (i, j) };
    1 + d + i * (i + 1) / 2 + j
}

/// A compiled formula. Its value is the result of its last operation.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// Number of variables of the formula.
    variables: usize,
    steps: Vec<Step>,
    tables: Vec<Table>,
    /// For each result, the derivatives that may differ from zero.
    active: Vec<Components>,
    /// For each result, whether it is the same for all events.
    uniform: Vec<bool>,
}

impl Program {
    /// Returns the number of variables of the formula.
    pub(super) fn variables(&self) -> usize {
        self.variables
    }

    /// Iterates over the operations of the program. The second element is true if the result of the operation is the
    /// same for all events.
    pub(super) fn all_steps(&self) -> impl Iterator<Item = (Step, bool)> {
        self.steps.iter().copied().zip(self.uniform.iter().copied())
    }

    /// Returns the derivatives of an operation's result that may differ from zero.
    pub(super) fn active(&self, slot: Slot) -> Option<&Components> {
        self.active.get(slot)
    }

    /// Returns whether both programs have the same operations, apart from the values of constants and tables. They then
    /// have the same derivatives, and can use the same [`Memory`].
    pub(super) fn has_shape_of(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&Step, &Step)| matches!((a, b), (Step::Number(_), Step::Number(_))) || a == b;
        self.variables == other.variables
            && self.steps.len() == other.steps.len()
            && self.active == other.active
            && self.steps.iter().zip(&other.steps).all(is_same)
    }

    /// Returns the same program with products in place of squares, which are faster than powers.
    pub(super) fn with_squares(&self) -> Self {
        let faster = |step: &Step| match *step {
            Step::Unary(Unary::Power(2.0), a) => Step::Mul(a, a),
            other => other,
        };
        Self { steps: self.steps.iter().map(faster).collect(), ..self.clone() }
    }

    /// Returns whether the program has branches: operations whose derivatives may jump.
    pub(super) fn has_branches(&self) -> bool {
        self.steps.iter().any(|step| step.branches().is_some())
    }

    /// Appends the branches that a program without events took at the last point, one for each operation that has branches.
    pub(super) fn branches(&self, memory: &Memory, to: &mut Vec<bool>) {
        for (slot, step) in self.steps.iter().enumerate() {
            match step.branches() {
                Some(Branches::Sign(a)) => to.push(memory.number(self, a) < 0.0),
                Some(Branches::Truth) => to.push(memory.number(self, slot) != 0.0),
                None => {}
            }
        }
    }

    /// Returns the same program without second derivatives. All second derivatives of its results are zero.
    pub(super) fn without_second(&self) -> Self {
        let first = |active: &Components| Components { first: active.first.clone(), second: Vec::new() };
        Self { active: self.active.iter().map(first).collect(), ..self.clone() }
    }

    /// Returns the tables that the operations of the program use.
    pub(super) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Returns the derivatives of the program's value that may differ from zero.
    pub(super) fn result(&self) -> Option<&Components> {
        self.active.last()
    }
}

#[cfg(test)]
mod tests;
