//! Derivatives of `-ln L` with respect to parameters, inputs (numbers of the model that data may replace), main
//! counts and auxiliary data. The same code computes derivatives of a directional derivative of `-ln L`.
//!
//! All derivatives come from two passes. `forward` computes the expected yields from the numbers of the model, and
//! `backward` computes the derivatives from the yields. Both are written for any [`Number`]. A
//! [`Jet`](crate::number::Jet) carries derivatives along a direction. With it the same formulas give mixed second and
//! third derivatives.

mod backward;
mod forward;

pub(crate) use forward::{Ray, Sweep};

use crate::number::Number;
use crate::plan::Plan;
use crate::simd::Level;

/// Computes the derivatives of `-ln L` for the main counts `main` and the auxiliary data `aux`, and stores them in
/// `sweep`. Derivatives with respect to parameters are computed only if `parameters` is true.
pub(crate) fn of_likelihood<T: Number>(
    plan: &Plan,
    ray: Ray<'_>,
    (main, aux): (&[f64], &[f64]),
    parameters: bool,
    sweep: &mut Sweep<T>,
) {
    forward::forward(plan, ray, sweep);
    backward::clear(plan, sweep);
    backward::poisson_slopes(main, sweep);
    backward::inputs(plan, ray, sweep);
    if parameters {
        backward::parameters(plan, ray, sweep);
    }
    backward::constraints(plan, ray, aux, sweep);
}

/// Computes the derivatives of a weighted sum of all expected data with respect to parameters and inputs (numbers of
/// the model that data may replace), and stores them in `sweep`. `main` contains one weight per bin, and `aux` one
/// weight per auxiliary datum.
pub(crate) fn of_expected(
    level: Level,
    plan: &Plan,
    theta: &[f64],
    (main, aux): (&[f64], &[f64]),
    sweep: &mut Sweep<f64>,
) {
    let ray = Ray { level, theta, along: None, numbers: None, third: None };
    forward::forward(plan, ray, sweep);
    backward::clear(plan, sweep);
    sweep.slope.clear();
    sweep.slope.extend_from_slice(main);
    backward::inputs(plan, ray, sweep);
    backward::parameters(plan, ray, sweep);
    backward::expected_auxiliary(plan, ray, aux, sweep);
}
