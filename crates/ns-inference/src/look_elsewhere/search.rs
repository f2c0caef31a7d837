//! The fits of the data of a search at many places.

use std::sync::Arc;

use ns_core::{
    EvaluationRequest, FitFailure, FitOutcome, FitRequest, FitTask, Model, OutcomeParts, Search, Start,
};

use super::Axis;
use crate::InferenceError;
use crate::analysis::{Analysis, Fitted, WITH_INVERSE};
use crate::diagnosis;
use crate::lowest::tolerance;
use crate::present::significant;
use crate::toys::places::q0;

/// Largest difference of `-2 ln L` between places without signal that counts as none. Integrals of densities have errors of
/// their own, and a `q0` this wrong changes no significance.
const MOST_APART: f64 = 1e-4;

/// Largest number of times that the fit without signal is replaced by a lower one.
const MOST_RESTARTS: usize = 20;

/// The fits of the data.
pub(crate) struct Searched {
    pub(super) null: FitOutcome,
    fits: Vec<Fitted>,
    pub(super) q0: Vec<Option<f64>>,
    /// By how much `-2 ln L` without signal fell each time that it was fitted from the minima at the places.
    gains: Vec<f64>,
    /// Whether these fits ended, and not because there were too many.
    is_lowest: bool,
}

/// Fits the data without signal and at all places. Each place has a fit from the usual starting point and one from the
/// minimum without signal; the lower one counts. If the fits at the places show a lower minimum without signal, the latter
/// counts. Asimov data that are too inexact where the fits end are replaced, and all fits are repeated. `wanted` are the parts
/// of the fits at the places.
pub(crate) fn search(
    analysis: &mut Analysis<'_>,
    axis: &Axis,
    wanted: OutcomeParts,
) -> Result<Searched, InferenceError> {
    loop {
        let null = fit_without_signal(analysis, axis)?;
        let found = search_from(analysis, axis, null, wanted)?;
        let places = found.fits.iter().flatten().map(|fit| fit.parameters.as_slice());
        let ends = std::iter::once(found.null.parameters.as_slice()).chain(places);
        if !analysis.recheck_expected(ends)? {
            return Ok(found);
        }
    }
}

/// Makes the fits at the places, and fits without signal that may be lower than `null`.
fn search_from(
    analysis: &mut Analysis<'_>,
    axis: &Axis,
    mut null: FitOutcome,
    wanted: OutcomeParts,
) -> Result<Searched, InferenceError> {
    let mut fits = fits_at_places(analysis, axis, None, wanted)?;
    let (mut gains, mut is_lowest) = (Vec::new(), true);
    loop {
        let local = fits_at_places(analysis, axis, Some(&null), wanted)?;
        fits = local.into_iter().zip(fits).map(|(first, second)| lower(first, second)).collect();
        let Some(other) = lower_null(analysis, axis, &null, &fits)? else { break };
        if gains.len() == MOST_RESTARTS {
            is_lowest = false;
            break;
        }
        gains.push(2.0 * (null.nll - other.nll));
        null = other;
    }
    let q0 = fits.iter().map(|fit| q0(&null, fit.as_ref().ok()?, axis.poi)).collect();
    Ok(Searched { null, fits, q0, gains, is_lowest })
}

/// Makes the fit without signal.
fn fit_without_signal(analysis: &mut Analysis<'_>, axis: &Axis) -> Result<FitOutcome, InferenceError> {
    let request = axis.requests(analysis).next().unwrap_or_default();
    let fits_per_place = if analysis.several_minima { 3 } else { 2 };
    analysis.expect(fits_per_place * axis.places.len() + 2);
    // The error of Asimov data is estimated within the uncertainties.
    let wanted = if analysis.has_expected_events() { WITH_INVERSE } else { OutcomeParts::default() };
    let data = analysis.data.clone();
    let first = analysis.fit(&data, request.clone(), wanted)?;
    let null = analysis.settle_expected(first, &request, wanted)?;
    check_places_act_on_signal(analysis, axis, &null)?;
    Ok(null)
}

/// Makes the fits at the places, from the usual starting point or from the minimum `null` without signal.
fn fits_at_places(
    analysis: &mut Analysis<'_>,
    axis: &Axis,
    null: Option<&FitOutcome>,
    wanted: OutcomeParts,
) -> Result<Vec<Fitted>, InferenceError> {
    let near = null.map(|null| Start::At(Arc::from(null.parameters.as_slice())));
    let request = |request: FitRequest| match &near {
        Some(start) => FitRequest { start: start.clone(), search: Search::Local, ..request },
        None => request,
    };
    let requests: Vec<FitRequest> = axis.requests(analysis).skip(1).map(request).collect();
    fits_of(analysis, requests, wanted)
}

/// Makes independent fits of the data.
fn fits_of(
    analysis: &mut Analysis<'_>,
    requests: Vec<FitRequest>,
    wanted: OutcomeParts,
) -> Result<Vec<Fitted>, InferenceError> {
    let task =
        |request: FitRequest| FitTask { data: analysis.data.clone(), fits: vec![request], cancel: None };
    let tasks: Vec<FitTask> = requests.into_iter().map(task).collect();
    let fits = analysis.run(&tasks, wanted)?;
    if analysis.is_cancelled() {
        return Err(InferenceError::Cancelled);
    }
    Ok(fits)
}

/// Makes fits without signal from the minima at the places. Returns the lowest one if it is lower than `null`.
fn lower_null(
    analysis: &mut Analysis<'_>,
    axis: &Axis,
    null: &FitOutcome,
    fits: &[Fitted],
) -> Result<Option<FitOutcome>, InferenceError> {
    if !analysis.several_minima || analysis.base.search == Search::Local {
        return Ok(None);
    }
    let base = axis.requests(analysis).next().unwrap_or_default();
    let from = |fit: &FitOutcome| FitRequest {
        start: Start::At(Arc::from(fit.parameters.as_slice())),
        search: Search::Local,
        ..base.clone()
    };
    let requests: Vec<FitRequest> = fits.iter().flatten().filter(|fit| fit.converged()).map(from).collect();
    if requests.is_empty() {
        return Ok(None);
    }
    Ok(lowest_below(fits_of(analysis, requests, OutcomeParts::default())?, null))
}

/// Returns the lowest converged fit if it is lower than `null`.
fn lowest_below(fits: Vec<Fitted>, null: &FitOutcome) -> Option<FitOutcome> {
    let converged = fits.into_iter().flatten().filter(FitOutcome::converged);
    let lowest = converged.min_by(|a, b| a.nll.total_cmp(&b.nll))?;
    (2.0 * (null.nll - lowest.nll) > tolerance(null.nll)).then_some(lowest)
}

/// Refuses a parameter that acts on more than the signal: without signal, `-ln L` then depends on the place, and `q0` would
/// contain the difference. `null` is the fit without signal.
fn check_places_act_on_signal(
    analysis: &Analysis<'_>,
    axis: &Axis,
    null: &FitOutcome,
) -> Result<(), InferenceError> {
    let places = &axis.places;
    let some = [places.first(), places.get(places.len() / 2), places.last()];
    let mut points = Vec::with_capacity(some.len() * null.parameters.len());
    for place in some.into_iter().flatten() {
        let mut point = null.parameters.clone();
        if let Some(x) = point.get_mut(axis.index) {
            *x = *place;
        }
        points.extend(point);
    }
    let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
    let nll = analysis.session.evaluate(&analysis.data, &points, request)?.nll;
    let (low, high) =
        nll.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
    let apart = 2.0 * (high - low);
    if nll.iter().all(|x| x.is_finite()) && apart <= MOST_APART + tolerance(null.nll) {
        return Ok(());
    }
    let name = analysis.model.parameters.get(axis.index).map_or("the parameter", |p| p.name.as_str());
    Err(InferenceError::BadPlaces {
        problem: format!(
            "{name} acts on more than the signal: without signal, twice_nll differs by {} between the places; name a \
             parameter that the signal alone depends on",
            significant(apart)
        ),
    })
}

/// Returns the better of two results of one fit.
fn lower(first: Fitted, second: Fitted) -> Fitted {
    let better = match (&first, &second) {
        (Ok(a), Ok(b)) if a.converged() == b.converged() => b.nll < a.nll,
        (Ok(_), Ok(b)) => b.converged(),
        (Ok(_), Err(_)) => false,
        (Err(_), _) => true,
    };
    if better { second } else { first }
}

impl Searched {
    /// Returns the fits at the places; `None` where a fit failed.
    pub(crate) fn fits(&self) -> impl Iterator<Item = Option<&FitOutcome>> {
        self.fits.iter().map(|fit| fit.as_ref().ok())
    }

    /// Returns the best-fit strength at each place.
    pub(super) fn strength(&self, poi: usize) -> Vec<Option<f64>> {
        let of = |fit: &Fitted| fit.as_ref().ok()?.parameters.get(poi).copied();
        self.fits.iter().map(of).collect()
    }

    /// Adds warnings about fits of the data. Returns whether the fits are good.
    pub(crate) fn told(&self, model: &Model, warnings: &mut Vec<String>) -> bool {
        let before = warnings.len();
        if !self.null.converged() {
            let problems = diagnosis::not_converged(model, &self.null).join("; ");
            warnings.push(format!("the fit without signal: {problems}"));
        }
        let poor = |fit: &&Fitted| !fit.as_ref().is_ok_and(FitOutcome::converged);
        let first = self.fits.iter().find(poor).map(|fit| match fit {
            Ok(fit) => diagnosis::not_converged(model, fit).join("; "),
            Err(FitFailure::Cancelled) => "interrupted".to_owned(),
            Err(failure) => diagnosis::failure(model, failure),
        });
        if let Some(reason) = first {
            let n = self.fits.iter().filter(poor).count();
            warnings.push(format!("{n} of {} fits at places did not converge: {reason}", self.fits.len()));
        }
        let n_above = self.n_above();
        if n_above > 0 {
            warnings.push(format!(
                "{n_above} of {} fits at places ended above the fit without signal; they have no q0",
                self.fits.len()
            ));
        }
        if !self.is_lowest {
            warnings.push(
                "fits without signal keep falling below each other; the lowest minimum may be missing"
                    .to_owned(),
            );
        }
        let is_good = warnings.len() == before;
        if !self.gains.is_empty() {
            warnings.push(format!(
                "fits at places met a minimum without signal that is lower by {:.3e} in twice_nll; it is used",
                self.gains.iter().sum::<f64>()
            ));
        }
        is_good
    }

    /// Returns the number of places whose fit converged above the fit without signal.
    fn n_above(&self) -> usize {
        let above =
            |(fit, q): &(&Fitted, &Option<f64>)| q.is_none() && fit.as_ref().is_ok_and(FitOutcome::converged);
        self.fits.iter().zip(&self.q0).filter(above).count()
    }
}

/// The largest excess.
pub(super) struct Peak {
    pub(super) place: f64,
    pub(super) q0: f64,
    /// Whether the caller stopped the work before the fit between the places was done.
    pub(super) interrupted: bool,
}

/// Fits the place of the largest excess between its neighbours.
pub(super) fn peak(
    analysis: &mut Analysis<'_>,
    axis: &Axis,
    search: &Searched,
    grid_max: f64,
) -> Result<Peak, InferenceError> {
    let known = |place: f64, q0: f64| Peak { place, q0, interrupted: false };
    let largest = search.q0.iter().position(|q| *q == Some(grid_max));
    let Some(k) = largest else { return Ok(known(axis.places.first().copied().unwrap_or(f64::NAN), 0.0)) };
    let place = |k: usize| axis.places.get(k.min(axis.places.len() - 1)).copied().unwrap_or(f64::NAN);
    let known = known(place(k), grid_max);
    let Some(Ok(fit)) = search.fits.get(k) else { return Ok(known) };
    let mut request = FitRequest {
        start: Start::At(Arc::from(fit.parameters.as_slice())),
        search: Search::Local,
        ..analysis.base.clone()
    };
    request.fixed.retain(|(i, _)| *i != axis.index);
    request.bounds.retain(|(i, _)| *i != axis.index);
    request.bounds.push((axis.index, (place(k.saturating_sub(1)), place(k + 1))));
    if analysis.model.parameters.get(axis.index).is_some_and(|p| p.fixed)
        && !request.released.contains(&axis.index)
    {
        request.released.push(axis.index);
    }
    let task = FitTask { data: analysis.data.clone(), fits: vec![request], cancel: None };
    let fits = analysis.run(&[task], OutcomeParts::default())?;
    Ok(higher(&fits, known, |fit| Some((*fit.parameters.get(axis.index)?, q0(&search.null, fit, axis.poi)?))))
}

/// Returns the peak that the fit between the places has found, or the `known` one if that is higher. `value` returns the
/// place and `q0` of a fit.
fn higher(fits: &[Fitted], known: Peak, value: impl Fn(&FitOutcome) -> Option<(f64, f64)>) -> Peak {
    let interrupted = fits.iter().any(|fit| matches!(fit, Err(FitFailure::Cancelled)));
    let found = fits.iter().flatten().find(|fit| fit.converged()).and_then(value);
    match found.filter(|(_, q0)| *q0 >= known.q0) {
        Some((place, q0)) => Peak { place, q0, interrupted },
        None => Peak { interrupted, ..known },
    }
}

#[cfg(test)]
mod tests {
    use ns_core::{FitStatus, Reason};

    use super::*;
    use crate::lowest::tests::fit;

    #[test]
    fn fits_above_the_one_without_signal_are_counted() {
        let fits: Vec<Fitted> = vec![Ok(fit(4.0)), Ok(fit(6.0)), Err(FitFailure::Cancelled)];
        let q0 = fits.iter().map(|found| q0(&fit(5.0), found.as_ref().ok()?, 0)).collect();
        let searched = Searched { null: fit(5.0), fits, q0, gains: Vec::new(), is_lowest: true };
        assert_eq!(searched.q0, [Some(2.0), None, None]);
        assert_eq!(searched.n_above(), 1);
    }

    #[test]
    fn the_lowest_fit_without_signal_counts() {
        let failed = || Err(FitFailure::Cancelled);
        let found = lowest_below(vec![failed(), Ok(fit(4.0)), Ok(fit(3.0)), Ok(fit(3.5))], &fit(5.0));
        assert_eq!(found.map(|fit| fit.nll), Some(3.0));
        assert!(lowest_below(vec![failed(), Ok(fit(5.0)), Ok(fit(5.0 - 1e-9))], &fit(5.0)).is_none());
        let open = FitOutcome { status: FitStatus::NotConverged(Reason::IterationLimit), ..fit(1.0) };
        assert!(lowest_below(vec![Ok(open)], &fit(5.0)).is_none());
    }

    #[test]
    fn a_peak_whose_fit_was_stopped_is_interrupted() {
        let known = || Peak { place: 3.0, q0: 2.0, interrupted: false };
        let read = |peak: Peak| (peak.place, peak.q0, peak.interrupted);
        let stopped = higher(&[Err(FitFailure::Cancelled)], known(), |_| None);
        assert_eq!(read(stopped), (3.0, 2.0, true));
        assert_eq!(read(higher(&[Ok(fit(4.0))], known(), |_| Some((3.2, 2.5)))), (3.2, 2.5, false));
        assert_eq!(read(higher(&[Ok(fit(4.0))], known(), |_| Some((3.2, 1.5)))), (3.0, 2.0, false));
    }
}
