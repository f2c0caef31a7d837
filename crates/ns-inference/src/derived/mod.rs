//! Derived quantities: functions of the parameters of a fit, with their uncertainties.
//!
//! The uncertainty of a function `f` is `sqrt(f' C f')`, where `C` is the exact covariance of the parameters and `f'` the
//! gradient at the best fit. The interval of `profile` needs no such linear approximation.

mod parse;
mod profile;

use ns_compute::function_values::FunctionValues;
use ns_core::{Covariance, FitOutcome, Function, Inactive};
use serde::{Deserialize, Serialize};

use crate::InferenceError;
use crate::analysis::Analysis;
use crate::minos::Interval;
use crate::options::FitOptions;

/// A function of parameters at the best fit, with its uncertainty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Derived {
    /// Name of the quantity.
    pub name: String,
    /// Expression of parameters, of functions of the model, and of quantities that are given before it.
    pub expression: String,
    /// Value at the best fit; `None` if it is not finite.
    pub value: Option<f64>,
    /// Standard deviation, from the covariance of the parameters and the gradient of the expression. Parameters that are
    /// fixed, at a bound or on a kink keep their values. `None` if there is none.
    pub uncertainty: Option<f64>,
    /// Interval in which `-2 ln L`, minimised over all points where the quantity has the same value, is at most 1 above
    /// its minimum. `None` if not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub interval: Option<Interval>,
}

/// Checks the expressions in `options.derived`.
///
/// # Errors
/// [`InferenceError::Derived`] for an expression with a mistake, or with a name that the model does not have.
pub(crate) fn functions(
    analysis: &Analysis<'_>,
    options: &FitOptions,
) -> Result<Vec<Function>, InferenceError> {
    parse::functions(analysis.model, &options.derived)
}

/// Returns the derived quantities of a fit, and warnings about numbers that do not exist. `functions` is the result of
/// [`functions`].
///
/// # Errors
/// If the model or the session refuses the fits for an interval.
pub(crate) fn of_fit(
    analysis: &Analysis<'_>,
    options: &FitOptions,
    functions: &[Function],
    outcome: &FitOutcome,
    covariance: Option<&Covariance>,
) -> Result<(Vec<Derived>, Vec<String>), InferenceError> {
    let model = analysis.model;
    let mut values = FunctionValues::new(model, functions).map_err(ns_core::SessionError::from)?;
    values.evaluate(&outcome.parameters);
    let (mut found, mut warnings) = (Vec::new(), Vec::new());
    for (i, (name, expression)) in options.derived.iter().enumerate() {
        let at = values.get(model.functions.len() + i).unwrap_or_default();
        let value = at.value.is_finite().then_some(at.value);
        let flat = at.gradient.iter().find(|(p, slope)| {
            *slope != 0.0 && outcome.inactive.iter().any(|(q, why)| q == p && *why == Inactive::Flat)
        });
        let uncertainty = match (value, flat, covariance) {
            (None, ..) => Err("its value at the best fit is not finite".to_owned()),
            (_, Some((p, _)), _) => {
                let flat = model.parameters.get(*p).map_or("", |p| p.name.as_str());
                Err(format!("the data do not determine its parameter {flat}"))
            }
            (.., None) => Err("the fit has no covariance".to_owned()),
            (.., Some(covariance)) => {
                let variance = variance(&at.gradient, covariance);
                if variance.is_finite() && variance >= 0.0 {
                    Ok(variance.sqrt())
                } else {
                    Err("the covariance gives no variance".to_owned())
                }
            }
        };
        if let Err(why) = &uncertainty
            && (options.uncertainties || value.is_none())
        {
            warnings.push(format!("no uncertainty for {name}: {why}"));
        }
        let uncertainty = uncertainty.ok();
        let interval = match (options.derived_profile && outcome.converged(), value) {
            (true, Some(value)) => {
                Some(profile::interval(analysis, functions, i, outcome, (value, uncertainty))?)
            }
            _ => None,
        };
        if let Some(interval) = &interval {
            for (side, reason) in [("lower", &interval.lower_reason), ("upper", &interval.upper_reason)] {
                warnings.extend(
                    reason.iter().map(|reason| format!("the {side} crossing of {name} is null: {reason}")),
                );
            }
        }
        let (name, expression) = (name.clone(), expression.clone());
        found.push(Derived { name, expression, value, uncertainty, interval });
    }
    Ok((found, warnings))
}

/// Returns the variance `g' C g` of a function with the gradient `g`, which is given by its elements.
fn variance(gradient: &[(usize, f64)], covariance: &Covariance) -> f64 {
    let n = covariance.n;
    let at = |i: usize, j: usize| covariance.values.get(i * n + j).copied().unwrap_or(f64::NAN);
    let row = |&(i, a): &(usize, f64)| {
        // A derivative of 0 does not meet the missing variance of a flat parameter.
        let used = gradient.iter().filter(move |(_, b)| a != 0.0 && *b != 0.0);
        used.map(move |&(j, b)| a * b * at(i, j)).sum::<f64>()
    };
    gradient.iter().map(row).sum()
}
