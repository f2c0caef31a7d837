//! Turns tasks into minimisation problems: checks, defaults, start points.

use ns_core::{
    Control, Data, FitFailure, FitOutcome, FitRequest, FitStatus, FitTask, OutcomeParts, ParameterTable,
    Reason, Search, SessionError, Start, TaskOutcome,
};

use super::{CpuSession, put, take};
use crate::eval::Dataset;
use crate::optimise::{Problem, Worker, fit};
use crate::plan::Plan;

/// Refuses data for which the likelihood is not defined.
pub(crate) fn check_data(plan: &Plan, main: &[f64], aux: &[f64]) -> Result<(), SessionError> {
    let length = |what, actual: usize, expected: usize| {
        if actual == expected { Ok(()) } else { Err(SessionError::WrongLength { what, actual, expected }) }
    };
    length("main data", main.len(), plan.n_bins)?;
    length("auxiliary data", aux.len(), plan.n_aux)?;
    let bad = |what, values: &[f64], wrong: &dyn Fn(f64) -> bool, remedy| {
        values.iter().position(|&x| wrong(x)).map_or(Ok(()), |index| {
            Err(SessionError::BadNumber { what, index, value: values[index], remedy })
        })
    };
    bad("main data", main, &|x| !x.is_finite() || x < 0.0, "counts are finite and not negative")?;
    bad("auxiliary data", aux, &|x| !x.is_finite(), "auxiliary data are finite")?;
    for &a in &plan.poisson.aux {
        if aux[a] < 0.0 {
            return Err(SessionError::BadNumber {
                what: "auxiliary data",
                index: a,
                value: aux[a],
                remedy: "an auxiliary count is not negative",
            });
        }
    }
    Ok(())
}

/// Refuses an invalid task.
pub(crate) fn check_task(plan: &Plan, task: &FitTask) -> Result<(), SessionError> {
    let n = plan.n_parameters();
    let index = |index: usize| {
        if index < n { Ok(()) } else { Err(SessionError::NoSuchParameter { index, n_parameters: n }) }
    };
    match &task.data {
        Data::Binned(data) => check_data(plan, &data.main, &data.aux)?,
        Data::Drawn(drawn) => {
            for (what, actual, expected) in [
                ("main data of the toys' source", drawn.source.main.len(), plan.n_bins),
                ("auxiliary data of the toys' source", drawn.source.auxiliary.len(), plan.n_aux),
            ] {
                if actual != expected {
                    return Err(SessionError::WrongLength { what, actual, expected });
                }
            }
        }
        _ => {}
    }
    for (number, request) in task.fits.iter().enumerate() {
        // Sessions that run on a device look these up without a further check.
        let earlier = |what, fit: usize| {
            let remedy = "name a fit that comes before this one in its task";
            if fit < number {
                Ok(())
            } else {
                Err(SessionError::BadNumber { what, index: number, value: fit as f64, remedy })
            }
        };
        if let Some(condition) = &request.only_if {
            index(condition.parameter)?;
            earlier("earlier fit of a condition", condition.fit)?;
        }
        if let Start::Earlier(fit) | Start::Along(fit, _) = &request.start {
            earlier("earlier fit of a start point", *fit)?;
        }
        if let Start::At(point) | Start::Along(_, point) = &request.start {
            let what = match request.start {
                Start::At(_) => "start point",
                _ => "direction of the start point",
            };
            if point.len() != n {
                return Err(SessionError::WrongLength { what, actual: point.len(), expected: n });
            }
            finite(what, point)?;
        }
        for &(p, value) in &request.fixed {
            index(p)?;
            finite("fixed value", &[value])?;
        }
        for &p in &request.released {
            index(p)?;
        }
        for &(p, (lower, upper)) in &request.bounds {
            index(p)?;
            if !(lower <= upper) {
                return Err(SessionError::BadNumber {
                    what: "bounds",
                    index: p,
                    value: lower,
                    remedy: "the lower bound must not exceed the upper",
                });
            }
        }
    }
    Ok(())
}

/// Whether a fit is still needed after the earlier fits of its task.
pub(crate) fn needed(request: &FitRequest, earlier: &[Result<FitOutcome, FitFailure>]) -> bool {
    let Some(condition) = &request.only_if else { return true };
    match earlier.get(condition.fit) {
        Some(Ok(outcome)) if outcome.converged() => {
            let value = outcome.parameters.get(condition.parameter).copied().unwrap_or(f64::NAN);
            !(value < condition.range.0 || value > condition.range.1)
        }
        _ => true,
    }
}

/// Refuses NaN and infinity.
pub(crate) fn finite(what: &'static str, values: &[f64]) -> Result<(), SessionError> {
    values.iter().position(|x| !x.is_finite()).map_or(Ok(()), |index| {
        Err(SessionError::BadNumber { what, index, value: values[index], remedy: "give a finite number" })
    })
}

/// The domain of one request: bounds and fixed parameters.
#[derive(Debug, Clone)]
pub(crate) struct FitDomain {
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    pub(crate) fixed: Vec<bool>,
}

impl FitDomain {
    pub(crate) fn new(table: &ParameterTable, request: &FitRequest) -> Self {
        let mut domain = Self {
            lower: table.bounds.iter().map(|b| b.0).collect(),
            upper: table.bounds.iter().map(|b| b.1).collect(),
            fixed: table.fixed.clone(),
        };
        for &(p, (lower, upper)) in &request.bounds {
            domain.lower[p] = lower;
            domain.upper[p] = upper;
        }
        for &p in &request.released {
            domain.fixed[p] = false;
        }
        for (p, fixed) in domain.fixed.iter_mut().enumerate() {
            *fixed |= domain.lower[p] == domain.upper[p];
        }
        for &(p, _) in &request.fixed {
            domain.fixed[p] = true;
        }
        domain
    }

    /// Turns `point` into a start point: moved along the request's direction if it has one, with held parameters at their
    /// values, and in that case with the others inside the bounds.
    pub(crate) fn place(&self, request: &FitRequest, point: &mut [f64]) {
        if let (Start::Along(_, direction), Some(&(held, value))) = (&request.start, request.fixed.first()) {
            let length = (value - point[held]) / direction[held];
            if length.is_finite() {
                for (p, x) in point.iter_mut().enumerate() {
                    if !self.fixed[p] {
                        *x = (*x + length * direction[p]).clamp(self.lower[p], self.upper[p]);
                    }
                }
            }
        }
        for &(p, value) in &request.fixed {
            point[p] = value;
        }
    }
}

impl CpuSession {
    /// The data of a task, with their constants; `None` means the observed ones.
    pub(crate) fn dataset(&self, data: &Data) -> Result<Option<Dataset>, SessionError> {
        match data {
            Data::Observed => Ok(None),
            Data::Binned(binned) => {
                check_data(&self.plan, &binned.main, &binned.aux)?;
                Ok(Some(Dataset::new(&self.plan, &binned.main, &binned.aux)))
            }
            _ => Err(SessionError::ForeignData {
                remedy: "give counts per bin and auxiliary data (toys can be fitted, not evaluated)",
            }),
        }
    }

    /// Runs the fits of one task in order.
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
        for (index, request) in task.fits.iter().enumerate() {
            let result = if control.is_cancelled() {
                Err(FitFailure::Cancelled)
            } else if !needed(request, &fits) {
                Err(FitFailure::NotNeeded)
            } else {
                let start = self.start_of(&task.fits, index, &fits);
                self.run_fit(request, start, data, wanted, control, worker, false)
            };
            fits.push(result);
            finished(1);
        }
        TaskOutcome { fits }
    }

    /// The start point of request `index` of a task, before held parameters are set.
    pub(crate) fn start_of(
        &self,
        requests: &[FitRequest],
        index: usize,
        earlier: &[Result<FitOutcome, FitFailure>],
    ) -> Vec<f64> {
        let start = requests.get(index).map_or(&Start::Init, |request| &request.start);
        match start {
            Start::Init => self.plan.table.init.clone(),
            Start::At(point) => point.to_vec(),
            Start::Earlier(i) | Start::Along(i, _) => match earlier.get(*i) {
                Some(Ok(outcome)) if outcome.status != FitStatus::NotConverged(Reason::Unbounded) => {
                    outcome.parameters.clone()
                }
                _ if *i < index => self.start_of(requests, *i, earlier),
                _ => self.plan.table.init.clone(),
            },
        }
    }

    /// The problem of one request on one data set.
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
            cancel: control.cancel,
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
        let domain = FitDomain::new(&self.plan.table, request);
        let mut start = start;
        domain.place(request, &mut start);
        let problem = self.problem(domain, data, drawn, control);
        let further = match request.search {
            Search::Local => Vec::new(),
            Search::Standard | Search::Thorough => self.further_starts(&problem, &start),
        };
        let cold = matches!(request.start, Start::Init);
        let metric = request.metric.as_deref();
        fit(worker, &problem, &start, &further, request.search, cold, metric, wanted)
    }

    /// An additional start point for a model with kinks: the minimum under smooth codes.
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
