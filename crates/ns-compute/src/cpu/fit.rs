//! Runs the fits of one task, one after the other.

use ns_core::{
    Control, Data, FitFailure, FitOutcome, FitRequest, FitTask, OutcomeParts, Search, Seen, SessionError,
    Start, TaskOutcome,
};

use super::{CpuSession, put, take};
use crate::eval::Dataset;
use crate::optimise::{Problem, Worker, fit};
use crate::stop::Stop;
use crate::task::{FitDomain, check_data, needed, start_of};

/// Number of events per channel in the first preparatory fit of a subset of many events. Preparatory fits use fewer
/// events, and find the starting point of the fit of all events.
const FEW_EVENTS: usize = 8192;

/// Factor by which the number of events grows from one preparatory fit to the next.
const MORE_EVENTS: usize = 16;

/// Largest accepted difference per event between `-ln L` of gathered events and `-ln L` of all events. Gathered
/// events are weighted points, one per cell of a grid, which stand for the events in the cell. If the difference is
/// larger, the minimum of the gathered events is not used. This happens if a peak is narrower than a cell.
const MOST_DIFFERENCE: f64 = 1e-3;

impl CpuSession {
    /// Returns `data` together with the constants of their likelihood. Returns `None` if `data` are the observed data.
    /// Toys that have not been drawn yet are an error.
    pub(crate) fn dataset(&self, data: &Data) -> Result<Option<Dataset>, SessionError> {
        match &data.seen {
            Seen::Observed => Ok(None),
            Seen::Given(binned) => {
                check_data(&self.plan, binned)?;
                // If the given data contain no tables of events, the observed events are used.
                let events = if binned.events.is_empty() { &self.observed.events } else { &binned.events };
                Ok(Some(Dataset::new(&self.plan, &binned.main, &binned.aux, events)))
            }
            Seen::Drawn(_) => Err(SessionError::ForeignData {
                remedy: "give counts per bin and auxiliary data (toys can be fitted, not evaluated)",
            }),
        }
    }

    /// Runs all fits of one task in order. Calls `finished(1)` after each fit.
    pub(crate) fn run_task(
        &self,
        task: &FitTask,
        data: &Dataset,
        wanted: OutcomeParts,
        control: Control<'_>,
        worker: &mut Worker,
        finished: &dyn Fn(usize),
    ) -> TaskOutcome {
        let mut fits: Vec<Result<FitOutcome, FitFailure>> = Vec::with_capacity(task.fits.len());
        while let Some(fit) = self.next_fit(&task.fits, &fits, data, wanted, control, worker, false) {
            fits.push(fit);
            finished(1);
        }
        TaskOutcome { fits }
    }

    /// Runs the next fit of a task. `earlier` contains the results of the earlier fits of this task. Returns `None` if
    /// the task has no more fits.
    pub(super) fn next_fit(
        &self,
        requests: &[FitRequest],
        earlier: &[Result<FitOutcome, FitFailure>],
        data: &Dataset,
        wanted: OutcomeParts,
        control: Control<'_>,
        worker: &mut Worker,
        drawn: bool,
    ) -> Option<Result<FitOutcome, FitFailure>> {
        let request = requests.get(earlier.len())?;
        Some(if control.is_cancelled() {
            Err(FitFailure::Cancelled)
        } else if !needed(request, earlier) {
            Err(FitFailure::NotNeeded)
        } else {
            let start = start_of(&self.plan.structure.table, requests, earlier.len(), earlier);
            self.run_fit(request, start, data, wanted, control, worker, drawn)
        })
    }

    /// Returns the minimisation problem for one requested fit of one data set. `drawn` is true if the data are a toy.
    pub(crate) fn problem<'a>(
        &'a self,
        domain: FitDomain,
        data: &'a Dataset,
        drawn: bool,
        control: Control<'a>,
    ) -> Problem<'a> {
        Problem {
            plan: &self.plan,
            level: self.level,
            data,
            lower: domain.lower,
            upper: domain.upper,
            fixed: domain.fixed,
            integral_tolerance: domain.integral_tolerance,
            origin: domain.origin,
            tether: None,
            physical: drawn,
            stop: Stop::of(control),
        }
    }

    pub(crate) fn run_fit(
        &self,
        request: &FitRequest,
        start: Vec<f64>,
        data: &Dataset,
        wanted: OutcomeParts,
        control: Control<'_>,
        worker: &mut Worker,
        drawn: bool,
    ) -> Result<FitOutcome, FitFailure> {
        let table = &self.plan.structure.table;
        let domain = FitDomain::new(table, request);
        let mut start = start;
        domain.place(request, &mut start);
        // A starting point that a user gives may be in the valley of a higher minimum of the densities.
        let is_given = matches!(&request.start, Start::At(at) if request.origin.as_ref() == Some(at));
        let init = (is_given && self.plan.events.has_channels()).then(|| {
            let mut init = table.init.to_vec();
            domain.place(request, &mut init);
            init
        });
        let init = init.filter(|init| *init != start && request.search != Search::Local);
        let problem = self.problem(domain, data, drawn, control);
        let cold = matches!(request.start, Start::Init);
        let own = self.fit_from(request, (&start, cold), &problem, worker, wanted);
        let Some(init) = init else { return own };
        let other = self.fit_from(request, (&init, true), &problem, worker, wanted);
        match (own, other) {
            (Ok(mut own), Ok(mut other)) => {
                let (kept, left) = if is_lower(&other, &own) { (other, own) } else { (own, other) };
                (own, other) = (kept, left);
                own.n_search_iterations += other.all_iterations();
                own.n_evaluations += other.n_evaluations;
                Ok(own)
            }
            (Err(_), Ok(found)) | (Ok(found), Err(_)) => Ok(found),
            (Err(failure), Err(_)) => Err(failure),
        }
    }

    /// Makes one fit with the search of `request` from a starting point. The point is `cold` if it is far from any minimum.
    fn fit_from(
        &self,
        request: &FitRequest,
        (start, cold): (&[f64], bool),
        problem: &Problem<'_>,
        worker: &mut Worker,
        wanted: OutcomeParts,
    ) -> Result<FitOutcome, FitFailure> {
        if request.metric.is_none()
            && let Some((outcome, near)) = self.fit_few_events(request, (start, cold), problem, worker)
        {
            // The fits of fewer events have chosen the minimum. The fit of all events finds its exact position.
            let mut found = fit(worker, problem, &near, &[], Search::Local, false, None, wanted)?;
            found.n_search_iterations += outcome.0;
            found.n_evaluations += outcome.1;
            return Ok(found);
        }
        let further = match request.search {
            Search::Local => Vec::new(),
            Search::Standard | Search::Thorough => self.further_starts(problem, start),
        };
        fit(worker, problem, start, &further, request.search, cold, request.metric.as_ref(), wanted)
    }

    /// Finds the starting point of a fit of many events by preparatory fits of fewer events. First, the events are
    /// gathered in the cells of a grid. If this is not possible, or if the minimum of the gathered events cannot be
    /// used (see [`is_faithful`]), the preparatory fits use subsets of the events. In both cases each preparatory fit
    /// has more events than the one before, and starts at its minimum.
    ///
    /// Returns the numbers of iterations and evaluations of the preparatory fits, and their last minimum, at which
    /// the fit of all events starts. Returns `None` if the model has few events, or if a preparatory fit of a subset
    /// does not converge.
    fn fit_few_events(
        &self,
        request: &FitRequest,
        start: (&[f64], bool),
        problem: &Problem<'_>,
        worker: &mut Worker,
    ) -> Option<((usize, usize), Vec<f64>)> {
        let gathered = problem.data.gathered(&problem.plan.events, worker.scratch.events.crew.as_ref());
        if let Some((counts, near, value)) = self.fit_parts(request, start, problem, worker, gathered, true)
            && is_faithful(worker, problem, &near, value)
        {
            return Some((counts, near));
        }
        // These parts are subsets of the events. The first subset takes events at equal distances in the table, and
        // each later one takes more of them.
        let sizes = std::iter::successors(Some(FEW_EVENTS), |size| Some(size * MORE_EVENTS));
        let parts = sizes.map_while(|size| problem.data.thinned(size));
        let (counts, near, _) = self.fit_parts(request, start, problem, worker, parts, false)?;
        Some((counts, near))
    }

    /// Fits the data sets `parts` one after the other, each from the minimum of the fit before. The first fit makes
    /// the search for lower minima that the request asks for; the later fits make no search.
    ///
    /// Returns the numbers of iterations and evaluations, the last minimum, and `-ln L` there. Returns `None` if
    /// `parts` is empty or a fit does not converge. If `faithful` is true, also returns `None` if two successive
    /// parts are too different: at the minimum of the first part, their values of `-ln L` must be close (see
    /// [`is_faithful`]).
    fn fit_parts(
        &self,
        request: &FitRequest,
        (start, cold): (&[f64], bool),
        problem: &Problem<'_>,
        worker: &mut Worker,
        parts: impl IntoIterator<Item = Dataset>,
        faithful: bool,
    ) -> Option<((usize, usize), Vec<f64>, f64)> {
        let mut last: Option<((usize, usize), Vec<f64>, f64)> = None;
        for few in parts {
            // Only the integrals of the fit of all events decide whether they are exact enough.
            let part = Problem { data: &few, integral_tolerance: f64::INFINITY, ..problem.clone() };
            let ((iterations, evaluations), near, search, cold) = match last {
                None => ((0, 0), start.to_vec(), request.search, cold),
                Some((counts, near, value)) => {
                    if faithful && !is_faithful(worker, &part, &near, value) {
                        return None;
                    }
                    (counts, near, Search::Local, false)
                }
            };
            let further = match search {
                Search::Local => Vec::new(),
                Search::Standard | Search::Thorough => self.further_starts(&part, &near),
            };
            let outcome =
                fit(worker, &part, &near, &further, search, cold, None, OutcomeParts::default()).ok()?;
            if !outcome.converged() {
                return None;
            }
            let counts = (iterations + outcome.all_iterations(), evaluations + outcome.n_evaluations);
            last = Some((counts, outcome.parameters, outcome.nll));
        }
        last
    }

    /// Returns further starting points of a fit. A model with kinks (jumps of the slope of `-ln L`) has one: the
    /// minimum of the same model with smooth interpolation codes. Other models have none.
    pub(crate) fn further_starts(&self, problem: &Problem<'_>, start: &[f64]) -> Vec<Vec<f64>> {
        let mut starts = Vec::new();
        if let Some(smooth) = &self.smooth {
            let mut worker = take(&self.smooth_workers, smooth);
            let twin = Problem { plan: smooth, ..problem.clone() };
            let local =
                fit(&mut worker, &twin, start, &[], Search::Local, true, None, OutcomeParts::default());
            put(&self.smooth_workers, worker);
            if let Ok(outcome) = local {
                starts.push(outcome.parameters);
            }
        }
        starts
    }
}

/// Returns whether `fit` ends at a lower minimum than `other`. A certified minimum counts as lower than a point without a
/// certificate.
fn is_lower(fit: &FitOutcome, other: &FitOutcome) -> bool {
    let noise = 1e-9 + 64.0 * f64::EPSILON * other.nll.abs();
    match (fit.converged(), other.converged()) {
        (true, false) => true,
        (false, true) => false,
        _ => fit.nll < other.nll - noise,
    }
}

/// Returns whether `-ln L` of the data of `problem` at `point` is close to `value`, which is `-ln L` of fewer events.
/// The difference per event may be at most [`MOST_DIFFERENCE`].
fn is_faithful(worker: &mut Worker, problem: &Problem<'_>, point: &[f64], value: f64) -> bool {
    let data = problem.data;
    let here = worker.evaluate(problem, point, 0.0).value() + data.saturated_main + data.saturated_constraint;
    let events: f64 = data.events.iter().map(|table| table.sum_of_weights().abs()).sum();
    (here - value).abs() <= MOST_DIFFERENCE * events
}
