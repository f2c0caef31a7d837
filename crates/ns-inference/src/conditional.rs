//! The rule for conditional fits whose numbers are reported.
//!
//! The fit of a scan point, of a refit of a ranking or of a tested value starts at a point that is predicted from other
//! fits. Where the likelihood has several minima, its descent may end in a higher one than the fit with the same
//! parameters held that uses no other fit. Therefore two more fits are made, and the lowest minimum counts: a descent
//! from the parent's minimum with the held parameters moved, and the fit without knowledge of others.
//!
//! In small models, where a descent takes microseconds, both are always made. In larger models they are made if the
//! first fit shows that the likelihood is far from a parabola. If the likelihood has one minimum only, they are never
//! made.

use std::sync::Arc;

use ns_core::{Effect, FitFailure, FitOutcome, FitRequest, InverseHessian, Model, Modifier, Search, Start};

use crate::analysis::{Analysis, Fitted};

/// Largest rise of `-2 ln L` that the parabola predicts for a fit close to its parent.
const CLOSE: f64 = 12.0;

/// Ratios of the rise of `-2 ln L` to the rise of the parabola between which the likelihood counts as a parabola.
const PARABOLIC: (f64, f64) = (0.5, 1.5);

/// Difference between the rise of `-2 ln L` and that of the parabola below which the ratio is not looked at.
const SMALL_RISE: f64 = 0.2;

impl Analysis<'_> {
    /// Builds the requests of the fits with which `fit`, the fit of `request`, is compared. Empty if no other minimum
    /// is suspected. `parent` is the fit from whose minimum the start was predicted. `same_data` is true if `parent`
    /// has the same data. If `doubted` is true, the caller has another reason to suspect another minimum.
    pub(crate) fn comparisons(
        &self,
        parent: &FitOutcome,
        request: &FitRequest,
        fit: &Fitted,
        same_data: bool,
        doubted: bool,
    ) -> Vec<FitRequest> {
        let without = match fit {
            Err(FitFailure::Cancelled | FitFailure::NotNeeded) => return Vec::new(),
            Err(_) => true,
            Ok(fit) => doubted || !fit.converged(),
        };
        let searched = self.base.search != Search::Local && self.several_minima;
        let suspected = searched
            && (self.is_small()
                || fit.as_ref().is_ok_and(|fit| !is_parabola(parent, request, fit, same_data)));
        let kinked = searched && self.model.interpolation.has_kinks();
        let mut requests = Vec::new();
        if suspected {
            // Held parameters get their values when the fit begins.
            let start = Start::At(Arc::from(parent.parameters.as_slice()));
            requests.push(FitRequest { start, search: Search::Local, ..request.clone() });
        }
        if suspected || kinked || without {
            let search = if self.base.search == Search::Local { Search::Standard } else { self.base.search };
            requests.push(FitRequest {
                start: self.base.start.clone(),
                search,
                metric: None,
                ..request.clone()
            });
        }
        requests
    }
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

/// Returns whether `-ln L` may have several minima. This requires events, a parameter with an effect that is not linear,
/// or two parameters whose effects multiply each other.
pub(crate) fn may_have_several_minima(model: &Model) -> bool {
    let is_free =
        |m: &&Modifier| m.effect.per_bin() || model.parameters.get(m.first).is_some_and(|p| !p.fixed);
    model.has_event_terms()
        || model.channels.iter().flat_map(|channel| &channel.samples).any(|sample| {
            let bent = |m: &Modifier| match &m.effect {
                Effect::HistoSys { lo, hi } => {
                    lo.iter().zip(hi).zip(&sample.nominal).any(|((lo, hi), nominal)| lo + hi != 2.0 * nominal)
                }
                Effect::NormSys { .. } => true,
                _ => false,
            };
            let adds = |m: &Modifier| matches!(m.effect, Effect::HistoSys { .. });
            let factors = sample.modifiers.iter().filter(is_free).filter(|m| !adds(m)).count();
            let shifts = sample.modifiers.iter().filter(is_free).any(adds);
            factors + usize::from(shifts) > 1 || sample.modifiers.iter().filter(is_free).any(bent)
        })
}
