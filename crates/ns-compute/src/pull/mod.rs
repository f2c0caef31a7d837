//! Derivatives of `-ln L` by all it depends on: parameters, inputs (numbers of the model that data may
//! replace), main counts and auxiliary data; and those of its derivatives along a direction.
//!
//! One pass gives all of them: the expected yields are computed from the numbers of the model (`forward`), and the
//! derivatives on the way back (`backward`). Both are written for any [`Number`]; with a [`Jet`](crate::number::Jet), which carries
//! derivatives along a direction, the same formulas give mixed second and third derivatives.

mod backward;
mod forward;

pub(crate) use forward::{Ray, Sweep};

use crate::number::Number;
use crate::plan::Plan;

/// Computes the derivatives of `-ln L` of the data `main` and `aux` in `sweep`. Those by parameters are left
/// out unless `parameters` is true.
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

/// Computes in `sweep` the derivatives, by parameters and inputs, of the sum of all expected data, each
/// multiplied by its number in `main` or `aux`.
pub(crate) fn of_expected(plan: &Plan, theta: &[f64], (main, aux): (&[f64], &[f64]), sweep: &mut Sweep<f64>) {
    let ray = Ray { theta, along: None, numbers: None };
    forward::forward(plan, ray, sweep);
    backward::clear(plan, sweep);
    sweep.slope.clear();
    sweep.slope.extend_from_slice(main);
    backward::inputs(plan, ray, sweep);
    backward::parameters(plan, ray, sweep);
    backward::expected_auxiliary(plan, ray, aux, sweep);
}
