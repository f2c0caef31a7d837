//! Contents of bins that are compared with a density at the bin centres. The best fit then differs from one with the
//! mean of the density over each bin.

use ns_compute::cpu::CpuSession;
use ns_core::{BinRule, Data, EvaluationRequest, Execution, FitOutcome, Model, Session};

/// Largest difference, in standard deviations, that needs no warning.
const SMALL: f64 = 0.1;

/// Returns whether a channel compares contents of bins with the density at the bin centres.
pub(crate) fn has_centres(model: &Model) -> bool {
    let rules = model.event_channels.iter().filter_map(|channel| channel.binning.as_ref());
    rules.into_iter().any(|binning| binning.rule == BinRule::Center)
}

/// Returns a warning if the best fit would differ with integrals over the bins. The difference is estimated by one step
/// of Newton's method: the covariance of the fit times the gradient of the other likelihood.
pub(crate) fn warning(model: &Model, data: &Data, outcome: &FitOutcome) -> Option<String> {
    if !has_centres(model) {
        return None;
    }
    let covariance = outcome.covariance.as_ref()?;
    let mut other = model.clone();
    for channel in &mut other.event_channels {
        if let Some(binning) = &mut channel.binning {
            binning.rule = BinRule::Integral;
        }
    }
    let session = CpuSession::open(&other, &Execution { threads: 1, ..Execution::default() }).ok()?;
    let request = EvaluationRequest { gradient: true, ..EvaluationRequest::default() };
    let gradient = session.evaluate(data, &outcome.parameters, request).ok()?.gradient;
    let n = covariance.n;
    let (parameter, distance) = (0..n)
        .filter_map(|i| {
            let row = covariance.values.get(i * n..(i + 1) * n)?;
            let step: f64 = row.iter().zip(&gradient).map(|(c, g)| c * g).sum();
            let distance = step.abs() / row.get(i).filter(|variance| **variance > 0.0)?.sqrt();
            distance.is_finite().then_some((i, distance))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let name = &model.parameters.get(parameter)?.name;
    (distance > SMALL).then(|| {
        format!(
            "contents of bins are compared with the density at the bin centres, and the bins are too wide for it: with \
             integrals over the bins {name} would move by about {distance:.2} standard deviations; write \
             \"nextstat.bins\": \"integral\" into the likelihood"
        )
    })
}
