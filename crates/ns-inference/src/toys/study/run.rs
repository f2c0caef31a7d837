//! Prepares a study of parameters by finding its generating point. Also makes rows from the fits of the study's toys.

use std::sync::Arc;

use ns_core::{
    Control, FitFailure, FitOutcome, FitRequest, Model, Observations, OutcomeParts, Search, Session,
    SessionError, TaskOutcome, ToySource,
};

use super::{FitToysOptions, GeneratingPoint};
use crate::analysis::Analysis;
use crate::diagnosis;
use crate::single_fits::of_single_fits;
use crate::toys::options::{check_number, origin};
use crate::toys::prepare::free_request;
use crate::toys::run::Prepare;
use crate::toys::source_of_expectation;
use crate::toys::statistic::ended;
use crate::toys::stream::{Reader, Reading, Toys, worth_repeating};
use crate::toys::{FitToyRow, FitToysHeader, FitToysTest, ToyStatus};
use crate::{FitData, InferenceError, parameter_index};

const UNCERTAINTIES: OutcomeParts = OutcomeParts { uncertainties: true, covariance: false, inverse: false };

/// Number of the toys of studies in the key of the random numbers. Toys of hypothesis tests have the number of their
/// hypothesis there. Toys with different numbers have different random numbers.
pub const STUDY_HYPOTHESIS: u8 = 2;

impl<'a> FitToysTest<'a> {
    /// Finds the generating point of the study. No toy is run.
    ///
    /// # Errors
    /// For options that do not match the model. If `-ln L` is not finite in the fit that gives the generating point.
    /// If toys cannot be drawn because a bin has a negative expected yield.
    pub fn prepare(
        model: &'a Model,
        session: &'a dyn Session,
        options: &FitToysOptions,
        control: Control<'_>,
    ) -> Result<Self, InferenceError> {
        check_number(options.n_toys)?;
        let silent = Control { observer: None, cancel: control.cancel, task: None };
        let (fit, place) = match &options.expectation {
            None => (options.fit.clone(), &options.point),
            Some(given) => {
                // The expected data are checked before they are fitted. The message of a failed fit would speak of
                // observed data.
                source_of_expectation(model, &given.main, Some(&given.aux), options.seed)?;
                let data = FitData::Given(Arc::clone(given));
                (options.fit.clone().data(data), &GeneratingPoint::BestFit)
            }
        };
        let mut analysis = Analysis::new(model, of_single_fits(session), &fit, silent)?;
        let mut warnings = model.warnings.clone();
        let mut uncertainties = Vec::new();
        let point = match place {
            GeneratingPoint::BestFit => {
                let data = analysis.data.clone();
                let fit = analysis.fit(&data, analysis.base.clone(), UNCERTAINTIES)?;
                if !fit.converged() {
                    warnings.extend(diagnosis::not_converged(model, &fit));
                }
                uncertainties = fit.uncertainties;
                fit.parameters
            }
            GeneratingPoint::Init => {
                let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
                for &(i, value) in &analysis.base.fixed {
                    if let Some(x) = point.get_mut(i) {
                        *x = value;
                    }
                }
                point
            }
            GeneratingPoint::At(point) => {
                let point = point.values(model)?;
                check(model, &point)?;
                point
            }
        };
        if uncertainties.is_empty() {
            let asimov = session.asimov(&point, &analysis.data).map_err(|error| refused(model, error))?;
            let parent = free_request(&mut analysis, &asimov, &point)?.1;
            uncertainties = parent.map(|fit| fit.uncertainties).unwrap_or_default();
        }
        let indices: Vec<usize> = if options.params.is_empty() {
            (0..model.parameters.len()).filter(|&i| !analysis.is_fixed(i)).collect()
        } else {
            options.params.iter().map(|name| parameter_index(model, name)).collect::<Result<_, _>>()?
        };
        if let Some(&i) = indices.iter().find(|&&i| analysis.is_fixed(i)) {
            let name = model.parameters.get(i).map_or_else(String::new, |p| p.name.clone());
            return Err(InferenceError::NothingToStudy { name });
        }
        let name = |i: &usize| model.parameters.get(*i).map_or_else(String::new, |p| p.name.clone());
        let header = FitToysHeader {
            origin: origin(&analysis, options.seed, options.n_toys, options.shard, &point, &uncertainties),
            params: indices.iter().map(name).collect(),
            indices,
            point,
            expectation: options.expectation.as_ref().map(|given| [&*given.main, &*given.aux].concat()),
            warnings,
        };
        Ok(Self::from_header(model, session, header, control)?.batch(options.batch))
    }
}

impl Prepare for FitToyRow {
    type Reader = FitReader;
    type Head = FitToysHeader;

    fn prepared(
        analysis: &mut Analysis<'_>,
        session: &dyn Session,
        header: &FitToysHeader,
    ) -> Result<Vec<(Toys, FitReader)>, InferenceError> {
        let model = analysis.model;
        let (source, asimov) = match &header.expectation {
            None => (
                session
                    .toy_source(&header.point, &analysis.data, header.origin.seed, STUDY_HYPOTHESIS)
                    .map_err(|error| refused(model, error))?,
                session.asimov(&header.point, &analysis.data).map_err(|error| refused(model, error))?,
            ),
            Some(given) => {
                let (main, aux) = given.split_at(given.len().min(model.n_bins()));
                let source = source_of_expectation(model, main, Some(aux), header.origin.seed)?;
                let source = ToySource { parameters: header.point.clone(), ..source };
                let data = Observations::binned(main.to_vec(), aux.to_vec());
                (Arc::new(source), analysis.data.with(data))
            }
        };
        let (free, _) = free_request(analysis, &asimov, &header.point)?;
        let reader =
            FitReader { indices: header.indices.clone(), base: FitRequest { metric: None, ..free.clone() } };
        let toys = Toys { of: analysis.data.clone(), source, fits: vec![free], wanted: UNCERTAINTIES };
        Ok(vec![(toys, reader)])
    }
}

/// Makes the row of each toy in a study from the single fit of the toy. If this fit failed or may converge from
/// another starting point, requests it again.
#[derive(Clone)]
pub(crate) struct FitReader {
    indices: Vec<usize>,
    base: FitRequest,
}

impl Reader for FitReader {
    type Row = FitToyRow;

    fn read(&self, model: &Model, index: u64, outcome: &TaskOutcome, round: usize) -> Reading<FitToyRow> {
        let fit = match outcome.fits.first() {
            Some(Ok(fit)) if round > 0 || !worth_repeating(fit) => fit,
            Some(Err(failure)) if round > 0 => return Reading::Row(failed(model, index, failure)),
            _ => {
                let again = FitRequest { search: Search::Standard, ..self.base.clone() };
                return Reading::Again(vec![(0, again)]);
            }
        };
        let (status, reason) = if fit.converged() {
            (ToyStatus::Converged, String::new())
        } else {
            (ToyStatus::NotConverged, ended(model, fit))
        };
        let uncertainty = |fit: &FitOutcome, i: usize| {
            fit.uncertainties.get(i).copied().flatten().filter(|s| s.is_finite())
        };
        Reading::Row(FitToyRow {
            index,
            nll: Some(fit.nll).filter(|x| x.is_finite()),
            status,
            reason,
            values: self
                .indices
                .iter()
                .map(|&i| fit.parameters.get(i).copied().unwrap_or(f64::NAN))
                .collect(),
            uncertainties: self.indices.iter().map(|&i| uncertainty(fit, i)).collect(),
        })
    }
}

/// Builds the row of a toy whose fit failed.
fn failed(model: &Model, index: u64, failure: &FitFailure) -> FitToyRow {
    FitToyRow {
        index,
        nll: None,
        status: ToyStatus::Failed,
        reason: diagnosis::failure(model, failure),
        values: Vec::new(),
        uncertainties: Vec::new(),
    }
}

/// Returns an error unless a generating point has one finite number per parameter.
fn check(model: &Model, point: &[f64]) -> Result<(), InferenceError> {
    let (expected, actual) = (model.parameters.len(), point.len());
    if actual != expected {
        return Err(SessionError::WrongLength { what: "the generating point", actual, expected }.into());
    }
    match point.iter().zip(&model.parameters).find(|(x, _)| !x.is_finite()) {
        Some((x, p)) => {
            Err(InferenceError::NotFinite { what: "the generating value", name: p.name.clone(), value: *x })
        }
        None => Ok(()),
    }
}

/// Builds the error for a generating point at which no toys can be drawn. The error names the bin that prevents it.
fn refused(model: &Model, error: SessionError) -> InferenceError {
    diagnosis::expectation(model, "toys cannot be drawn", error)
}
