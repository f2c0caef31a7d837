//! Formulae of densities, and of their integrals over an interval of one observable, as steps of a program.
//!
//! The value of a density need not be normalised. The integral must use the same normalisation as the value.

mod argus;
mod bifurcated;
mod breit_wigner;
mod crystal_ball;
mod decay;
mod exponential;
mod gaussian;
mod generalized_normal;
mod given;
mod johnson;
mod lognormal;
mod marginal;
pub(super) mod multivariate;
mod polynomial;
mod tables;
mod template;
mod voigt;

pub(super) use marginal::integrated;
use ns_core::{Density, Observable};

use super::program::{Builder, Slot, Step, Unary, Values};

/// The observables of a channel, and the boxes over which its densities are normalised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Space<'a> {
    pub(super) axes: &'a [Observable],
    pub(super) boxes: &'a [Vec<(f64, f64)>],
}

impl Space<'_> {
    /// Returns the sides of the boxes along some observables, each once. Returns `None` if the boxes are not all
    /// combinations of them with sides along the other observables.
    pub(super) fn sides(&self, observables: &[usize]) -> Option<Vec<Vec<(f64, f64)>>> {
        let mut own: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut others = Vec::new();
        for sides in self.boxes {
            let (mut inside, mut outside) = (Vec::new(), Vec::new());
            for (x, &side) in sides.iter().enumerate() {
                if observables.contains(&x) { inside.push(side) } else { outside.push(side) }
            }
            for (list, sides) in [(&mut own, inside), (&mut others, outside)] {
                if !list.contains(&sides) {
                    list.push(sides);
                }
            }
        }
        (own.len() * others.len() == self.boxes.len()).then_some(own)
    }
}

/// Appends to the program `b` the steps that compute a density. Returns the slot (the index) of the result. Returns
/// `None` for a product or mixture of other densities, and for a density with context (one that depends on further
/// numbers). `values` returns the slots of the density's parameters.
pub(super) fn value(
    b: &mut Builder,
    density: &Density,
    space: Space<'_>,
    values: Values<'_>,
) -> Option<Slot> {
    match density {
        // The steps of an expression ask for its values themselves.
        Density::Generic(tape) => Some(b.tape(tape, values)),
        Density::Given(given) => given::value(b, given, space, values),
        other => {
            let own: Vec<Slot> = other.own_values().into_iter().map(|v| values(b, v)).collect();
            value_of(b, other, space.axes, &own)
        }
    }
}

/// Appends the steps that compute a density, as [`value`]. `own` contains the slots of [`Density::own_values`].
fn value_of(b: &mut Builder, density: &Density, axes: &[Observable], own: &[Slot]) -> Option<Slot> {
    let observable = |b: &mut Builder, x: usize| b.push(Step::Observable(x));
    Some(match (density, own) {
        (Density::Gaussian { x, .. }, &[mean, sigma]) => {
            let x = observable(b, *x);
            gaussian::value(b, x, mean, sigma)
        }
        (Density::BifurcatedGaussian { x, .. }, &[mean, left, right]) => {
            let x = observable(b, *x);
            bifurcated::value(b, x, mean, left, right)
        }
        (Density::Exponential { x, .. }, &[slope]) => {
            let axis = axes.get(*x)?;
            let x = observable(b, *x);
            exponential::value(b, x, slope, axis)
        }
        (Density::CrystalBall { x, left, right, .. }, own) => {
            let x = observable(b, *x);
            let shape = crystal_ball::Shape::new(own, left.is_some(), right.is_some())?;
            shape.value(b, x)
        }
        (Density::Argus { x, .. }, &[resonance, slope, power]) => {
            let x = observable(b, *x);
            argus::value(b, x, resonance, slope, power)
        }
        (Density::Voigt { x, .. }, &[mean, width, sigma]) => {
            let x = observable(b, *x);
            voigt::value(b, x, mean, width, sigma)
        }
        (Density::BreitWigner { x, .. }, &[mean, width]) => {
            let x = observable(b, *x);
            breit_wigner::value(b, x, mean, width)
        }
        (Density::JohnsonSu { x, .. }, &[mean, width, gamma, delta]) => {
            let x = observable(b, *x);
            johnson::value(b, x, [mean, width, gamma, delta])
        }
        (Density::Lognormal { x, .. }, &[mu, sigma]) => {
            let x = observable(b, *x);
            lognormal::value(b, x, mu, sigma)
        }
        (Density::GeneralizedNormal { x, .. }, &[mean, alpha, beta]) => {
            let x = observable(b, *x);
            generalized_normal::value(b, x, mean, alpha, beta)
        }
        (Density::Uniform { .. }, _) => b.number(1.0),
        (Density::Polynomial { x, .. }, own) => {
            let x = observable(b, *x);
            polynomial::powers(b, x, own)
        }
        (Density::Chebyshev { x, .. }, own) => {
            let axis = axes.get(*x)?;
            let x = observable(b, *x);
            polynomial::chebyshev(b, x, own, axis)
        }
        (Density::Bernstein { x, .. }, own) => {
            let axis = axes.get(*x)?;
            let x = observable(b, *x);
            polynomial::bernstein(b, x, own, axis)
        }
        (Density::MultivariateNormal { observables, .. }, own) => multivariate::value(b, observables, own),
        (Density::Histogram { observables, edges, heights }, _) => {
            tables::histogram(b, observables, edges, heights)
        }
        (Density::Template { observables, edges, heights, variations }, own) => {
            template::value(b, (observables, edges), heights, variations, own)?
        }
        (Density::Spline { x, knots, .. }, own) => tables::spline(b, *x, knots, own),
        (Density::Decay(form), own) => {
            let time = observable(b, form.t);
            decay::decay(b, form, own, decay::Place::At(time))?
        }
        (Density::Log(own), _) => {
            let column = observable(b, own.column);
            b.unary(Unary::Exp, column)
        }
        _ => return None,
    })
}

/// Appends to the program `b` the steps that compute the integral of a histogram or template over a box. Returns the
/// slot (the index) of the result, or `None` for any other density. `side` returns the ends of the box along an
/// observable.
pub(super) fn histogram_integral(
    b: &mut Builder,
    density: &Density,
    values: Values<'_>,
    side: &dyn Fn(usize) -> Option<(f64, f64)>,
) -> Option<Slot> {
    let (Density::Histogram { observables, edges, .. } | Density::Template { observables, edges, .. }) =
        density
    else {
        return None;
    };
    let sides = observables.iter().map(|&x| side(x)).collect::<Option<Vec<_>>>()?;
    match density {
        Density::Histogram { heights, .. } => Some(tables::histogram_integral(b, edges, heights, &sides)),
        Density::Template { heights, variations, .. } => {
            let own: Vec<Slot> = density.own_values().into_iter().map(|v| values(b, v)).collect();
            template::integral(b, (edges, &sides), heights, variations, &own)
        }
        _ => None,
    }
}

/// Appends to the program `b` the steps that compute the integral of a density over `lo..hi`. Returns the slot (the
/// index) of the result. Returns `None` if the integral has no closed form, and for histograms and templates (see
/// [`histogram_integral`]).
pub(super) fn integral(
    b: &mut Builder,
    density: &Density,
    axes: &[Observable],
    values: Values<'_>,
    (lo, hi): (f64, f64),
) -> Option<Slot> {
    let own: Vec<Slot> = match density {
        Density::Generic(_) | Density::Argus { .. } | Density::Given(_) => return None,
        other => other.own_values().into_iter().map(|v| values(b, v)).collect(),
    };
    integral_of(b, density, axes, &own, (lo, hi))
}

/// Appends the steps that compute an integral, as [`integral`]. `own` contains the slots of [`Density::own_values`].
fn integral_of(
    b: &mut Builder,
    density: &Density,
    axes: &[Observable],
    own: &[Slot],
    (lo, hi): (f64, f64),
) -> Option<Slot> {
    let ends = (lo, hi);
    Some(match (density, own) {
        (Density::Decay(form), own) => decay::decay(b, form, own, decay::Place::Between(lo, hi))?,
        (Density::Gaussian { .. }, &[mean, sigma]) => gaussian::integral(b, mean, sigma, ends),
        (Density::BifurcatedGaussian { .. }, &[mean, left, right]) => {
            bifurcated::integral(b, mean, left, right, ends)
        }
        (Density::Exponential { x, .. }, &[slope]) => exponential::integral(b, slope, axes.get(*x)?, ends),
        (Density::CrystalBall { left, right, .. }, own) => {
            crystal_ball::Shape::new(own, left.is_some(), right.is_some())?.integral(b, ends)
        }
        (Density::BreitWigner { .. }, &[mean, width]) => breit_wigner::integral(b, mean, width, ends),
        (Density::JohnsonSu { .. }, &[mean, width, gamma, delta]) => {
            johnson::integral(b, [mean, width, gamma, delta], ends)
        }
        (Density::Lognormal { .. }, &[mu, sigma]) => lognormal::integral(b, mu, sigma, ends),
        (Density::Uniform { .. }, _) => b.number(hi - lo),
        (Density::Spline { knots, .. }, own) => tables::spline_integral(b, knots, own, ends),
        (Density::Polynomial { .. }, own) => polynomial::powers_integral(b, own, ends),
        (Density::Chebyshev { x, .. }, own) => polynomial::chebyshev_integral(b, own, axes.get(*x)?, ends),
        (Density::Bernstein { x, .. }, own) => polynomial::bernstein_integral(b, own, axes.get(*x)?, ends),
        _ => return None,
    })
}

/// Appends to the program `b` the steps of an integrand, if a change of variables makes the density smoother. Returns
/// the slot (the index) of the result, or `None` for densities that need no such change. The integral of the integrand
/// from 0 to 1 is equal to the integral of the density over `lo..hi`, the two numbers in `ends`. In the program, the
/// new variable of integration takes the place of the observable `x`.
pub(super) fn integrand(
    b: &mut Builder,
    density: &Density,
    values: Values<'_>,
    x: usize,
    ends: (f64, f64),
) -> Option<Slot> {
    match density {
        Density::Argus { resonance, slope, power, .. } => {
            let own = [values(b, *resonance), values(b, *slope), values(b, *power)];
            let t = b.push(Step::Observable(x));
            Some(argus::integrand(b, t, own, ends))
        }
        Density::GeneralizedNormal { mean, alpha, beta, .. } => {
            let own = [values(b, *mean), values(b, *alpha), values(b, *beta)];
            let t = b.push(Step::Observable(x));
            Some(generalized_normal::integrand(b, t, own, ends))
        }
        _ => None,
    }
}
