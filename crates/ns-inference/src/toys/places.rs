//! Toys without signal, in which a signal is searched at many places.

use std::ops::Range;
use std::sync::Arc;

use ns_core::{
    Control, FitFailure, FitOutcome, FitRequest, Model, OutcomeParts, Search, Session, Start, TaskOutcome,
};

use super::stream::{Reader, Reading, ToySequence, Toys, stream, worth_repeating};
use super::{RowSink, ToyRun, ToyStatus};
use crate::InferenceError;
use crate::analysis::Analysis;
use crate::diagnosis;
use crate::lowest::tolerance;

/// Number of these toys in the key of the random numbers. Toys of other analyses have other numbers there.
const HYPOTHESIS: u8 = 6;

/// Position of the fit without signal. The fits at the places follow in their order.
const NULL: usize = 0;

/// A toy: whether its fits converged, and `q0` at each place.
pub(crate) type PlacesRow = (ToyStatus, Vec<Option<f64>>);

/// Toys without signal that can be drawn and fitted. Their fits search for minima as those of other toys do. The data have
/// more fits ([`crate::look_elsewhere()`]), so that `q0` of toys and of the data may differ on average where `-ln L` has
/// several minima.
pub(crate) struct PlacesToys {
    toys: Toys,
    reader: PlacesReader,
}

impl PlacesToys {
    /// Prepares toys that are drawn at the parameters `null`. `requests` has the fit without signal and then a fit for each
    /// place. `poi` is the index of the strength of the signal.
    pub(crate) fn prepare(
        analysis: &Analysis<'_>,
        session: &dyn Session,
        (null, requests): (&[f64], &[FitRequest]),
        poi: usize,
        seed: u64,
    ) -> Result<Self, InferenceError> {
        let refused = |error| diagnosis::expectation(analysis.model, "toys cannot be drawn", error);
        let source = session.toy_source(null, &analysis.data, seed, HYPOTHESIS).map_err(refused)?;
        let asked = analysis.base.search;
        let search = if asked == Search::Thorough { asked } else { analysis.nearby_search() };
        let request = |(k, request): (usize, &FitRequest)| FitRequest {
            start: if k == NULL { Start::At(Arc::from(null)) } else { Start::Earlier(NULL) },
            search,
            single_descent: asked == Search::Local,
            metric: None,
            ..request.clone()
        };
        let fits: Vec<FitRequest> = requests.iter().enumerate().map(request).collect();
        let of = analysis.data.clone();
        let reader = PlacesReader { poi, fits: fits.clone() };
        Ok(Self { toys: Toys { of, source, fits, wanted: OutcomeParts::default() }, reader })
    }

    /// Runs the toys with indices in `range` and passes their rows to `sink`.
    pub(crate) fn run(
        &self,
        job: (&Model, &dyn Session),
        range: Range<u64>,
        control: Control<'_>,
        sink: &mut dyn RowSink<PlacesRow>,
    ) -> Result<ToyRun, InferenceError> {
        let sequence = ToySequence { toys: &self.toys, range, reader: &self.reader };
        stream(job, &[sequence], None, control, sink)
    }
}

/// Returns `q0` from the fits without and with signal: 0 if the best fit has no positive signal. It is `None` if the fit
/// with signal ends above the other one.
pub(crate) fn q0(null: &FitOutcome, fit: &FitOutcome, poi: usize) -> Option<f64> {
    let q = 2.0 * (null.nll - fit.nll);
    if q < -2.0 * tolerance(null.nll) {
        return None;
    }
    let is_positive = fit.parameters.get(poi).is_some_and(|mu| *mu > 0.0);
    Some(if is_positive { q.max(0.0) } else { 0.0 })
}

/// Reads the fits of a toy.
struct PlacesReader {
    poi: usize,
    fits: Vec<FitRequest>,
}

impl PlacesReader {
    /// Returns a fit that is made again: from the minimum without signal where it is known.
    fn again(&self, k: usize, null: Option<&FitOutcome>) -> Option<(usize, FitRequest)> {
        let request = self.fits.get(k)?;
        let start = match null {
            Some(null) => Start::At(Arc::from(null.parameters.as_slice())),
            None => self.fits.first()?.start.clone(),
        };
        Some((k, FitRequest { start, search: Search::Standard, ..request.clone() }))
    }
}

impl Reader for PlacesReader {
    type Row = PlacesRow;

    fn read(&self, _model: &Model, _index: u64, outcome: &TaskOutcome, round: usize) -> Reading<Self::Row> {
        let null = match outcome.fits.get(NULL) {
            Some(Ok(null)) => Some(null),
            _ => None,
        };
        let good = |fit: &Result<FitOutcome, FitFailure>| match (fit, null) {
            (Ok(fit), Some(null)) => fit.converged() && q0(null, fit, self.poi).is_some(),
            _ => false,
        };
        let poor: Vec<usize> = match null {
            Some(null) if null.converged() => {
                let fits = outcome.fits.iter().enumerate().skip(1);
                fits.filter(|(_, fit)| !good(fit)).map(|(k, _)| k).collect()
            }
            _ => (0..self.fits.len()).collect(),
        };
        let hopeful = |k: &usize| match outcome.fits.get(*k) {
            Some(Ok(fit)) => fit.converged() || worth_repeating(fit),
            _ => true,
        };
        if round == 0 && !poor.is_empty() && poor.iter().all(hopeful) {
            return Reading::Again(poor.iter().filter_map(|k| self.again(*k, null)).collect());
        }
        let failed = outcome.fits.iter().any(Result::is_err);
        let values = outcome.fits.iter().skip(1).map(|fit| match (fit, null) {
            (Ok(fit), Some(null)) => q0(null, fit, self.poi),
            _ => None,
        });
        let status = match (poor.is_empty(), failed) {
            (true, _) => ToyStatus::Converged,
            (false, true) => ToyStatus::Failed,
            (false, false) => ToyStatus::NotConverged,
        };
        Reading::Row((status, values.collect()))
    }
}
