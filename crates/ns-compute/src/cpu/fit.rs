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

/// Largest number of events per channel in the first of the preparatory fits of a channel with many events.
const FEW_EVENTS: usize = 8192;

/// Ratio between the numbers of events of one preparatory fit and the fit before it.
const MORE_EVENTS: usize = 16;

/// Largest difference between `-ln L` of gathered events and `-ln L` of all events, divided by the number of events, at
/// which the minimum of the gathered events is used. (Gathered events are weighted points, one per cell of a grid.)
/// Peaks that are narrower than a cell make the difference larger.
const MOST_DIFFERENCE: f64 = 1e-3;

impl CpuSession {
    /// Returns given data with the constants of their likelihood; `None` for the observed data. Toys that are
    /// not drawn yet are an error.
    pub(crate) fn dataset(&self, data: &Data) -> Result<Option<Dataset>, SessionError> {
        match &data.seen {
            Seen::Observed => Ok(None),
            Seen::Given(binned) => {
                check_data(&self.plan, binned)?;
                // Data without tables of events have the observed events.
                let events = if binned.events.is_empty() { &self.observed.events } else { &binned.events };
                Ok(Some(Dataset::new(&self.plan, &binned.main, &binned.aux, events)))
            }
            Seen::Drawn(_) => Err(SessionError::ForeignData {
                remedy: "give counts per bin and auxiliary data (toys can be fitted, not evaluated)",
            }),
        }
    }

    /// Runs the fits of one task in order, and calls `finished(1)` after each.
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

    /// Runs the fit of a task that comes after the fits `earlier`; returns `None` after the last one.
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

    /// Returns the minimisation problem of one request on one data set. `drawn` is true if the data are a
    /// toy.
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
        let domain = FitDomain::new(&self.plan.structure.table, request);
        let mut start = start;
        domain.place(request, &mut start);
        let problem = self.problem(domain, data, drawn, control);
        if request.metric.is_none()
            && let Some((outcome, near)) = self.fit_few_events(request, &start, &problem, worker)
        {
            // The fit of few events chose the minimum; the fit of all events finds its exact position.
            let mut found = fit(worker, &problem, &near, &[], Search::Local, false, None, wanted)?;
            found.n_iterations += outcome.0;
            found.n_evaluations += outcome.1;
            return Ok(found);
        }
        let further = match request.search {
            Search::Local => Vec::new(),
            Search::Standard | Search::Thorough => self.further_starts(&problem, &start),
        };
        let cold = matches!(request.start, Start::Init);
        let metric = request.metric.as_ref();
        fit(worker, &problem, &start, &further, request.search, cold, metric, wanted)
    }

    /// Fits a small set of events that represents all events, and then larger sets, each from the minimum of the fit
    /// before. Returns the numbers of iterations and evaluations, and the last minimum, from which the fit of all
    /// events starts. Returns `None` if there are few events or a fit does not converge.
    fn fit_few_events(
        &self,
        request: &FitRequest,
        start: &[f64],
        problem: &Problem<'_>,
        worker: &mut Worker,
    ) -> Option<((usize, usize), Vec<f64>)> {
        let gathered = problem.data.gathered(&problem.plan.events, worker.scratch.events.crew.as_ref());
        if let Some((counts, near, value)) = self.fit_parts(request, start, problem, worker, gathered, true)
            && is_faithful(worker, problem, &near, value)
        {
            return Some((counts, near));
        }
        // First a subset of the events at equal distances, then larger subsets.
        let sizes = std::iter::successors(Some(FEW_EVENTS), |size| Some(size * MORE_EVENTS));
        let parts = sizes.map_while(|size| problem.data.thinned(size));
        let (counts, near, _) = self.fit_parts(request, start, problem, worker, parts, false)?;
        Some((counts, near))
    }

    /// Fits the sets of events `parts` one after the other. The first fit makes the search of the request, the other
    /// fits make none. Returns the numbers of iterations and evaluations, and the last minimum with `-ln L` there.
    /// Returns `None` if `parts` is empty, if a fit does not converge or, if `faithful` is true, if `-ln L` of the next
    /// part differs too much at the minimum of a part ([`is_faithful`]).
    fn fit_parts(
        &self,
        request: &FitRequest,
        start: &[f64],
        problem: &Problem<'_>,
        worker: &mut Worker,
        parts: impl IntoIterator<Item = Dataset>,
        faithful: bool,
    ) -> Option<((usize, usize), Vec<f64>, f64)> {
        let mut last: Option<((usize, usize), Vec<f64>, f64)> = None;
        for few in parts {
            let part = Problem { data: &few, ..problem.clone() };
            let ((iterations, evaluations), near, search, cold) = match last {
                None => ((0, 0), start.to_vec(), request.search, matches!(request.start, Start::Init)),
                Some((counts, near, value)) => {
                    if faithful && !is_faithful(worker, &part, &near, value) {
                        return None;
                    }
                    (counts, near, Search::Local, false)
                }
            };
            let further =
                if search == Search::Local { Vec::new() } else { self.further_starts(&part, &near) };
            let outcome =
                fit(worker, &part, &near, &further, search, cold, None, OutcomeParts::default()).ok()?;
            if !outcome.converged() {
                return None;
            }
            let counts = (iterations + outcome.n_iterations, evaluations + outcome.n_evaluations);
            last = Some((counts, outcome.parameters, outcome.nll));
        }
        last
    }

    /// Returns further starting points of a fit: for a model with kinks the minimum under smooth codes,
    /// otherwise none.
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

/// Returns whether `-ln L` at `point` differs from `value`, which was computed from fewer events, by at most
/// [`MOST_DIFFERENCE`] per event.
fn is_faithful(worker: &mut Worker, problem: &Problem<'_>, point: &[f64], value: f64) -> bool {
    let data = problem.data;
    let here = worker.evaluate(problem, point, 0.0).value() + data.saturated_main + data.saturated_constraint;
    let events: f64 = data.events.iter().map(|table| table.sum_of_weights().abs()).sum();
    (here - value).abs() <= MOST_DIFFERENCE * events
}
