//! Conditional fits to one data set at many values of one parameter. Every fit starts at the minimum that
//! earlier fits predict.

use std::sync::Arc;

use ns_core::{Data, FitOutcome, FitRequest, FitTask, Inactive, Search, Start};

use crate::analysis::{Analysis, Fitted};

/// The effort with which a conditional fit searches for the lowest minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effort {
    /// One descent from the point that neighbouring fits predict, for intermediate fits.
    Follow,
    /// The search that a single fit makes, but the search starts at the predicted point.
    Search,
    /// Searches for fits that are reported. In models of at most medium size, a second search starts at the
    /// start point of the analysis and uses no neighbouring fit. In small models the second search is
    /// thorough.
    Report,
}

/// The minimum at a fixed value of the parameter.
#[derive(Debug, Clone)]
pub(crate) struct ConditionalMinimum {
    pub(crate) value: f64,
    pub(crate) fit: FitOutcome,
    effort: Effort,
}

/// The conditional fits made so far to one data set. They are points on its profile likelihood.
pub(crate) struct Profile {
    pub(crate) data: Data,
    pub(crate) parameter: usize,
    /// The free fit, with its covariance.
    pub(crate) best: FitOutcome,
    /// Conditional fits made so far, in the order in which they were made.
    known: Vec<ConditionalMinimum>,
}

impl Profile {
    pub(crate) fn new(data: Data, parameter: usize, best: FitOutcome) -> Self {
        Self { data, parameter, best, known: Vec::new() }
    }

    /// Returns the value of the parameter in the free fit.
    pub(crate) fn best_value(&self) -> f64 {
        self.best.parameters.get(self.parameter).copied().unwrap_or(f64::NAN)
    }

    /// Returns the conditional fit at exactly this value, if it has been made.
    pub(crate) fn at(&self, value: f64) -> Option<&ConditionalMinimum> {
        self.known.iter().find(|k| k.value == value)
    }

    /// Returns every value with a conditional fit, in ascending order.
    pub(crate) fn values(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.known.iter().map(|k| k.value).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// Returns whether the conditional fit at `value` has been made with at least this effort.
    pub(crate) fn has(&self, value: f64, effort: Effort) -> bool {
        self.at(value).is_some_and(|known| known.effort >= effort)
    }

    /// Builds the tasks of the conditional fit at `value`; the lowest of their results counts. The first task
    /// starts at the minimum already found at `value`, or else at the point that neighbouring fits predict.
    pub(crate) fn tasks(&self, analysis: &Analysis<'_>, value: f64, effort: Effort) -> Vec<FitTask> {
        let start = match self.at(value) {
            Some(known) => known.fit.parameters.clone(),
            None => self.predict(analysis, value),
        };
        let search = if effort == Effort::Follow { Search::Local } else { analysis.base.search };
        let searched = effort == Effort::Report && analysis.is_middling();
        let mut request = self.request(analysis, value, start, search);
        if searched {
            // This search is not limited to the neighbourhood of the free fit.
            request.metric = None;
        }
        let mut tasks = vec![FitTask { data: self.data.clone(), fits: vec![request], cancel: None }];
        if searched {
            // The search of a single fit. A thorough search begins with the default search, so a thorough search
            // never ends higher.
            let search = if analysis.is_small() { Search::Thorough } else { analysis.base.search };
            let mut alone = FitRequest { search, ..analysis.base.clone() };
            alone.fixed.retain(|(i, _)| *i != self.parameter);
            alone.fixed.push((self.parameter, value));
            tasks.push(FitTask { data: self.data.clone(), fits: vec![alone], cancel: None });
        }
        tasks
    }

    /// Builds the task of a conditional fit at `value` that descends from the minimum of `neighbour`, a fit
    /// at another value.
    pub(crate) fn task_from(&self, analysis: &Analysis<'_>, value: f64, neighbour: &FitOutcome) -> FitTask {
        let held = [(self.parameter, value)];
        let start = analysis.admit(&self.best, &held, neighbour.parameters.clone());
        FitTask {
            data: self.data.clone(),
            fits: vec![self.request(analysis, value, start, Search::Local)],
            cancel: None,
        }
    }

    fn request(&self, analysis: &Analysis<'_>, value: f64, start: Vec<f64>, search: Search) -> FitRequest {
        FitRequest {
            search,
            metric: self.best.inverse_hessian(),
            ..analysis.conditional(&[(self.parameter, value)], start)
        }
    }

    /// Builds the request of a free fit that starts at the conditional minimum at `value`; `None` if there is no fit
    /// at `value`.
    pub(crate) fn release(&self, analysis: &Analysis<'_>, value: f64) -> Option<FitRequest> {
        let start = Start::At(Arc::from(self.at(value)?.fit.parameters.as_slice()));
        Some(FitRequest { start, search: Search::Local, ..analysis.base.clone() })
    }

    /// Removes every conditional fit except those at the given values.
    pub(crate) fn keep(&mut self, values: &[f64]) {
        self.known.retain(|k| values.contains(&k.value));
    }

    /// Adds a result of [`Self::tasks`] or [`Self::task_from`], unless a lower fit at `value` is known. If a
    /// conditional fit lies below the free fit, the free fit has missed the lowest minimum. The caller must
    /// handle this case.
    pub(crate) fn learn(&mut self, value: f64, fitted: &Fitted, effort: Effort) {
        let Ok(fit) = fitted else { return };
        match self.known.iter_mut().find(|k| k.value == value) {
            None => self.known.push(ConditionalMinimum { value, fit: fit.clone(), effort }),
            Some(known) => {
                known.effort = known.effort.max(effort);
                // Of two equal minima, the converged minimum is kept.
                let lower = fit.nll < known.fit.nll && (fit.converged() || !known.fit.converged());
                let certified =
                    fit.converged() && !known.fit.converged() && fit.nll <= known.fit.nll + CERTIFIED;
                let deeper = fit.nll < known.fit.nll - CERTIFIED;
                if lower || certified || deeper {
                    known.fit = fit.clone();
                } else {
                    // Not every fit to a minimum examines its flat directions.
                    let flat = fit.inactive.iter().filter(|entry| entry.1 == Inactive::Flat);
                    let new = flat.filter(|entry| known.fit.inactive.iter().all(|old| old.0 != entry.0));
                    let new: Vec<(usize, Inactive)> = new.copied().collect();
                    known.fit.inactive.extend(new);
                }
            }
        }
    }

    /// Returns `2 (nll - nll of the free fit)` at `value`, or 0 if this is negative; `None` if there is no
    /// fit at `value`.
    pub(crate) fn rise(&self, value: f64) -> Option<f64> {
        self.at(value).map(|k| (2.0 * (k.fit.nll - self.best.nll)).max(0.0))
    }

    /// Predicts the minimum at `value` from the parabola or line through the nearest fits, or from the
    /// covariance of the free fit.
    fn predict(&self, analysis: &Analysis<'_>, value: f64) -> Vec<f64> {
        let mut near: Vec<Node<'_>> =
            self.known.iter().map(|k| (k.value, k.fit.parameters.as_slice())).collect();
        near.push((self.best_value(), &self.best.parameters));
        near.sort_by(|a, b| (a.0 - value).abs().total_cmp(&(b.0 - value).abs()));
        // Points that nearly coincide do not determine the slope between them.
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

/// A fit that converged replaces a fit that did not converge, even if its `-ln L` is higher by up to this
/// difference.
const CERTIFIED: f64 = 1e-8;

/// A pair of a number and the parameters of a fit. The number is the value of the profiled parameter, or the
/// weight of the fit in an interpolation.
type Node<'a> = (f64, &'a [f64]);

/// Largest number of points of an interpolation.
const NODES: usize = 3;

/// Smallest distance between two points of an interpolation, relative to the distance between the farther
/// point and the value at which the minimum is predicted.
const SPACING: f64 = 0.05;

/// Computes the Lagrange weights of the nearest two or three points; `None` if `value` lies too far outside these
/// points to extrapolate.
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
