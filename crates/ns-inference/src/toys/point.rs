//! Toys of tests of a point in several parameters. Each toy has a free fit and a fit with the tested parameters held.

use std::ops::Range;
use std::sync::Arc;

use ns_core::{Control, FitOutcome, FitRequest, Model, OutcomeParts, Search, Session, Start, TaskOutcome};

use super::ToyStatus;
use super::goodness::{GoodnessToys, counted};
use super::prepare::{free_request, parent_fits};
use super::stream::{MOST_ROUNDS, Reader, Reading, ToySequence, Toys, worth_repeating};
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

/// Toys of one tested point that can be drawn and fitted, any range of them at a time.
pub(crate) struct PointToys {
    toys: Toys,
    reader: PointReader,
    seed: u64,
}

impl PointToys {
    /// Prepares toys that are drawn at the parameters `point`, at which the parameters in `held` have the tested values. The
    /// fits of the toys will be made by `session`.
    pub(crate) fn prepare(
        analysis: &mut Analysis<'_>,
        session: &dyn Session,
        point: &[f64],
        held: &[(usize, f64)],
        seed: u64,
    ) -> Result<Self, InferenceError> {
        let model = analysis.model;
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
        Ok(Self { toys, reader, seed })
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
        let sequence = ToySequence { toys: &self.toys, range, reader: &self.reader };
        counted(job, sequence, t, self.seed, control)
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
