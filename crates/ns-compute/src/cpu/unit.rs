//! The pieces in which a batch is handed to threads: one task, or a few toys of one task.

use std::ops::Range;

use ns_core::{Control, Data, FitFailure, FitTask, TaskOutcome, ToySource, Wanted};

use super::CpuSession;
use crate::eval::Dataset;
use crate::optimise::Worker;

/// Toys of one unit. Fixed, so that a run does not depend on the size of its batches.
const TOYS_PER_UNIT: u64 = 64;

/// What one thread does in one go.
pub(super) struct Unit<'a> {
    pub(super) task: &'a FitTask,
    /// Toys of the task's source; `None` where the data are given.
    pub(super) toys: Option<(&'a ToySource, Range<u64>)>,
}

impl<'a> Unit<'a> {
    /// The units of a task, in order.
    pub(super) fn of(task: &'a FitTask) -> Box<dyn Iterator<Item = Self> + 'a> {
        let Data::Drawn(drawn) = &task.data else {
            return Box::new(std::iter::once(Self { task, toys: None }));
        };
        let (first, end) = (drawn.toys.start, drawn.toys.end.max(drawn.toys.start));
        Box::new((first..end).step_by(TOYS_PER_UNIT as usize).map(move |start| {
            let toys = start..end.min(start.saturating_add(TOYS_PER_UNIT));
            Self { task, toys: Some((drawn.source.as_ref(), toys)) }
        }))
    }

    /// Outcomes of a unit that was never begun.
    pub(super) fn cancelled(&self) -> Vec<TaskOutcome> {
        let count = self.toys.as_ref().map_or(1, |(_, toys)| toys.end - toys.start);
        (0..count)
            .map(|_| TaskOutcome {
                fits: self.task.fits.iter().map(|_| Err(FitFailure::Cancelled)).collect(),
            })
            .collect()
    }
}

impl CpuSession {
    /// Runs one unit; `finished` hears of every fit.
    pub(super) fn run_unit(
        &self,
        unit: &Unit<'_>,
        wanted: Wanted,
        control: Control<'_>,
        worker: &mut Worker,
        finished: &dyn Fn(usize),
    ) -> Vec<TaskOutcome> {
        let Some((source, toys)) = &unit.toys else {
            // `check_task` has seen the data; foreign kinds cannot come here.
            let own = self.dataset(&unit.task.data).ok().flatten();
            let data = own.as_ref().unwrap_or(&self.observed);
            return vec![self.run_task(unit.task, data, wanted, control, worker, finished)];
        };
        toys.clone()
            .map(|toy| {
                let drawn = source.draw(toy);
                let data = Dataset::new(&self.plan, &drawn.main, &drawn.aux);
                self.run_task(unit.task, &data, wanted, control, worker, finished)
            })
            .collect()
    }
}
