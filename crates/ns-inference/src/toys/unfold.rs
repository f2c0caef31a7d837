//! Toys of unfolding: the bias, the spread and the coverage of the factors of truth bins.

use std::sync::Arc;

use ns_core::{
    Control, Covariance, FitOutcome, FitRequest, Model, OutcomeParts, Search, Session, Start, TaskOutcome,
};

use serde::{Deserialize, Serialize};

use super::ToyStatus;
use super::stream::{Reader, Reading, ToySequence, Toys, stream, worth_repeating};
use crate::InferenceError;
use crate::analysis::Analysis;
use crate::diagnosis;

/// Number of these toys in the key of the random numbers. Toys of other analyses have other numbers there.
const HYPOTHESIS: u8 = 7;

/// Probability of a normal variable within one standard deviation.
const ONE_SIGMA: f64 = 0.682_689_492_137_085_9;

/// A truth bin in toys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct UnfoldedBinToys {
    /// Mean unfolded factor minus the factor with which the toys were drawn; `None` if no toy converged.
    pub bias: Option<f64>,
    /// Statistical error of `bias`.
    pub bias_error: Option<f64>,
    /// Standard deviation of the unfolded factor.
    pub spread: Option<f64>,
    /// Mean uncertainty of the unfolded factor.
    pub mean_uncertainty: Option<f64>,
    /// Fraction of the toys in which the factor with which they were drawn is within one uncertainty of the unfolded one.
    pub coverage: Option<f64>,
    /// The same with the uncertainty of the penalised likelihood.
    pub coverage_penalised: Option<f64>,
    /// Binomial error of a coverage of 68.27 % with this number of toys.
    pub coverage_error: Option<f64>,
    /// Number of toys in which the factor has an uncertainty. It has none at a bound.
    pub n_intervals: u64,
}

/// Uncertainties of the factors from the covariance of a fit: in repeated measurements, and of the penalised likelihood.
type Uncertainties<'a> = dyn Fn(&Covariance) -> (Vec<Option<f64>>, Vec<Option<f64>>) + Sync + 'a;

/// Toys that are drawn at one point, and unfolded with one penalty.
pub(crate) struct FactorToys<'a> {
    toys: Toys,
    reader: FactorReader<'a>,
}

impl<'a> FactorToys<'a> {
    /// Prepares toys that are drawn at the parameters `point`. `fit` is the fit of the data, and `truth` has the indices of the
    /// factors. `job` has the model that is fitted to the toys and its session.
    pub(crate) fn new(
        analysis: &Analysis<'_>,
        (model, session): (&Model, &dyn Session),
        (point, fit): (&[f64], &FitOutcome),
        truth: &'a [usize],
        uncertainties: &'a Uncertainties<'a>,
        seed: u64,
    ) -> Result<Self, InferenceError> {
        let refused = |error| diagnosis::expectation(model, "toys cannot be drawn", error);
        let source = session.toy_source(point, &analysis.data, seed, HYPOTHESIS).map_err(refused)?;
        let asked = analysis.base.search;
        let base = FitRequest {
            start: Start::At(Arc::from(point)),
            search: if asked == Search::Thorough { asked } else { analysis.nearby_search() },
            single_descent: asked == Search::Local,
            metric: None,
            ..analysis.base.clone()
        };
        let first = FitRequest { metric: fit.inverse_hessian(), ..base.clone() };
        let wanted = OutcomeParts { uncertainties: true, covariance: true, inverse: false };
        let at = |i: &usize| point.get(*i).copied().unwrap_or(f64::NAN);
        let drawn = truth.iter().map(at).collect();
        Ok(Self {
            toys: Toys { of: analysis.data.clone(), source, fits: vec![first], wanted },
            reader: FactorReader { truth, drawn, uncertainties, base },
        })
    }

    /// Runs the toys.
    ///
    /// # Errors
    /// [`InferenceError::Cancelled`] if the caller stopped the work before the first toy, and the errors of the session.
    pub(crate) fn run(
        &self,
        job: (&Model, &dyn Session),
        n_toys: u64,
        control: Control<'_>,
    ) -> Result<Found, InferenceError> {
        let mut factors = vec![ToyFactor::default(); self.reader.truth.len()];
        let mut n_left_out = 0;
        let mut take = |rows: &[FactorRow]| {
            for (status, values) in rows {
                if *status == ToyStatus::Converged {
                    factors.iter_mut().zip(values).for_each(|(factor, value)| factor.add(value));
                } else {
                    n_left_out += 1;
                }
            }
            Ok(())
        };
        let sequence = ToySequence { toys: &self.toys, range: 0..n_toys, reader: &self.reader };
        let run = stream(job, &[sequence], None, control, &mut take)?;
        if run.n_rows == 0 {
            return Err(InferenceError::Cancelled);
        }
        let (n_toys, interrupted, wall_s) = (run.n_rows, run.interrupted, run.wall_s);
        Ok(Found { factors, n_toys, n_left_out, interrupted, wall_s })
    }
}

/// What toys have shown.
pub(crate) struct Found {
    pub(crate) factors: Vec<ToyFactor>,
    pub(crate) n_toys: u64,
    pub(crate) n_left_out: u64,
    pub(crate) interrupted: bool,
    pub(crate) wall_s: f64,
}

/// A factor in one toy.
struct Unfolded {
    /// Unfolded factor minus the factor with which the toy was drawn.
    difference: f64,
    uncertainty: Option<f64>,
    penalised: Option<f64>,
}

type FactorRow = (ToyStatus, Vec<Unfolded>);

/// Sums of a factor over the toys.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToyFactor {
    n: u64,
    /// Mean of the differences so far, and the sum of their squared distances from it (B. P. Welford, Technometrics 4 (1962)
    /// 419).
    mean: f64,
    squares: f64,
    n_intervals: u64,
    uncertainties: f64,
    covered: u64,
    covered_penalised: u64,
}

impl ToyFactor {
    fn add(&mut self, value: &Unfolded) {
        self.n += 1;
        let distance = value.difference - self.mean;
        self.mean += distance / self.n as f64;
        self.squares += distance * (value.difference - self.mean);
        if let Some((sigma, penalised)) = value.uncertainty.zip(value.penalised) {
            self.n_intervals += 1;
            self.uncertainties += sigma;
            self.covered += u64::from(value.difference.abs() <= sigma);
            self.covered_penalised += u64::from(value.difference.abs() <= penalised);
        }
    }

    pub(crate) fn summary(&self) -> UnfoldedBinToys {
        let n = self.n as f64;
        let intervals = self.n_intervals as f64;
        let of_intervals = |sum: f64| (self.n_intervals > 0).then(|| sum / intervals);
        let spread = (self.n > 1).then(|| (self.squares / (n - 1.0)).sqrt());
        UnfoldedBinToys {
            bias: (self.n > 0).then_some(self.mean),
            bias_error: spread.map(|spread| spread / n.sqrt()),
            spread,
            mean_uncertainty: of_intervals(self.uncertainties),
            coverage: of_intervals(self.covered as f64),
            coverage_penalised: of_intervals(self.covered_penalised as f64),
            coverage_error: of_intervals(1.0)
                .map(|share: f64| (ONE_SIGMA * (1.0 - ONE_SIGMA) * share).sqrt()),
            n_intervals: self.n_intervals,
        }
    }
}

/// Reads the fit of a toy.
struct FactorReader<'a> {
    truth: &'a [usize],
    drawn: Vec<f64>,
    uncertainties: &'a Uncertainties<'a>,
    base: FitRequest,
}

impl Reader for FactorReader<'_> {
    type Row = FactorRow;

    fn read(&self, _model: &Model, _index: u64, outcome: &TaskOutcome, round: usize) -> Reading<Self::Row> {
        let fit = match outcome.fits.first() {
            Some(Ok(fit)) if fit.converged() => fit,
            Some(Ok(fit)) if round > 0 || !worth_repeating(fit) => {
                return Reading::Row((ToyStatus::NotConverged, Vec::new()));
            }
            _ if round > 0 => return Reading::Row((ToyStatus::Failed, Vec::new())),
            _ => {
                let again = FitRequest { search: Search::Standard, ..self.base.clone() };
                return Reading::Again(vec![(0, again)]);
            }
        };
        let (sigma, penalised) = match &fit.covariance {
            Some(covariance) => (self.uncertainties)(covariance),
            None => (Vec::new(), Vec::new()),
        };
        let at = |values: &[Option<f64>], k: usize| values.get(k).copied().flatten();
        let value = |(k, (index, drawn)): (usize, (&usize, &f64))| Unfolded {
            difference: fit.parameters.get(*index).copied().unwrap_or(f64::NAN) - drawn,
            uncertainty: at(&sigma, k),
            penalised: at(&penalised, k),
        };
        let row = self.truth.iter().zip(&self.drawn).enumerate().map(value).collect();
        Reading::Row((ToyStatus::Converged, row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_give_the_bias_and_the_coverage() {
        let mut factor = ToyFactor::default();
        for (difference, uncertainty) in [(0.5, Some(1.0)), (-1.5, Some(1.0)), (2.0, Some(3.0)), (1.0, None)]
        {
            let penalised = uncertainty.map(|sigma: f64| 2.0 * sigma);
            factor.add(&Unfolded { difference, uncertainty, penalised });
        }
        let found = factor.summary();
        let deviation: f64 = [0.0_f64, 2.0, 1.5, 0.5].iter().map(|d| d * d).sum::<f64>() / 3.0;
        assert!((found.bias.unwrap() - 0.5).abs() < 1e-15);
        assert!((found.spread.unwrap() - deviation.sqrt()).abs() < 1e-15);
        assert!((found.bias_error.unwrap() - deviation.sqrt() / 2.0).abs() < 1e-15);
        assert_eq!((found.n_intervals, found.mean_uncertainty), (3, Some(5.0 / 3.0)));
        assert_eq!((found.coverage, found.coverage_penalised), (Some(2.0 / 3.0), Some(1.0)));
        assert_eq!(ToyFactor::default().summary().bias, None);
    }
}
