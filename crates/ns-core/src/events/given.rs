//! Densities of one observable at given values of others.

use super::{Density, Tape, Value};

/// A density of one observable whose parameters depend on other observables. It is normalised over its own observable at
/// each value of the others, so it says nothing about their distribution. Examples are a decay time with a resolution of
/// each event, and a Gaussian whose mean is a function of another observable.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The density, which has one observable. The integral over an interval of the observable has a closed form
    /// ([`Density::has_closed_integral`]).
    pub density: Density,
    /// For each element of the density's [`Density::own_values`], the expression that replaces it; `None` keeps the element.
    pub arguments: Vec<Option<Tape>>,
}

impl Given {
    /// Returns the index of the observable over which the density is normalised; `None` if the density has not exactly
    /// one observable.
    #[must_use]
    pub fn own(&self) -> Option<usize> {
        match *self.density.observables() {
            [x] => Some(x),
            _ => None,
        }
    }

    /// Returns the parameters of the density, and of the expressions that replace some of them.
    pub(super) fn values(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for (value, argument) in self.density.own_values().into_iter().zip(&self.arguments) {
            match argument {
                Some(tape) => all.extend(tape.values()),
                None => all.push(value),
            }
        }
        all
    }

    /// Returns the indices of the observables: that of the density, and those of the expressions.
    pub(super) fn observables(&self) -> Vec<usize> {
        let mut all = self.density.observables();
        all.extend(self.arguments.iter().flatten().flat_map(Tape::observables));
        all
    }
}
