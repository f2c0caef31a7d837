//! The certificate of a run on a device: a sample of its fits, evaluated again by the processor.

use std::sync::PoisonError;

use ns_core::{DeviceCheck, FitOutcome, FitTask, Search, Session, SessionError, TaskOutcome, Wanted};

use super::batch::Landed;
use super::layout;
use super::session::CudaSession;
use crate::cpu::request::Frame;
use crate::cpu::{put, take};
use crate::eval::Dataset;
use crate::lanes::jacobian;
use crate::optimise::fit;

/// Fits of one launch that are checked.
const CHECKED: usize = 4;

/// Relative rounding of sums: the contract allows eight units of the last place of the sum of absolute terms.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

impl CudaSession {
    /// Compares some fits of a launch with what the processor finds at their points: value, gradient, and how far
    /// its own optimiser still falls from there.
    ///
    /// # Errors
    /// [`SessionError::DeviceDisagrees`] beyond the parity contract.
    pub(super) fn check_fits(
        &self,
        landed: &Landed,
        tasks: &[FitTask],
        outcomes: &[TaskOutcome],
        data_of: &dyn Fn(usize) -> Dataset,
    ) -> Result<(), SessionError> {
        // Outcomes that are the device's own: certified there and left as they were.
        let mut place = 0;
        let mut own: Vec<(usize, usize, &FitOutcome)> = Vec::new();
        for (i, outcome) in outcomes.iter().enumerate() {
            for (k, fit) in outcome.fits.iter().enumerate() {
                let status = landed.outcomes.get(place).map(|arrived| arrived.status);
                place += 1;
                if let (Ok(fit), Some(layout::CONVERGED)) = (fit, status) {
                    let theirs = landed.parameters.get((place - 1) * fit.parameters.len()..);
                    if theirs.is_some_and(|theirs| theirs.starts_with(&fit.parameters)) {
                        own.push((i, k, fit));
                    }
                }
            }
        }
        let step = own.len().div_ceil(CHECKED).max(1);
        let chosen: Vec<(usize, usize, &FitOutcome)> = own.iter().copied().skip(step / 2).step_by(step).collect();
        let mut check = DeviceCheck { n_fits: own.len() as u64, ..DeviceCheck::default() };
        if !chosen.is_empty() {
            self.compare(&chosen, tasks, data_of, &mut check)?;
        }
        let mut all = self.check.lock().unwrap_or_else(PoisonError::into_inner);
        all.merge(&check);
        Ok(())
    }

    fn compare(
        &self,
        chosen: &[(usize, usize, &FitOutcome)],
        tasks: &[FitTask],
        data_of: &dyn Fn(usize) -> Dataset,
        check: &mut DeviceCheck,
    ) -> Result<(), SessionError> {
        let (cpu, plan) = (&self.cpu, &self.cpu.plan);
        let (n, n_bins) = (plan.n_parameters(), plan.n_bins());
        let data: Vec<Dataset> = chosen.iter().map(|&(i, ..)| data_of(i)).collect();
        let points: Vec<f64> = chosen.iter().flat_map(|(.., fit)| fit.parameters.iter().copied()).collect();
        // One set of data stands for all points only if there is one point.
        let all: Vec<&Dataset> = data.iter().collect();
        let there = self.at_points(&all, &points, chosen.len(), true)?;
        let mut worker = take(&cpu.workers, plan);
        for (index, ((&(i, k, outcome), data), gradient)) in
            chosen.iter().zip(&data).zip(there.gradients.chunks_exact(n)).enumerate()
        {
            // Toys share one task.
            let task = if tasks.len() == 1 { tasks.first() } else { tasks.get(i) };
            let Some(request) = task.and_then(|task| task.fits.get(k)) else { continue };
            let problem = cpu.problem(Frame::new(cpu.table(), request), data, false);
            let theta = &outcome.parameters;
            let terms = worker.evaluate(&problem, theta, 0.0);
            worker.gradient(&problem, theta);
            let saturated = data.saturated_main + data.saturated_constraint;
            let size = terms.scale + saturated.abs();
            check.nll.add(outcome.nll - (terms.value() + saturated), ROUNDING * size + 1e-12);
            let here = worker.scratch.gradient.clone();
            let lambda = worker.scratch.lambda.clone();
            let rows = jacobian(cpu.level, plan, theta, &mut worker.scratch);
            for p in (0..n).filter(|&p| !problem.fixed[p]) {
                let row = &rows[p * n_bins..(p + 1) * n_bins];
                let reacts = row.iter().zip(&data.main).zip(&lambda);
                let sum: f64 = reacts.map(|((j, &n), lambda)| j.abs() * (1.0 + if n > 0.0 { n / lambda } else { 0.0 })).sum();
                let width = plan.gaussian_width(p);
                let pull = width.map_or(1.0 + theta[p].abs(), |width| 1.0 / width);
                check.gradient.add(
                    (gradient[p] - here[p]) * width.unwrap_or(1.0),
                    1e-12 * (sum + pull) * width.unwrap_or(1.0),
                );
            }
            let wanted = Wanted::default();
            let lower = fit(&mut worker, &problem, theta, &[], Search::Local, false, None, wanted);
            if let Ok(lower) = lower {
                check.edm.add((outcome.nll - lower.nll).max(0.0), ROUNDING * size + 1e-10);
            }
            check.n_checked += 1;
            if let Some((what, difference)) = check.violation() {
                put(&cpu.workers, worker);
                return Err(SessionError::DeviceDisagrees {
                    device: self.device(),
                    what,
                    index,
                    difference: difference.largest,
                    tolerance: difference.tolerance,
                });
            }
        }
        put(&cpu.workers, worker);
        Ok(())
    }
}
