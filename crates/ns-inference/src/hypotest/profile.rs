//! Conditional fits of one data set at many values of one parameter: every fit starts from what the
//! ones before it say.

use ns_core::{Data, FitOutcome, FitRequest, FitTask, Search};

use crate::analysis::{Analysis, Fitted};

/// A conditional minimum.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) value: f64,
    pub(crate) fit: FitOutcome,
}

/// What is known of the profile likelihood of one data set.
pub(crate) struct Profile {
    pub(crate) data: Data,
    pub(crate) parameter: usize,
    /// The free fit, with its covariance.
    pub(crate) best: FitOutcome,
    /// Conditional fits so far, in the order in which they were done.
    known: Vec<Known>,
}

impl Profile {
    pub(crate) fn new(data: Data, parameter: usize, best: FitOutcome) -> Self {
        Self { data, parameter, best, known: Vec::new() }
    }

    /// Value of the parameter in the free fit.
    pub(crate) fn best_value(&self) -> f64 {
        self.best.parameters.get(self.parameter).copied().unwrap_or(f64::NAN)
    }

    /// The conditional fit at exactly this value, if it has been done.
    pub(crate) fn at(&self, value: f64) -> Option<&Known> {
        self.known.iter().find(|k| k.value == value)
    }

    /// The conditional fit at `value` as a task.
    pub(crate) fn task(&self, analysis: &Analysis<'_>, value: f64, search: Search) -> FitTask {
        let start = self.predict(analysis, value);
        let request = FitRequest {
            search,
            metric: self.best.covariance.clone(),
            ..analysis.conditional(&[(self.parameter, value)], start)
        };
        FitTask { data: self.data.clone(), fits: vec![request] }
    }

    /// The conditional fit at a value already known once more, from where it ended but with a search for
    /// lower minima.
    pub(crate) fn recheck(&self, analysis: &Analysis<'_>, value: f64) -> Option<FitTask> {
        let start = self.at(value)?.fit.parameters.clone();
        let request = FitRequest {
            search: Search::Standard,
            ..analysis.conditional(&[(self.parameter, value)], start)
        };
        Some(FitTask { data: self.data.clone(), fits: vec![request] })
    }

    /// Forgets every conditional fit but those at the given values.
    pub(crate) fn keep(&mut self, values: &[f64]) {
        self.known.retain(|k| values.contains(&k.value));
    }

    /// Takes the result of [`Self::task`]. A conditional fit below the free one shows a lower
    /// minimum; the caller decides what to do about it.
    pub(crate) fn learn(&mut self, value: f64, fitted: &Fitted) {
        if let Ok(fit) = fitted {
            self.known.retain(|k| k.value != value);
            self.known.push(Known { value, fit: fit.clone() });
        }
    }

    /// Twice the rise of `-ln L` above the free fit at a value already known; never negative.
    pub(crate) fn rise(&self, value: f64) -> Option<f64> {
        self.at(value).map(|k| (2.0 * (k.fit.nll - self.best.nll)).max(0.0))
    }

    /// A start point: along the parabola, line or covariance through the nearest known fits.
    fn predict(&self, analysis: &Analysis<'_>, value: f64) -> Vec<f64> {
        let mut near: Vec<Node<'_>> =
            self.known.iter().map(|k| (k.value, k.fit.parameters.as_slice())).collect();
        near.push((self.best_value(), &self.best.parameters));
        near.sort_by(|a, b| (a.0 - value).abs().total_cmp(&(b.0 - value).abs()));
        // Points that all but coincide say nothing about the direction between them.
        let mut apart: Vec<Node<'_>> = Vec::with_capacity(NODES);
        for node in near {
            let reach = SPACING * (node.0 - value).abs();
            if apart.len() < NODES && apart.iter().all(|other| (other.0 - node.0).abs() > reach) {
                apart.push(node);
            }
        }
        let near = apart;
        // The covariance knows the slope at the best fit; two points far away know less.
        let covariance = self.best.covariance.is_some();
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

/// A point of the profile with its value of the parameter, or with its weight in an interpolation.
type Node<'a> = (f64, &'a [f64]);

/// Points of an interpolation.
const NODES: usize = 3;

/// How far apart two of them must be, relative to the distance to the farther one.
const SPACING: f64 = 0.05;

/// Lagrange weights of the three (or two) nearest points; `None` where they lie too far away to be
/// extrapolated.
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
