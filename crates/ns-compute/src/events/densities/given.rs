//! Densities of one observable at given values of others.

use ns_core::{Given, Tape, Value};

use super::{Space, integral_of, value_of};
use crate::events::program::{Builder, Slot, Values};

/// Appends to the program `b` the steps that compute the density, divided by its integral over its own observable. Returns
/// the slot (the index) of the result. Returns `None` if the integral has no formula, or if the fit ranges of the
/// observable depend on other observables.
pub(super) fn value(b: &mut Builder, given: &Given, space: Space<'_>, values: Values<'_>) -> Option<Slot> {
    let own = arguments(b, given, values);
    let value = value_of(b, &given.density, space.axes, &own)?;
    divided(b, value, (given, &own), space)
}

/// Appends the steps that compute the integral of the density over a part of the fit range of its own observable, as
/// [`value`].
pub(super) fn integral(
    b: &mut Builder,
    given: &Given,
    space: Space<'_>,
    values: Values<'_>,
    ends: (f64, f64),
) -> Option<Slot> {
    let own = arguments(b, given, values);
    let part = integral_of(b, &given.density, space.axes, &own, ends)?;
    divided(b, part, (given, &own), space)
}

/// Returns the slots of the density's [`ns_core::Density::own_values`].
fn arguments(b: &mut Builder, given: &Given, values: Values<'_>) -> Vec<Slot> {
    let pairs = given.density.own_values().into_iter().zip(&given.arguments);
    let argument = |(value, argument): (Value, &Option<Tape>)| match argument {
        Some(tape) => b.tape(tape, values),
        None => values(b, value),
    };
    pairs.map(argument).collect()
}

/// Divides a number by the integral of the density over the fit ranges of its own observable.
fn divided(b: &mut Builder, number: Slot, (given, own): (&Given, &[Slot]), space: Space<'_>) -> Option<Slot> {
    let mut total = b.number(0.0);
    for sides in space.sides(&[given.own()?])? {
        let &[ends] = sides.as_slice() else { return None };
        let part = integral_of(b, &given.density, space.axes, own, ends)?;
        total = b.add(total, part);
    }
    Some(b.div(number, total))
}
