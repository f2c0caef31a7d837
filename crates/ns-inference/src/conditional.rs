//! The rule for conditional fits whose numbers are reported.
//!
//! The fit of a scan point, of a refit of a ranking or of a tested value starts at a point that is predicted from other
//! fits. Where the likelihood has several minima, its descent may end in a higher one than the fit with the same
//! parameters held that uses no other fit. Therefore two more fits are made, and the lowest minimum counts: a descent
//! from the parent's minimum with the held parameters moved, and the fit without knowledge of others.
//!
//! In small models, where a descent takes microseconds, both are always made. In larger models the descent is made if
//! the first fit shows that the likelihood is far from a parabola, and the other fit, in the largest ones, if the two
//! minima differ. If the likelihood has one minimum only, none is made.

use std::sync::Arc;

use ns_core::{FitFailure, FitOutcome, FitRequest, FitTask, InverseHessian, OutcomeParts, Search, Start};

use crate::InferenceError;
use crate::analysis::{Analysis, Fitted};

/// Largest rise of `-2 ln L` that the parabola predicts for a fit close to its parent.
const CLOSE: f64 = 12.0;

/// Ratios of the rise of `-2 ln L` to the rise of the parabola between which the likelihood counts as a parabola.
const PARABOLIC: (f64, f64) = (0.5, 1.5);

/// Difference between the rise of `-2 ln L` and that of the parabola below which the ratio is not looked at.
const SMALL_RISE: f64 = 0.2;

/// Smallest difference in `-ln L` at which two fits ended in different minima, apart from rounding.
const DIFFERENT: f64 = 1e-6;

impl Analysis<'_> {
    /// Makes the fits with which `fits`, the fits of `tasks`, are compared. Every task has one request. Returns each
    /// further fit with the index of its task; the caller keeps the better one. `parent` is the fit from whose minimum
    /// the starting points were predicted, and `same_data` is true if it has the same data. `doubted` says for which
    /// fits the caller has another reason to suspect another minimum.
    ///
    /// # Errors
    /// The errors of [`Analysis::run`].
    pub(crate) fn compare(
        &mut self,
        parent: &FitOutcome,
        (tasks, wanted): (&[FitTask], OutcomeParts),
        fits: &[Fitted],
        same_data: bool,
        doubted: impl Fn(&FitOutcome) -> bool,
    ) -> Result<Vec<(usize, Fitted)>, InferenceError> {
        if self.is_cancelled() {
            return Ok(Vec::new());
        }
        let searched = self.base.search != Search::Local && self.several_minima;
        let (small, middling) = (self.is_small(), self.is_middling());
        let kinked = searched && self.model.interpolation.has_kinks();
        let mut places: Vec<usize> = Vec::new();
        let mut further: Vec<FitTask> = Vec::new();
        for (k, (task, fit)) in tasks.iter().zip(fits).enumerate() {
            let Some(request) = task.fits.first() else { continue };
            let without = match fit {
                Err(FitFailure::Cancelled | FitFailure::NotNeeded) => continue,
                Err(_) => true,
                Ok(fit) => !fit.converged() || doubted(fit),
            };
            let bent = |fit: &FitOutcome| !is_parabola(parent, request, fit, same_data);
            let suspected = searched && (small || fit.as_ref().is_ok_and(bent));
            if suspected {
                // Held parameters get their values when the fit begins.
                let start = Start::At(Arc::from(parent.parameters.as_slice()));
                let request = FitRequest { start, search: Search::Local, ..request.clone() };
                places.push(k);
                further.push(with(task, request));
            }
            if (suspected && middling) || kinked || without {
                places.push(k);
                further.push(with(task, self.alone(request)));
            }
        }
        if further.is_empty() {
            return Ok(Vec::new());
        }
        let mut found: Vec<(usize, Fitted)> = places.into_iter().zip(self.run(&further, wanted)?).collect();
        if middling {
            return Ok(found);
        }
        // In larger models a single fit takes long. It is made where two descents ended in different minima.
        let value = |fit: &Fitted| fit.as_ref().map_or(f64::INFINITY, |fit| fit.nll);
        let differs = |(k, fit): &&(usize, Fitted)| {
            let first = fits.get(*k).map_or(f64::INFINITY, value);
            !((value(fit) - first).abs() <= DIFFERENT + 64.0 * f64::EPSILON * first.abs())
        };
        let mut places: Vec<usize> = found.iter().filter(differs).map(|(k, _)| *k).collect();
        places.dedup();
        let single = |k: &usize| {
            let task = tasks.get(*k)?;
            Some(with(task, self.alone(task.fits.first()?)))
        };
        let further: Vec<FitTask> = places.iter().filter_map(single).collect();
        if !further.is_empty() && !kinked && !self.is_cancelled() {
            found.extend(places.into_iter().zip(self.run(&further, wanted)?));
        }
        Ok(found)
    }

    /// Returns the request of a fit that uses no other fit, with the same parameters held as in `request`.
    fn alone(&self, request: &FitRequest) -> FitRequest {
        let search = if self.base.search == Search::Local { Search::Standard } else { self.base.search };
        FitRequest { start: self.base.start.clone(), search, metric: None, ..request.clone() }
    }
}

/// Returns a copy of `task` with another request.
fn with(task: &FitTask, request: FitRequest) -> FitTask {
    FitTask { data: task.data.clone(), fits: vec![request], cancel: None }
}

/// Returns whether a conditional fit shows no sign of another minimum: it is close to its parent, its descent met no
/// negative curvature, its search found no lower minimum, and `-2 ln L` rises like the parabola of the parent's
/// covariance.
fn is_parabola(parent: &FitOutcome, request: &FitRequest, fit: &FitOutcome, same_data: bool) -> bool {
    let certificate = &fit.certificate;
    if certificate.indefinite_steps > 0 || certificate.restarts_improved > 0 {
        return false;
    }
    let Some(expected) = expected_rise(parent, request).filter(|_| same_data) else { return true };
    let rise = 2.0 * (fit.nll - parent.nll);
    expected <= CLOSE
        && ((rise - expected).abs() <= SMALL_RISE
            || (rise >= PARABOLIC.0 * expected && rise <= PARABOLIC.1 * expected))
}

/// Returns the rise of `-2 ln L` from the minimum of `parent` to the conditional minimum of `request`, if `-ln L` is a
/// parabola: `d C^-1 d`, with the shifts `d` of the held parameters and their covariance `C`. `None` if no parameter
/// or more than two are moved, or if there is no covariance.
fn expected_rise(parent: &FitOutcome, request: &FitRequest) -> Option<f64> {
    let shift = |&(i, value): &(usize, f64)| Some((i, value - parent.parameters.get(i)?));
    let moved: Vec<(usize, f64)> =
        request.fixed.iter().filter_map(shift).filter(|(_, d)| *d != 0.0).collect();
    match moved.as_slice() {
        [(i, d)] => {
            let sigma = parent.uncertainties.get(*i).copied().flatten().filter(|s| *s > 0.0)?;
            Some((d / sigma).powi(2))
        }
        [(i, a), (j, b)] => {
            let Some(InverseHessian::Dense(matrix)) = parent.inverse_hessian() else { return None };
            let c = |i: usize, j: usize| matrix.values.get(i * matrix.n + j).copied();
            let (ii, ij, jj) = (c(*i, *i)?, c(*i, *j)?, c(*j, *j)?);
            let determinant = ii * jj - ij * ij;
            (determinant > 1e-12 * ii * jj)
                .then(|| (a * a * jj - 2.0 * a * b * ij + b * b * ii) / determinant)
        }
        _ => None,
    }
}
