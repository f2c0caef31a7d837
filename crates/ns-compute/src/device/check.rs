//! Checks the fits of a device: the CPU evaluates a sample of the fits again.
//!
//! The sample is chosen before the fits of a launch start, so the device can also compute the gradients at the end
//! points of these fits. The CPU checks the sample while it finishes other fits of the launch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ns_core::{Control, DeviceCheck, FitRequest, Session, SessionError};

use super::batch::{LaunchResults, Probe};
use super::input::Input;
use super::session::GpuSession;
use crate::cpu::{put, take};
use crate::eval::{Dataset, constraint_curvatures};
use crate::lanes::{Jacobian, jacobian};
use crate::optimise::classify;
use crate::plan::{EDM_TOLERANCE, Plan};
use crate::shared_constants::{CONVERGED, FEWEST};
use crate::task::FitDomain;

/// Number of fits that are checked in each launch.
pub(super) const CHECKED: usize = 2;

/// Returns the largest rounding error that docs/gpu-contract.md allows for a sum of `n_terms` terms, as a fraction of
/// the sum of the absolute values of the terms. The rounding errors of many additions grow like a random walk.
fn rounding(n_terms: usize) -> f64 {
    f64::EPSILON * (0.5 * (n_terms as f64).sqrt()).max(8.0)
}

/// A task in a launch. The first fits of this task are checked.
pub(super) struct Sample<'a> {
    /// Index of the task's first fit in the launch.
    pub(super) first: usize,
    /// Requests of the fits that are checked, at most [`CHECKED`] of them.
    pub(super) requests: &'a [FitRequest],
    pub(super) data: Dataset,
    /// Whether the data of the task are a toy that the device drew.
    pub(super) drawn: bool,
}

/// Returns the indices of the tasks to check, out of `count` tasks with at least `fits` fits each.
pub(super) fn chosen(count: usize, fits: usize) -> impl Iterator<Item = usize> {
    let n = CHECKED.div_ceil(fits.max(1)).min(count);
    (0..n).map(move |i| (2 * i + 1) * count / (2 * n))
}

impl<'a> Sample<'a> {
    pub(super) fn new(first: usize, requests: &'a [FitRequest], data: Dataset, drawn: bool) -> Self {
        Self { first, requests: requests.get(..CHECKED).unwrap_or(requests), data, drawn }
    }

    /// Adds the data of this sample to `input`. Returns the request for the gradients at the end points of the
    /// sample's fits.
    pub(super) fn probe(&self, input: &mut Input) -> Probe {
        let data = input.data(&self.data.main, &self.data.aux);
        Probe { first: self.first, count: self.requests.len(), data }
    }
}

/// The check of one launch: the CPU checks the fits that were selected from it. Several threads may check different
/// fits at the same time.
pub(super) struct Checking<'a> {
    session: &'a GpuSession,
    results: LaunchResults<'a>,
    /// The fits to check, in the order of the gradients in `results`. Each element contains the sample, the index of
    /// the fit in the launch, and the request of the fit.
    fits: Vec<(&'a Sample<'a>, usize, &'a FitRequest)>,
    found: Mutex<Result<DeviceCheck, SessionError>>,
    /// Whether at least one fit has no certificate of convergence: its EDM (estimated distance to the minimum) from
    /// the CPU's approximate Hessian exceeds the tolerance.
    doubtful: AtomicBool,
}

impl<'a> Checking<'a> {
    /// Creates the check of a launch with the given results. `samples` must be in the order in which
    /// [`Sample::probe`] was called for them.
    pub(super) fn new(
        session: &'a GpuSession,
        results: LaunchResults<'a>,
        samples: &'a [Sample<'a>],
    ) -> Self {
        let fits = samples.iter().flat_map(|sample| {
            sample.requests.iter().enumerate().map(move |(k, request)| (sample, sample.first + k, request))
        });
        let found = Mutex::new(Ok(DeviceCheck::default()));
        Self { session, results, fits: fits.collect(), found, doubtful: AtomicBool::new(false) }
    }

    /// Returns the number of fits to check.
    pub(super) fn len(&self) -> usize {
        self.fits.len()
    }

    /// Checks the fit with index `i` (below [`Self::len`]). Compares the fit's value and gradient with the value and
    /// gradient that the CPU computes at the same point. Also checks the fit's EDM (estimated distance to the minimum).
    /// The differences are stored for [`Self::end`].
    pub(super) fn check(&self, i: usize) {
        let n = self.session.cpu.plan.n_parameters();
        let gradient = self.results.gradients.get(i * n..(i + 1) * n);
        let Some((&(sample, index, request), gradient)) = self.fits.get(i).zip(gradient) else { return };
        let mut check = DeviceCheck::default();
        let done = self.session.compare(&self.results, sample, (index, request), gradient, &mut check);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        match (done, &mut *found) {
            (Ok(true), Ok(all)) => all.merge(&check),
            (Ok(false), _) => self.doubtful.store(true, Ordering::Relaxed),
            (Err(error), Ok(_)) => *found = Err(error),
            (_, Err(_)) => (),
        }
    }

    /// Ends the check. If every checked fit has a certificate of convergence (an EDM within the tolerance), adds the
    /// differences to the session's [`DeviceCheck`] and returns true. Otherwise adds nothing and returns false; the
    /// CPU must then repeat all fits of the launch. `own` is the number of fits that the device completed in the
    /// launch.
    ///
    /// # Errors
    /// [`SessionError::DeviceDisagrees`] if a difference exceeds its tolerance in docs/gpu-contract.md.
    pub(super) fn end(self, own: u64) -> Result<bool, SessionError> {
        let mut check = self.found.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        if self.doubtful.into_inner() {
            return Ok(false);
        }
        check.n_fits = own;
        self.session.check.lock().unwrap_or_else(PoisonError::into_inner).merge(&check);
        Ok(true)
    }
}

impl GpuSession {
    /// Compares a fit with the CPU's evaluation at the end point of the fit. Adds the differences to `check`. Returns
    /// whether the fit has a certificate of convergence: its EDM (estimated distance to the minimum) from the CPU's
    /// approximate Hessian is within the tolerance. A fit that did not converge on the device is not compared, and
    /// the result is true.
    ///
    /// A fit that the device calls converged can lack the certificate. The approximate Hessian of the device uses
    /// derivatives of the expected yields at one point that all fits share. At the minimum of a fit these derivatives
    /// may be much smaller, for example in a product of free factors. The EDM that the device computes is then too
    /// small.
    fn compare(
        &self,
        results: &LaunchResults<'_>,
        sample: &Sample<'_>,
        (index, request): (usize, &FitRequest),
        gradient: &[f64],
        check: &mut DeviceCheck,
    ) -> Result<bool, SessionError> {
        let (cpu, plan, data) = (&self.cpu, &self.cpu.plan, &sample.data);
        let (n, n_bins) = (plan.n_parameters(), plan.n_bins());
        let Some(returned) = results.fit(index, n, n_bins) else { return Ok(true) };
        if returned.outcome.status != CONVERGED {
            return Ok(true);
        }
        let theta = returned.parameters;
        let problem = cpu.problem(FitDomain::new(cpu.table(), request), data, false, Control::default());
        let mut worker = take(&cpu.workers, plan);
        let terms = worker.evaluate(&problem, theta, 0.0);
        worker.gradient(&problem, theta);
        let here = data.saturated_main + data.saturated_constraint;
        let there = if sample.drawn { returned.outcome.saturated + plan.saturated_normal() } else { here };
        let nll = returned.outcome.value + there;
        let size = terms.scale + here.abs();
        let rounding = rounding(data.main.len() + data.aux.len());
        check.nll.add(nll - (terms.value() + here), rounding * size + 1e-12);
        let slopes = worker.scratch.gradient.clone();
        // `falling` contains the gradient, except for parameters on a kink. For these it contains the slope on the
        // side on which `-ln L` falls, or 0 if `-ln L` rises on both sides.
        classify(&mut worker, &problem, theta);
        let on_kink = |p: usize| plan.structure.kinked[p] && theta[p] == 0.0;
        let falling: Vec<f64> =
            (0..n).map(|p| if on_kink(p) { worker.slope[p] } else { slopes[p] }).collect();
        let lambda = worker.scratch.lambda.clone();
        let rows = jacobian(cpu.level, plan, theta, &mut worker.scratch);
        // Scale of the rounding error of the slope in each bin.
        let weight: Vec<f64> = data
            .main
            .iter()
            .zip(&lambda)
            .map(|(&n, lambda)| 1.0 + if n > 0.0 { n / lambda } else { 0.0 })
            .collect();
        for p in (0..n).filter(|&p| !problem.fixed[p]) {
            let sum: f64 = rows.row(p).map(|(b, j)| j.abs() * weight[b]).sum();
            let width = plan.gaussian().find(|term| term.0 == p).map(|(_, _, w)| 1.0 / w);
            let pull = width.map_or(1.0 + theta[p].abs(), |width| 1.0 / width);
            check.gradient.add(
                (gradient[p] - slopes[p]) * width.unwrap_or(1.0),
                1e-12 * (sum + pull) * width.unwrap_or(1.0),
            );
        }
        put(&cpu.workers, worker);
        if let Some((what, difference)) = check.violation() {
            return Err(SessionError::DeviceDisagrees {
                device: self.device(),
                what,
                index,
                difference: difference.largest,
                tolerance: difference.tolerance,
            });
        }
        let edm = diagonal_edm(plan, data, &lambda, &rows, &falling, theta, &|p| {
            problem.fixed[p] || returned.is_held(p)
        });
        check.edm.add(edm, n as f64 * EDM_TOLERANCE + rounding * size);
        check.n_checked += 1;
        Ok(check.edm.holds())
    }
}

/// Returns `sum_p g_p^2 / (2 M_pp)` over the parameters `p` that are free to move (`rests` is false). `g` is the
/// gradient, and `M` is the CPU's Gauss-Newton approximation of the Hessian. No term of the sum exceeds the EDM
/// (estimated distance to the minimum). Therefore the sum is at most the EDM times the number of these parameters.
fn diagonal_edm(
    plan: &Plan,
    data: &Dataset,
    lambda: &[f64],
    rows: &Jacobian,
    gradient: &[f64],
    theta: &[f64],
    rests: &dyn Fn(usize) -> bool,
) -> f64 {
    let mut curvature = vec![0.0; theta.len()];
    constraint_curvatures(plan, theta, &data.aux, &mut curvature);
    for own in plan.events.correlations() {
        for (i, (p, _, _)) in own.constraints().enumerate() {
            curvature[p] += own.second(i, i);
        }
    }
    let weight = |(&n, &lambda): (&f64, &f64)| {
        let near = if n > 0.0 { lambda } else { lambda.max(FEWEST) };
        if lambda > 0.0 { n.max(FEWEST) / (near * near) } else { 0.0 }
    };
    let weights: Vec<f64> = data.main.iter().zip(lambda).map(weight).collect();
    let of = |p: usize| {
        let g = gradient[p];
        if rests(p) || g == 0.0 {
            return 0.0;
        }
        let data: f64 = rows.row(p).map(|(b, j)| j * j * weights[b]).sum();
        0.5 * g * g / (curvature[p] + data)
    };
    (0..theta.len()).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::rounding;

    /// Regression test: the value of `-ln L` of a model with 10 000 bins and 10 000 constraints was rejected. It
    /// differed by 31 EPSILON times the sum of the absolute values of its terms.
    #[test]
    fn sums_of_many_terms_may_differ_by_more_roundings() {
        assert_eq!(rounding(225), 8.0 * f64::EPSILON);
        assert!((31.0..100.0).contains(&(rounding(20_000) / f64::EPSILON)));
    }
}
