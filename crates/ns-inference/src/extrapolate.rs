//! Carries the result of a fit over to another model, for example from control regions to a signal region.

use ns_core::{Covariance, Model, SessionError};

use crate::{FitResult, InferenceError, diagnosis, parameter_index};

/// The result of a fit, carried over to a model whose channels or parameters may differ from those of the fit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Extrapolated {
    /// Values of all parameters, in the model's order: the best fit, or the initial value of a parameter that the fit
    /// did not contain.
    pub parameters: Vec<f64>,
    /// Covariance matrix of all parameters, in the model's order. A parameter that the fit did not contain has the
    /// variance of its constraint, the covariances of its constraint with those of others that the fit did not contain, and
    /// no covariance with fitted parameters. Its variance is 0 if the model fixes it or it has no constraint. `None` if the
    /// covariance of the fit is not known.
    pub covariance: Option<Covariance>,
    /// Names of the model's parameters that the fit did not contain, in the model's order.
    pub not_in_fit: Vec<String>,
    /// Names of the fit's parameters that the model lacks, in the order of the fit.
    pub not_in_model: Vec<String>,
}

impl Extrapolated {
    /// Carries a fit over to `model`. `names` and `bestfit` are the names and values of the fitted parameters, and
    /// `covariance` is their covariance matrix in the same order.
    ///
    /// # Errors
    /// If the lengths differ, or if the model has none of the parameters.
    pub fn new(
        model: &Model,
        names: &[String],
        bestfit: &[f64],
        covariance: Option<&Covariance>,
    ) -> Result<Self, InferenceError> {
        let length = |what, actual: usize, expected: usize| {
            if actual == expected {
                Ok(())
            } else {
                Err(SessionError::WrongLength { what, actual, expected })
            }
        };
        length("the best fit", bestfit.len(), names.len())?;
        if let Some(matrix) = covariance {
            length("the covariance of the fit", matrix.n, names.len())?;
            length("the covariance of the fit", matrix.values.len(), names.len() * names.len())?;
        }
        let places: Vec<Option<usize>> = names.iter().map(|name| model.parameter_index(name)).collect();
        if let Some(first) = names.first().filter(|_| places.iter().all(Option::is_none)) {
            parameter_index(model, first)?;
        }
        let n = model.parameters.len();
        let mut parameters: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        let mut fitted = vec![false; n];
        for (value, place) in bestfit.iter().zip(places.iter().copied()) {
            if let Some((x, known)) = place.and_then(|i| parameters.get_mut(i).zip(fitted.get_mut(i))) {
                (*x, *known) = (*value, true);
            }
        }
        let covariance = covariance.map(|matrix| carried(model, matrix, &places, &fitted));
        let named = |(name, place): (&String, &Option<usize>)| place.is_none().then(|| name.clone());
        let unfitted = model.parameters.iter().zip(&fitted).filter(|(_, fitted)| !**fitted);
        Ok(Self {
            parameters,
            covariance,
            not_in_fit: unfitted.map(|(p, _)| p.name.clone()).collect(),
            not_in_model: names.iter().zip(&places).filter_map(named).collect(),
        })
    }

    /// Carries the result of a fit over to `model`. Without a covariance, the uncertainties of the result give the
    /// variances, and the parameters are taken to be uncorrelated.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn of(model: &Model, result: &FitResult) -> Result<Self, InferenceError> {
        let n = result.bestfit.len();
        let diagonal = || {
            let mut values = vec![0.0; n * n];
            for (element, sigma) in values.iter_mut().step_by(n + 1).zip(&result.uncertainties) {
                *element = sigma.map_or(0.0, |sigma| sigma * sigma);
            }
            Covariance { n, values }
        };
        let known = result.uncertainties.iter().any(Option::is_some);
        let made = if result.covariance.is_none() && known { Some(diagonal()) } else { None };
        let covariance = result.covariance.as_ref().or(made.as_ref());
        Self::new(model, &result.parameter_names, &result.bestfit, covariance)
    }

    /// Returns warnings about the parameters that only the model or only the fit has.
    #[must_use]
    pub fn warnings(&self, model: &Model) -> Vec<String> {
        let mut warnings = Vec::new();
        let has_width = |name: &&String| {
            let parameter = model.parameter_index(name).and_then(|i| model.parameters.get(i));
            parameter.is_some_and(|p| !p.fixed && p.constraint.prefit_sigma().is_some_and(f64::is_finite))
        };
        let listed = |names: &[&String]| diagnosis::list(names.iter().map(|name| name.as_str()));
        let (wide, held): (Vec<&String>, Vec<&String>) = self.not_in_fit.iter().partition(has_width);
        if !wide.is_empty() {
            let widths = if self.covariance.is_some() {
                ", the widths of their constraints, and no correlation with fitted parameters"
            } else {
                ""
            };
            warnings.push(format!(
                "parameters that the fit did not contain have their initial values{widths}: {}",
                listed(&wide)
            ));
        }
        if !held.is_empty() {
            warnings.push(format!(
                "parameters that the fit did not contain and that are fixed or have no constraint have their initial values and \
                 add no uncertainty: {}",
                listed(&held)
            ));
        }
        if !self.not_in_model.is_empty() {
            let names: Vec<&String> = self.not_in_model.iter().collect();
            warnings
                .push(format!("parameters of the fit that the model lacks are left out: {}", listed(&names)));
        }
        warnings
    }
}

/// Reorders the covariance matrix of a fit to the order of the model's parameters. `places` gives the index of each
/// fitted parameter in the model, and `fitted` says which of the model's parameters were in the fit.
fn carried(model: &Model, matrix: &Covariance, places: &[Option<usize>], fitted: &[bool]) -> Covariance {
    let n = model.parameters.len();
    let mut values = vec![0.0; n * n];
    for (row, i) in matrix.values.chunks(matrix.n.max(1)).zip(places) {
        for (value, j) in row.iter().zip(places) {
            if let Some(element) = i.zip(*j).and_then(|(i, j)| values.get_mut(i * n + j)) {
                *element = *value;
            }
        }
    }
    let diagonal = values.iter_mut().step_by(n + 1).zip(&model.parameters).zip(fitted);
    for ((element, parameter), _) in diagonal.filter(|(_, fitted)| !**fitted) {
        let width = parameter.constraint.prefit_sigma().filter(|width| !parameter.fixed && width.is_finite());
        *element = width.map_or(0.0, |width| width * width);
    }
    let width = |values: &[f64], i: usize| values.get(i * n + i).copied().unwrap_or(0.0).max(0.0).sqrt();
    let is_new = |i: &&usize| fitted.get(**i) == Some(&false);
    for own in model.correlations() {
        for &i in own.parameters().iter().filter(is_new) {
            for &j in own.parameters().iter().filter(is_new).filter(|j| **j != i) {
                let covariance = own.between(i, j).unwrap_or(0.0) * width(&values, i) * width(&values, j);
                if let Some(element) = values.get_mut(i * n + j) {
                    *element = covariance;
                }
            }
        }
    }
    Covariance { n, values }
}
