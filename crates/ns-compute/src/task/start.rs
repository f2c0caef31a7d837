//! Determines the starting point of a fit, and whether the fit is needed. Both may depend on earlier fits of the same
//! task.

use ns_core::{FitFailure, FitOutcome, FitRequest, FitStatus, ParameterTable, Reason, Start};

/// Returns whether a fit is needed. A fit with a condition is not needed if two things are true: the earlier fit that
/// the condition names converged, and the condition's parameter ended outside the condition's range.
pub(crate) fn needed(request: &FitRequest, earlier: &[Result<FitOutcome, FitFailure>]) -> bool {
    let Some(condition) = &request.only_if else { return true };
    match earlier.get(condition.fit) {
        Some(Ok(outcome)) if outcome.converged() => {
            let value = outcome.parameters.get(condition.parameter).copied().unwrap_or(f64::NAN);
            !(value < condition.range.0 || value > condition.range.1)
        }
        _ => true,
    }
}

/// Returns the starting point of the request with number `index` in a task, before fixed parameters are set. If the
/// request starts from the result of an earlier fit, and that fit failed or was unbounded, the function returns the
/// starting point of that earlier fit.
pub(crate) fn start_of(
    table: &ParameterTable,
    requests: &[FitRequest],
    index: usize,
    earlier: &[Result<FitOutcome, FitFailure>],
) -> Vec<f64> {
    let start = requests.get(index).map_or(&Start::Init, |request| &request.start);
    match start {
        Start::Init => table.init.clone(),
        Start::At(point) => point.to_vec(),
        Start::Earlier(i) | Start::Along(i, _) => match earlier.get(*i) {
            Some(Ok(outcome)) if outcome.status != FitStatus::NotConverged(Reason::Unbounded) => {
                outcome.parameters.clone()
            }
            _ if *i < index => start_of(table, requests, *i, earlier),
            _ => table.init.clone(),
        },
    }
}
