//! Runs toys in batches and turns the fits of each toy into a row of results. The memory does not grow with the
//! number of toys.
//!
//! A fit that did not converge is repeated from other starting points before the rows of its batch are passed on. The
//! repeated fits and their starting points depend only on the data of the toy. Rows therefore do not depend on
//! batches or threads.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use ns_core::{
    Control, Data, Device, Drawn, FitFailure, FitOutcome, FitRequest, FitStatus, FitTask, Model, Observer,
    OutcomeParts, Reason, Session, Sink, TaskOutcome, ToySource,
};

use super::{RowSink, ToyRun};
use crate::InferenceError;

/// Largest number of rounds of repeated fits for one toy.
pub(super) const MOST_ROUNDS: usize = 3;

/// Numbers of toys in a batch on the CPU: the number in the first batch, the smallest number in later batches, and
/// the largest number in later batches. The first batch is small, because nothing is known about the speed yet, and a toy
/// of a large model may take a second.
const CPU_BATCH: (u64, u64, u64) = (128, 16, 20_000);

/// Numbers of toys in a batch on a GPU: the number in the first batch, the smallest number in later batches, and the
/// largest number in later batches. A GPU is faster with large batches.
const DEVICE_BATCH: (u64, u64, u64) = (32_768, 2048, 400_000);

/// Intended duration of a batch, in seconds. If a run is killed, at most one batch is lost.
const BATCH_SECONDS: f64 = 4.0;

/// Largest number of rows of a batch for which memory is reserved before the rows exist.
const MOST_RESERVED: usize = 1 << 16;

/// Toys that are drawn from the same distributions. Contains these distributions, and the requests of the fits that
/// are made to each toy.
pub(super) struct Toys {
    /// Data of the analysis. In the fit of a toy, the counts of the toy replace the counts of these data.
    pub(super) of: Data,
    pub(super) source: Arc<ToySource>,
    pub(super) fits: Vec<FitRequest>,
    pub(super) wanted: OutcomeParts,
}

impl Toys {
    /// Returns the data of a fit task that fits the toys with indices in `toys`. The toys are drawn when they are
    /// fitted.
    pub(super) fn drawn(&self, toys: Range<u64>) -> Data {
        self.of.with(Drawn { source: Arc::clone(&self.source), toys })
    }
}

/// The answer of a [`Reader`] to the fits of a toy: the row of the toy, or requests to make fits again.
pub(super) enum Reading<Row> {
    /// A finished row.
    Row(Row),
    /// Fits that have to be made again, with new requests.
    Again(Requests),
}

/// Requests of fits to a toy that have to be made again, each with the index of the fit among the fits of the toy. An
/// index equal to the number of fits means an additional fit.
pub(super) type Requests = Vec<(usize, FitRequest)>;

/// Makes the row of a toy from the outcomes of its fits.
pub(super) trait Reader {
    type Row;

    /// Makes a row from `outcome`, the outcomes of the fits of toy `index` after `round` rounds of repeated fits, or
    /// requests more fits. After [`MOST_ROUNDS`] rounds it must make a row.
    fn read(&self, model: &Model, index: u64, outcome: &TaskOutcome, round: usize) -> Reading<Self::Row>;
}

/// Observer of one batch. The session counts fits. The observer reports the number of toys that are finished in all
/// batches so far.
struct Steps<'a> {
    control: Control<'a>,
    /// Number of finished fits of earlier batches.
    done: usize,
    /// Number of all fits.
    fits: usize,
    /// Number of all toys.
    toys: usize,
}

impl Observer for Steps<'_> {
    fn progress(&self, done: usize, _total: usize) {
        let fits = self.fits.max(1) as u128;
        let toys = (self.done + done) as u128 * self.toys as u128 / fits;
        self.control.progress(usize::try_from(toys).unwrap_or(usize::MAX).min(self.toys), self.toys);
    }
}

/// A range of toys, and the reader that makes rows from their fits.
pub(super) struct ToySequence<'a, R> {
    pub(super) toys: &'a Toys,
    pub(super) range: Range<u64>,
    pub(super) reader: &'a R,
}

/// Runs the toys of all `sequences` and passes their rows to `sink`, in order and without gaps. Each call of `sink`
/// has rows of one sequence only. A batch may contain toys of several sequences. `batch` is the number of toys in a
/// batch; if `None`, this number is chosen from the measured speed. If the caller stops the work, only some of the
/// rows are passed on.
///
/// # Errors
/// If the session rejects the tasks, the device fails, or the sink returns an error.
pub(super) fn stream<R: Reader>(
    (model, session): (&Model, &dyn Session),
    sequences: &[ToySequence<'_, R>],
    batch: Option<u64>,
    control: Control<'_>,
    sink: &mut dyn RowSink<R::Row>,
) -> Result<ToyRun, InferenceError> {
    let began = Instant::now();
    let count = |s: &ToySequence<'_, R>| s.range.end.saturating_sub(s.range.start);
    let asked: u64 = sequences.iter().map(count).sum();
    let fits = sequences.iter().map(|s| count(s).saturating_mul(s.toys.fits.len() as u64));
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let fits = number(fits.fold(0, u64::saturating_add));
    let mut steps = Steps { control, done: 0, fits, toys: number(asked) };
    let sizes = if session.device() == Device::Cpu { CPU_BATCH } else { DEVICE_BATCH };
    let mut size = batch.unwrap_or(sizes.0).max(1);
    let mut rest: VecDeque<ToySequence<'_, R>> =
        sequences.iter().map(|s| ToySequence { range: s.range.clone(), ..*s }).collect();
    let mut n_rows = 0;
    while !steps.control.is_cancelled() {
        let pieces = take(&mut rest, size);
        if pieces.is_empty() {
            break;
        }
        let started = Instant::now();
        let wanted: u64 = pieces.iter().map(|piece| piece.range.end - piece.range.start).sum();
        let read = run_batch((model, session), &pieces, &steps)?;
        let mut done = 0;
        for (piece, rows) in pieces.iter().zip(&read) {
            if !rows.is_empty() {
                sink.rows(rows)?;
            }
            steps.done += piece.toys.fits.len() * rows.len();
            done += rows.len() as u64;
        }
        n_rows += done;
        if done < wanted {
            break;
        }
        if batch.is_none() {
            let speed = done as f64 / started.elapsed().as_secs_f64().max(1e-9);
            size = ((BATCH_SECONDS * speed) as u64).clamp(sizes.1, sizes.2);
        }
    }
    Ok(ToyRun { n_rows, interrupted: n_rows < asked, wall_s: began.elapsed().as_secs_f64() })
}

/// Removes the next batch from `rest`. The batch has at most `most` toys. It ends before a toy for which other parts
/// of the fit outcomes are wanted ([`Toys::wanted`]). Returns the batch as a list of pieces; each piece is a range of
/// toys of one sequence.
fn take<'a, R>(rest: &mut VecDeque<ToySequence<'a, R>>, most: u64) -> Vec<ToySequence<'a, R>> {
    let mut pieces: Vec<ToySequence<'a, R>> = Vec::new();
    let mut left = most;
    while let Some(next) = rest.front_mut() {
        let (start, end) = (next.range.start, next.range.end);
        if start >= end {
            rest.pop_front();
            continue;
        }
        let others = pieces.first().is_some_and(|first| first.toys.wanted != next.toys.wanted);
        if left == 0 || others {
            break;
        }
        next.range.start = end.min(start.saturating_add(left));
        left -= next.range.start - start;
        pieces.push(ToySequence { range: start..next.range.start, ..*next });
    }
    pieces
}

/// Runs one batch of toys. Returns one list of rows per piece (a range of toys of one sequence). If the work was
/// stopped, the rows end before the first unfinished toy.
fn run_batch<R: Reader>(
    (model, session): (&Model, &dyn Session),
    pieces: &[ToySequence<'_, R>],
    steps: &Steps<'_>,
) -> Result<Vec<Vec<R::Row>>, InferenceError> {
    let Some(wanted) = pieces.first().map(|piece| piece.toys.wanted) else { return Ok(Vec::new()) };
    let drawn = |piece: &ToySequence<'_, R>, range: Range<u64>| piece.toys.drawn(range);
    let whole = |piece| FitTask {
        data: drawn(piece, piece.range.clone()),
        fits: piece.toys.fits.clone(),
        cancel: None,
    };
    let tasks: Vec<FitTask> = pieces.iter().map(whole).collect();
    let mut read = Batch { model, pieces, rows: Vec::new(), again: Vec::new(), stopped: false };
    let control = Control { observer: Some(steps), cancel: steps.control.cancel, task: None };
    session.fit_batch(&tasks, wanted, control, &mut read)?;

    let Batch { mut rows, mut again, .. } = read;
    let silent = Control { observer: None, cancel: steps.control.cancel, task: None };
    for round in 1..=MOST_ROUNDS {
        let tasks: Vec<FitTask> = again
            .iter()
            .map(|toy| {
                let fits = toy.requests.iter().map(|(_, request)| request.clone()).collect();
                FitTask { data: drawn(toy.piece, toy.index..toy.index + 1), fits, cancel: None }
            })
            .collect();
        if tasks.is_empty() {
            break;
        }
        let mut outcomes: Vec<TaskOutcome> = Vec::with_capacity(tasks.len());
        session.fit_batch(&tasks, wanted, silent, &mut outcomes)?;
        let mut further = Vec::new();
        for (mut toy, repeated) in std::mem::take(&mut again).into_iter().zip(outcomes) {
            if cancelled(&repeated) {
                continue;
            }
            for ((slot, _), fit) in toy.requests.iter().zip(repeated.fits) {
                match toy.outcome.fits.get_mut(*slot) {
                    Some(old) => keep_better(old, fit),
                    None => toy.outcome.fits.push(fit),
                }
            }
            match toy.piece.reader.read(model, toy.index, &toy.outcome, round) {
                Reading::Row(row) => {
                    let of_piece = rows.get_mut(toy.number);
                    let place = usize::try_from(toy.index - toy.piece.range.start).ok();
                    if let Some(to) = of_piece.zip(place).and_then(|(rows, place)| rows.get_mut(place)) {
                        *to = Some(row);
                    }
                }
                Reading::Again(requests) => further.push(Pending { requests, ..toy }),
            }
        }
        again = further;
    }
    let mut whole = true;
    let prefix = |(rows, piece): (Vec<Option<R::Row>>, &ToySequence<'_, R>)| {
        // The rows end at the first missing toy.
        let rows: Vec<R::Row> = rows.into_iter().map_while(|row| row.filter(|_| whole)).collect();
        whole &= rows.len() as u64 == piece.range.end - piece.range.start;
        rows
    };
    Ok(rows.into_iter().zip(pieces).map(prefix).collect())
}

/// A toy with fits that have to be repeated.
struct Pending<'a, R> {
    /// Index of the toy's piece in the list of pieces of the batch. A piece is a range of toys.
    number: usize,
    piece: &'a ToySequence<'a, R>,
    index: u64,
    /// Fits of the toy that have been made so far.
    outcome: TaskOutcome,
    requests: Requests,
}

/// Receives the fits of a batch of toys. Makes the rows of the toys, and collects the toys with fits that have to be
/// repeated.
struct Batch<'a, R: Reader> {
    model: &'a Model,
    pieces: &'a [ToySequence<'a, R>],
    /// Rows of the toys received so far, one list per piece (range of toys). Pieces without a received toy have no
    /// list. A row is `None` for a toy with fits that have to be repeated.
    rows: Vec<Vec<Option<R::Row>>>,
    again: Vec<Pending<'a, R>>,
    stopped: bool,
}

impl<R: Reader> Sink for Batch<'_, R> {
    fn accept(&mut self, _index: usize, outcome: TaskOutcome) {
        self.stopped |= cancelled(&outcome);
        if self.stopped {
            return;
        }
        let count = |piece: &ToySequence<'_, R>| (piece.range.end - piece.range.start) as usize;
        let full = match (self.rows.last(), self.pieces.get(self.rows.len().wrapping_sub(1))) {
            (Some(rows), Some(piece)) => rows.len() >= count(piece),
            _ => true,
        };
        if full {
            let room = self.pieces.get(self.rows.len()).map_or(0, count);
            // For a large batch, not all memory is reserved before the rows exist.
            self.rows.push(Vec::with_capacity(room.min(MOST_RESERVED)));
        }
        let number = self.rows.len() - 1;
        let (Some(rows), Some(piece)) = (self.rows.last_mut(), self.pieces.get(number)) else { return };
        let index = piece.range.start + rows.len() as u64;
        match piece.reader.read(self.model, index, &outcome, 0) {
            Reading::Row(row) => rows.push(Some(row)),
            Reading::Again(requests) => {
                rows.push(None);
                self.again.push(Pending { number, piece, index, outcome, requests });
            }
        }
    }
}

fn cancelled(outcome: &TaskOutcome) -> bool {
    outcome.fits.iter().any(|fit| matches!(fit, Err(FitFailure::Cancelled)))
}

/// Returns whether a fit that did not converge may converge from another starting point. If `-ln L` falls without
/// bound, there is no minimum, and the result is false. It is also false if only an integral is not exact enough, or if a
/// density jumps.
pub(super) fn worth_repeating(fit: &FitOutcome) -> bool {
    !matches!(
        fit.status,
        FitStatus::Converged
            | FitStatus::NotConverged(Reason::Unbounded | Reason::InexactIntegral | Reason::Jump { .. })
    )
}

/// Replaces the fit `old` by the repeated fit `new` if `new` is better. `new` is better in three cases: `old` has no
/// result; only `new` converged; both or neither converged, and `new` has the lower `-ln L`.
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

#[cfg(test)]
mod tests {
    use ns_core::random::Poisson;

    use super::*;

    struct NoRows;

    impl Reader for NoRows {
        type Row = ();

        fn read(&self, _model: &Model, _index: u64, _outcome: &TaskOutcome, _round: usize) -> Reading<()> {
            Reading::Row(())
        }
    }

    fn toys(uncertainties: bool) -> Toys {
        let main: Vec<Poisson> = Vec::new();
        let source = ToySource {
            parameters: Vec::new(),
            seed: 0,
            hypothesis: 0,
            main,
            auxiliary: Vec::new(),
            joint: Vec::new(),
            events: Vec::new(),
        };
        let wanted = OutcomeParts { uncertainties, covariance: false, inverse: false };
        Toys { of: Data::observed(), source: Arc::new(source), fits: Vec::new(), wanted }
    }

    #[test]
    fn batches_go_on_from_one_stretch_to_the_next() {
        let (plain, further) = (toys(false), toys(true));
        let sequence = |toys, range| ToySequence { toys, range, reader: &NoRows };
        let all = || {
            VecDeque::from([
                sequence(&plain, 3..10),
                sequence(&plain, 5..5),
                sequence(&plain, 0..4),
                sequence(&further, 7..9),
            ])
        };
        let sizes = |most| {
            let mut rest = all();
            let batches =
                std::iter::from_fn(|| Some(take(&mut rest, most)).filter(|batch| !batch.is_empty()));
            let bounds = |piece: ToySequence<'_, NoRows>| (piece.range.start, piece.range.end);
            batches.map(|batch| batch.into_iter().map(bounds).collect()).collect()
        };
        let batches: Vec<Vec<(u64, u64)>> = sizes(5);
        assert_eq!(batches, [vec![(3, 8)], vec![(8, 10), (0, 3)], vec![(3, 4)], vec![(7, 9)]]);
        // A new batch begins where other parts of the fit outcomes are wanted.
        assert_eq!(sizes(100), [vec![(3, 10), (0, 4)], vec![(7, 9)]]);
        assert_eq!(sizes(1).concat().len(), 13);
    }
}
