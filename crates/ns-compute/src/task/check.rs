//! Checks that data, tasks and points belong to the model of a session.

use ns_core::{FitTask, Observations, Seen, SessionError, Start};

use crate::plan::Plan;

/// Returns an error if the likelihood is not defined for `data` because an array has a wrong length or contains a
/// number that is not allowed.
pub(crate) fn check_data(plan: &Plan, data: &Observations) -> Result<(), SessionError> {
    let Observations { main, aux, events } = data;
    length("main data", main.len(), plan.n_bins())?;
    length("auxiliary data", aux.len(), plan.n_aux())?;
    let bad = |what, values: &[f64], wrong: &dyn Fn(f64) -> bool, remedy| {
        values.iter().position(|&x| wrong(x)).map_or(Ok(()), |index| {
            Err(SessionError::BadNumber { what, index, value: values[index], remedy })
        })
    };
    if !events.is_empty() {
        plan.events.check_tables(events)?;
    }
    bad("main data", main, &|x| !x.is_finite() || x < 0.0, "counts are finite and not negative")?;
    bad("auxiliary data", aux, &|x| !x.is_finite(), "auxiliary data are finite")?;
    for &a in &plan.structure.poisson.aux {
        if aux[a] < 0.0 {
            return Err(SessionError::BadNumber {
                what: "auxiliary data",
                index: a,
                value: aux[a],
                remedy: "an auxiliary count is not negative",
            });
        }
    }
    Ok(())
}

/// Returns an error if a task is not valid for the model. The function checks the task's data, parameter indices,
/// values and bounds, and its references to earlier fits.
pub(crate) fn check_task(plan: &Plan, task: &FitTask) -> Result<(), SessionError> {
    let n = plan.n_parameters();
    let index = |index: usize| {
        if index < n { Ok(()) } else { Err(SessionError::NoSuchParameter { index, n_parameters: n }) }
    };
    if let Some(yields) = &task.data.yields {
        plan.open.check(&yields.values)?;
        if matches!(task.data.seen, Seen::Drawn(_)) {
            let remedy = "toys are fitted with the numbers of the model; replace them in the workspace";
            return Err(SessionError::ForeignData { remedy });
        }
    }
    match &task.data.seen {
        Seen::Given(data) => check_data(plan, data)?,
        Seen::Drawn(drawn) => {
            length("main data of the toys' source", drawn.source.main.len(), plan.n_bins())?;
            length("auxiliary data of the toys' source", drawn.source.auxiliary.len(), plan.n_aux())?;
            let channels = plan.events.n_channels();
            length("list of event channels of the toys' source", drawn.source.events.len(), channels)?;
        }
        Seen::Observed => {}
    }
    for (number, request) in task.fits.iter().enumerate() {
        // GPU sessions use these indices of earlier fits without another check.
        let earlier = |what, fit: usize| {
            let remedy = "name a fit that comes before this one in its task";
            if fit < number {
                Ok(())
            } else {
                Err(SessionError::BadNumber { what, index: number, value: fit as f64, remedy })
            }
        };
        if let Some(condition) = &request.only_if {
            index(condition.parameter)?;
            earlier("earlier fit of a condition", condition.fit)?;
        }
        if let Start::Earlier(fit) | Start::Along(fit, _) = &request.start {
            earlier("earlier fit of a start point", *fit)?;
        }
        if let Start::At(point) | Start::Along(_, point) = &request.start {
            let what = match request.start {
                Start::At(_) => "start point",
                _ => "direction of the start point",
            };
            length(what, point.len(), n)?;
            finite(what, point)?;
        }
        if let Some(point) = &request.origin {
            length("origin of flat directions", point.len(), n)?;
            finite("origin of flat directions", point)?;
        }
        for &(p, value) in &request.fixed {
            index(p)?;
            finite("fixed value", &[value])?;
        }
        for &p in &request.released {
            index(p)?;
        }
        for &(p, (lower, upper)) in &request.bounds {
            index(p)?;
            if !(lower <= upper) {
                return Err(SessionError::BadNumber {
                    what: "bounds",
                    index: p,
                    value: lower,
                    remedy: "the lower bound must not exceed the upper",
                });
            }
        }
    }
    Ok(())
}

/// Returns an error if an element of `values` is NaN or infinite.
pub(crate) fn finite(what: &'static str, values: &[f64]) -> Result<(), SessionError> {
    values.iter().position(|x| !x.is_finite()).map_or(Ok(()), |index| {
        Err(SessionError::BadNumber { what, index, value: values[index], remedy: "give a finite number" })
    })
}

/// Returns an error if an array does not have the length that the model requires.
pub(crate) fn length(what: &'static str, actual: usize, expected: usize) -> Result<(), SessionError> {
    if actual == expected { Ok(()) } else { Err(SessionError::WrongLength { what, actual, expected }) }
}

/// Returns the number of points in `points`, which contains one point after the other. A model without parameters has
/// one point, which has no numbers. Returns an error if a point is incomplete or a number is not finite.
pub(crate) fn check_points(plan: &Plan, points: &[f64]) -> Result<usize, SessionError> {
    let n = plan.n_parameters();
    if n == 0 && points.is_empty() {
        return Ok(1);
    }
    if n == 0 || !points.len().is_multiple_of(n) {
        return Err(SessionError::WrongLength { what: "points", actual: points.len(), expected: n });
    }
    finite("points", points)?;
    Ok(points.len() / n)
}
