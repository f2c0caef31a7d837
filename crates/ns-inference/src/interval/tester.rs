//! Makes the toys of tested points.

use std::time::Instant;

use ns_core::{Control, Model, Session};

use super::blocks::{Block, Counts, Store};
use crate::analysis::Analysis;
use crate::observed::At;
use crate::toy_nuisance::{self, ToyNuisance};
use crate::toys::point::{PointToys, Shifted};
use crate::{FitOptions, InferenceError};

/// Number of toys in the first block of a run.
const FIRST_BLOCK: u64 = 256;

/// Intended duration of a block in seconds. A run that is killed loses at most the block that it works on.
const BLOCK_SECONDS: f64 = 2.0;

/// How a piece of work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Done,
    /// The caller stopped the work.
    Interrupted,
    /// A fit ended below the best fit, so that the statistic of all points tested so far was too small.
    Moved,
}

/// The toys of one point that were made so far.
struct Point {
    values: Vec<f64>,
    counts: Counts,
    /// The prepared toys, and why they may not be drawn where they should be; `None` if all toys so far come from the store.
    toys: Option<(PointToys, Option<String>)>,
}

/// Makes toys of tested points, and counts them.
pub(super) struct Tester<'a> {
    job: (&'a Model, &'a dyn Session),
    /// Indices of the tested parameters.
    indices: Vec<usize>,
    /// Options of the fits, and where the toys are drawn.
    settings: (&'a FitOptions, ToyNuisance),
    seed: u64,
    control: Control<'a>,
    points: Vec<Point>,
    /// Reasons why toys may not be drawn where they should be.
    pub(super) doubts: Vec<String>,
    /// Number of toys of all points, with those of the store.
    pub(super) n_toys: u64,
    n_run: u64,
    wall_s: f64,
    block: u64,
}

impl<'a> Tester<'a> {
    pub(super) fn new(
        job: (&'a Model, &'a dyn Session),
        indices: Vec<usize>,
        settings: (&'a FitOptions, ToyNuisance),
        seed: u64,
        control: Control<'a>,
    ) -> Self {
        Self {
            job,
            indices,
            settings,
            seed,
            control,
            points: Vec::new(),
            doubts: Vec::new(),
            n_toys: 0,
            n_run: 0,
            wall_s: 0.0,
            block: FIRST_BLOCK,
        }
    }

    /// Forgets all points, because their observed statistic has changed.
    pub(super) fn forget(&mut self) {
        self.points.clear();
        self.doubts.clear();
        self.n_toys = 0;
    }

    /// Frees the prepared toys of all points and keeps their counts. More toys of a point are prepared again.
    pub(super) fn finish_points(&mut self) {
        self.points.iter_mut().for_each(|point| point.toys = None);
    }

    /// Returns the tested parameters with their values.
    pub(super) fn held(&self, values: &[f64]) -> Vec<(usize, f64)> {
        self.indices.iter().copied().zip(values.iter().copied()).collect()
    }

    /// Returns the number of toys per second of wall time; `None` if no toy was run.
    pub(super) fn toys_per_s(&self) -> Option<f64> {
        (self.n_run > 0 && self.wall_s > 0.0).then(|| self.n_run as f64 / self.wall_s)
    }

    /// Prepares toys of the point with the values `held`. `best` is the fit with all parameters free.
    fn prepare(
        &self,
        analysis: &mut Analysis<'_>,
        (best, at): (&[f64], &At),
        held: &[(usize, f64)],
    ) -> Result<(PointToys, Option<String>), InferenceError> {
        let (fit, nuisance) = self.settings;
        let fits = (best, at.parameters.as_slice());
        let mut origin =
            toy_nuisance::origin(nuisance, self.job, fit, fits, (held, self.seed), self.control)?;
        let doubt = origin.doubt.take();
        Ok((PointToys::prepare(analysis, self.job.1, origin, held, self.seed)?, doubt))
    }

    /// Makes toys at the point `values` until it has `n_toys`. Returns the counts of all toys of the point.
    pub(super) fn toys(
        &mut self,
        analysis: &mut Analysis<'_>,
        store: &mut dyn Store,
        best: &[f64],
        (values, at): (&[f64], &At),
        n_toys: u64,
    ) -> Result<(Counts, Ended), InferenceError> {
        let place = match self.points.iter().position(|point| point.values == values) {
            Some(place) => place,
            None => {
                self.points.push(Point { values: values.to_vec(), counts: Counts::default(), toys: None });
                self.points.len() - 1
            }
        };
        let held = self.held(values);
        loop {
            let Some(point) = self.points.get_mut(place) else { return Err(InferenceError::Cancelled) };
            let is_prepared = point.toys.is_some();
            let left = n_toys.saturating_sub(point.counts.run);
            if left == 0 {
                return Ok((point.counts, Ended::Done));
            }
            if let Some(block) = store.known(values, at.t, point.counts.run, left) {
                point.counts.add(&block);
                self.n_toys += block.n_toys;
                doubts(&mut self.doubts, block.doubt);
                continue;
            }
            let counts = point.counts;
            let made = if is_prepared { None } else { Some(self.prepare(analysis, (best, at), &held)) };
            let made = match made {
                Some(Err(InferenceError::Cancelled)) => return Ok((counts, Ended::Interrupted)),
                made => made.transpose()?,
            };
            let Some(point) = self.points.get_mut(place) else { return Err(InferenceError::Cancelled) };
            point.toys = made.or(point.toys.take());
            let Some((toys, doubt)) = &point.toys else { return Err(InferenceError::Cancelled) };
            let (first, size) = (point.counts.run, self.block.min(left));
            let started = Instant::now();
            let shifted = Shifted { control: self.control, done: self.n_toys, more: left };
            let control = Control { observer: Some(&shifted), cancel: self.control.cancel, task: None };
            let (counts, n_above) = match toys.count(self.job, first..first + size, at.t, control) {
                Err(InferenceError::Cancelled) => return Ok((point.counts, Ended::Interrupted)),
                other => other?,
            };
            let block = Block {
                values: values.to_vec(),
                t: at.t,
                first,
                n_toys: counts.n_toys,
                n_above,
                n_nonconverged: counts.n_nonconverged,
                n_error: counts.n_error,
                doubt: doubt.clone(),
            };
            store.add(&block)?;
            point.counts.add(&block);
            let seconds = started.elapsed().as_secs_f64();
            self.n_toys += block.n_toys;
            doubts(&mut self.doubts, block.doubt);
            self.n_run += block.n_toys;
            self.wall_s += seconds;
            if counts.interrupted {
                return Ok((point.counts, Ended::Interrupted));
            }
            if size == self.block && seconds < BLOCK_SECONDS {
                self.block = self.block.saturating_mul(2);
            }
        }
    }
}

/// Adds a reason that is not in the list yet. A point has the same in each of its blocks.
fn doubts(known: &mut Vec<String>, reason: Option<String>) {
    if let Some(reason) = reason.filter(|reason| !known.contains(reason)) {
        known.push(reason);
    }
}
