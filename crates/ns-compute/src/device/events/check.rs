//! Checks fits of toys on a device. The CPU draws one toy of each group again, and evaluates `-ln L` at the end
//! points of this toy's fits.

use ns_core::{Device, DeviceCheck, EventColumns, SessionError, TaskOutcome};

use crate::cpu::UnitOfToys;
use crate::eval::Dataset;
use crate::optimise::{Problem, Worker};

/// Largest rounding error that docs/gpu-contract.md allows for a sum over events, as a fraction of the sum of the
/// absolute values of the terms.
const ROUNDING: f64 = 1e-12;

/// Compares `-ln L` at the end points of the fits of the toy `index`, as computed by the device, with the values that
/// the CPU computes for the same toy.
///
/// # Errors
/// [`SessionError::DeviceDisagrees`] if a difference exceeds its tolerance in docs/gpu-contract.md.
pub(super) fn compare(
    unit: &UnitOfToys<'_>,
    (device, index): (Device, u64),
    outcome: &TaskOutcome,
    worker: &mut Worker,
) -> Result<DeviceCheck, SessionError> {
    let (session, mut check) = (unit.session, DeviceCheck::default());
    let plan = session.plan();
    let mut data = Dataset::empty(plan);
    unit.source.draw_into(index, &mut data.main, &mut data.aux);
    if unit.source.draw_events(index, &mut EventColumns::default(), &mut data.events).is_err() {
        return Ok(check);
    }
    data.saturate(plan);
    let constant = data.saturated_main + data.saturated_constraint;
    let (crew, elsewhere) = (worker.scratch.events.crew.take(), worker.scratch.events.elsewhere.take());
    for fit in outcome.fits.iter().flatten() {
        let problem = Problem::without_box(plan, session.level(), &data);
        let terms = worker.evaluate(&problem, &fit.parameters, 0.0);
        check
            .nll
            .add(fit.nll - (terms.value() + constant), ROUNDING * (terms.scale + constant.abs()) + 1e-12);
        check.n_checked += 1;
    }
    (worker.scratch.events.crew, worker.scratch.events.elsewhere) = (crew, elsewhere);
    match check.violation() {
        None => Ok(check),
        Some((what, difference)) => Err(SessionError::DeviceDisagrees {
            device,
            what,
            index: index as usize,
            difference: difference.largest,
            tolerance: difference.tolerance,
        }),
    }
}
