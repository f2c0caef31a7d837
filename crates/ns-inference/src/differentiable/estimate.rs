//! The best fit and the uncertainty of the parameter of interest as functions of the inputs.

use ns_core::{OutcomeParts, Pulled};

use super::minimum::Minimum;
use super::{Differentiated, ProfiledDifferentiableSession, add_pulled};
use crate::InferenceError;

/// A best fit for given values of the inputs. Its derivatives with respect to the inputs can be computed.
pub struct BestFit {
    /// Best-fit values of all parameters.
    pub parameters: Vec<f64>,
    /// Whether the fit converged.
    pub converged: bool,
    /// Whether the derivatives with respect to the inputs are one-sided (see
    /// [`Differentiated::one_sided`](super::Differentiated::one_sided)).
    pub one_sided: bool,
    minimum: Minimum,
    yields: Vec<f64>,
}

impl ProfiledDifferentiableSession {
    /// Returns the best fit. `yields` are the values of all inputs.
    ///
    /// # Errors
    /// If a value is not allowed for an input, or `-ln L` is not finite at any starting point.
    pub fn best_fit(&self, yields: &[f64]) -> Result<BestFit, InferenceError> {
        let data = self.inner.data(yields)?;
        let request = self.fit_options().request(&self.inner.model)?;
        let fit = self
            .run(&data, vec![request], OutcomeParts::default())?
            .pop()
            .ok_or(InferenceError::Cancelled)?;
        let minimum = self.inner.minimum(&data, &fit, &[])?;
        let (converged, one_sided) = (fit.converged(), minimum.one_sided);
        Ok(BestFit { parameters: fit.parameters, converged, one_sided, minimum, yields: yields.to_vec() })
    }

    /// Returns the derivatives of `sum_p factors[p] theta_p` with respect to the inputs, one per input. `theta_p` is
    /// the best-fit value of parameter `p`, and `factors` has one number per parameter. The derivatives are NaN if the
    /// Hessian is not positive definite.
    ///
    /// # Errors
    /// If a length does not fit the model.
    pub fn pull_back_best_fit(&self, fit: &BestFit, factors: &[f64]) -> Result<Vec<f64>, InferenceError> {
        match self.inner.implicit(&fit.minimum, factors)? {
            Some(pulled) => Ok(self.inner.by_inputs(&fit.yields, &fit.minimum.data, pulled)?),
            None => Ok(vec![f64::NAN; self.inner.inputs().len()]),
        }
    }

    /// Returns the uncertainty of the parameter of interest with its derivatives with respect to the inputs. The
    /// uncertainty is the square root of the variance `(H^-1)_pp`, where `H` is the Hessian of `-ln L` and `p` is the
    /// parameter of interest. If the uncertainty does not exist, for example at a bound, the value and the derivatives
    /// are NaN.
    ///
    /// The derivatives follow from `u = H^-1 e_p`, where `e_p` is the unit vector of the parameter of interest. If the
    /// Hessian changes by `dH`, the variance changes by `-u' dH u`. `dH` includes the effect of the change of the best
    /// fit.
    ///
    /// # Errors
    /// The errors of [`Self::best_fit`].
    pub fn uncertainty(&self, yields: &[f64]) -> Result<Differentiated, InferenceError> {
        let poi = self.poi()?;
        let BestFit { minimum, one_sided, .. } = self.best_fit(yields)?;
        let Minimum { data, parameters, free, .. } = &minimum;
        let missing = || Ok(Differentiated::missing(yields.len()));
        if !free.get(poi).copied().unwrap_or(false) {
            return missing();
        }
        let mut unit = vec![0.0; parameters.len()];
        unit.iter_mut().skip(poi).take(1).for_each(|x| *x = 1.0);
        let Some(column) = self.inner.solve(data, parameters, free, &unit)? else { return missing() };
        let variance = column.get(poi).copied().unwrap_or(f64::NAN);
        if !(variance > 0.0) {
            return missing();
        }
        let value = variance.sqrt();
        let curvature = self.inner.accelerator.curvature_along(data, parameters, &column)?;
        let Some(implicit) = self.inner.implicit(&minimum, &curvature.parameters)? else { return missing() };
        let mut pulled = Pulled::default();
        for part in [&curvature.pulled, &implicit] {
            add_pulled(&mut pulled, -0.5 / value, part);
        }
        let gradient = self.inner.by_inputs(yields, data, pulled)?;
        Ok(Differentiated { value, gradient, one_sided })
    }
}
