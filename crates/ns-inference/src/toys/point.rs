//! Toys of tests of a point in several parameters. Each toy has a free fit and a fit with the tested parameters held.

use std::ops::Range;
use std::sync::Arc;

use ns_core::{
    Control, FitOutcome, FitRequest, Model, Observer, OutcomeParts, Search, Session, Start, TaskOutcome,
};

use super::goodness::{GoodnessToys, counted};
use super::origin::Origin;
use super::prepare::{free_request, parent_fits};
use super::stream::{MOST_ROUNDS, Reader, Reading, ToySequence, Toys, stream, worth_repeating};
use super::{RowSink, ToyRun, ToyStatus};
use crate::InferenceError;
use crate::analysis::Analysis;
use crate::diagnosis;
use crate::lowest::tolerance;

/// Number of these toys in the key of the random numbers. Toys of other analyses have other numbers there.
const HYPOTHESIS: u8 = 4;

/// Positions of the fits of a toy. The third is a second free fit from the end of the conditional fit, which is made only
/// if the conditional fit ends lower than the free fit.
const FREE: usize = 0;
const CONDITIONAL: usize = 1;
const ONWARDS: usize = 2;

/// Largest number of toys with distributions of their own that are in memory at a time.
const MOST_SOURCES: u64 = 1024;

/// Toys of one tested point that can be drawn and fitted, any range of them at a time.
pub(crate) struct PointToys {
    toys: Toys,
    origin: Origin,
    reader: PointReader,
    seed: u64,
}

impl PointToys {
    /// Prepares toys that are drawn at `origin`, at which the parameters in `held` have the tested values. The fits of the toys
    /// will be made by `session`.
    pub(crate) fn prepare(
        analysis: &mut Analysis<'_>,
        session: &dyn Session,
        origin: Origin,
        held: &[(usize, f64)],
        seed: u64,
    ) -> Result<Self, InferenceError> {
        let (model, point) = (analysis.model, origin.centre.as_slice());
        let refused = |error| diagnosis::expectation(model, "toys cannot be drawn", error);
        let source = session.toy_source(point, &analysis.data, seed, HYPOTHESIS).map_err(refused)?;
        let asimov = session.asimov(point, &analysis.data).map_err(refused)?;
        let (free, _) = free_request(analysis, &asimov, point)?;
        let base = FitRequest { metric: None, ..free.clone() };
        let conditional = with_held(&base, held);
        let parent = FitRequest { search: Search::Local, ..conditional.clone() };
        let [parent] = parent_fits(analysis, [(asimov, parent)])?;
        let conditional = FitRequest {
            start: Start::Earlier(FREE),
            metric: parent.as_ref().and_then(FitOutcome::inverse_hessian),
            ..conditional
        };
        let within = |&(i, value): &(usize, f64)| {
            model.parameters.get(i).is_some_and(|p| p.bounds.0 <= value && value <= p.bounds.1)
        };
        let reader = PointReader { held: held.to_vec(), is_inside: held.iter().all(within), base };
        let of = analysis.data.clone();
        let toys = Toys { of, source, fits: vec![free, conditional], wanted: OutcomeParts::default() };
        Ok(Self { toys, origin, reader, seed })
    }

    /// Runs the toys with indices in `range`. Returns the number of toys that were run and the numbers of toys that were
    /// left out. Also returns the number of converged toys whose statistic is at least `t`.
    pub(crate) fn count(
        &self,
        job: (&Model, &dyn Session),
        range: Range<u64>,
        t: f64,
        control: Control<'_>,
    ) -> Result<(GoodnessToys, u64), InferenceError> {
        counted(t, self.seed, |take| {
            if self.origin.is_one_point() {
                let sequence = ToySequence { toys: &self.toys, range, reader: &self.reader };
                stream(job, &[sequence], None, control, take)
            } else {
                self.each_at_its_point(job, range, control, take)
            }
        })
    }

    /// Runs toys that are drawn at points of their own.
    fn each_at_its_point(
        &self,
        (model, session): (&Model, &dyn Session),
        range: Range<u64>,
        control: Control<'_>,
        take: &mut dyn RowSink<(ToyStatus, f64)>,
    ) -> Result<ToyRun, InferenceError> {
        let mut all = ToyRun { n_rows: 0, interrupted: false, wall_s: 0.0 };
        let n_toys = range.end.saturating_sub(range.start);
        while all.n_rows < n_toys && !all.interrupted {
            let first = range.start + all.n_rows;
            let own = |index: u64| -> Result<(u64, Toys), InferenceError> {
                let source =
                    session.toy_source(self.origin.of_toy(index), &self.toys.of, self.seed, HYPOTHESIS);
                let source = source.map_err(|e| diagnosis::expectation(model, "toys cannot be drawn", e))?;
                let Toys { of, fits, wanted, .. } = &self.toys;
                Ok((index, Toys { of: of.clone(), source, fits: fits.clone(), wanted: *wanted }))
            };
            let some = first..range.end.min(first + MOST_SOURCES);
            let some: Vec<(u64, Toys)> = some.map(own).collect::<Result<_, _>>()?;
            let own = some.iter().map(|(index, toys)| {
                let range = *index..*index + 1;
                ToySequence { toys, range, reader: &self.reader }
            });
            let sequences: Vec<ToySequence<'_, PointReader>> = own.collect();
            let shifted = Shifted { control, done: all.n_rows, more: n_toys - all.n_rows };
            let control = Control { observer: Some(&shifted), ..control };
            let run = stream((model, session), &sequences, Some(MOST_SOURCES), control, take)?;
            all.n_rows += run.n_rows;
            all.wall_s += run.wall_s;
            all.interrupted = run.interrupted;
        }
        Ok(all)
    }
}

/// Reports the toys of a part of the work, of which `done` are made and `more` are to be made.
pub(crate) struct Shifted<'a> {
    pub(crate) control: Control<'a>,
    pub(crate) done: u64,
    pub(crate) more: u64,
}

impl Observer for Shifted<'_> {
    fn progress(&self, done: usize, _total: usize) {
        let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let done = number(self.done).saturating_add(done);
        self.control.progress(done, number(self.done.saturating_add(self.more)).max(done));
    }
}

/// Returns a copy of a request with the tested parameters held.
fn with_held(request: &FitRequest, held: &[(usize, f64)]) -> FitRequest {
    let mut request = request.clone();
    request.fixed.retain(|(i, _)| !held.iter().any(|(j, _)| i == j));
    request.fixed.extend(held);
    request
}

/// Reads the two fits of a toy and computes its statistic.
struct PointReader {
    held: Vec<(usize, f64)>,
    /// Whether the point lies within the bounds, so that the free fit is never above the conditional one.
    is_inside: bool,
    base: FitRequest,
}

impl PointReader {
    fn free(&self, start: Start, search: Search) -> FitRequest {
        FitRequest { start, search, ..self.base.clone() }
    }

    fn both(&self) -> Vec<(usize, FitRequest)> {
        let free = self.free(self.base.start.clone(), Search::Standard);
        let conditional = with_held(&free, &self.held);
        vec![(FREE, free), (CONDITIONAL, conditional)]
    }
}

impl Reader for PointReader {
    type Row = (ToyStatus, f64);

    fn read(&self, _model: &Model, _index: u64, outcome: &TaskOutcome, round: usize) -> Reading<Self::Row> {
        let (Some(Ok(free)), Some(Ok(conditional))) = (outcome.fits.get(FREE), outcome.fits.get(CONDITIONAL))
        else {
            return if round == 0 {
                Reading::Again(self.both())
            } else {
                Reading::Row((ToyStatus::Failed, f64::NAN))
            };
        };
        if round == 0 && (worth_repeating(free) || worth_repeating(conditional)) {
            return Reading::Again(self.both());
        }
        let onwards = outcome.fits.get(ONWARDS);
        let free = match onwards {
            Some(Ok(onwards)) if onwards.converged() && onwards.nll < free.nll => onwards,
            _ => free,
        };
        let t = 2.0 * (conditional.nll - free.nll);
        let certain = free.converged() && conditional.converged();
        let is_missed = self.is_inside && certain && t < -tolerance(free.nll);
        if is_missed && onwards.is_none() && round < MOST_ROUNDS {
            let start = Start::At(Arc::from(conditional.parameters.as_slice()));
            let local = self.free(start.clone(), Search::Local);
            return Reading::Again(vec![(FREE, local), (ONWARDS, self.free(start, Search::Standard))]);
        }
        if certain && !is_missed {
            Reading::Row((ToyStatus::Converged, t.max(0.0)))
        } else {
            Reading::Row((ToyStatus::NotConverged, f64::NAN))
        }
    }
}
