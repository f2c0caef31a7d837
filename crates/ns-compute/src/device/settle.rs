//! Turns the results of a launch into outcomes of tasks. Some fits are finished by the CPU.
//!
//! The CPU continues a fit that the device left without a certificate, and makes a search where
//! the request asks for it. Uncertainties come afterwards, from the device (`covariance.rs`); of models that it does not
//! take, the CPU computes them here, from the exact Hessian at the device's minimum.

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
use crate::lanes::{Toy, ToyFitter, suit_lanes};
use crate::optimise::{Worker, fit};
use crate::shared_constants::CONVERGED;
use crate::task::{FitDomain, needed, start_of};

/// The result of one fit of a launch.
pub(super) struct ReturnedFit<'a> {
    pub(super) outcome: layout::Outcome,
    pub(super) parameters: &'a [f64],
    held: &'a [u8],
    empty: &'a [u8],
}

impl<'a> LaunchResults<'a> {
    /// Fit number `index`, of a model with `n` parameters and `bins` bins.
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
    /// Whether the fit ended with a parameter at a bound beyond which the function falls.
    pub(super) fn is_held(&self, parameter: usize) -> bool {
        self.held.get(parameter).is_some_and(|held| *held != 0)
    }

    /// As an outcome of a certified fit, for data with this `-ln L` of the saturated model.
    fn describe(
        &self,
        domain: &dyn Fn() -> Cow<'a, FitDomain>,
        kinked: &[bool],
        saturated: f64,
    ) -> FitOutcome {
        let flagged = |flags: &[u8]| -> Vec<usize> {
            // Usually there is none.
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
                // The length of the gradient in the metric bounds each of its elements there.
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
            parameters: self.parameters.to_vec(),
        }
    }
}

/// Calls a function with a worker.
pub(super) type LendWorker<'a> = dyn FnMut(&mut dyn FnMut(&mut Worker)) + 'a;

/// The inputs, besides its fits, that are needed to finish a task.
pub(super) struct Settling<'a> {
    pub(super) cpu: &'a CpuSession,
    pub(super) task: &'a FitTask,
    /// Domains of the requests, if tasks share them.
    pub(super) domains: &'a [FitDomain],
    pub(super) wanted: OutcomeParts,
    /// Uncertainties are computed afterwards.
    pub(super) apart: bool,
    pub(super) control: Control<'a>,
    /// The shared inputs of the fits of toys, request by request; empty for given data.
    pub(super) fitters: &'a [Option<ToyFitter>],
    /// Counts fits of the device that were certified there and not changed.
    pub(super) own: &'a AtomicU64,
}

impl<'a> Settling<'a> {
    fn computes_uncertainties(&self) -> bool {
        !self.apart && (self.wanted.uncertainties || self.wanted.covariance)
    }

    /// Whether a task, whose fits begin at number `first` of `results`, only needs to be copied.
    pub(super) fn is_short(&self, results: &LaunchResults<'_>, first: usize) -> bool {
        let n = self.cpu.plan.n_parameters();
        let converged =
            |k: usize| results.outcomes.get(first + k).is_some_and(|outcome| outcome.status == CONVERGED);
        // The device skips fits that are not needed after an earlier certified fit.
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

    /// The outcome of a task whose fits begin at number `first` of `results`. `data` makes the data where the
    /// CPU needs them; `saturated` is `-ln L` of their saturated model, if the device did not say.
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
        // Requests of which the CPU has changed what the device found.
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

    /// The search that the CPU makes after a fit of given data. In models with kinks the device has tried all sides.
    fn to_search(&self, request: &FitRequest) -> Search {
        let done = self.cpu.plan.structure.has_kinks && request.search == Search::Standard;
        if done { Search::Local } else { request.search }
    }

    /// Makes one fit on the CPU, from the point that the device reached if that is usable.
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
                // As the CPU fits its own toys.
                return if suit_lanes(&self.cpu.plan) {
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

    /// A fit of a toy that the device has left, as the CPU fits its own toys.
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

/// Whether a request depends on the earlier fit `earlier`.
fn depends_on(request: &FitRequest, earlier: usize) -> bool {
    let starts = matches!(request.start, Start::Earlier(i) | Start::Along(i, _) if i == earlier);
    starts || request.only_if.as_ref().is_some_and(|condition| condition.fit == earlier)
}
