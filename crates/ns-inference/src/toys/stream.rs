//! Toys in a stream: handed to the session in batches, read one by one, forgotten.
//!
//! A fit that ends badly is made again from elsewhere, toy by toy, before the rows of its batch go on.
//! What is made again, and from where, depends on the toy alone, so rows depend on neither batches nor
//! threads.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use ns_core::{
    Control, Data, Drawn, FitFailure, FitOutcome, FitRequest, FitStatus, FitTask, Observer, Reason, Session,
    Sink, TaskOutcome, ToySource, Wanted,
};

use crate::InferenceError;

/// How often fits of one toy may be made again.
pub(super) const MOST_ROUNDS: usize = 3;

/// Toys of the first batch, and of the smallest and largest that follow.
const BATCH: (u64, u64, u64) = (1024, 256, 20_000);

/// How long a batch should take, in seconds: what is lost at most when a run is killed.
const BATCH_SECONDS: f64 = 4.0;

/// Toys of one kind: what they are drawn from and how they are fitted.
pub(super) struct Toys {
    pub(super) source: Arc<ToySource>,
    pub(super) fits: Vec<FitRequest>,
    pub(super) wanted: Wanted,
}

/// What a toy's fits say.
pub(super) enum Reading<Row> {
    /// All there is to say.
    Row(Row),
    /// These fits of it have to be made again, as described.
    Again(Requests),
}

/// Fits to be made again, each with its place among the fits of the toy.
pub(super) type Requests = Vec<(usize, FitRequest)>;

/// Takes rows that are ready.
pub(super) type Emit<'a, Row> = dyn FnMut(&[Row]) -> Result<(), InferenceError> + 'a;

/// Makes rows of outcomes.
pub(super) trait Reader {
    type Row;

    /// Reads toy `index`, some of whose fits have been made again `round` times. After
    /// [`MOST_ROUNDS`] there must be a row.
    fn read(&self, index: u64, outcome: &TaskOutcome, round: usize) -> Reading<Self::Row>;
}

/// Progress over several streams, counted in fits.
pub(super) struct Steps<'a> {
    pub(super) control: Control<'a>,
    pub(super) done: usize,
    pub(super) total: usize,
}

impl Observer for Steps<'_> {
    fn progress(&self, done: usize, _total: usize) {
        self.control.progress(self.done + done, self.total);
    }
}

/// Runs the toys of `range` and hands their rows to `emit`, in order and without gaps. Returns the number
/// of rows; fewer than asked for if the caller stopped the work.
///
/// # Errors
/// If the session refuses the tasks, the device fails, or `emit` does.
pub(super) fn stream<R: Reader>(
    session: &dyn Session,
    toys: &Toys,
    range: Range<u64>,
    batch: Option<u64>,
    steps: &mut Steps<'_>,
    reader: &R,
    emit: &mut Emit<'_, R::Row>,
) -> Result<u64, InferenceError> {
    let mut size = batch.unwrap_or(BATCH.0).max(1);
    let mut next = range.start;
    while next < range.end && !steps.control.is_cancelled() {
        let started = Instant::now();
        let end = range.end.min(next.saturating_add(size));
        let rows = run_batch(session, toys, next..end, steps, reader)?;
        emit(&rows)?;
        steps.done += toys.fits.len() * rows.len();
        next += rows.len() as u64;
        if next < end {
            break;
        }
        if batch.is_none() {
            let speed = rows.len() as f64 / started.elapsed().as_secs_f64().max(1e-9);
            size = ((BATCH_SECONDS * speed) as u64).clamp(BATCH.1, BATCH.2);
        }
    }
    Ok(next.saturating_sub(range.start))
}

/// The rows of one batch, up to the first toy that the caller kept from being done.
fn run_batch<R: Reader>(
    session: &dyn Session,
    toys: &Toys,
    range: Range<u64>,
    steps: &Steps<'_>,
    reader: &R,
) -> Result<Vec<R::Row>, InferenceError> {
    let drawn = |range: Range<u64>| Data::Drawn(Drawn { source: Arc::clone(&toys.source), toys: range });
    let mut read = Batch { reader, first: range.start, rows: Vec::new(), again: Vec::new(), stopped: false };
    let task = FitTask { data: drawn(range), fits: toys.fits.clone() };
    let control = Control { observer: Some(steps), cancel: steps.control.cancel };
    session.fit_batch(std::slice::from_ref(&task), toys.wanted, control, &mut read)?;

    let Batch { first, mut rows, mut again, .. } = read;
    let silent = Control { observer: None, cancel: steps.control.cancel };
    for round in 1..=MOST_ROUNDS {
        let tasks: Vec<FitTask> = again
            .iter()
            .map(|(place, _, requests)| {
                let index = first + *place as u64;
                let fits = requests.iter().map(|(_, request)| request.clone()).collect();
                FitTask { data: drawn(index..index + 1), fits }
            })
            .collect();
        if tasks.is_empty() {
            break;
        }
        let mut outcomes: Vec<TaskOutcome> = Vec::with_capacity(tasks.len());
        session.fit_batch(&tasks, toys.wanted, silent, &mut outcomes)?;
        let mut further = Vec::new();
        for ((place, mut outcome, requests), repeated) in std::mem::take(&mut again).into_iter().zip(outcomes)
        {
            if cancelled(&repeated) {
                continue;
            }
            for ((slot, _), fit) in requests.iter().zip(repeated.fits) {
                if let Some(old) = outcome.fits.get_mut(*slot) {
                    keep_better(old, fit);
                }
            }
            match reader.read(first + place as u64, &outcome, round) {
                Reading::Row(row) => {
                    if let Some(to) = rows.get_mut(place) {
                        *to = Some(row);
                    }
                }
                Reading::Again(requests) => further.push((place, outcome, requests)),
            }
        }
        again = further;
    }
    Ok(rows.into_iter().map_while(|row| row).collect())
}

/// A toy's place in its batch, its fits so far, and those to be made again.
type Pending = (usize, TaskOutcome, Requests);

/// Reads outcomes as they come; keeps those whose fits are made again.
struct Batch<'a, R: Reader> {
    reader: &'a R,
    first: u64,
    rows: Vec<Option<R::Row>>,
    again: Vec<Pending>,
    stopped: bool,
}

impl<R: Reader> Sink for Batch<'_, R> {
    fn accept(&mut self, _index: usize, outcome: TaskOutcome) {
        self.stopped |= cancelled(&outcome);
        if self.stopped {
            return;
        }
        let place = self.rows.len();
        match self.reader.read(self.first + place as u64, &outcome, 0) {
            Reading::Row(row) => self.rows.push(Some(row)),
            Reading::Again(requests) => {
                self.rows.push(None);
                self.again.push((place, outcome, requests));
            }
        }
    }
}

fn cancelled(outcome: &TaskOutcome) -> bool {
    outcome.fits.iter().any(|fit| matches!(fit, Err(FitFailure::Cancelled)))
}

/// Whether another start may bring the certificate that a fit lacks. A likelihood that falls without end has
/// no minimum to find.
pub(super) fn worth_repeating(fit: &FitOutcome) -> bool {
    !matches!(fit.status, FitStatus::Converged | FitStatus::NotConverged(Reason::Unbounded))
}

/// Replaces a fit by a repeated one that says more: a result instead of none, a certificate instead of
/// none, a lower minimum.
fn keep_better(old: &mut Result<FitOutcome, FitFailure>, new: Result<FitOutcome, FitFailure>) {
    let better = match (&*old, &new) {
        (Ok(old), Ok(new)) if old.converged() == new.converged() => new.nll < old.nll,
        (Ok(_), Ok(new)) => new.converged(),
        (Ok(_), Err(_)) => false,
        (Err(_), _) => true,
    };
    if better {
        *old = new;
    }
}
