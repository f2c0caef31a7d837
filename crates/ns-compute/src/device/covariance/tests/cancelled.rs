//! Tests that after a cancelled computation of uncertainties each fit either has its uncertainties or is
//! marked as cancelled.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Number of fits whose uncertainties the device can compute.
const CONFIRMED: usize = 4;
/// Number of fits that the CPU has to finish, because the test moves their parameters away from the minimum. They
/// follow the [`CONFIRMED`] fits in the batch.
const LEFT: usize = 3;

/// The time at which the computation is cancelled.
#[derive(Clone, Copy, PartialEq)]
enum Stop {
    /// Before anything is computed.
    AtOnce,
    /// While the CPU works on the first of the fits that the device cannot finish.
    InTheRest,
}

/// Runs the computation of uncertainties and cancels it at the time `at`. The batch has [`CONFIRMED`] and then [`LEFT`]
/// fits without uncertainties, then one fit that has uncertainties already, and one fit that was not needed. Returns
/// two lists: the outcomes of the [`CONFIRMED`] fits, and the outcomes of all later fits.
fn stopped(at: Stop) -> (Vec<TaskOutcome>, Vec<TaskOutcome>) {
    let model = fitted_model(13);
    // With one thread, the CPU finishes its fits one after the other.
    let gpu = host::open(&model, &Execution { threads: 1, ..execution() }).unwrap();
    let tasks: Vec<FitTask> =
        (0..CONFIRMED + LEFT + 2).map(|i| task(local(&[(0, 0.8 + 0.1 * i as f64)]))).collect();
    let mut outcomes = run(&gpu, &tasks, OutcomeParts::default());
    for outcome in &mut outcomes[CONFIRMED..CONFIRMED + LEFT] {
        outcome.fits[0].as_mut().unwrap().parameters[1] += 1e-3;
    }
    outcomes[CONFIRMED + LEFT] = run(&gpu, &tasks[CONFIRMED + LEFT..][..1], ALL).remove(0);
    outcomes[CONFIRMED + LEFT + 1].fits[0] = Err(FitFailure::NotNeeded);
    let before = outcomes.clone();
    let stop = AtomicBool::new(false);
    with_fitted(&gpu, &tasks, |fitted| {
        let domain = |i: usize, k: usize| {
            stop.fetch_or(at == Stop::AtOnce, Ordering::Relaxed);
            (fitted.domain)(i, k)
        };
        let data = |i: usize| {
            stop.store(true, Ordering::Relaxed);
            (fitted.data)(i)
        };
        let watched = Fitted { domain: &domain, data: &data, ..*fitted };
        let control = Control { observer: None, cancel: Some(&stop), task: None };
        gpu.add_uncertainties(gpu.covers(ALL).unwrap(), &mut outcomes, &watched, ALL, control).unwrap();
    });
    assert!(stop.into_inner(), "nobody was asked");
    // The last two fits, which need no computation, do not change.
    assert_eq!(text(&outcomes[CONFIRMED + LEFT..]), text(&before[CONFIRMED + LEFT..]));
    let rest = outcomes.split_off(CONFIRMED);
    (outcomes, rest)
}

/// Returns whether a fit has its uncertainties. Panics if a fit without them is not marked as cancelled.
fn has_uncertainties(outcome: &TaskOutcome) -> bool {
    match &outcome.fits[0] {
        Ok(fit) => {
            assert!(fit.uncertainties.iter().any(Option::is_some) && fit.covariance.is_some(), "{fit:?}");
            true
        }
        Err(failure) => {
            assert_eq!(*failure, FitFailure::Cancelled);
            false
        }
    }
}

#[test]
fn stopped_at_once_all_fits_without_uncertainties_are_cancelled() {
    let (confirmed, rest) = stopped(Stop::AtOnce);
    assert!(!confirmed.iter().chain(&rest[..LEFT]).any(has_uncertainties));
}

#[test]
fn stopped_in_the_rest_what_is_done_stays() {
    let (confirmed, rest) = stopped(Stop::InTheRest);
    assert!(confirmed.iter().all(has_uncertainties));
    // The fit that is under way ends between two iterations, and no fit begins after it.
    assert!(!rest[..LEFT].iter().any(has_uncertainties));
}
