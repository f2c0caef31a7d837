//! Conditional fits to one data set at many values of one parameter. Each fit starts at a point that is predicted
//! from earlier fits.

use std::sync::Arc;

use ns_core::{Data, FitOutcome, FitRequest, FitTask, Inactive, OutcomeParts, Search, Start};

use crate::InferenceError;
use crate::analysis::{Analysis, Fitted};

/// Effort with which a conditional fit searches for the lowest minimum. The variants are in ascending order of the
/// effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effort {
    /// A single descent from the predicted starting point. This effort is for intermediate fits.
    Follow,
    /// The search effort that the options ask for, from the predicted starting point.
    Search,
    /// The effort for fits whose numbers are reported. The first search is the same as for [`Self::Search`]. In models
    /// of up to medium size, a second search begins at the starting point of the analysis and uses no earlier fits. In
    /// small models the second search is thorough.
    Report,
}

/// The minimum of a conditional fit, in which the profiled parameter is fixed at one value.
#[derive(Debug, Clone)]
pub(crate) struct ConditionalMinimum {
    pub(crate) value: f64,
    pub(crate) fit: FitOutcome,
    effort: Effort,
}

/// The conditional fits to one data set that have been made so far. Each fit is a point of the profile likelihood.
pub(crate) struct Profile {
    pub(crate) data: Data,
    pub(crate) parameter: usize,
    /// The free fit, with its covariance or the factors of its Hessian.
    pub(crate) best: FitOutcome,
    /// Conditional fits made so far, in the order in which they were made.
    known: Vec<ConditionalMinimum>,
}

impl Profile {
    pub(crate) fn new(data: Data, parameter: usize, best: FitOutcome) -> Self {
        Self { data, parameter, best, known: Vec::new() }
    }

    /// Returns the value of the profiled parameter in the free fit.
    pub(crate) fn best_value(&self) -> f64 {
        self.best.parameters.get(self.parameter).copied().unwrap_or(f64::NAN)
    }

    /// Returns the conditional fit in which the profiled parameter is exactly `value`; `None` if this fit has not been
    /// made.
    pub(crate) fn at(&self, value: f64) -> Option<&ConditionalMinimum> {
        self.known.iter().find(|k| k.value == value)
    }

    /// Returns all values of the profiled parameter at which a conditional fit has been made, in ascending order.
    pub(crate) fn values(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.known.iter().map(|k| k.value).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// Returns whether the conditional fit at `value` has been made with at least the given effort.
    pub(crate) fn has(&self, value: f64, effort: Effort) -> bool {
        self.at(value).is_some_and(|known| known.effort >= effort)
    }

    /// Builds the tasks of the conditional fit at `value`. The result of the conditional fit is the lowest result of
    /// these tasks. The first task starts at the minimum already found at `value`. If no minimum has been found there,
    /// the task starts at the predicted point.
    pub(crate) fn tasks(&self, analysis: &Analysis<'_>, value: f64, effort: Effort) -> Vec<FitTask> {
        let start = match self.at(value) {
            Some(known) => known.fit.parameters.clone(),
            None => self.predict(analysis, value),
        };
        let search = if effort == Effort::Follow { Search::Local } else { analysis.base.search };
        let searched = effort == Effort::Report && analysis.is_middling();
        let mut request = self.request(analysis, value, start, search);
        if searched {
            // Without the inverse Hessian of the free fit, this search is not limited to the neighbourhood of the
            // free fit.
            request.metric = None;
        }
        let mut tasks = vec![FitTask { data: self.data.clone(), fits: vec![request], cancel: None }];
        if searched {
            // This is the search that a fit without neighbours would make. A thorough search begins with the default
            // search. Its result is therefore never higher than that of the default search.
            let search = if analysis.is_small() { Search::Thorough } else { analysis.base.search };
            let mut alone = FitRequest { search, ..analysis.base.clone() };
            alone.fixed.retain(|(i, _)| *i != self.parameter);
            alone.fixed.push((self.parameter, value));
            tasks.push(FitTask { data: self.data.clone(), fits: vec![alone], cancel: None });
        }
        tasks
    }

    /// Builds the task of a conditional fit at `value` that is a single descent from the minimum of `neighbour`.
    /// `neighbour` is a fit at another value of the profiled parameter.
    pub(crate) fn task_from(&self, analysis: &Analysis<'_>, value: f64, neighbour: &FitOutcome) -> FitTask {
        let held = [(self.parameter, value)];
        let start = analysis.admit(&self.best, &held, neighbour.parameters.clone());
        FitTask {
            data: self.data.clone(),
            fits: vec![self.request(analysis, value, start, Search::Local)],
            cancel: None,
        }
    }

    /// In models that are not small, compares the fit at `value` with others that may find a lower minimum
    /// ([`Analysis::compare`]). In small models a thorough search and a sweep over all values do so.
    ///
    /// # Errors
    /// The errors of [`Analysis::run`].
    pub(super) fn compare(&mut self, analysis: &mut Analysis<'_>, value: f64) -> Result<(), InferenceError> {
        let Some(known) = self.at(value).filter(|_| !analysis.is_small()) else { return Ok(()) };
        let request = self.request(analysis, value, known.fit.parameters.clone(), Search::Local);
        let fit = [Ok(known.fit.clone())];
        let task = [FitTask { data: self.data.clone(), fits: vec![request], cancel: None }];
        let wanted = (task.as_slice(), OutcomeParts::default());
        for (_, fitted) in analysis.compare(&self.best, wanted, &fit, true, |_| false)? {
            self.learn(value, &fitted, Effort::Follow);
        }
        Ok(())
    }

    fn request(&self, analysis: &Analysis<'_>, value: f64, start: Vec<f64>, search: Search) -> FitRequest {
        FitRequest {
            search,
            metric: self.best.inverse_hessian(),
            ..analysis.conditional(&[(self.parameter, value)], start)
        }
    }

    /// Builds the request of a free fit that starts at the conditional minimum at `value`. Returns `None` if there is
    /// no conditional fit at `value`.
    pub(crate) fn release(&self, analysis: &Analysis<'_>, value: f64) -> Option<FitRequest> {
        let start = Start::At(Arc::from(self.at(value)?.fit.parameters.as_slice()));
        Some(FitRequest { start, search: Search::Local, ..analysis.base.clone() })
    }

    /// Removes all conditional fits except those at the given values of the profiled parameter.
    pub(crate) fn keep(&mut self, values: &[f64]) {
        self.known.retain(|k| values.contains(&k.value));
    }

    /// Adds the result of a task from [`Self::tasks`] or [`Self::task_from`]. The result is ignored if an earlier fit
    /// at `value` ended lower. A conditional fit below the free fit shows that the free fit has missed the lowest
    /// minimum. The caller must handle this case.
    pub(crate) fn learn(&mut self, value: f64, fitted: &Fitted, effort: Effort) {
        let Ok(fit) = fitted else { return };
        match self.known.iter_mut().find(|k| k.value == value) {
            None => self.known.push(ConditionalMinimum { value, fit: fit.clone(), effort }),
            Some(known) => {
                known.effort = known.effort.max(effort);
                // If two minima are equally low, the converged one is kept.
                let lower = fit.nll < known.fit.nll && (fit.converged() || !known.fit.converged());
                let certified =
                    fit.converged() && !known.fit.converged() && fit.nll <= known.fit.nll + CERTIFIED;
                let deeper = fit.nll < known.fit.nll - CERTIFIED;
                if lower || certified || deeper {
                    known.fit = fit.clone();
                } else {
                    // Some fits that end at a minimum do not examine its flat directions.
                    let flat = fit.inactive.iter().filter(|entry| entry.1 == Inactive::Flat);
                    let new = flat.filter(|entry| known.fit.inactive.iter().all(|old| old.0 != entry.0));
                    let new: Vec<(usize, Inactive)> = new.copied().collect();
                    known.fit.inactive.extend(new);
                }
            }
        }
    }

    /// Returns twice the difference of `-ln L` between the conditional fit at `value` and the free fit, or 0 if this
    /// number is negative. Returns `None` if there is no conditional fit at `value`.
    pub(crate) fn rise(&self, value: f64) -> Option<f64> {
        self.at(value).map(|k| (2.0 * (k.fit.nll - self.best.nll)).max(0.0))
    }

    /// Predicts the values of all parameters at the conditional minimum at `value`. If there are enough fits, the
    /// prediction lies on the parabola or the line through the nearest fits. Otherwise the covariance of the free fit
    /// gives the prediction.
    fn predict(&self, analysis: &Analysis<'_>, value: f64) -> Vec<f64> {
        let mut near: Vec<Node<'_>> =
            self.known.iter().map(|k| (k.value, k.fit.parameters.as_slice())).collect();
        near.push((self.best_value(), &self.best.parameters));
        near.sort_by(|a, b| (a.0 - value).abs().total_cmp(&(b.0 - value).abs()));
        // The slope between two points that nearly coincide is not accurate.
        let mut apart: Vec<Node<'_>> = Vec::with_capacity(NODES);
        for node in near {
            let reach = SPACING * (node.0 - value).abs();
            if apart.len() < NODES && apart.iter().all(|other| (other.0 - node.0).abs() > reach) {
                apart.push(node);
            }
        }
        let near = apart;
        // The slope from the covariance at the best fit is more accurate than the slope from two distant points.
        let covariance = self.best.covariance.is_some() || self.best.factors.is_some();
        let enough = if covariance { near.len() >= 3 } else { near.len() >= 2 };
        let Some(nodes) = enough.then(|| nodes(&near, value)).flatten() else {
            return analysis.predict(&self.best, &[(self.parameter, value)]);
        };
        let mut point = vec![0.0; self.best.parameters.len()];
        for &(weight, parameters) in &nodes {
            for (x, p) in point.iter_mut().zip(parameters) {
                *x += weight * p;
            }
        }
        if point.iter().any(|x| !x.is_finite()) {
            return analysis.predict(&self.best, &[(self.parameter, value)]);
        }
        analysis.admit(&self.best, &[(self.parameter, value)], point)
    }
}

/// A converged fit replaces a fit that did not converge if its `-ln L` is higher by at most this number.
const CERTIFIED: f64 = 1e-8;

/// A number, and the values of all parameters in a fit. The number is either the value of the profiled parameter, or
/// the weight of the fit in an interpolation.
type Node<'a> = (f64, &'a [f64]);

/// Largest number of fits between which the minimum is interpolated.
const NODES: usize = 3;

/// Smallest distance between two fits of an interpolation. The unit is the distance from the farther fit to the value
/// at which the minimum is predicted.
const SPACING: f64 = 0.05;

/// Computes the Lagrange weights of the nearest two or three points. Returns `None` if `value` lies too far outside
/// the range of these points for an extrapolation.
fn nodes<'a>(near: &[Node<'a>], value: f64) -> Option<Vec<Node<'a>>> {
    let chosen: Vec<&Node<'_>> = near.iter().take(NODES).collect();
    let (low, high) =
        chosen.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), c| (l.min(c.0), h.max(c.0)));
    let width = high - low;
    if !(width > 0.0) || value < low - 1.5 * width || value > high + 1.5 * width {
        return None;
    }
    let weights = chosen.iter().enumerate().map(|(i, c)| {
        let weight = chosen
            .iter()
            .enumerate()
            .filter(|(j, _)| *j != i)
            .map(|(_, other)| (value - other.0) / (c.0 - other.0))
            .product();
        (weight, c.1)
    });
    Some(weights.collect())
}
