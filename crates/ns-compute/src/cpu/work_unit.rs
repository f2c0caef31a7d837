//! Units of work for threads: one task, or some toys of one task.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use ns_core::{
    AuxiliarySource, Control, FitFailure, FitOutcome, FitRequest, FitStatus, FitTask, OutcomeParts, Search,
    Seen, Start, TaskOutcome, ToySource,
};

use super::event_toys::UnitOfToys;
use super::kept_fitters::Fitters;
use super::{CpuSession, put, take};
use crate::eval::Dataset;
use crate::lanes::{Further, PILOTS, Toy, ToyEnd, ToyFitter, WIDTH};
use crate::optimise::{Worker, fit};
use crate::stop::Stop;
use crate::task::{FitDomain, needed, start_of};

/// Largest number of toys in one unit. This number is large enough to fill all SIMD lanes (eight toys are fitted at
/// once), and small enough to give all threads about the same work. Results of fits do not depend on it.
pub(super) const TOYS_PER_UNIT: u64 = 128;

/// Largest number of toys in one unit whose descents another device makes. A device needs many descents at a time, and the
/// threads of the CPU that certify them need units of their own.
pub(super) const TOYS_PER_UNIT_ON_DEVICES: u64 = 256;

/// Number of the first toy of the trial that decides how lanes descend. No analysis has so many toys.
const FIRST_PILOT: u64 = 1 << 40;

/// Sizes of the work units of a batch. The units become smaller towards the end of the batch, so all threads finish
/// at about the same time (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Comput. C-36 (1987) 1425).
pub(super) struct UnitSizes {
    /// Number of toys of the batch that are not assigned to a unit yet.
    left: Cell<u64>,
    threads: u64,
    /// Largest number of toys in a unit.
    most: u64,
}

impl UnitSizes {
    /// Returns the sizes of the units for a batch of `toys` toys on `threads` threads. A unit has at most `most`
    /// toys.
    pub(super) fn new(toys: u64, threads: usize, most: u64) -> Self {
        Self { left: Cell::new(toys), threads: threads as u64, most }
    }

    /// Returns the number of toys in the next unit of a task that has `available` toys left. With several threads, the
    /// number is half of a thread's share of the toys that are left in the batch, rounded up to a multiple of the
    /// number of toys that are fitted at once. With one thread, it is the largest number of toys in a unit.
    fn next(&self, available: u64) -> u64 {
        let left = self.left.get();
        let share = if self.threads > 1 { left.div_ceil(2 * self.threads) } else { self.most };
        let size = share.next_multiple_of(WIDTH as u64).min(self.most).max(1).min(available);
        self.left.set(left.saturating_sub(size));
        size
    }
}

/// The work that a thread takes at a time: a whole task, or some toys of a task.
pub(super) struct WorkUnit<'a> {
    pub(super) task: &'a FitTask,
    /// Toys of this unit. `None` if the data of the task are observed or given data.
    pub(super) toys: Option<UnitToys<'a>>,
}

/// The toys of one unit.
pub(super) struct UnitToys<'a> {
    source: &'a ToySource,
    range: Range<u64>,
    /// Inputs that the fits of all toys share, one element per request of the task. An element is `None` if the fits
    /// of that request are made by the scalar optimiser, which makes one fit at a time.
    fitters: Fitters,
}

impl<'a> WorkUnit<'a> {
    /// Splits a task into units, in the order of its toys. A task without toys is one unit.
    pub(super) fn of(
        session: &CpuSession,
        task: &'a FitTask,
        sizes: &'a UnitSizes,
    ) -> Box<dyn Iterator<Item = Self> + 'a> {
        let Seen::Drawn(drawn) = &task.data.seen else {
            return Box::new(std::iter::once(Self { task, toys: None }));
        };
        let (first, end) = (drawn.toys.start, drawn.toys.end.max(drawn.toys.start));
        let source = drawn.source.as_ref();
        let prepare = || session.fitters(source, &task.fits, false);
        let fitters = session.fitters.get(&drawn.source, &task.fits, prepare);
        let mut start = first;
        Box::new(std::iter::from_fn(move || {
            let range = start..start + sizes.next(end - start);
            start = range.end;
            let toys = UnitToys { source, range, fitters: Arc::clone(&fitters) };
            (toys.range.start < end).then_some(Self { task, toys: Some(toys) })
        }))
    }

    /// Returns the number of task outcomes of the unit: one per toy, or 1 for a task without toys.
    pub(super) fn len(&self) -> usize {
        self.toys.as_ref().map_or(1, |toys| (toys.range.end - toys.range.start) as usize)
    }

    /// Returns the outcomes of a unit that was cancelled before it began.
    pub(super) fn cancelled(&self) -> Vec<TaskOutcome> {
        (0..self.len())
            .map(|_| TaskOutcome {
                fits: self.task.fits.iter().map(|_| Err(FitFailure::Cancelled)).collect(),
            })
            .collect()
    }
}

impl CpuSession {
    /// Runs one unit and returns its outcomes. Calls `finished` with the number of fits that have just
    /// finished.
    pub(super) fn run_unit(
        &self,
        unit: &WorkUnit<'_>,
        wanted: OutcomeParts,
        control: Control<'_>,
        worker: &mut Worker,
        finished: &dyn Fn(usize),
    ) -> Vec<TaskOutcome> {
        match &unit.toys {
            Some(toys) => self.run_toys(unit.task, toys, wanted, control, worker, finished),
            None => {
                // `check_task` has checked the data already, so `dataset` returns no error here.
                let own = self.dataset(&unit.task.data).ok().flatten();
                let data = own.as_ref().unwrap_or(&self.observed);
                vec![self.run_task(unit.task, data, wanted, control, worker, finished)]
            }
        }
    }

    /// Prepares the inputs that the fits of all toys of `source` share, one element per request. An element is `None`
    /// if the fits of that request are made by the scalar optimiser, which makes one fit at a time. If `for_gpu` is
    /// true, models with kinks (jumps of the slope of `-ln L`) or exponential interpolation are accepted, and large models
    /// whose bins fall into groups.
    pub(crate) fn fitters(
        &self,
        source: &ToySource,
        requests: &[FitRequest],
        for_gpu: bool,
    ) -> Vec<Option<ToyFitter>> {
        let plan = &self.plan;
        if plan.has_formula_terms() {
            return requests.iter().map(|_| None).collect();
        }
        let aux: Vec<f64> = source
            .auxiliary
            .iter()
            .map(|datum| match datum {
                AuxiliarySource::Gaussian(normal) => normal.mean(),
                AuxiliarySource::Poisson(poisson) => poisson.mean(),
            })
            .collect();
        let mut worker = take(&self.workers, plan);
        let fitters = requests.iter().map(|request| {
            // On GPUs a fit tries both sides of every kink, as the search on the CPU does.
            let sides = for_gpu && plan.structure.has_kinks && request.search == Search::Standard;
            if request.search != Search::Local && !sides {
                return None;
            }
            let domain = FitDomain::new(&plan.structure.table, request);
            let mut point = match &request.start {
                Start::At(point) => point.to_vec(),
                _ => source.parameters.clone(),
            };
            domain.place(request, &mut point);
            let parts = (domain.lower, domain.upper, domain.fixed.as_slice());
            let further = match request.start {
                _ if request.single_descent => Further::None,
                Start::Earlier(_) | Start::Along(..) => Further::AndPoint,
                Start::Init | Start::At(_) => Further::Shared,
            };
            let pilots = || {
                let range = FIRST_PILOT..FIRST_PILOT + PILOTS as u64;
                self.draw(&UnitToys { source, range, fitters: Arc::default() })
            };
            let scratch = &mut worker.scratch;
            let fitter =
                ToyFitter::new(self.level, plan, &point, &aux, parts, further, for_gpu, &pilots, scratch)?;
            Some(match &self.descents {
                Some(device) if !for_gpu => fitter.by(device.as_ref(), self.level, plan),
                _ => fitter,
            })
        });
        let fitters = fitters.collect();
        put(&self.workers, worker);
        fitters
    }

    /// Draws the toys of a unit and makes all fits of the task to each toy. In a model without event channels, the
    /// fit of one request is made to all toys before the fit of the next request.
    fn run_toys(
        &self,
        task: &FitTask,
        toys: &UnitToys<'_>,
        wanted: OutcomeParts,
        control: Control<'_>,
        worker: &mut Worker,
        finished: &dyn Fn(usize),
    ) -> Vec<TaskOutcome> {
        if self.plan.events.has_channels() {
            let range = toys.range.clone();
            let unit = UnitOfToys { session: self, task, source: toys.source, range, wanted, control };
            return unit.run(worker, finished);
        }
        let data = self.draw(toys);
        let mut outcomes: Vec<TaskOutcome> =
            data.iter().map(|_| TaskOutcome { fits: Vec::with_capacity(task.fits.len()) }).collect();
        for (index, fitter) in toys.fitters.iter().enumerate() {
            if control.is_cancelled() {
                outcomes.iter_mut().for_each(|outcome| outcome.fits.push(Err(FitFailure::Cancelled)));
                continue;
            }
            match fitter {
                Some(fitter) => {
                    self.run_fitter(&task.fits, index, fitter, &data, wanted, control, worker, &mut outcomes);
                }
                None => {
                    for (data, outcome) in data.iter().zip(&mut outcomes) {
                        let fit =
                            self.next_fit(&task.fits, &outcome.fits, data, wanted, control, worker, true);
                        outcome.fits.extend(fit);
                    }
                }
            }
            finished(data.len());
        }
        outcomes
    }

    /// Draws the data of the toys of a unit.
    fn draw(&self, toys: &UnitToys<'_>) -> Vec<Dataset> {
        let plan = &self.plan;
        let mut data: Vec<Dataset> = toys.range.clone().map(|_| Dataset::empty(plan)).collect();
        let (mut main, mut aux) = (vec![0.0; plan.n_bins() * WIDTH], vec![0.0; plan.n_aux() * WIDTH]);
        for (eight, first) in data.chunks_mut(WIDTH).zip(toys.range.clone().step_by(WIDTH)) {
            toys.source.draw_eight_into(first, &mut main, &mut aux);
            for (lane, toy) in eight.iter_mut().enumerate() {
                for (to, from) in toy.main.iter_mut().zip(main.iter().skip(lane).step_by(WIDTH)) {
                    *to = *from;
                }
                for (to, from) in toy.aux.iter_mut().zip(aux.iter().skip(lane).step_by(WIDTH)) {
                    *to = *from;
                }
                toy.saturate(plan);
            }
        }
        data
    }

    /// Makes the fits of one request to all toys of a unit. Eight toys are fitted at once, one in each SIMD lane.
    /// Appends the results to `outcomes`.
    fn run_fitter(
        &self,
        requests: &[FitRequest],
        index: usize,
        fitter: &ToyFitter,
        data: &[Dataset],
        wanted: OutcomeParts,
        control: Control<'_>,
        worker: &mut Worker,
        outcomes: &mut [TaskOutcome],
    ) {
        let plan = &self.plan;
        let Some(request) = requests.get(index) else { return };
        let domain = FitDomain::new(&plan.structure.table, request);
        let asked: Vec<bool> = outcomes.iter().map(|outcome| needed(request, &outcome.fits)).collect();
        let chosen = || asked.iter().zip(data).zip(outcomes.iter()).filter(|((asked, _), _)| **asked);
        let starts: Vec<Vec<f64>> = chosen()
            .map(|((_, _), outcome)| {
                domain.begin(request, start_of(&plan.structure.table, requests, index, &outcome.fits))
            })
            .collect();
        let jobs: Vec<Toy<'_>> = chosen()
            .zip(&starts)
            .map(|(((_, data), _), start)| Toy {
                main: &data.main,
                aux: &data.aux,
                start,
                saturated: data.saturated_main + data.saturated_constraint,
            })
            .collect();
        let mut ends = fitter.run(self.level, plan, &jobs, Stop::of(control)).into_iter();
        // If the search was interrupted, a lower minimum may have been missed.
        let cut_short = control.is_cancelled();
        for ((asked, data), outcome) in asked.iter().zip(data).zip(outcomes.iter_mut()) {
            if !asked {
                outcome.fits.push(Err(FitFailure::NotNeeded));
                continue;
            }
            let start = || start_of(&plan.structure.table, requests, index, &outcome.fits);
            let fit = match ends.next().filter(|_| !cut_short) {
                Some(end) => self.settle_end(request, fitter, end, &start, data, wanted, control, worker),
                None => Err(FitFailure::Cancelled),
            };
            outcome.fits.push(fit);
        }
    }

    /// Returns the outcome of a toy's fit. `end` is what a SIMD lane (one of eight fits that SIMD instructions
    /// compute at once) or a GPU has computed. If that fit is not finished, or if uncertainties are wanted, the
    /// scalar optimiser continues it. The scalar optimiser starts at the point that the fit has reached, or at
    /// `start` if there is no such point.
    pub(crate) fn settle_end(
        &self,
        request: &FitRequest,
        fitter: &ToyFitter,
        end: ToyEnd,
        start: &dyn Fn() -> Vec<f64>,
        data: &Dataset,
        wanted: OutcomeParts,
        control: Control<'_>,
        worker: &mut Worker,
    ) -> Result<FitOutcome, FitFailure> {
        match end {
            ToyEnd::Fitted(fit) if !(wanted.uncertainties || wanted.covariance) => Ok(fit),
            // `-ln L` falls without limit, so there is no minimum at which uncertainties exist. A new descent could
            // end elsewhere, and the status of a toy must not depend on what is wanted.
            ToyEnd::Fitted(fit) if fit.status != FitStatus::Converged => Ok(fit),
            // Uncertainties need the exact Hessian, which only the scalar optimiser computes.
            ToyEnd::Fitted(FitOutcome { parameters, .. }) => {
                self.again(request, &parameters, &[], data, wanted, control, worker)
            }
            ToyEnd::Left { reached, known } => {
                let further: Vec<Vec<f64>> =
                    known.into_iter().chain(fitter.other_starts().iter().cloned()).collect();
                let reached = reached.unwrap_or_else(start);
                self.again(request, &reached, &further, data, wanted, control, worker)
            }
        }
    }

    /// Finishes a fit that a SIMD lane (one of eight fits that SIMD instructions compute at once) or a GPU has begun.
    /// The scalar optimiser descends from `start`. If `further` is not empty, it also descends from the points in
    /// `further` and searches for lower minima.
    pub(crate) fn again(
        &self,
        request: &FitRequest,
        start: &[f64],
        further: &[Vec<f64>],
        data: &Dataset,
        wanted: OutcomeParts,
        control: Control<'_>,
        worker: &mut Worker,
    ) -> Result<FitOutcome, FitFailure> {
        if control.is_cancelled() {
            return Err(FitFailure::Cancelled);
        }
        let domain = FitDomain::new(&self.plan.structure.table, request);
        let search = if further.is_empty() { Search::Local } else { Search::Standard };
        let mut start = start.to_vec();
        for &(p, value) in &request.fixed {
            start[p] = value;
        }
        fit(worker, &self.problem(domain, data, true, control), &start, further, search, false, None, wanted)
    }
}
