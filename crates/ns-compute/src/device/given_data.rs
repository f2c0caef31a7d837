//! Fits given data (data that are not toys). One launch makes all fits of a batch. Further launches compute the
//! uncertainties of these fits.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ns_core::{Control, FitTask, LeftToCpu, Observations, OutcomeParts, Seen, SessionError, TaskOutcome};

use super::backend::{Backend, Buffer};
use super::batch::{LaunchResults, Launcher};
use super::check::{Checking, Sample, chosen};
use super::covariance::Fitted;
use super::input::Input;
use super::layout;
use super::session::{GpuSession, MOST_GIVEN};
use super::settle::{DataSets, Settling};
use super::shape;
use crate::eval::Dataset;
use crate::task::FitDomain;

/// Largest number of fits of a launch whose searches for further minima the CPU makes.
const FEW: usize = 4;

/// The sets of data of all tasks. For each set, the value of `-ln L` of the saturated model is computed once, when it
/// is first needed.
struct Sets<'a> {
    observed: &'a Dataset,
    /// For each task, the index of its data in `own`; `None` for the observed data.
    places: Vec<Option<usize>>,
    own: Vec<(&'a Observations, OnceLock<Dataset>)>,
}

impl<'a> Sets<'a> {
    fn new(observed: &'a Dataset, tasks: &'a [FitTask]) -> Self {
        let mut known: HashMap<*const Observations, usize> = HashMap::new();
        let mut own = Vec::new();
        let places = tasks.iter().map(|task| match &task.data.seen {
            Seen::Given(binned) => Some(*known.entry(Arc::as_ptr(binned)).or_insert_with(|| {
                own.push((binned.as_ref(), OnceLock::new()));
                own.len() - 1
            })),
            Seen::Observed | Seen::Drawn(_) => None,
        });
        let places = places.collect();
        Self { observed, places, own }
    }

    /// Returns the main counts and the auxiliary data of a task.
    fn numbers(&self, task: usize) -> (&'a [f64], &'a [f64]) {
        match self.place(task) {
            Some((binned, _)) => (&binned.main, &binned.aux),
            None => (&self.observed.main, &self.observed.aux),
        }
    }

    /// Copies all sets of data to the device, one after the other. The observed data are the first set.
    fn upload(&self, backend: &Arc<dyn Backend>) -> Result<Buffer, SessionError> {
        let own = self.own.iter().map(|(binned, _)| (&binned.main, &binned.aux));
        let all = std::iter::once((&self.observed.main, &self.observed.aux)).chain(own);
        let numbers: Vec<f64> = all.flat_map(|(main, aux)| main.iter().chain(aux)).copied().collect();
        Buffer::holding(backend, &numbers)
    }

    /// Returns the index of the set that contains a task's data, in the order of [`Self::upload`].
    fn number(&self, task: usize) -> usize {
        self.places.get(task).copied().flatten().map_or(0, |place| place + 1)
    }

    fn place(&self, task: usize) -> Option<&(&'a Observations, OnceLock<Dataset>)> {
        self.places.get(task).copied().flatten().and_then(|place| self.own.get(place))
    }
}

impl GpuSession {
    /// Returns how many of the first `tasks` can be fitted in one launch. The memory limits this number. It is at least
    /// 1 and at most `MOST_GIVEN`.
    pub(super) fn given_at_a_time(&self, tasks: &[FitTask], wanted: OutcomeParts) -> usize {
        let (n, bins) = (self.cpu.plan.n_parameters(), self.cpu.plan.n_bins());
        let per_task = 8 * (bins + self.cpu.plan.n_aux()) + size_of::<layout::Item>();
        // With a memory limit, the covariances of a launch count towards the limit, because they are stored on the
        // host.
        let covariance = if wanted.covariance && self.cpu.memory_limit.is_some() { 8 * n * n } else { 0 };
        let per_fit = Launcher::bytes_per_fit(&self.plan) + 8 * n + size_of::<layout::Request>() + covariance;
        let mut room = shape::at_a_time(self.backend.properties(), 1);
        let fits = |task: &&FitTask| {
            let left = room.checked_sub(per_task + per_fit * task.fits.len());
            room = left.unwrap_or(0);
            left.is_some()
        };
        tasks.iter().take(MOST_GIVEN).take_while(fits).count().max(1)
    }

    /// Makes all fits of tasks with given data. Returns `None`, without making any fit, if the CPU must make the fits.
    /// This happens if the model does not suit the device, or if a request frees a parameter that the model fixes.
    pub(super) fn run_given(
        &self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
        control: Control<'_>,
    ) -> Result<Option<Vec<TaskOutcome>>, SessionError> {
        let released = tasks.iter().flat_map(|task| &task.fits).any(|request| !request.released.is_empty());
        let kind = match &self.given_kind {
            Ok(_) if released => Err(LeftToCpu::Released),
            Ok(kind) => Ok(kind),
            Err(why) => Err(*why),
        };
        let kind = match kind {
            Ok(kind) => kind,
            Err(why) => {
                self.note_left(why);
                return Ok(None);
            }
        };
        let (table, plan) = (self.cpu.table(), &self.cpu.plan);
        let sets = Sets::new(&self.cpu.observed, tasks);
        // Returns the data of a task with `-ln L` of their saturated model. Earlier code has already checked the
        // data.
        let data_of = |i: usize| match sets.place(i) {
            Some((binned, made)) => made.get_or_init(|| Dataset::new(plan, &binned.main, &binned.aux, &[])),
            None => sets.observed,
        };
        let mut input = Input::new();
        let mut firsts = Vec::with_capacity(tasks.len());
        let mut n_fits = 0;
        for (i, task) in tasks.iter().enumerate() {
            for request in &task.fits {
                input.request(table, request, kind, self.looks(request));
            }
            let (main, aux) = sets.numbers(i);
            let data = input.data(main, aux);
            input.item(task.fits.len(), data);
            firsts.push(n_fits);
            n_fits += task.fits.len();
        }
        let fewest = tasks.iter().map(|task| task.fits.len()).min().unwrap_or(0);
        let samples: Vec<Sample<'_>> = chosen(tasks.len(), fewest)
            .map(|i| Sample::new(firsts[i], &tasks[i].fits, data_of(i).clone(), false))
            .collect();
        let probes: Vec<_> = samples.iter().map(|sample| sample.probe(&mut input)).collect();

        let mut slot = self.take_slot()?;
        self.launcher(kind.size)?.start(&mut slot, input, None, &probes)?;
        let results = slot.wait()?;
        let own = AtomicU64::new(0);
        let placement = self.covers(wanted);
        let apart = placement.is_some();
        let settle = |results: &LaunchResults<'_>, i: usize| {
            let (task, data) = (&tasks[i], data_of(i));
            let saturated = data.saturated_main + data.saturated_constraint;
            let sets = DataSets {
                first: &|_| firsts[i],
                saturated: &|_| Some(saturated),
                data: &|_| Cow::Borrowed(data),
            };
            let (own, control) = (&own, task.control(control));
            let (fitters, few) = (&[], n_fits <= FEW);
            let settling =
                Settling { cpu: &self.cpu, task, domains: &[], wanted, apart, control, fitters, few, own };
            settling.tasks(results, 1, &sets, &mut |work| self.lend(work))
        };
        let checking = Checking::new(self, results, &samples);
        let some = |tasks: Range<usize>| tasks.flat_map(|i| settle(&results, i)).collect();
        let mut outcomes = self.settle_all(tasks.len(), &some, checking.len(), &|i| checking.check(i));
        if !checking.end(own.load(Ordering::Relaxed))? {
            let none = LaunchResults::default();
            let some = |tasks: Range<usize>| tasks.flat_map(|i| settle(&none, i)).collect();
            outcomes = self.settle_all(tasks.len(), &some, 0, &|_| ());
        }
        self.put_slot(slot);
        if let Some(placement) = placement {
            let memory = sets.upload(&self.backend)?;
            let fitted = Fitted {
                domain: &|i, k| Cow::Owned(FitDomain::new(table, &tasks[i].fits[k])),
                sets: memory.at(),
                set_of: &|i| sets.number(i),
                data: &|i| Cow::Borrowed(data_of(i)),
                drawn: false,
            };
            self.add_uncertainties(placement, &mut outcomes, &fitted, wanted, control)?;
        }
        Ok(Some(outcomes))
    }
}

#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod divided;
#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
