//! The comparison of a simplified model with the full one.

use ns_core::{Control, Model, Session};

use super::result::Compared;
use crate::{FitOptions, InferenceError, LimitOptions, fit, upper_limit};

/// Compares best fits and limits of the full model and of the model of its simplified likelihood, in this order. `param` is the
/// name of the parameter of interest of both.
///
/// # Errors
/// The errors of fits and limits. [`InferenceError::Cancelled`] if the caller stopped the work.
pub fn compare(
    both: [(&Model, &dyn Session); 2],
    param: &str,
    control: Control<'_>,
) -> Result<Vec<Compared>, InferenceError> {
    let silent = Control { observer: None, cancel: control.cancel, task: None };
    let mut rows: Vec<Compared> = Vec::new();
    let mut column = |place: usize, quantity: String, value: Option<f64>| match rows
        .iter_mut()
        .find(|row| row.quantity == quantity)
    {
        Some(row) if place == 1 => row.simplified = value,
        _ => rows.push(Compared { quantity, full: value, simplified: None }),
    };
    for (place, (model, session)) in both.into_iter().enumerate() {
        let best = fit(model, session, &FitOptions::default(), silent)?;
        column(place, format!("best fit of {param}"), best.value(param));
        column(place, "its uncertainty".to_owned(), best.uncertainty(param));
        let limit = upper_limit(model, session, &LimitOptions::default(), silent)?;
        column(place, "observed limit".to_owned(), limit.observed);
        for (value, label) in
            limit.expected.iter().zip(["-2 sigma", "-1 sigma", "median", "+1 sigma", "+2 sigma"])
        {
            column(place, format!("expected limit, {label}"), *value);
        }
    }
    Ok(rows)
}
