//! Fits of toys with events, on the CPU or on a device.

use std::ops::Range;

use ns_core::{Control, FitFailure, FitOutcome, FitTask, OutcomeParts, TaskOutcome, ToySource};

use super::CpuSession;
use crate::eval::Dataset;
use crate::optimise::Worker;

/// Consecutive toys of one task, with everything that is needed to draw and fit them.
pub(crate) struct UnitOfToys<'a> {
    pub(crate) session: &'a CpuSession,
    pub(crate) task: &'a FitTask,
    pub(crate) source: &'a ToySource,
    pub(crate) range: Range<u64>,
    pub(crate) wanted: OutcomeParts,
    pub(crate) control: Control<'a>,
}

/// Interface of a device that draws toys with events and fits them.
pub(crate) trait EventToyFits: Send + Sync + std::fmt::Debug {
    /// Draws the toys of `unit` and makes all fits of the unit's task to each toy. Calls `finished` with the number of
    /// fits that have just finished. Returns `None` if this device cannot do the work; then the CPU draws and fits
    /// these toys.
    fn run(
        &self,
        unit: &UnitOfToys<'_>,
        worker: &mut Worker,
        finished: &dyn Fn(usize),
    ) -> Option<Vec<TaskOutcome>>;
}

impl UnitOfToys<'_> {
    /// Draws the toys and makes all fits of the task to each toy. The device of the session does this work, if there is
    /// one and it accepts the toys. Otherwise the CPU does it.
    pub(super) fn run(&self, worker: &mut Worker, finished: &dyn Fn(usize)) -> Vec<TaskOutcome> {
        let there = self.session.event_toys.as_ref();
        there.and_then(|there| there.run(self, worker, finished)).unwrap_or_else(|| {
            self.range.clone().map(|index| self.run_one(index, worker, finished)).collect()
        })
    }

    /// Draws the toy with number `index` and makes all fits of the task to it on the CPU. Only one toy is in memory
    /// at a time.
    pub(crate) fn run_one(&self, index: u64, worker: &mut Worker, finished: &dyn Fn(usize)) -> TaskOutcome {
        let (session, fits) = (self.session, &self.task.fits);
        let mut data = Dataset::empty(&session.plan);
        self.source.draw_into(index, &mut data.main, &mut data.aux);
        if let Err(failure) = self.source.draw_events(index, &mut worker.drawn, &mut data.events) {
            finished(fits.len());
            return self.failed(&failure);
        }
        data.saturate(&session.plan);
        self.fit(&data, worker, finished)
    }

    /// Runs all fits of the task on the data of one toy, on the CPU. Calls `finished(1)` after each fit.
    pub(crate) fn fit(&self, data: &Dataset, worker: &mut Worker, finished: &dyn Fn(usize)) -> TaskOutcome {
        let requests = &self.task.fits;
        let mut fits: Vec<Result<FitOutcome, FitFailure>> = Vec::with_capacity(requests.len());
        let next = |fits: &[_], worker: &mut Worker| {
            self.session.next_fit(requests, fits, data, self.wanted, self.control, worker, true)
        };
        while let Some(fit) = next(&fits, worker) {
            fits.push(fit);
            finished(1);
        }
        TaskOutcome { fits }
    }

    /// Returns the outcome of a toy that could not be drawn: every fit of the task has the given `failure`.
    pub(crate) fn failed(&self, failure: &FitFailure) -> TaskOutcome {
        TaskOutcome { fits: self.task.fits.iter().map(|_| Err(failure.clone())).collect() }
    }
}
