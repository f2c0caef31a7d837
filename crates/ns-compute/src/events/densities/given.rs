//! Densities of one observable at given values of others.

use ns_core::Given;

use super::{Space, integral_of, value_of};
use crate::events::program::{Builder, Slot, Values};

/// Appends to the program `b` the steps that compute the density, divided by its integral over its own observable. Returns
/// the slot (the index) of the result. Returns `None` if the integral has no formula, or if the fit ranges of the
/// observable depend on other observables.
pub(super) fn value(b: &mut Builder, given: &Given, space: Space<'_>, values: Values<'_>) -> Option<Slot> {
    let mut own = Vec::with_capacity(given.arguments.len());
    for (value, argument) in given.density.own_values().into_iter().zip(&given.arguments) {
        own.push(match argument {
            Some(tape) => b.tape(tape, values),
            None => values(b, value),
        });
    }
    let value = value_of(b, &given.density, space.axes, &own)?;
    let mut total = b.number(0.0);
    for sides in space.sides(&[given.own()?])? {
        let &[ends] = sides.as_slice() else { return None };
        let part = integral_of(b, &given.density, space.axes, &own, ends)?;
        total = b.add(total, part);
    }
    Some(b.div(value, total))
}
