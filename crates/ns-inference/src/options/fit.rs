//! The options of a fit, and their conversion to the task that a session receives.

use std::sync::Arc;

use ns_core::{Data, FitRequest, FitTask, Model, Observations, Search, Session, Start};

use serde::Deserialize;

use super::blind::{self, Blind};
use crate::options::{self, Point, WeightedUncertainties};
use crate::{InferenceError, diagnosis, parameter_index};

/// The data to which a model is fitted.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum FitData {
    /// The observed data of the workspace.
    #[default]
    Observed,
    /// The Asimov data, i.e. the main and auxiliary data that are expected at the initial parameters with all parameters
    /// of interest at `poi`.
    Asimov {
        /// Value of the parameters of interest; their initial values if `None`.
        poi: Option<f64>,
    },
    /// The observed data, but in blinded channels the counts that a fit of the other channels expects.
    Blind(Blind),
    /// Given main counts and auxiliary data; in JSON an object with the keys `main` and `aux`.
    Given(#[serde(deserialize_with = "options::binned")] Arc<Observations>),
}

impl FitData {
    /// Returns the blinded channels; `None` if there are none.
    #[must_use]
    pub fn blind(&self) -> Option<&Blind> {
        match self {
            Self::Blind(blind) => Some(blind),
            _ => None,
        }
    }
}

/// Options of [`fit`](crate::fit()), set by chained methods. The default is a fit of the observed data with
/// uncertainties and covariance.
///
/// ```
/// use ns_inference::FitOptions;
/// let options = FitOptions::default().fix("lumi", 1.0).minos("mu");
/// # assert_eq!(options.fixed.len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FitOptions {
    /// Data to fit.
    pub data: FitData,
    /// Parameters to fix, by full name, with their values. The parameters that the model fixes remain fixed.
    #[serde(deserialize_with = "options::pairs")]
    pub fixed: Vec<(String, f64)>,
    /// Starting point; the initial values of the model if `None`. If the model fixes a parameter, the parameter keeps
    /// the value that it has in the starting point, as in `pyhf.infer.mle.fit`.
    #[serde(rename = "init")]
    pub start: Option<Point>,
    /// Effort of the search for the global minimum.
    #[serde(deserialize_with = "options::text")]
    pub search: Search,
    /// Largest accepted error of the integrals in `-ln L` at the minimum, as a fraction of the integral; `None` means
    /// [`ns_core::INTEGRAL_TOLERANCE`]; between 0 and 1. A fit with a larger error is not converged. Only integrals of densities without
    /// closed forms have errors.
    pub integral_tolerance: Option<f64>,
    /// Whether to compute the uncertainties.
    pub uncertainties: bool,
    /// Whether to return the covariance matrix, also if `uncertainties` is false.
    pub covariance: bool,
    /// Whether to find the crossings of parameters at a bound or on a kink of an interpolation, which have no
    /// symmetric uncertainty. A crossing is a value of the parameter at which `-2 ln L`, minimised over all other
    /// parameters, is 1 above its minimum. Has an effect only if `uncertainties` is true.
    pub crossings: bool,
    /// Full names of the parameters whose MINOS intervals are computed.
    pub minos: Vec<String>,
    /// Functions of parameters whose values and uncertainties are computed, by name (in JSON an object). Each is an
    /// expression of parameters, of functions of the model, and of functions before it.
    #[serde(deserialize_with = "options::pairs")]
    pub derived: Vec<(String, String)>,
    /// Whether intervals of the functions in `derived` are computed by the profile of the likelihood.
    pub derived_profile: bool,
    /// Method for the uncertainties if events have weights. `None` means [`WeightedUncertainties::Sandwich`], which
    /// is asymptotically correct. Without weights, uncertainties come from the Hessian.
    pub weighted_uncertainties: Option<WeightedUncertainties>,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self {
            data: FitData::Observed,
            fixed: Vec::new(),
            start: None,
            search: Search::Standard,
            integral_tolerance: None,
            uncertainties: true,
            covariance: true,
            crossings: true,
            minos: Vec::new(),
            derived: Vec::new(),
            derived_profile: false,
            weighted_uncertainties: None,
        }
    }
}

options::setters! { FitOptions {
    data: FitData, search: Search, covariance: bool, crossings: bool, derived_profile: bool,
    weighted_uncertainties: Option<WeightedUncertainties>, integral_tolerance: Option<f64>
} }

impl FitOptions {
    /// Fixes a parameter at a value.
    #[must_use]
    pub fn fix(mut self, name: impl Into<String>, value: f64) -> Self {
        self.fixed.push((name.into(), value));
        self
    }

    /// Sets the starting point.
    #[must_use]
    pub fn start(mut self, point: impl Into<Point>) -> Self {
        self.start = Some(point.into());
        self
    }

    /// Sets whether uncertainties are computed; `false` also switches off the covariance.
    #[must_use]
    pub fn uncertainties(mut self, wanted: bool) -> Self {
        self.uncertainties = wanted;
        self.covariance &= wanted;
        self
    }

    /// Adds a parameter whose MINOS interval is computed.
    #[must_use]
    pub fn minos(mut self, name: impl Into<String>) -> Self {
        self.minos.push(name.into());
        self
    }

    /// Adds a function of parameters whose value and uncertainty are computed.
    #[must_use]
    pub fn derive(mut self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        self.derived.push((name.into(), expression.into()));
        self
    }

    /// Builds the request of the fit that these options describe.
    ///
    /// # Errors
    /// For an unknown parameter name, a starting or fixed value outside the bounds of its parameter, or a starting
    /// point of the wrong length.
    pub(crate) fn request(&self, model: &Model) -> Result<FitRequest, InferenceError> {
        self.request_within(model, None)
    }

    /// Builds the request of the fit that these options describe. `bounds` has one (lower, upper) pair per parameter
    /// and replaces the bounds of the model. If `bounds` is `None`, the bounds of the model apply.
    ///
    /// # Errors
    /// The errors of [`Self::request`]; also if a lower bound is above the upper bound.
    pub(crate) fn request_within(
        &self,
        model: &Model,
        bounds: Option<&[(f64, f64)]>,
    ) -> Result<FitRequest, InferenceError> {
        if let Some(value) = self.integral_tolerance.filter(|value| !(0.0..=1.0).contains(value)) {
            return Err(InferenceError::BadIntegralTolerance { value });
        }
        let mut fixed: Vec<(usize, f64)> = Vec::with_capacity(self.fixed.len());
        let others = bounds.map(|bounds| other_bounds(model, bounds)).transpose()?.unwrap_or_default();
        let start = match &self.start {
            None => inside(model, &others).map_or(Start::Init, |point| Start::At(Arc::from(point))),
            Some(point) => {
                let point = point.values(model)?;
                check_point(model, &point, bounds)?;
                let held = model.parameters.iter().zip(&point).enumerate();
                fixed.extend(held.filter(|(_, (p, _))| p.fixed).map(|(i, (_, x))| (i, *x)));
                Start::At(Arc::from(point))
            }
        };
        for (name, value) in &self.fixed {
            let index = parameter_index(model, name)?;
            let within = bounds.and_then(|bounds| bounds.get(index).copied());
            check_value(model, "the fixed value", index, *value, within)?;
            // If a parameter is given twice, the last value counts, as on the command line.
            fixed.retain(|(i, _)| *i != index);
            fixed.push((index, *value));
        }
        let origin = match &start {
            Start::At(point) => Some(Arc::clone(point)),
            _ => None,
        };
        Ok(FitRequest {
            start,
            origin,
            fixed,
            released: Vec::new(),
            bounds: others,
            search: self.search,
            single_descent: false,
            metric: None,
            only_if: None,
            integral_tolerance: self.integral_tolerance,
        })
    }

    /// Returns the data that these options describe.
    ///
    /// # Errors
    /// If the Asimov data or the data of blinded channels cannot be computed. Possible reasons: `poi` is given and the model has no parameter of
    /// interest; `poi` is outside the bounds; the expected yield of a bin is negative.
    pub(crate) fn resolve_data(&self, model: &Model, session: &dyn Session) -> Result<Data, InferenceError> {
        match &self.data {
            FitData::Observed => Ok(Data::observed()),
            FitData::Given(data) => Ok(Arc::clone(data).into()),
            FitData::Blind(blind) => blind::data(model, session, self, blind),
            FitData::Asimov { poi } => {
                let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
                if let Some(value) = *poi {
                    if model.pois.is_empty() {
                        return Err(InferenceError::NoPoi {
                            analysis: "Asimov data at a given value",
                            measurement: model.measurement.clone(),
                            format: model.format,
                        });
                    }
                    for &index in &model.pois {
                        check_value(model, "the Asimov value", index, value, None)?;
                        if let Some(x) = point.get_mut(index) {
                            *x = value;
                        }
                    }
                }
                let purpose = "the Asimov set cannot be made";
                session
                    .asimov(&point, &Data::observed())
                    .map_err(|error| diagnosis::expectation(model, purpose, error))
            }
        }
    }

    /// Builds the task of the fit: the data and one request.
    ///
    /// # Errors
    /// The errors of [`Self::request`] and [`Self::resolve_data`].
    pub(crate) fn task(&self, model: &Model, session: &dyn Session) -> Result<FitTask, InferenceError> {
        Ok(FitTask {
            data: self.resolve_data(model, session)?,
            fits: vec![self.request(model)?],
            cancel: None,
        })
    }
}

/// Bounds that replace those of the model. Each entry is a parameter index and its (lower, upper) bounds.
type OwnBounds = Vec<(usize, (f64, f64))>;

/// Returns the parameter index and the (lower, upper) bounds of every parameter whose bounds differ from those of the
/// model. Returns an error unless there is one pair per parameter and each lower bound is at most the upper bound.
fn other_bounds(model: &Model, bounds: &[(f64, f64)]) -> Result<OwnBounds, InferenceError> {
    let (what, actual, expected) = ("the bounds", bounds.len(), model.parameters.len());
    if actual != expected {
        return Err(ns_core::SessionError::WrongLength { what, actual, expected }.into());
    }
    if let Some((p, (lower, upper))) = model.parameters.iter().zip(bounds).find(|(_, (l, u))| !(l <= u)) {
        return Err(InferenceError::BadBounds { name: p.name.clone(), lower: *lower, upper: *upper });
    }
    let all = model.parameters.iter().zip(bounds).enumerate();
    Ok(all.filter(|(_, (p, b))| p.bounds != **b).map(|(i, (_, b))| (i, *b)).collect())
}

/// Returns the initial values of all parameters, with each free parameter moved inside its new bounds. `bounds` has
/// the parameter index and the new (lower, upper) bounds of some parameters. Returns `None` if no parameter has to be
/// moved.
fn inside(model: &Model, bounds: &[(usize, (f64, f64))]) -> Option<Vec<f64>> {
    let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let mut moved = false;
    for &(i, (lower, upper)) in bounds {
        if let (Some(x), Some(p)) = (point.get_mut(i), model.parameters.get(i))
            && !p.fixed
            && !(*x >= lower && *x <= upper)
        {
            *x = x.max(lower).min(upper);
            moved = true;
        }
    }
    moved.then_some(point)
}

/// Returns an error if a starting point has the wrong length or one of its values is not allowed.
fn check_point(model: &Model, point: &[f64], bounds: Option<&[(f64, f64)]>) -> Result<(), InferenceError> {
    let expected = model.parameters.len();
    if point.len() != expected {
        let (what, actual) = ("the start point", point.len());
        return Err(ns_core::SessionError::WrongLength { what, actual, expected }.into());
    }
    let within = |i: usize| bounds.and_then(|bounds| bounds.get(i).copied());
    (0..expected).zip(point).try_for_each(|(i, x)| check_value(model, "the start value", i, *x, within(i)))
}

/// Returns an error unless a value is finite and lies inside `within`. If `within` is `None`, the bounds are those of
/// the parameter in the model.
fn check_value(
    model: &Model,
    what: &'static str,
    index: usize,
    value: f64,
    within: Option<(f64, f64)>,
) -> Result<(), InferenceError> {
    let Some(parameter) = model.parameters.get(index) else {
        let n_parameters = model.parameters.len();
        return Err(ns_core::SessionError::NoSuchParameter { index, n_parameters }.into());
    };
    let name = parameter.name.clone();
    if !value.is_finite() {
        return Err(InferenceError::NotFinite { what, name, value });
    }
    let (lower, upper) = within.unwrap_or(parameter.bounds);
    // The model itself may fix a parameter outside its bounds.
    if (value < lower || value > upper) && !(parameter.fixed && value == parameter.init) {
        return Err(InferenceError::OutOfBounds { what, name, value, lower, upper, format: model.format });
    }
    Ok(())
}

/// Returns the observed data of a model.
///
/// # Errors
/// [`InferenceError::Unobserved`] if a channel has no observed counts.
pub fn observed(model: &Model) -> Result<Data, InferenceError> {
    match model.unobserved.is_empty() {
        true => Ok(Data::observed()),
        false => Err(InferenceError::Unobserved { channels: model.unobserved.clone() }),
    }
}
