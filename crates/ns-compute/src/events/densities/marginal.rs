//! Products of densities, integrated over those observables for which the integral is a formula.

use ns_core::Density;

use super::{Space, given, histogram_integral, integral, value};
use crate::events::program::{Builder, Slot, Values};

/// Appends to the program `b` the steps that compute a product of densities, integrated over part of the observables
/// `own`. `sides` contains the ends of the box along each of them. An observable is integrated here if only one of the
/// densities depends on it and the integral of this density over it is a formula. Returns the slot (the index) of the
/// result, and the places in `own` of the observables that are left.
pub(in crate::events) fn integrated(
    b: &mut Builder,
    densities: &[Density],
    space: Space<'_>,
    values: Values<'_>,
    (own, sides): (&[usize], &[(f64, f64)]),
) -> Option<(Slot, Vec<usize>)> {
    let mut left: Vec<&Density> = densities.iter().collect();
    let mut places: Vec<usize> = (0..own.len()).collect();
    let mut product = b.number(1.0);
    // The observables on which integrals of densities at given values depend.
    let mut kept: Vec<usize> = Vec::new();
    // Such a density may have been the only other one that depends on the given observables.
    while let Some((which, place)) = next(&left, &places, own, &kept) {
        let density = left.remove(which);
        places.retain(|&k| k != place);
        let (x, ends) = (*own.get(place)?, *sides.get(place)?);
        let factor = match density {
            // A normalised density, over its whole range.
            Density::Given(_) if *space.sides(&[x])? == [[ends]] => continue,
            Density::Given(given) => {
                kept.extend(density.observables().into_iter().filter(|other| *other != x));
                given::integral(b, given, space, values, ends)?
            }
            Density::Histogram { .. } | Density::Template { .. } => {
                histogram_integral(b, density, values, &|_| Some(ends))?
            }
            other => integral(b, other, space.axes, values, ends)?,
        };
        product = b.mul(product, factor);
    }
    for density in left {
        let factor = value(b, density, space, values)?;
        product = b.mul(product, factor);
    }
    Some((product, places))
}

/// Returns the index in `left` of a density whose integral over an observable is a formula, and the place of this
/// observable in `own`. Neither another density nor `kept` has the observable.
fn next(left: &[&Density], places: &[usize], own: &[usize], kept: &[usize]) -> Option<(usize, usize)> {
    let of = |density: &Density| match density {
        Density::Given(given) => given.own(),
        Density::Histogram { .. } | Density::Template { .. } => only(density),
        other => only(other).filter(|_| other.has_closed_integral()),
    };
    left.iter().enumerate().find_map(|(which, density)| {
        let x = of(density)?;
        let mut others = left.iter().enumerate().filter(|(i, _)| *i != which);
        let alone = !kept.contains(&x) && others.all(|(_, other)| !other.observables().contains(&x));
        let place = places.iter().copied().find(|&k| own.get(k) == Some(&x))?;
        alone.then_some((which, place))
    })
}

/// Returns the observable of a density that depends on one alone.
fn only(density: &Density) -> Option<usize> {
    match *density.observables() {
        [x] => Some(x),
        _ => None,
    }
}
