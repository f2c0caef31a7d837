//! The minimum of a fit as a function of inputs and data.

use ns_core::{Data, FitOutcome, Inactive, InverseHessian, Pulled};

use super::DifferentiableSession;
use crate::InferenceError;

/// If a parameter is at a bound and the absolute derivative of `-ln L` with respect to it is below this number, the
/// parameter may leave the bound after a small change of the inputs.
const LOOSE: f64 = 1e-4;

/// A minimum whose estimated distance (EDM) is at most this number is not refined by a Newton step. The distance of
/// each parameter from the minimum is then below 2e-8 times its uncertainty.
const CLOSE: f64 = 1e-16;

/// The minimum of a fit, with the data, the parameters, and flags that say which parameters change if the inputs
/// change.
pub(super) struct Minimum {
    pub(super) data: Data,
    pub(super) parameters: Vec<f64>,
    /// For each parameter, whether its value at the minimum changes if the inputs change.
    pub(super) free: Vec<bool>,
    /// Whether the derivatives are one-sided. This is the case if a parameter is at a kink, or at a bound where the
    /// slope of `-ln L` is zero.
    pub(super) one_sided: bool,
}

impl DifferentiableSession {
    /// Describes the minimum of a fit. In this fit, the parameters with the indices `held` were fixed in addition to
    /// those that the model fixes. If the fit ended too far from the minimum, a Newton step with the exact Hessian
    /// refines its result.
    pub(super) fn minimum(
        &self,
        data: &Data,
        fit: &FitOutcome,
        held: &[usize],
    ) -> Result<Minimum, InferenceError> {
        self.minimum_near(data, fit, held, None)
    }

    /// Describes the minimum of a fit as [`Self::minimum`] does. `metric` is the inverse Hessian of a similar fit. If
    /// that fit had the same free parameters, the Newton step uses `metric` instead of the exact Hessian.
    pub(super) fn minimum_near(
        &self,
        data: &Data,
        fit: &FitOutcome,
        held: &[usize],
        metric: Option<&InverseHessian>,
    ) -> Result<Minimum, InferenceError> {
        let mut parameters = fit.parameters.clone();
        let mut free: Vec<bool> =
            self.model.parameters.iter().map(|p| !p.fixed && p.bounds.0 < p.bounds.1).collect();
        for &p in held {
            if let Some(free) = free.get_mut(p) {
                *free = false;
            }
        }
        let mut one_sided = false;
        let gradient = self.accelerator.gradient(data, &parameters)?;
        for &(p, why) in &fit.inactive {
            let at_bound = matches!(why, Inactive::LowerBound | Inactive::UpperBound);
            one_sided |= !at_bound && why != Inactive::Flat;
            if let Some(free) = free.get_mut(p) {
                *free &= why == Inactive::TwoSided;
            }
        }
        for (p, free) in free.iter_mut().enumerate().filter(|(_, free)| **free) {
            let (Some(&x), Some(&g), Some(of)) =
                (parameters.get(p), gradient.get(p), self.model.parameters.get(p))
            else {
                continue;
            };
            let (at_lower, at_upper) = (x <= of.bounds.0, x >= of.bounds.1);
            if at_lower || at_upper {
                *free = false;
                one_sided |= g.abs() < LOOSE;
            }
        }
        let is_close = fit.converged() && fit.certificate.edm <= CLOSE;
        let near = metric.and_then(|metric| conditional_product(metric, &gradient, &free, held));
        let step = match near {
            _ if is_close => None,
            Some(step) => Some(step),
            None => self.solve(data, &parameters, &free, &gradient)?,
        };
        if let Some(step) = step {
            for ((x, step), of) in parameters.iter_mut().zip(&step).zip(&self.model.parameters) {
                let to = *x - step;
                // A larger step means that the fit did not converge. It would not improve the minimum.
                if step.abs() <= 1e-4 * (1.0 + x.abs()) && to >= of.bounds.0 && to <= of.bounds.1 {
                    *x = to;
                }
            }
        }
        Ok(Minimum { data: data.clone(), parameters, free, one_sided })
    }

    /// Solves `H x = side`, where `H` is the Hessian over the free parameters. `free` has one entry per parameter.
    /// Returns `None` if the Hessian is not positive definite.
    pub(super) fn solve(
        &self,
        data: &Data,
        point: &[f64],
        free: &[bool],
        side: &[f64],
    ) -> Result<Option<Vec<f64>>, InferenceError> {
        let found = self.accelerator.solve(data, point, free, &[side])?;
        Ok(found.and_then(|mut solutions| solutions.pop()))
    }

    /// Returns derivatives of `-ln L` at the minimum. The first element of the result is the derivative with respect to
    /// the parameter with the index `parameter`. The second element has the derivatives with respect to inputs and data
    /// at fixed parameters. By the envelope theorem, these are also the derivatives of the minimum value of `-ln L`.
    pub(super) fn direct(
        &self,
        minimum: &Minimum,
        parameter: usize,
    ) -> Result<(f64, Pulled), InferenceError> {
        let made = self.accelerator.slopes(&minimum.data, &minimum.parameters)?;
        Ok((made.parameters.get(parameter).copied().unwrap_or(0.0), made.pulled))
    }

    /// Returns the derivatives of `sum_p factors[p] theta_p` with respect to inputs and data. `theta_p` is the value
    /// of parameter `p` at the minimum. By the implicit function theorem the derivative with respect to `x` is the
    /// product of `-H^-1 factors` and the second derivatives of `-ln L` with respect to `x` and the parameters. `H`
    /// is the Hessian of `-ln L` over the free parameters.
    ///
    /// Returns `None` if the Hessian is not positive definite.
    pub(super) fn implicit(
        &self,
        minimum: &Minimum,
        factors: &[f64],
    ) -> Result<Option<Pulled>, InferenceError> {
        let Minimum { data, parameters, free, .. } = minimum;
        let Some(mut along) = self.solve(data, parameters, free, factors)? else { return Ok(None) };
        along.iter_mut().for_each(|x| *x = -*x);
        if along.iter().any(|x| !x.is_finite()) {
            return Ok(None);
        }
        Ok(Some(self.accelerator.along(data, parameters, &along, None)?.pulled))
    }
}

/// Multiplies an inverse Hessian by a gradient, over the free parameters of a fit. `free[p]` is true if parameter `p`
/// is free. `held` lists the parameters that only this fit fixes. If such a parameter was free when the inverse Hessian
/// was computed, the product is corrected to what it is with the parameter fixed. Returns `None` if `held` has more than
/// one element, or if the inverse Hessian and `free` differ in a parameter that is not in `held`.
fn conditional_product(
    inverse: &InverseHessian,
    gradient: &[f64],
    free: &[bool],
    held: &[usize],
) -> Option<Vec<f64>> {
    let other = |p: usize| Some(&inverse.has(p)) != free.get(p) && !held.contains(&p);
    if inverse.n_parameters() != free.len() || held.len() > 1 || (0..free.len()).any(other) {
        return None;
    }
    let side: Vec<f64> = gradient.iter().zip(free).map(|(&g, &free)| if free { g } else { 0.0 }).collect();
    let mut product = vec![0.0; free.len()];
    inverse.apply(&side, &mut product, &mut Vec::new());
    for &p in held.iter().filter(|&&p| inverse.has(p)) {
        let row = inverse.row(p)?;
        let factor = product.get(p)? / row.get(p)?;
        product.iter_mut().zip(row.iter()).for_each(|(to, c)| *to -= factor * c);
    }
    product.iter().all(|x| x.is_finite()).then_some(product)
}
