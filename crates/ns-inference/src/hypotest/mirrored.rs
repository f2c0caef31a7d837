//! Finds out whether the conditional fit at the Asimov value has a mirror image that describes the data as well.
//!
//! If the signal is 0, an effect may remain that is the same up and down. The likelihood is then the same on both sides of
//! the parameter's auxiliary datum, but the signal at other values is not.

use ns_core::{Effect, FitFailure, FitOutcome, Model, Observations, OutcomeParts, Parameter, Search, Seen};

use super::profile::Profile;
use crate::analysis::Analysis;
use crate::{InferenceError, diagnosis, lowest};

/// Least distance of a parameter from its auxiliary datum, in units of its width, at which the mirror image is another
/// point.
const APART: f64 = 1e-3;

/// Largest number of parameters that are tried.
const MOST_FITS: usize = 8;

/// Returns the names of the parameters on whose other side the conditional fit at the POI's value `value` has a minimum of the
/// same height. Returns `None` if there are no such parameters.
///
/// # Errors
/// The errors of [`Analysis::run`].
pub(super) fn mirror_images(
    analysis: &mut Analysis<'_>,
    observed: &Profile,
    conditional: &FitOutcome,
    value: f64,
) -> Result<Option<String>, InferenceError> {
    let model = analysis.model;
    let data: &Observations = match &observed.data.seen {
        Seen::Observed => &model.observed,
        Seen::Given(data) => data,
        Seen::Drawn(_) => return Ok(None),
    };
    let mut sides: Vec<(usize, f64)> = Vec::new();
    let mut tasks = Vec::new();
    for (i, parameter) in even_in_part(model) {
        let aux = parameter.constraint.aux().and_then(|aux| data.aux.get(aux));
        let (Some(aux), Some(sigma)) = (aux, parameter.constraint.prefit_sigma()) else { continue };
        let mut other = conditional.clone();
        let Some(x) = other.parameters.get_mut(i) else { continue };
        let pull = *x - aux;
        let is_inside = (parameter.bounds.0..=parameter.bounds.1).contains(&(aux - pull));
        if pull.abs() <= APART * sigma || !is_inside || analysis.is_fixed(i) || tasks.len() == MOST_FITS {
            continue;
        }
        *x = aux - pull;
        let mut task = observed.task_from(analysis, value, &other);
        for fit in &mut task.fits {
            (fit.search, fit.metric) = (Search::Local, None);
        }
        sides.push((i, pull));
        tasks.push(task);
    }
    if tasks.is_empty() {
        return Ok(None);
    }
    let fits = analysis.run(&tasks, OutcomeParts::default())?;
    let is_image = |((i, pull), fit): &((usize, f64), Result<FitOutcome, FitFailure>)| {
        let Ok(fit) = fit else { return false };
        let here = conditional.parameters.get(*i).copied().unwrap_or(f64::NAN);
        let moved = fit.parameters.get(*i).copied().unwrap_or(f64::NAN) - here;
        let is_level = 2.0 * (fit.nll - conditional.nll).abs() <= lowest::tolerance(conditional.nll);
        fit.converged() && is_level && moved * pull < 0.0 && moved.abs() > pull.abs()
    };
    let images = sides.into_iter().zip(fits).filter(is_image);
    let names: Vec<&str> =
        images.filter_map(|((i, _), _)| model.parameters.get(i)).map(|p| p.name.as_str()).collect();
    Ok((!names.is_empty()).then(|| diagnosis::list(names.into_iter())))
}

/// Returns the parameters of which some effects are the same up and down, and others are not.
fn even_in_part(model: &Model) -> impl Iterator<Item = (usize, &Parameter)> {
    let mut kinds = vec![[false; 2]; model.parameters.len()];
    for modifier in model.channels.iter().flat_map(|c| &c.samples).flat_map(|s| &s.modifiers) {
        let is_even = match &modifier.effect {
            Effect::NormSys { lo, hi } => lo == hi,
            Effect::HistoSys { lo, hi } => lo == hi,
            _ => continue,
        };
        if let Some(kinds) = kinds.get_mut(modifier.first) {
            kinds[usize::from(is_even)] = true;
        }
    }
    model.parameters.iter().enumerate().zip(kinds).filter(|(_, kinds)| *kinds == [true; 2]).map(|(p, _)| p)
}
