//! The fits of the observed data: the free fit, and the fits with the parameters held at tested values.

use std::sync::Arc;

use ns_core::{FitOutcome, FitRequest, Search, Start};

use crate::InferenceError;
use crate::analysis::{Analysis, WITH_INVERSE};
use crate::diagnosis;
use crate::hypotest::tester::free_fit;
use crate::lowest::{Lowest, Stop};
use crate::minos::{self, Interval, Parent};
use crate::point_test::conditional_fit;

/// A tested point: the observed statistic, and all parameters at the conditional minimum.
#[derive(Debug, Clone)]
pub(crate) struct At {
    pub(crate) t: f64,
    pub(crate) parameters: Vec<f64>,
}

/// The fits of the observed data. If a conditional fit ends below the free fit, the free fit is repeated from there, and
/// earlier values of the statistic are no longer valid ([`Self::generation`]).
pub(crate) struct Observed {
    lowest: Lowest,
    /// Parameter whose bounds the free fit looks at first.
    first: usize,
    /// How often the free fit was replaced by a lower one.
    pub(crate) generation: usize,
    pub(crate) converged: bool,
    pub(crate) notes: Vec<String>,
}

impl Observed {
    /// Makes the free fit. `first` is the index of the (first) tested parameter.
    pub(crate) fn begin(analysis: &mut Analysis<'_>, first: usize) -> Result<Self, InferenceError> {
        let free = free_fit(analysis, first)?;
        let base = analysis.base.clone();
        let lowest = Lowest::new(analysis.settle_expected(free, &base, WITH_INVERSE)?);
        Ok(Self { lowest, first, generation: 0, converged: true, notes: Vec::new() })
    }

    /// Returns the free fit.
    pub(crate) fn best(&self) -> &FitOutcome {
        &self.lowest.fit
    }

    /// Returns the best-fit value of a parameter.
    pub(crate) fn best_value(&self, index: usize) -> f64 {
        self.best().parameters.get(index).copied().unwrap_or(f64::NAN)
    }

    /// Finds the values of a parameter at which `-2 ln L` has risen by `level`.
    pub(crate) fn crossings(
        &mut self,
        analysis: &mut Analysis<'_>,
        index: usize,
        level: f64,
    ) -> Result<Interval, InferenceError> {
        loop {
            let (tolerance, asked) = (self.lowest.tolerance, [index]);
            let parent = Parent { analysis, outcome: &self.lowest.fit, level, tolerance, asked: &asked };
            let (point, depth) = match minos::crossings(&parent, &asked) {
                Ok((intervals, points)) => {
                    if analysis.is_cancelled() {
                        return Err(InferenceError::Cancelled);
                    }
                    if analysis.recheck_expected(points.iter().map(Vec::as_slice))? {
                        self.again(analysis)?;
                        continue;
                    }
                    let found = intervals.into_iter().next().map(|(_, interval)| interval);
                    return Ok(
                        found.unwrap_or_else(|| Interval::without(analysis.model, index, "not searched"))
                    );
                }
                Err(Stop::Lower(point, depth)) => (point, depth),
                Err(Stop::Error(error)) => return Err(error),
            };
            if !self.lowest.may_restart() {
                let why = "conditional fits keep falling below the minimum; it may not be the lowest";
                return Ok(Interval::without(analysis.model, index, why));
            }
            self.restart(analysis, point, depth)?;
        }
    }

    /// Makes the fit with the parameters in `held` at the given values.
    pub(crate) fn at(
        &mut self,
        analysis: &mut Analysis<'_>,
        held: &[(usize, f64)],
    ) -> Result<At, InferenceError> {
        let inside = held.iter().all(|&(i, value)| {
            analysis.model.parameters.get(i).is_some_and(|p| p.bounds.0 <= value && value <= p.bounds.1)
        });
        loop {
            let fit = conditional_fit(analysis, &self.lowest.fit, held)?;
            let rise = 2.0 * (fit.nll - self.lowest.fit.nll);
            if inside && -rise > self.lowest.tolerance && self.lowest.may_restart() {
                self.restart(analysis, fit.parameters, -rise)?;
                continue;
            }
            if analysis.recheck_expected(std::iter::once(fit.parameters.as_slice()))? {
                self.again(analysis)?;
                continue;
            }
            if !fit.converged() {
                self.converged = false;
                let problem = diagnosis::not_converged(analysis.model, &fit).join("; ");
                let values: Vec<String> = held.iter().map(|(_, value)| value.to_string()).collect();
                self.notes.push(format!("the fit at {}: {problem}", values.join(", ")));
            }
            return Ok(At { t: rise.max(0.0), parameters: fit.parameters });
        }
    }

    /// Repeats the free fit from a lower point.
    fn restart(
        &mut self,
        analysis: &mut Analysis<'_>,
        point: Vec<f64>,
        depth: f64,
    ) -> Result<(), InferenceError> {
        let request =
            FitRequest { start: Start::At(Arc::from(point)), search: Search::Local, ..analysis.base.clone() };
        let data = analysis.data.clone();
        let next = analysis.fit(&data, request, WITH_INVERSE)?;
        if let Some(gain) = self.lowest.restart(next, depth, false) {
            self.generation += 1;
            self.notes.push(format!(
                "a conditional fit met a minimum lower by {gain:.3e} in twice_nll; the free fit was repeated there"
            ));
        }
        Ok(())
    }

    /// Repeats the free fit after the Asimov data were made more accurate.
    fn again(&mut self, analysis: &mut Analysis<'_>) -> Result<(), InferenceError> {
        self.lowest = Lowest::new(free_fit(analysis, self.first)?);
        self.generation += 1;
        Ok(())
    }
}
