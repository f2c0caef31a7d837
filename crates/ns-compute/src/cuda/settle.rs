//! From what a launch brought back to outcomes of tasks: names of states, and the fits that the processor finishes.
//!
//! The processor takes over a fit that the device left without a certificate, looks for further minima where
//! the request asks for it, and computes uncertainties from the exact Hessian at the device's minimum.

use ns_core::{
    Certificate, Control, FitFailure, FitOutcome, FitRequest, FitStatus, FitTask, Inactive, Search, Start,
    TaskOutcome, Wanted,
};

use super::batch::Landed;
use super::layout;
use crate::cpu::CpuSession;
use crate::cpu::request::{Frame, needed};
use crate::eval::Dataset;
use crate::lanes::Course;
use crate::optimise::{Worker, fit};

/// One fit that came back.
pub(super) struct Arrived<'a> {
    pub(super) outcome: layout::Outcome,
    pub(super) parameters: &'a [f64],
    held: &'a [u8],
    empty: &'a [u8],
}

impl Landed {
    /// Fit number `index`, of a model with `n` parameters and `bins` bins.
    pub(super) fn fit(&self, index: usize, n: usize, bins: usize) -> Option<Arrived<'_>> {
        let flags = self.flags.get(index * (n + bins)..(index + 1) * (n + bins))?;
        let (held, empty) = flags.split_at(n);
        Some(Arrived {
            outcome: *self.outcomes.get(index)?,
            parameters: self.parameters.get(index * n..(index + 1) * n)?,
            held,
            empty,
        })
    }
}

impl Arrived<'_> {
    /// As an outcome of a certified fit, for data with this `-ln L` of the saturated model.
    fn describe(&self, frame: &Frame, saturated: f64) -> FitOutcome {
        let flagged = |flags: &[u8]| -> Vec<usize> {
            flags.iter().enumerate().filter(|(_, flag)| **flag != 0).map(|(i, _)| i).collect()
        };
        let held = flagged(self.held).into_iter().filter(|&p| !frame.fixed[p]).map(|p| {
            let lower = self.parameters[p] <= frame.lower[p];
            (p, if lower { Inactive::LowerBound } else { Inactive::UpperBound })
        });
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
            inactive: held.collect(),
            empty_bins: flagged(self.empty),
            uncertainties: Vec::new(),
            covariance: None,
            parameters: self.parameters.to_vec(),
        }
    }
}

/// Lends a worker to what needs one.
pub(super) type Lend<'a> = dyn FnMut(&mut dyn FnMut(&mut Worker)) + 'a;

/// What settling a task needs besides its fits.
pub(super) struct Settling<'a> {
    pub(super) cpu: &'a CpuSession,
    pub(super) task: &'a FitTask,
    /// Boxes of the requests.
    pub(super) frames: &'a [Frame],
    pub(super) wanted: Wanted,
    pub(super) control: Control<'a>,
    /// What the fits of toys share, request by request; empty for given data.
    pub(super) courses: &'a [Option<Course>],
}

impl Settling<'_> {
    /// The outcome of a task whose fits begin at number `first` of `landed`. `data` makes the data where the
    /// processor needs them; `saturated` is `-ln L` of their saturated model, if the device did not say.
    pub(super) fn task(
        &self,
        landed: &Landed,
        first: usize,
        saturated: Option<f64>,
        data: &dyn Fn() -> Dataset,
        worker: &mut Lend<'_>,
    ) -> TaskOutcome {
        let (n, bins) = (self.cpu.plan.n_parameters(), self.cpu.plan.n_bins());
        let mut fits: Vec<Result<FitOutcome, FitFailure>> = Vec::with_capacity(self.task.fits.len());
        // Whether the processor has changed what the device found, request by request.
        let mut changed: Vec<bool> = Vec::with_capacity(self.task.fits.len());
        for (k, request) in self.task.fits.iter().enumerate() {
            let arrived = landed.fit(first + k, n, bins);
            let status = arrived.as_ref().map_or(1, |a| a.outcome.status);
            let depends = changed.iter().enumerate().any(|(e, &changed)| changed && depends_on(request, e));
            let searched = self.courses.is_empty() && request.search != Search::Local;
            let finished = !(searched || self.wanted.uncertainties || self.wanted.covariance);
            let mut was_changed = false;
            let fit = match (arrived, self.frames.get(k)) {
                _ if self.control.is_cancelled() => Err(FitFailure::Cancelled),
                _ if !needed(request, &fits) => Err(FitFailure::NotNeeded),
                (Some(arrived), Some(frame)) if status == layout::CONVERGED && finished && !depends => {
                    Ok(arrived.describe(frame, saturated.unwrap_or(arrived.outcome.saturated)))
                }
                (arrived, _) => {
                    was_changed = searched || status != layout::CONVERGED || depends;
                    let arrived = arrived.filter(|a| !depends && a.outcome.usable != 0);
                    let data = data();
                    let mut result = Err(FitFailure::Cancelled);
                    worker(&mut |worker| {
                        result = self.finish(k, request, arrived.as_ref(), &data, worker, &fits);
                    });
                    result
                }
            };
            fits.push(fit);
            changed.push(was_changed);
        }
        TaskOutcome { fits }
    }

    /// One request by the processor, from where the device came if that is of use.
    fn finish(
        &self,
        index: usize,
        request: &FitRequest,
        arrived: Option<&Arrived<'_>>,
        data: &Dataset,
        worker: &mut Worker,
        fits: &[Result<FitOutcome, FitFailure>],
    ) -> Result<FitOutcome, FitFailure> {
        let start = || self.cpu.start_of(&self.task.fits, index, fits);
        let converged = arrived.filter(|a| a.outcome.status == layout::CONVERGED);
        if let Some(course) = self.courses.get(index).and_then(Option::as_ref) {
            let reached = arrived.map(|a| a.parameters.to_vec()).unwrap_or_else(start);
            let further = if converged.is_some() { &[][..] } else { course.other_starts() };
            return self.cpu.again(request, &reached, further, data, self.wanted, self.control, worker);
        }
        let Some(converged) = converged else {
            return self.cpu.run_fit(request, start(), data, self.wanted, worker, false);
        };
        let problem = self.cpu.problem(Frame::new(self.cpu.table(), request), data, false);
        let further = match request.search {
            Search::Local => Vec::new(),
            effort => self.cpu.further_starts(&problem, converged.parameters, effort),
        };
        let point = converged.parameters;
        let mut outcome =
            fit(worker, &problem, point, &further, request.search, false, None, self.wanted)?;
        outcome.n_iterations += converged.outcome.iterations as usize;
        outcome.n_evaluations += converged.outcome.evaluations as usize;
        Ok(outcome)
    }
}

/// Whether a request looks at earlier fit `earlier`.
fn depends_on(request: &FitRequest, earlier: usize) -> bool {
    let starts = matches!(request.start, Start::Earlier(i) | Start::Along(i, _) if i == earlier);
    starts || request.only_if.as_ref().is_some_and(|condition| condition.fit == earlier)
}
