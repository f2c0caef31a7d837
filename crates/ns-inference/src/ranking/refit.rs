//! Impacts by refits. A parameter is fixed away from its best fit, and all other parameters are fitted again. The
//! impact is the shift of the target (as in TRExFitter and cabinetry).

use ns_core::{FitRequest, FitTask, Inactive, OutcomeParts};

use super::predict::{KnownRefit, along};
use super::result::{Impacts, Shift, Side, UNCONSTRAINED, set_all, set_each};
use super::study::Study;
use crate::lowest::Stop;

/// Computes the impacts of `parameters` on all targets and writes them to `impacts`, in the same order. Each entry of `rounds` lists
/// the variations (up, down, pre-fit up, pre-fit down) that are made for all parameters in one round.
///
/// In the first round, fits start at the points that the covariance predicts. In later rounds, the starting points also
/// depend on the refits of the same parameter in earlier rounds.
///
/// # Errors
/// [`Stop::Lower`] if a refit finds a lower minimum than the parent fit.
pub(super) fn refits(
    study: &mut Study<'_>,
    parameters: &[usize],
    rounds: &[&[Side]],
    impacts: &mut [Vec<Impacts>],
) -> Result<(), Stop> {
    let at_once = study.at_once();
    for (parameters, impacts) in parameters.chunks(at_once).zip(impacts.chunks_mut(at_once)) {
        let mut known: Vec<Vec<KnownRefit>> = vec![Vec::new(); parameters.len()];
        let rows = study.rows(parameters);
        for sides in rounds {
            round(study, (parameters, &rows), sides, &mut known, impacts)?;
        }
    }
    Ok(())
}

/// One fit of a batch, in which a parameter is fixed away from its best fit.
struct RefitJob {
    /// Position of the parameter in the list of parameters of the batch.
    place: usize,
    side: Side,
    held: HeldAt,
}

/// The value at which a parameter is fixed in a variation.
struct HeldAt {
    value: f64,
    /// Whether a bound of the parameter limited the value.
    clipped: bool,
    /// Reason why no value was found at which `-2 ln L` is 1 above its minimum; otherwise `None`. If there is a
    /// reason, the parameter is fixed at its bound. If `-2 ln L` at the bound is then more than 1 above its minimum,
    /// the impact is missing for this reason.
    without_crossing: Option<String>,
}

/// Makes one batch of refits: for each of `parameters`, the variations (up or down) that `sides` lists. `rows` contains
/// the row of each parameter in the covariance matrix.
fn round(
    study: &mut Study<'_>,
    (parameters, rows): (&[usize], &[Option<Vec<f64>>]),
    sides: &[Side],
    known: &mut [Vec<KnownRefit>],
    impacts: &mut [Vec<Impacts>],
) -> Result<(), Stop> {
    let mut jobs: Vec<RefitJob> = Vec::with_capacity(parameters.len() * sides.len());
    let mut tasks: Vec<FitTask> = Vec::with_capacity(jobs.capacity());
    for (place, (&parameter, impacts)) in parameters.iter().zip(impacts.iter_mut()).enumerate() {
        for &side in sides {
            match held_at(study, parameter, side) {
                Err(absent) => set_all(impacts, side, &absent),
                Ok(held) if held.value == study.best(parameter) => {
                    let shift = Shift { value: Some(held.value), clipped: held.clipped, ..Shift::known(0.0) };
                    set_all(impacts, side, &shift);
                }
                Ok(held) => {
                    let near = known.get(place).map_or(&[][..], Vec::as_slice);
                    let row = rows.get(place).and_then(Option::as_deref);
                    let start = along(study, parameter, held.value, near, row);
                    let search = study.analysis.variation_search();
                    let request = study.analysis.conditional(&[(parameter, held.value)], start);
                    let request = FitRequest { search, ..request };
                    tasks.push(study.task(&study.analysis.data, request));
                    jobs.push(RefitJob { place, side, held });
                }
            }
        }
    }
    let fits = study.vary(&tasks, OutcomeParts::default(), true)?;
    for (RefitJob { place, side, held }, fit) in jobs.into_iter().zip(fits) {
        let rise = fit.as_ref().map_or(0.0, |fit| 2.0 * (fit.nll - study.lowest.fit.nll));
        if let Some(impacts) = impacts.get_mut(place) {
            match held.without_crossing {
                Some(reason) if rise > 1.0 => set_all(impacts, side, &Shift::missing(reason)),
                _ => set_each(impacts, side, study.read(&fit, held.value, held.clipped)),
            }
        }
        if let (Ok(fit), Some(known), Some(&parameter)) = (fit, known.get_mut(place), parameters.get(place)) {
            known.push((held.value - study.best(parameter), fit.parameters));
        }
    }
    Ok(())
}

/// Returns the signed distance from its best fit by which a parameter is moved in a post-fit variation. If there is no
/// such distance, the error is the reason.
pub(super) fn distance(study: &Study<'_>, parameter: usize, side: Side) -> Result<f64, String> {
    if let Some(sigma) = study.sigma(parameter) {
        return Ok(side.direction() * sigma);
    }
    if study.inactive(parameter) == Some(Inactive::Flat) {
        return Err("no uncertainty: the likelihood is flat along this parameter".to_owned());
    }
    let Some(interval) = study.interval(parameter) else {
        return Err("no uncertainty at the best fit".to_owned());
    };
    let (distance, reason) = if side.direction() < 0.0 {
        (interval.lower, &interval.lower_reason)
    } else {
        (interval.upper, &interval.upper_reason)
    };
    distance.ok_or_else(|| reason.clone().unwrap_or_else(|| "no crossing of twice_nll + 1".to_owned()))
}

/// Returns the value at which a parameter is fixed in one variation. If there is no such value, the error is a
/// [`Shift`] without a value, which contains the reason.
fn held_at(study: &Study<'_>, parameter: usize, side: Side) -> Result<HeldAt, Shift> {
    let Some(p) = study.analysis.model.parameters.get(parameter) else {
        return Err(Shift::missing("no such parameter"));
    };
    let bound = if side.direction() < 0.0 { p.bounds.0 } else { p.bounds.1 };
    let distance = if side.is_prefit() {
        side.direction() * p.constraint.prefit_sigma().ok_or_else(|| Shift::usual(UNCONSTRAINED))?
    } else {
        match distance(study, parameter, side) {
            Ok(distance) => distance,
            // The value at which `twice_nll` has risen by 1 may lie beyond the bound. The refit at the bound shows
            // whether it does.
            Err(reason) if study.interval(parameter).is_some() && bound.is_finite() => {
                return Ok(HeldAt { value: bound, clipped: true, without_crossing: Some(reason) });
            }
            Err(reason) => return Err(Shift::missing(reason)),
        }
    };
    let wished = study.best(parameter) + distance;
    let value = wished.clamp(p.bounds.0, p.bounds.1);
    if !value.is_finite() {
        return Err(Shift::missing("its uncertainty is not finite"));
    }
    Ok(HeldAt { value, clipped: value != wished, without_crossing: None })
}
