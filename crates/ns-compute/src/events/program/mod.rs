//! Formulae as lists of operations, evaluated with first and second derivatives for many events at once.
//!
//! The result of an operation has `1 + d + d (d + 1) / 2` components for `d` variables: the value, the first
//! derivatives, and the second derivatives with respect to the variables `j <= i` at [`pair`]`(d, i, j)`. Each
//! component is a column with one number per event (forward-mode differentiation: Griewank and Walther,
//! "Evaluating Derivatives", 2nd edition, chapter 3). Compiling the formula finds the components that are
//! always zero. These components are never computed.

mod active;
mod build;
mod elementary;
mod lookup;
mod run;
mod step;

pub(super) use active::Components;
pub(super) use build::{Builder, Values};
pub(super) use elementary::{Binary, Unary};
pub(crate) use lookup::Table;
pub(super) use run::{Input, Memory, Sources};
pub(super) use step::Step;

/// Index of an operation of a program, and of its result.
pub(super) type Slot = usize;

/// Returns the number of components of a result with `d` variables.
pub(super) fn components(d: usize) -> usize {
    1 + d + d * (d + 1) / 2
}

/// Returns the index of the component with the second derivative with respect to the variables `i` and `j` of
/// `d` variables.
pub(super) fn pair(d: usize, i: usize, j: usize) -> usize {
    let (i, j) = if i < j { (j, i) } else { (i, j) };
    1 + d + i * (i + 1) / 2 + j
}

/// A compiled formula. The result of its last operation is its value.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// Number of variables.
    variables: usize,
    steps: Vec<Step>,
    tables: Vec<Table>,
    /// Which components of each result can differ from zero.
    active: Vec<Components>,
    /// Whether each result is the same for all events.
    uniform: Vec<bool>,
}

impl Program {
    /// Returns the number of variables.
    pub(super) fn variables(&self) -> usize {
        self.variables
    }

    /// Iterates over the operations, each with whether its result is the same for all events.
    pub(super) fn all_steps(&self) -> impl Iterator<Item = (Step, bool)> {
        self.steps.iter().copied().zip(self.uniform.iter().copied())
    }

    /// Returns which components of the result of an operation can differ from zero.
    #[cfg_attr(
        not(any(feature = "cuda", feature = "cuda-on-host")),
        allow(dead_code, reason = "only builds with devices upload channels")
    )]
    pub(super) fn active(&self, slot: Slot) -> Option<&Components> {
        self.active.get(slot)
    }

    /// Returns the tables that the operations use.
    pub(super) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Returns which components of the value can differ from zero.
    pub(super) fn result(&self) -> Option<&Components> {
        self.active.last()
    }
}

#[cfg(test)]
mod tests;
