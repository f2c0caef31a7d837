//! Units of work for threads: one task, or a few toys of one task.

use std::ops::Range;
use std::sync::Arc;

use ns_core::{
    AuxiliarySource, Control, FitFailure, FitOutcome, FitRequest, FitTask, OutcomeParts, Search, Seen, Start,
    TaskOutcome, ToySource,
};

use super::{CpuSession, put, take};
use crate::eval::Dataset;
use crate::lanes::{Toy, ToyEnd, ToyFitter, WIDTH};
use crate::optimise::{Worker, fit};
use crate::task::{FitDomain, needed, start_of};

/// Number of toys of one unit: enough to keep all lanes busy, few enough to balance threads. Results do not
/// depend on it.
pub(super) const TOYS_PER_UNIT: u64 = 128;

/// The work that a thread takes at a time.
pub(super) struct WorkUnit<'a> {
    pub(super) task: &'a FitTask,
    /// Toys of the task's source; `None` where the data are given.
    pub(super) toys: Option<UnitToys<'a>>,
}

/// Toys of one unit.
pub(super) struct UnitToys<'a> {
    source: &'a ToySource,
    range: Range<u64>,
    /// The shared inputs of the fits of each request; `None` where the scalar optimiser makes them.
    fitters: Arc<Vec<Option<ToyFitter>>>,
}

impl<'a> WorkUnit<'a> {
    /// The units of a task, in order, with so many toys each.
    pub(super) fn of(
        session: &CpuSession,
        task: &'a FitTask,
        most: u64,
    ) -> Box<dyn Iterator<Item = Self> + 'a> {
        let Seen::Drawn(drawn) = &task.data.seen else {
            return Box::new(std::iter::once(Self { task, toys: None }));
        };
        let (first, end) = (drawn.toys.start, drawn.toys.end.max(drawn.toys.start));
        let source = drawn.source.as_ref();
        let fitters = Arc::new(session.fitters(source, &task.fits, false));
        Box::new((first..end).step_by(most as usize).map(move |start| {
            let range = start..end.min(start.saturating_add(most));
            Self { task, toys: Some(UnitToys { source, range, fitters: Arc::clone(&fitters) }) }
        }))
    }

    /// Number of its outcomes.
    pub(super) fn len(&self) -> usize {
        self.toys.as_ref().map_or(1, |toys| (toys.range.end - toys.range.start) as usize)
    }

    /// Outcomes of a unit that was cancelled before it began.
    pub(super) fn cancelled(&self) -> Vec<TaskOutcome> {
        (0..self.len())
            .map(|_| TaskOutcome {
                fits: self.task.fits.iter().map(|_| Err(FitFailure::Cancelled)).collect(),
            })
            .collect()
    }
}

impl CpuSession {
    /// Runs one unit; `finished` is called with the number of finished fits.
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
                // `check_task` has checked the data; unknown kinds are refused there.
                let own = self.dataset(&unit.task.data).ok().flatten();
                let data = own.as_ref().unwrap_or(&self.observed);
                vec![self.run_task(unit.task, data, wanted, control, worker, finished)]
            }
        }
    }

    /// The shared inputs of the fits of a run of toys, request by request.
    /// `any_code`: for a device, which also fits models with kinks and exponential interpolation.
    pub(crate) fn fitters(
        &self,
        source: &ToySource,
        requests: &[FitRequest],
        any_code: bool,
    ) -> Vec<Option<ToyFitter>> {
        let plan = &self.plan;
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
            // Devices try all sides of kinks, as the search on the CPU does.
            let sides = any_code && plan.structure.has_kinks && request.search == Search::Standard;
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
            let apart = matches!(request.start, Start::Earlier(_) | Start::Along(..));
            ToyFitter::new(self.level, plan, &point, &aux, parts, apart, any_code, &mut worker.scratch)
        });
        let fitters = fitters.collect();
        put(&self.workers, worker);
        fitters
    }

    /// Draws the toys of a unit and runs the task's requests on all of them, one request after the other.
    fn run_toys(
        &self,
        task: &FitTask,
        toys: &UnitToys<'_>,
        wanted: OutcomeParts,
        control: Control<'_>,
        worker: &mut Worker,
        finished: &dyn Fn(usize),
    ) -> Vec<TaskOutcome> {
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

    /// The data of a unit's toys.
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

    /// One request on all toys of a unit, in lanes.
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
        let mut ends = fitter.run(self.level, plan, &jobs, control.cancel).into_iter();
        // An interrupted search may have missed a lower minimum.
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

    /// The outcome of a fit in lanes, which started at `start`.
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
            // Uncertainties need the exact Hessian; a fit that lanes could not finish needs Newton's method.
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

    /// Finishes a fit that lanes have begun, by the scalar optimiser from `start`. Where there may be several
    /// minima, it also starts from the points `further` and makes a search.
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
