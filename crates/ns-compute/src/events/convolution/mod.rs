//! Convolutions of two densities of one observable, on the whole line, and projections of densities with hidden variables.
//!
//! `h(x) = int f(x - s) g(s) ds` or `int f(x, y) dy` is integrated by adaptive quadrature at the nodes of a table along the observable's axis,
//! with first and second derivatives with respect to the parameters of both densities (`table`). Between the nodes, `ln h`
//! and its derivatives are polynomials (`panels`). Events, integrals and toys read the table (`source`). It is made once per point.
//! Convolutions of smooth densities are sums over equally spaced places (`smooth`); all others are integrated at the
//! nodes of the table one by one (`nodes`).

mod divide;
mod lattice;
mod nodes;
mod panels;
mod places;
mod samples;
mod smooth;
mod source;
mod sum;
mod support;
mod table;

use std::borrow::Cow;
use std::sync::Arc;

use ns_core::{
    ConditionalDensity, Convolution, Density, EventChannel, Observable, Process, Projection, SharedLogProb,
    Value,
};

use super::densities::{self, Space};
use super::integral;
use super::leaf::Variables;
use super::program::{Builder, Program, Slot, Step, Unary, Values};
use super::table::Locals;
use crate::simd::Level;
pub(super) use source::{Source, TableMemory};

/// Returns the channel with convolutions replaced by densities that are read from tables, and these. Returns `None` if a
/// convolution cannot be computed.
pub(super) fn resolved(
    channel: &EventChannel,
    level: Level,
) -> Option<(Cow<'_, EventChannel>, Vec<Arc<Source>>)> {
    let mut sources = Vec::new();
    if !channel.processes.iter().any(|process| has_convolution(&process.density)) {
        return Some((Cow::Borrowed(channel), sources));
    }
    let mut processes = Vec::with_capacity(channel.processes.len());
    for process in &channel.processes {
        let density = replaced(&process.density, &channel.observables, level, &mut sources)?;
        processes.push(Process { density, ..process.clone() });
    }
    Some((Cow::Owned(EventChannel { processes, ..channel.clone() }), sources))
}

fn has_convolution(density: &Density) -> bool {
    matches!(density, Density::Convolution(_) | Density::Projection(_))
        || density.parts().iter().any(has_convolution)
}

fn replaced(
    density: &Density,
    axes: &[Observable],
    level: Level,
    sources: &mut Vec<Arc<Source>>,
) -> Option<Density> {
    let mut all = |parts: &[Density]| {
        parts.iter().map(|part| replaced(part, axes, level, sources)).collect::<Option<Vec<_>>>()
    };
    Some(match density {
        Density::Convolution(own) => {
            let (axis, (program, context, factors)) = (axes.get(own.x)?, integrand(own, axes)?);
            let shape = Integrand { program, edges: vec![nodes::line(axis)], is_line: true, factors };
            let source = Source::new(("convolution", format!("{own:?}")), axis, shape, context.len(), level);
            conditional(own.x, source, context, sources)
        }
        Density::Projection(own) => {
            let (axis, (program, context)) = (axes.get(own.x)?, projected(own, axes)?);
            let edges = integral::edges(&program, &own.hidden, integral::Purpose::Normalisation);
            let shape = Integrand { program, edges, is_line: false, factors: None };
            let source = Source::new(("projection", format!("{own:?}")), axis, shape, context.len(), level);
            conditional(own.x, source, context, sources)
        }
        Density::Product(parts) => Density::Product(all(parts)?),
        Density::Mixture { summands, coefficients } => {
            Density::Mixture { summands: all(summands)?, coefficients: coefficients.clone() }
        }
        other => other.clone(),
    })
}

/// An integrand whose datum is `x`, with the places along each of its observables at which their ranges are divided first.
#[derive(Debug)]
struct Integrand {
    program: Program,
    edges: Vec<Vec<f64>>,
    /// Whether the integral is over all numbers.
    is_line: bool,
    /// Both densities of a convolution, each as a function of its own argument, if they have no kinks. Their variables are
    /// those of the integrand.
    factors: Option<[Program; 2]>,
}

fn conditional(x: usize, source: Source, context: Vec<Value>, sources: &mut Vec<Arc<Source>>) -> Density {
    let source = Arc::new(source);
    sources.push(Arc::clone(&source));
    Density::Conditional(ConditionalDensity { observables: vec![x], context, source: SharedLogProb(source) })
}

/// Returns the program of a density of `x` and hidden variables, and the values of its variables.
fn projected(own: &Projection, axes: &[Observable]) -> Option<(Program, Vec<Value>)> {
    if reads_table(&own.density, own.x) {
        return None;
    }
    let hidden =
        own.hidden.iter().map(|&(min, max)| Observable { name: String::new(), min, max, blind: Vec::new() });
    let axes: Vec<Observable> = axes.iter().cloned().chain(hidden).collect();
    let whole = [axes.iter().map(|axis| (axis.min, axis.max)).collect::<Vec<_>>()];
    let space = Space { axes: &axes, boxes: &whole };
    let (mut b, mut variables, mut locals) = (Builder::default(), Variables::default(), Locals::default());
    let mut values = |b: &mut Builder, value: Value| variables.slot(b, value, &mut locals);
    let x = b.push(Step::Datum(0));
    b.substitute(Some((own.x, x)));
    let result = value(&mut b, &own.density, space, &mut values)?;
    b.substitute(None);
    let first = axes.len() - own.hidden.len();
    b.renumber(&(first..axes.len()).collect::<Vec<usize>>());
    let program = b.finish(result, variables.locals.len(), &[]);
    let context =
        variables.locals.iter().map(|&local| locals.values.get(local).copied()).collect::<Option<_>>()?;
    Some((program, context))
}

/// Returns whether a density is a table along the observable `x`.
fn reads_table(density: &Density, x: usize) -> bool {
    (has_table(density) && density.parts().is_empty() && density.observables().contains(&x))
        || density.parts().iter().any(|part| reads_table(part, x))
}

/// The program of an integrand, the values of its variables, and [`Integrand::factors`].
type Compiled = (Program, Vec<Value>, Option<[Program; 2]>);

/// Returns the program of `f(x - s) g(s)`. Its observable is `s`, and its datum is `x`.
fn integrand(own: &Convolution, axes: &[Observable]) -> Option<Compiled> {
    // A table is a function of the observable itself, and not of a difference.
    let (first, second) =
        if has_table(&own.first) { (&own.second, &own.first) } else { (&own.first, &own.second) };
    if has_table(first) {
        return None;
    }
    let whole = [axes.iter().map(|axis| (axis.min, axis.max)).collect::<Vec<_>>()];
    let space = Space { axes, boxes: &whole };
    let (mut b, mut variables, mut locals) = (Builder::default(), Variables::default(), Locals::default());
    let mut values = |b: &mut Builder, value: Value| variables.slot(b, value, &mut locals);
    let s = b.push(Step::Observable(own.x));
    let x = b.push(Step::Datum(0));
    let difference = b.sub(x, s);
    b.substitute(Some((own.x, difference)));
    let at_difference = value(&mut b, first, space, &mut values)?;
    b.substitute(None);
    let at_s = value(&mut b, second, space, &mut values)?;
    let product = b.mul(at_difference, at_s);
    b.renumber(&[own.x]);
    let alone = |density: &Density, values: Values<'_>| {
        let mut b = Builder::default();
        let result = value(&mut b, density, space, values)?;
        b.renumber(&[own.x]);
        Some((b, result))
    };
    let factors = [alone(first, &mut values)?, alone(second, &mut values)?];
    let count = variables.locals.len();
    let program = b.finish(product, count, &[]);
    let factors = factors.map(|(b, result)| b.finish(result, count, &[]));
    let context =
        variables.locals.iter().map(|&local| locals.values.get(local).copied()).collect::<Option<_>>()?;
    Some((program, context, factors.iter().all(is_smooth).then_some(factors)))
}

/// Returns whether a density has no operation with a kink, and depends on its observable.
fn is_smooth(program: &Program) -> bool {
    let mut varying = program.all_steps().filter(|(_, is_uniform)| !is_uniform).peekable();
    varying.peek().is_some()
        && varying.all(|(step, _)| {
            !matches!(
                step,
                Step::Less(..)
                    | Step::LessEqual(..)
                    | Step::Equal(..)
                    | Step::Select(..)
                    | Step::Table(..)
                    | Step::Unary(Unary::Abs, _)
            )
        })
}

fn has_table(density: &Density) -> bool {
    matches!(density, Density::Histogram { .. } | Density::Template { .. } | Density::Spline { .. })
        || density.parts().iter().any(has_table)
}

/// Appends the steps that compute a density. The summands of a mixture are normalised over the axis. Returns the slot (the
/// index) of the result; `None` if a summand has no closed integral.
fn value(b: &mut Builder, density: &Density, space: Space<'_>, values: Values<'_>) -> Option<Slot> {
    match density {
        Density::Product(parts) => {
            let mut product = b.number(1.0);
            for part in parts {
                let part = value(b, part, space, values)?;
                product = b.mul(product, part);
            }
            Some(product)
        }
        Density::Mixture { summands, coefficients } => {
            let (mut sum, mut rest) = (b.number(0.0), b.number(1.0));
            for (i, summand) in summands.iter().enumerate() {
                let share = match coefficients.get(i) {
                    Some(coefficient) => values(b, *coefficient),
                    None => rest,
                };
                rest = b.sub(rest, share);
                let shape = value(b, summand, space, values)?;
                let ends = summand.observables().first().and_then(|&x| space.axes.get(x));
                let ends = ends.map(|axis| (axis.min, axis.max))?;
                let integral = densities::integral(b, summand, space.axes, values, ends)?;
                let ratio = b.div(shape, integral);
                let part = b.mul(share, ratio);
                sum = b.add(sum, part);
            }
            Some(sum)
        }
        other => densities::value(b, other, space, values),
    }
}
