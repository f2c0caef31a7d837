//! Converts the results of a launch to outcomes of tasks. The CPU finishes some of the fits.
//!
//! The CPU repeats a fit if the device did not certify its convergence, and makes the search for further
//! minima if the request asks for one. Usually the device adds uncertainties afterwards (`covariance.rs`). If
//! it cannot compute the Hessians of a model, the CPU computes the uncertainties here, from the exact Hessian
//! at the device's minimum.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use ns_core::{
    Certificate, Control, FitFailure, FitOutcome, FitRequest, FitStatus, FitTask, Inactive, OutcomeParts,
    Search, Start, TaskOutcome,
};

use super::batch::LaunchResults;
use super::layout;
use crate::cpu::CpuSession;
use crate::eval::Dataset;
use crate::lanes::{Toy, ToyFitter};
use crate::optimise::{Worker, fit};
use crate::shared_constants::CONVERGED;
use crate::task::{FitDomain, needed, start_of};

/// Result of one fit of a launch.
pub(super) struct ReturnedFit<'a> {
    pub(super) outcome: layout::Outcome,
    pub(super) parameters: &'a [f64],
    held: &'a [u8],
    empty: &'a [u8],
}

impl<'a> LaunchResults<'a> {
    /// Returns the result of the fit with this index, for a model with `n` parameters and `bins` bins. `None`
    /// if the launch has no such fit.
    pub(super) fn fit(&self, index: usize, n: usize, bins: usize) -> Option<ReturnedFit<'a>> {
        let flags = self.flags.get(index * (n + bins)..(index + 1) * (n + bins))?;
        let (held, empty) = flags.split_at(n);
        Some(ReturnedFit {
            outcome: *self.outcomes.get(index)?,
            parameters: self.parameters.get(index * n..(index + 1) * n)?,
            held,
            empty,
        })
    }
}

impl<'a> ReturnedFit<'a> {
    /// Returns whether a parameter is held at the end of the fit: fixed, on a kink, or at a bound beyond
    /// which `-ln L` falls.
    pub(super) fn is_held(&self, parameter: usize) -> bool {
        self.held.get(parameter).is_some_and(|held| *held != 0)
    }

    /// Returns the outcome of a fit that converged with a certificate. `saturated` is `-ln L` of the
    /// saturated model for the data of the fit.
    fn describe(
        &self,
        domain: &dyn Fn() -> Cow<'a, FitDomain>,
        kinked: &[bool],
        saturated: f64,
    ) -> FitOutcome {
        let flagged = |flags: &[u8]| -> Vec<usize> {
            // Usually no flag is set.
            if flags.iter().fold(0, |all, flag| all | flag) == 0 {
                return Vec::new();
            }
            flags.iter().enumerate().filter(|(_, flag)| **flag != 0).map(|(i, _)| i).collect()
        };
        let mut inactive = Vec::new();
        let held = flagged(self.held);
        if !held.is_empty() {
            let domain = domain();
            inactive.extend(held.into_iter().filter(|&p| !domain.fixed[p]).map(|p| {
                let x = self.parameters[p];
                let why = if x <= domain.lower[p] {
                    Inactive::LowerBound
                } else if x == 0.0 && x < domain.upper[p] && kinked.get(p) == Some(&true) {
                    Inactive::Kink
                } else {
                    Inactive::UpperBound
                };
                (p, why)
            }));
        }
        FitOutcome {
            status: FitStatus::Converged,
            nll: self.outcome.value + saturated,
            certificate: Certificate {
                edm: self.outcome.edm,
                // An upper limit: no gradient element times the uncertainty of its parameter exceeds `sqrt(2
                // EDM)`.
                projected_gradient: (2.0 * self.outcome.edm).sqrt(),
                indefinite_steps: 0,
                restarts_improved: 0,
            },
            n_iterations: self.outcome.iterations as usize,
            n_evaluations: self.outcome.evaluations as usize,
            inactive,
            empty_bins: flagged(self.empty),
            uncertainties: Vec::new(),
            covariance: None,
            factors: None,
            parameters: self.parameters.to_vec(),
        }
    }
}

/// Function that calls its argument with a worker (the working memory of a thread).
pub(super) type LendWorker<'a> = dyn FnMut(&mut dyn FnMut(&mut Worker)) + 'a;

/// Inputs that are needed to finish a task, besides the results of the device.
pub(super) struct Settling<'a> {
    pub(super) cpu: &'a CpuSession,
    pub(super) task: &'a FitTask,
    /// Bounds and fixed parameters of each request of the task. Empty if they are to be computed from the
    /// requests.
    pub(super) domains: &'a [FitDomain],
    pub(super) wanted: OutcomeParts,
    /// Whether the device computes uncertainties afterwards.
    pub(super) apart: bool,
    pub(super) control: Control<'a>,
    /// Inputs that the fits of all toys share, one per request; empty for given data.
    pub(super) fitters: &'a [Option<ToyFitter>],
    /// Number of fits that the device certified and the CPU did not change.
    pub(super) own: &'a AtomicU64,
}

impl<'a> Settling<'a> {
    fn computes_uncertainties(&self) -> bool {
        !self.apart && (self.wanted.uncertainties || self.wanted.covariance)
    }

    /// Returns whether the outcome of a task only has to be copied from `results`, so that the CPU has
    /// nothing to compute. `first` is the index of the task's first fit in `results`.
    pub(super) fn is_short(&self, results: &LaunchResults<'_>, first: usize) -> bool {
        let n = self.cpu.plan.n_parameters();
        let converged =
            |k: usize| results.outcomes.get(first + k).is_some_and(|outcome| outcome.status == CONVERGED);
        // The device skips a fit if its condition on an earlier fit, which converged, is not met.
        let needless = |request: &FitRequest| {
            request.only_if.as_ref().is_some_and(|condition| {
                let value = results.parameters.get((first + condition.fit) * n + condition.parameter);
                let outside = |x: &f64| *x < condition.range.0 || *x > condition.range.1;
                converged(condition.fit) && value.is_some_and(outside)
            })
        };
        let mut requests = self.task.fits.iter().enumerate();
        !self.computes_uncertainties() && requests.all(|(k, request)| converged(k) || needless(request))
    }

    /// Returns the outcome of a task, and makes on the CPU the fits that the device did not complete. `first`
    /// is the index of the task's first fit in `results`. `saturated` is `-ln L` of the saturated model; if
    /// it is `None`, the device's value is used. `data` returns the data, and is only called if the CPU needs
    /// them.
    pub(super) fn task(
        &self,
        results: &LaunchResults<'_>,
        first: usize,
        saturated: Option<f64>,
        data: &dyn Fn() -> Cow<'a, Dataset>,
        worker: &mut LendWorker<'_>,
    ) -> TaskOutcome {
        let (n, bins) = (self.cpu.plan.n_parameters(), self.cpu.plan.n_bins());
        let mut fits: Vec<Result<FitOutcome, FitFailure>> = Vec::with_capacity(self.task.fits.len());
        // Indices of the requests for which the CPU replaces the device's result.
        let mut changed: Vec<usize> = Vec::new();
        let mut own = 0;
        for (k, request) in self.task.fits.iter().enumerate() {
            let returned = results.fit(first + k, n, bins);
            let status = returned.as_ref().map_or(1, |a| a.outcome.status);
            let depends = changed.iter().any(|&e| depends_on(request, e));
            let searched = self.fitters.is_empty() && self.to_search(request) != Search::Local;
            let finished = !(searched || self.computes_uncertainties());
            let domain = || match self.domains.get(k) {
                Some(domain) => Cow::Borrowed(domain),
                None => Cow::Owned(FitDomain::new(self.cpu.table(), request)),
            };
            let fit = match returned {
                _ if self.control.is_cancelled() => Err(FitFailure::Cancelled),
                _ if !needed(request, &fits) => Err(FitFailure::NotNeeded),
                Some(returned) if status == CONVERGED && finished && !depends => {
                    own += 1;
                    Ok(returned.describe(
                        &domain,
                        &self.cpu.plan.structure.kinked,
                        saturated.unwrap_or(returned.outcome.saturated),
                    ))
                }
                returned => {
                    if searched || status != CONVERGED || depends {
                        changed.push(k);
                    }
                    let theirs = returned.as_ref().filter(|_| status == CONVERGED).map(|a| a.parameters);
                    let returned = returned.filter(|a| !depends && a.outcome.usable != 0);
                    let data = data();
                    let mut result = Err(FitFailure::Cancelled);
                    let wanted = if self.apart { OutcomeParts::default() } else { self.wanted };
                    worker(&mut |worker| {
                        result = self.finish(k, request, returned.as_ref(), &data, worker, wanted, &fits);
                    });
                    own += u64::from(result.as_ref().is_ok_and(|fit| theirs == Some(&fit.parameters[..])));
                    result
                }
            };
            fits.push(fit);
        }
        self.own.fetch_add(own, Ordering::Relaxed);
        TaskOutcome { fits }
    }

    /// Returns the search for further minima that the CPU makes after a fit of given data. In models with
    /// kinks the device has already made the standard search.
    fn to_search(&self, request: &FitRequest) -> Search {
        let done = self.cpu.plan.structure.has_kinks && request.search == Search::Standard;
        if done { Search::Local } else { request.search }
    }

    /// Makes one fit on the CPU. The fit starts from the device's minimum if it converged on the device, else
    /// from the starting point of the request.
    fn finish(
        &self,
        index: usize,
        request: &FitRequest,
        returned: Option<&ReturnedFit<'_>>,
        data: &Dataset,
        worker: &mut Worker,
        wanted: OutcomeParts,
        fits: &[Result<FitOutcome, FitFailure>],
    ) -> Result<FitOutcome, FitFailure> {
        let start = || start_of(self.cpu.table(), &self.task.fits, index, fits);
        let converged = returned.filter(|a| a.outcome.status == CONVERGED);
        if let Some(fitter) = self.fitters.get(index).and_then(Option::as_ref) {
            let Some(found) = converged else {
                // The toy is fitted as in a CPU session.
                return if fitter.suits_lanes(&self.cpu.plan) {
                    self.in_lanes(request, fitter, start(), data, worker, wanted)
                } else {
                    self.cpu.run_fit(request, start(), data, wanted, self.control, worker, true)
                };
            };
            return self.cpu.again(request, found.parameters, &[], data, wanted, self.control, worker);
        }
        let Some(converged) = converged else {
            return self.cpu.run_fit(request, start(), data, wanted, self.control, worker, false);
        };
        let problem = self.cpu.problem(FitDomain::new(self.cpu.table(), request), data, false, self.control);
        let effort = self.to_search(request);
        let further = match effort {
            Search::Local => Vec::new(),
            Search::Standard | Search::Thorough => self.cpu.further_starts(&problem, converged.parameters),
        };
        let point = converged.parameters;
        let mut outcome = fit(worker, &problem, point, &further, effort, false, None, wanted)?;
        outcome.n_iterations += converged.outcome.iterations as usize;
        outcome.n_evaluations += converged.outcome.evaluations as usize;
        Ok(outcome)
    }

    /// Fits a toy whose fit the device did not complete, in SIMD lanes as a CPU session does.
    fn in_lanes(
        &self,
        request: &FitRequest,
        fitter: &ToyFitter,
        start: Vec<f64>,
        data: &Dataset,
        worker: &mut Worker,
        wanted: OutcomeParts,
    ) -> Result<FitOutcome, FitFailure> {
        let cpu = self.cpu;
        let start = FitDomain::new(cpu.table(), request).begin(request, start);
        let saturated = data.saturated_main + data.saturated_constraint;
        let toy = Toy { main: &data.main, aux: &data.aux, start: &start, saturated };
        let end = fitter.run(cpu.level, &cpu.plan, &[toy], self.control.cancel).pop();
        let Some(end) = end.filter(|_| !self.control.is_cancelled()) else {
            return Err(FitFailure::Cancelled);
        };
        let start = || start.clone();
        cpu.settle_end(request, fitter, end, &start, data, wanted, self.control, worker)
    }
}

/// Returns whether a request starts from the fit with index `earlier` of its task, or is conditional on it.
fn depends_on(request: &FitRequest, earlier: usize) -> bool {
    let starts = matches!(request.start, Start::Earlier(i) | Start::Along(i, _) if i == earlier);
    starts || request.only_if.as_ref().is_some_and(|condition| condition.fit == earlier)
}
