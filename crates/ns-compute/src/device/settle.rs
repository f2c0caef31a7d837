//! Converts the results of a launch to outcomes of tasks. The CPU finishes some of the fits.
//!
//! The CPU repeats a fit if the device did not certify its convergence. It also makes the search for further minima
//! if the request asks for one. Usually the device adds uncertainties later (`covariance.rs`). If the device cannot
//! compute Hessians of the model, the CPU computes the uncertainties here, from the exact Hessian at the minimum that
//! the device found.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use ns_core::{
    Certificate, Control, FitFailure, FitOutcome, FitRequest, FitStatus, FitTask, Inactive, OutcomeParts,
    Reason, Search, Start, TaskOutcome,
};

use super::batch::LaunchResults;
use super::layout;
use crate::cpu::CpuSession;
use crate::eval::Dataset;
use crate::lanes::{Toy, ToyFitter, suit_lanes};
use crate::optimise::{Worker, fit};
use crate::shared_constants::{CONVERGED, FALLS};
use crate::stop::Stop;
use crate::task::{FitDomain, needed, start_of};

/// Smallest difference in `-ln L` by which the device's minimum is lower than the CPU's, apart from rounding.
const DIFFERENT: f64 = 1e-6;

/// Result of one fit, as the device returned it.
pub(super) struct ReturnedFit<'a> {
    pub(super) outcome: layout::Outcome,
    pub(super) parameters: &'a [f64],
    held: &'a [u8],
    empty: &'a [u8],
}

impl<'a> LaunchResults<'a> {
    /// Returns the result of the fit with this index. The model has `n` parameters and `bins` bins. Returns `None` if
    /// the launch has no such fit.
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
    /// Returns whether a parameter is held (cannot move) at the end of the fit. A held parameter is fixed, on a kink,
    /// or at a bound beyond which `-ln L` falls.
    pub(super) fn is_held(&self, parameter: usize) -> bool {
        self.held.get(parameter).is_some_and(|held| *held != 0)
    }

    /// Returns whether `-ln L` of the fit falls without limit from all starting points.
    fn falls(&self) -> bool {
        self.outcome.status == FALLS
    }

    /// Returns the outcome of a fit that has ended on the device: a certified minimum, or a fit whose `-ln L` falls without
    /// limit. `saturated` is `-ln L` of the saturated model. It is added to the device's value of `-ln L`, which is relative
    /// to the saturated model.
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
            status: if self.falls() {
                FitStatus::NotConverged(Reason::Unbounded)
            } else {
                FitStatus::Converged
            },
            nll: self.outcome.value + saturated,
            certificate: Certificate {
                edm: self.outcome.edm,
                // This is an upper limit: the product of a gradient element and the uncertainty of its parameter is
                // at most `sqrt(2 EDM)`.
                projected_gradient: (2.0 * self.outcome.edm).sqrt(),
                indefinite_steps: 0,
                restarts_improved: 0,
                integral_error: None,
            },
            n_iterations: self.outcome.iterations as usize,
            n_search_iterations: 0,
            n_evaluations: self.outcome.evaluations as usize,
            inactive,
            empty_bins: flagged(self.empty),
            empty_channels: Vec::new(),
            uncertainties: Vec::new(),
            covariance: None,
            factors: None,
            parameters: self.parameters.to_vec(),
        }
    }
}

/// Function that calls its argument with a worker (the working memory of a thread).
pub(super) type LendWorker<'a> = dyn FnMut(&mut dyn FnMut(&mut Worker)) + 'a;

/// Functions that describe the data sets of a task. The argument of each function is the index of a data set.
pub(super) struct DataSets<'s, 'a> {
    /// Returns the index of the first fit of a data set among the results of the device.
    pub(super) first: &'s dyn Fn(usize) -> usize,
    /// Returns `-ln L` of the saturated model for a data set, or `None` if the value that the device has computed is
    /// to be used.
    pub(super) saturated: &'s dyn Fn(usize) -> Option<f64>,
    /// Returns the data of a data set. It is called only if the CPU needs the data.
    pub(super) data: &'s dyn Fn(usize) -> Cow<'a, Dataset>,
}

/// State of a data set whose fits are being finished.
#[derive(Default)]
struct UnderWay<'a> {
    /// Results of the fits that are finished.
    fits: Vec<Result<FitOutcome, FitFailure>>,
    /// Indices of the requests for which the CPU computes the result again.
    changed: Vec<usize>,
    /// Whether the current request depends on a request in `changed`.
    depends: bool,
    /// Number of fits whose result is the one that the device certified.
    own: u64,
    /// Data of the data set; `None` until the CPU needs them.
    data: Option<Cow<'a, Dataset>>,
}

/// Inputs for finishing the fits of a task. The results of the device are a further input.
pub(super) struct Settling<'a> {
    pub(super) cpu: &'a CpuSession,
    pub(super) task: &'a FitTask,
    /// Bounds and fixed parameters for each request of the task. If the slice is empty, they are computed from the
    /// requests.
    pub(super) domains: &'a [FitDomain],
    pub(super) wanted: OutcomeParts,
    /// Whether the device computes uncertainties separately after the fits.
    pub(super) apart: bool,
    pub(super) control: Control<'a>,
    /// Inputs that the fits of all toys share, one element per request. Empty for given data.
    pub(super) fitters: &'a [Option<ToyFitter>],
    /// Whether the launch has so few fits of given data that the CPU makes the searches of all of them.
    pub(super) few: bool,
    /// Counter of the fits whose result is the one that the device certified.
    pub(super) own: &'a AtomicU64,
}

impl<'a> Settling<'a> {
    fn computes_uncertainties(&self) -> bool {
        !self.apart && (self.wanted.uncertainties || self.wanted.covariance)
    }

    /// Returns whether the outcome of a task is a copy of `results`, so that the CPU computes nothing. `first` is the
    /// index of the task's first fit in `results`.
    pub(super) fn is_short(&self, results: &LaunchResults<'_>, first: usize) -> bool {
        let n = self.cpu.plan.n_parameters();
        let converged =
            |k: usize| results.outcomes.get(first + k).is_some_and(|outcome| outcome.status == CONVERGED);
        // The device skips a fit that depends on a condition on an earlier fit, if the earlier fit converged and does
        // not meet the condition.
        let needless = |request: &FitRequest| {
            request.only_if.as_ref().is_some_and(|condition| {
                let value = results.parameters.get((first + condition.fit) * n + condition.parameter);
                let outside = |x: &f64| *x < condition.range.0 || *x > condition.range.1;
                converged(condition.fit) && value.is_some_and(outside)
            })
        };
        let falls = |k: usize| results.outcomes.get(first + k).is_some_and(|outcome| outcome.status == FALLS);
        let mut requests = self.task.fits.iter().enumerate();
        !self.computes_uncertainties()
            && requests.all(|(k, request)| converged(k) || falls(k) || needless(request))
    }

    /// Returns the outcomes of `count` data sets of the task. The CPU makes the fits that the device did not complete.
    /// Fits that can use SIMD lanes are made together, which is several times faster than one after the other. The
    /// outcomes of different data sets do not depend on each other.
    pub(super) fn tasks(
        &self,
        results: &LaunchResults<'_>,
        count: usize,
        set: &DataSets<'_, 'a>,
        worker: &mut LendWorker<'_>,
    ) -> Vec<TaskOutcome> {
        let (n, bins) = (self.cpu.plan.n_parameters(), self.cpu.plan.n_bins());
        let mut all: Vec<UnderWay<'_>> = (0..count).map(|_| UnderWay::default()).collect();
        for (k, request) in self.task.fits.iter().enumerate() {
            let mut in_lanes: Vec<usize> = Vec::new();
            for (i, under_way) in all.iter_mut().enumerate() {
                let returned = results.fit((set.first)(i) + k, n, bins);
                let fit = match self.known(k, request, returned.as_ref(), &|| (set.saturated)(i), under_way) {
                    Some(fit) => fit,
                    None => {
                        let data = under_way.data.get_or_insert_with(|| (set.data)(i));
                        let usable = returned.filter(|a| !under_way.depends && a.outcome.usable != 0);
                        let certified = usable.as_ref().is_some_and(|a| a.outcome.status == CONVERGED);
                        if !certified && self.lanes(k).is_some() {
                            in_lanes.push(i);
                            Err(FitFailure::Cancelled)
                        } else {
                            let mut result = Err(FitFailure::Cancelled);
                            let fits = &under_way.fits;
                            worker(&mut |worker| {
                                result = self.finish(k, request, usable.as_ref(), data, worker, fits);
                            });
                            result
                        }
                    }
                };
                under_way.fits.push(fit);
            }
            if let Some(fitter) = self.lanes(k).filter(|_| !in_lanes.is_empty()) {
                worker(&mut |worker| self.make_in_lanes(k, request, fitter, &in_lanes, &mut all, worker));
            }
            for (i, under_way) in all.iter_mut().enumerate() {
                let theirs = results.fit((set.first)(i) + k, n, bins);
                let theirs = theirs.filter(|a| a.outcome.status == CONVERGED || a.falls());
                let theirs = theirs.map(|a| a.parameters);
                let fit = under_way.fits.get(k).and_then(|fit| fit.as_ref().ok());
                under_way.own += u64::from(theirs.is_some() && fit.map(|fit| &fit.parameters[..]) == theirs);
            }
        }
        self.own.fetch_add(all.iter().map(|under_way| under_way.own).sum(), Ordering::Relaxed);
        all.into_iter().map(|under_way| TaskOutcome { fits: under_way.fits }).collect()
    }

    /// Returns the outcome of fit `k` if the CPU has nothing to compute. This is the case if the device has finished
    /// the fit, the fit is not needed, or the caller has cancelled the work. Otherwise returns `None`, and records in
    /// `under_way` whether the CPU computes the result again.
    fn known(
        &self,
        k: usize,
        request: &FitRequest,
        returned: Option<&ReturnedFit<'a>>,
        saturated: &dyn Fn() -> Option<f64>,
        under_way: &mut UnderWay<'_>,
    ) -> Option<Result<FitOutcome, FitFailure>> {
        under_way.depends = under_way.changed.iter().any(|&e| depends_on(request, e));
        let searched = self.fitters.is_empty() && self.to_search(request) != Search::Local;
        let certified = returned.filter(|a| a.outcome.status == CONVERGED);
        if self.control.is_cancelled() {
            return Some(Err(FitFailure::Cancelled));
        }
        if !needed(request, &under_way.fits) {
            return Some(Err(FitFailure::NotNeeded));
        }
        let finished = !(searched || self.computes_uncertainties() || under_way.depends);
        // There is no minimum at which uncertainties exist if `-ln L` falls without limit.
        let fallen = returned.filter(|a| a.falls() && !searched && !under_way.depends);
        if let Some(found) = certified.filter(|_| finished).or(fallen) {
            let domain = || match self.domains.get(k) {
                Some(domain) => Cow::Borrowed(domain),
                None => Cow::Owned(FitDomain::new(self.cpu.table(), request)),
            };
            let saturated = saturated().unwrap_or(found.outcome.saturated);
            return Some(Ok(found.describe(&domain, &self.cpu.plan.structure.kinked, saturated)));
        }
        if searched || certified.is_none() || under_way.depends {
            under_way.changed.push(k);
        }
        None
    }

    /// Returns the search for further minima that the CPU makes after a fit of given data. In models with kinks the
    /// device has made a standard search, which takes fewer starting points than the CPU's. It is enough for the many
    /// fits of a scan, which are compared with each other.
    fn to_search(&self, request: &FitRequest) -> Search {
        let done = self.cpu.plan.structure.has_kinks && request.search == Search::Standard && !self.few;
        if done { Search::Local } else { request.search }
    }

    /// Makes one fit on the CPU. If the fit converged on the device, the CPU starts at the device's minimum. Otherwise
    /// the CPU starts at the starting point of the request.
    fn finish(
        &self,
        index: usize,
        request: &FitRequest,
        returned: Option<&ReturnedFit<'_>>,
        data: &Dataset,
        worker: &mut Worker,
        fits: &[Result<FitOutcome, FitFailure>],
    ) -> Result<FitOutcome, FitFailure> {
        let wanted = self.wanted_now();
        let start = || start_of(self.cpu.table(), &self.task.fits, index, fits);
        let converged = returned.filter(|a| a.outcome.status == CONVERGED);
        let Some(converged) = converged else {
            // Toys are fitted with the settings that a CPU session uses for toys.
            let toy = !self.fitters.is_empty();
            return self.cpu.run_fit(request, start(), data, wanted, self.control, worker, toy);
        };
        if !self.fitters.is_empty() {
            return self.cpu.again(request, converged.parameters, &[], data, wanted, self.control, worker);
        }
        let effort = self.to_search(request);
        if effort != Search::Local {
            // The search of the CPU begins at the starting point of the request, so that it is the same on each device.
            let found = self.cpu.run_fit(request, start(), data, wanted, self.control, worker, false);
            let theirs = converged.outcome.value + data.saturated_main + data.saturated_constraint;
            let tolerance = DIFFERENT + 64.0 * f64::EPSILON * theirs.abs();
            if let Ok(found) = found
                && found.nll <= theirs + tolerance
            {
                return Ok(found);
            }
        }
        let problem = self.cpu.problem(FitDomain::new(self.cpu.table(), request), data, false, self.control);
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

    /// Makes fits that the device did not complete: the fits of request `k` to those toys of `all` whose indices are in
    /// `chosen`. The CPU makes them in SIMD lanes, as in a CPU session.
    fn make_in_lanes(
        &self,
        k: usize,
        request: &FitRequest,
        fitter: &ToyFitter,
        chosen: &[usize],
        all: &mut [UnderWay<'_>],
        worker: &mut Worker,
    ) {
        let (cpu, domain) = (self.cpu, FitDomain::new(self.cpu.table(), request));
        let starts: Vec<Vec<f64>> = chosen
            .iter()
            .map(|&i| domain.begin(request, start_of(cpu.table(), &self.task.fits, k, &all[i].fits)))
            .collect();
        let sets: Vec<&Dataset> = chosen.iter().filter_map(|&i| all[i].data.as_deref()).collect();
        let toys: Vec<Toy<'_>> = sets
            .iter()
            .zip(&starts)
            .map(|(data, start)| Toy {
                main: &data.main,
                aux: &data.aux,
                start,
                saturated: data.saturated_main + data.saturated_constraint,
            })
            .collect();
        let ends = fitter.run(cpu.level, &cpu.plan, &toys, Stop::of(self.control));
        if self.control.is_cancelled() {
            return;
        }
        let fits: Vec<_> = ends
            .into_iter()
            .zip(sets.iter().zip(&starts))
            .map(|(end, (data, start))| {
                let start = || start.clone();
                cpu.settle_end(request, fitter, end, &start, data, self.wanted_now(), self.control, worker)
            })
            .collect();
        for (&i, fit) in chosen.iter().zip(fits) {
            all[i].fits[k] = fit;
        }
    }

    /// Returns the inputs for making the fits of request `k` in SIMD lanes. Returns `None` if SIMD lanes do not suit
    /// the model, or if it is too large for them.
    fn lanes(&self, k: usize) -> Option<&'a ToyFitter> {
        let fitter = self.fitters.get(k).and_then(Option::as_ref);
        fitter.filter(|fitter| suit_lanes(&self.cpu.plan) && !fitter.metric().divided)
    }

    /// Returns which parts of an outcome the CPU computes together with the fit.
    fn wanted_now(&self) -> OutcomeParts {
        if self.apart { OutcomeParts::default() } else { self.wanted }
    }
}

/// Returns whether a request depends on the fit with index `earlier` of its task. This is the case if the request
/// starts from this fit, or has a condition on it.
fn depends_on(request: &FitRequest, earlier: usize) -> bool {
    let starts = matches!(request.start, Start::Earlier(i) | Start::Along(i, _) if i == earlier);
    starts || request.only_if.as_ref().is_some_and(|condition| condition.fit == earlier)
}
