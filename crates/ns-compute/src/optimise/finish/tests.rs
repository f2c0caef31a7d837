//! Compares the EDM (estimated distance to the minimum) of a certificate with the true height of a point above the
//! minimum.

use ns_core::{Control, Data, Execution};

use super::*;
use crate::CpuSession;
use crate::cpu::{put, take};
use crate::task::FitDomain;

#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

/// Checks for a smooth function that its value at a point near the minimum exceeds the smallest value by the EDM
/// (estimated distance to the minimum) of that point.
#[test]
fn the_certificate_says_how_far_the_minimum_is() {
    let wanted = OutcomeParts { uncertainties: true, covariance: true, inverse: false };
    let mut compared = 0;
    for seed in 0..40 {
        let mut model =
            ns_core::Model { interpolation: ns_core::Interpolation::SMOOTH, ..models::random_model(seed) };
        let start: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        let before = CpuSession::open(&model, &Execution::default()).unwrap();
        models::hold_idle(&mut model, &before, &start);
        let session = CpuSession::open(&model, &Execution::default()).unwrap();
        let domain = FitDomain::new(&session.plan().structure.table, &ns_core::FitRequest::default());
        let data = session.dataset(&Data::observed()).unwrap();
        let data = data.unwrap_or_else(|| session.observed.as_ref().clone());
        let problem = session.problem(domain, &data, false, Control::default());
        let mut worker = take(&session.workers, session.plan());
        let fitted = descend(&mut worker, &problem, &start, Mode::from(true));
        let Some(best) = fitted.ok().filter(|best| best.status == FitStatus::Converged) else { continue };
        // The distance of this point from the minimum is a thousandth of the uncertainty of one parameter.
        let mut outcome = describe(&mut worker, &problem, &best, 0);
        let (confirmed, is_clear) = uncertainties(&mut worker, &problem, wanted, None, &mut outcome);
        // Along a nearly flat direction, rounding errors of the gradient make the EDM large.
        if !is_clear {
            continue;
        }
        assert!(confirmed, "seed {seed}");
        let Some(sigma) = outcome.uncertainties[2] else { continue };
        let mut beside = best.clone();
        beside.theta[2] += 1e-3 * sigma;
        let lowest = worker.evaluate(&problem, &best.theta, 0.0).value();
        let above = worker.evaluate(&problem, &beside.theta, 0.0).value() - lowest;
        let mut outcome = describe(&mut worker, &problem, &beside, 0);
        assert!(!uncertainties(&mut worker, &problem, wanted, None, &mut outcome).0, "seed {seed}");
        // If there is a flat direction, the Hessian may be indefinite here.
        if outcome.uncertainties.iter().all(Option::is_none) {
            continue;
        }
        let edm = outcome.certificate.edm;
        assert!((edm / above - 1.0).abs() < 0.01, "seed {seed}: EDM {edm:e}, {above:e} above the minimum");
        put(&session.workers, worker);
        compared += 1;
    }
    assert!(compared >= 20, "{compared}");
}
