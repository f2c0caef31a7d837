//! Computes moments of fitted values and of pulls. Toys are added one by one.

use super::result::{FitToysResult, ParameterStudy};
use crate::InferenceError;
use crate::diagnosis;
use crate::toys::{FitToyRow, FitToysHeader, INTERRUPTED, RowSink, ToyRun, ToyStatus};

/// Largest number of toys for which the median is computed exactly, from all values.
const EXACT: usize = 20_000;

/// Number of bins of the histogram from which the median is computed if there are more than [`EXACT`] toys.
const BINS: usize = 4096;
/// Half of the width of the histogram from which a median is computed. The histogram is centred on the true value.
/// The unit is the parameter's scale in [`ToyOrigin::sigmas`](crate::toys::ToyOrigin).
const REACH: f64 = 8.0;

/// Summarises the toys of a study row by row. If there are more than 20 000 toys, the memory does not grow with their
/// number.
#[derive(Debug, Clone)]
pub struct FitToysSummary {
    header: FitToysHeader,
    columns: Vec<Column>,
    n: u64,
    n_nonconverged: u64,
    n_error: u64,
    wall_s: Option<f64>,
    interrupted: bool,
}

#[derive(Debug, Clone)]
struct Column {
    truth: f64,
    value: Moments,
    pull: Moments,
    covered: u64,
    without_uncertainty: u64,
    median: Median,
}

impl FitToysSummary {
    /// Creates a summary that contains no toys.
    #[must_use]
    pub fn new(header: &FitToysHeader) -> Self {
        let column = |i: &usize| {
            let truth = header.point.get(*i).copied().unwrap_or(f64::NAN);
            let scale = header.origin.sigmas.get(*i).copied().unwrap_or(1.0);
            Column {
                truth,
                value: Moments::default(),
                pull: Moments::default(),
                covered: 0,
                without_uncertainty: 0,
                median: Median::new(truth, scale),
            }
        };
        let columns = header.indices.iter().map(column).collect();
        Self {
            header: header.clone(),
            columns,
            n: 0,
            n_nonconverged: 0,
            n_error: 0,
            wall_s: None,
            interrupted: false,
        }
    }

    /// Adds one toy. Each toy must be added once.
    pub fn add(&mut self, row: &FitToyRow) {
        self.n += 1;
        match row.status {
            ToyStatus::Converged => {}
            ToyStatus::NotConverged => {
                self.n_nonconverged += 1;
                return;
            }
            ToyStatus::Failed => {
                self.n_error += 1;
                return;
            }
        }
        for ((column, value), sigma) in self.columns.iter_mut().zip(&row.values).zip(&row.uncertainties) {
            column.value.add(*value);
            column.median.add(*value);
            match sigma {
                Some(sigma) if *sigma > 0.0 => {
                    let pull = (value - column.truth) / sigma;
                    column.pull.add(pull);
                    column.covered += u64::from(pull.abs() <= 1.0);
                }
                _ => column.without_uncertainty += 1,
            }
        }
    }

    /// Adds wall time, in seconds. The number of toys per second is computed from the total.
    pub fn add_time(&mut self, wall_s: f64) {
        self.wall_s = Some(self.wall_s.unwrap_or(0.0) + wall_s);
    }

    /// Adds the wall time of a run of toys that has ended, and whether this run was interrupted.
    pub(super) fn ended(&mut self, run: ToyRun) {
        self.add_time(run.wall_s);
        self.interrupted |= run.interrupted;
    }

    /// Computes the result of the study.
    #[must_use]
    pub fn finish(self) -> FitToysResult {
        let n_failed = self.n_nonconverged + self.n_error;
        let mut warnings = self.header.warnings.clone();
        if n_failed > 0 {
            warnings
                .push(format!("{n_failed} of {} toys did not converge or failed and are left out", self.n));
        }
        let parameters: Vec<ParameterStudy> =
            self.header.params.iter().zip(self.columns).map(|(name, column)| column.finish(name)).collect();
        let mut bare =
            parameters.iter().filter(|p| p.n_without_uncertainty > 0).map(|p| p.name.as_str()).peekable();
        if bare.peek().is_some() {
            warnings.push(format!(
                "toys whose fit has no uncertainty (at a bound, on a kink or along a flat direction) are left out of \
                 pulls and coverage: see n_without_uncertainty of {}",
                diagnosis::list(bare)
            ));
        }
        warnings.extend(self.interrupted.then(|| INTERRUPTED.to_owned()));
        FitToysResult {
            parameters,
            n_toys: self.n,
            n_failed,
            n_nonconverged: self.n_nonconverged,
            n_error: self.n_error,
            seed: self.header.origin.seed,
            search: self.header.origin.search.clone(),
            shard: self.header.origin.shard.to_string(),
            toys_per_s: self.wall_s.filter(|s| *s > 0.0).map(|s| self.n as f64 / s),
            converged: n_failed == 0,
            warnings,
            interrupted: self.interrupted,
        }
    }
}

impl RowSink<FitToyRow> for FitToysSummary {
    fn rows(&mut self, rows: &[FitToyRow]) -> Result<(), InferenceError> {
        rows.iter().for_each(|row| self.add(row));
        Ok(())
    }
}

impl Column {
    fn finish(self, name: &str) -> ParameterStudy {
        let (value, pull) = (&self.value, &self.pull);
        let n = pull.n as f64;
        let coverage = (pull.n > 0).then(|| self.covered as f64 / n);
        ParameterStudy {
            name: name.to_owned(),
            generated: self.truth,
            mean: value.mean(),
            median: self.median.finish(),
            spread: value.spread(),
            bias: value.mean().map(|mean| mean - self.truth),
            bias_error: value.mean_error(),
            pull_mean: pull.mean(),
            pull_mean_error: pull.mean_error(),
            pull_width: pull.spread(),
            pull_width_error: pull.spread_error(),
            coverage,
            coverage_error: coverage.map(|c| (c * (1.0 - c) / n).sqrt()),
            n_pulls: pull.n,
            n_without_uncertainty: self.without_uncertainty,
        }
    }
}

/// Mean and central moments up to the fourth. Values are added one at a time (Welford's recurrence, extended by
/// Terriberry). `m2` to `m4` are sums of powers of the deviation from the mean.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    n: u64,
    mean: f64,
    m2: f64,
    m3: f64,
    m4: f64,
}

impl Moments {
    fn add(&mut self, x: f64) {
        let before = self.n as f64;
        self.n += 1;
        let n = self.n as f64;
        let delta = x - self.mean;
        let step = delta / n;
        let term = delta * step * before;
        self.mean += step;
        self.m4 +=
            term * step * step * (n * n - 3.0 * n + 3.0) + 6.0 * step * step * self.m2 - 4.0 * step * self.m3;
        self.m3 += term * step * (n - 2.0) - 3.0 * step * self.m2;
        self.m2 += term;
    }

    fn mean(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }

    fn spread(&self) -> Option<f64> {
        (self.n > 1).then(|| (self.m2 / (self.n as f64 - 1.0)).sqrt())
    }

    fn mean_error(&self) -> Option<f64> {
        self.spread().map(|s| s / (self.n as f64).sqrt())
    }

    /// Returns the statistical error of the standard deviation `s`: `sqrt((c4 - c2^2) / n) / (2 s)`. `n` is the
    /// number of values, and `c2 = m2 / n` and `c4 = m4 / n` are the second and the fourth central moment.
    fn spread_error(&self) -> Option<f64> {
        let (n, spread) = (self.n as f64, self.spread()?);
        let (second, fourth) = (self.m2 / n, self.m4 / n);
        let error = ((fourth - second * second).max(0.0) / n).sqrt() / (2.0 * spread);
        error.is_finite().then_some(error)
    }
}

/// Computes the median of the fitted values of a parameter. The median is exact for few values, and comes from a
/// histogram for many values. The result does not depend on the order of the values.
#[derive(Debug, Clone)]
struct Median {
    low: f64,
    width: f64,
    few: Vec<f64>,
    n: u64,
    below: u64,
    bins: Vec<u64>,
}

impl Median {
    fn new(centre: f64, scale: f64) -> Self {
        let width = 2.0 * REACH * scale / BINS as f64;
        Self { low: centre - REACH * scale, width, few: Vec::new(), n: 0, below: 0, bins: Vec::new() }
    }

    fn add(&mut self, x: f64) {
        self.n += 1;
        if self.bins.is_empty() {
            self.few.push(x);
            if self.few.len() > EXACT {
                self.bins = vec![0; BINS];
                for x in std::mem::take(&mut self.few) {
                    self.count(x);
                }
            }
        } else {
            self.count(x);
        }
    }

    fn count(&mut self, x: f64) {
        let place = ((x - self.low) / self.width).floor();
        if place < 0.0 {
            self.below += 1;
        } else if let Some(bin) = self.bins.get_mut(place as usize) {
            *bin += 1;
        }
    }

    fn finish(mut self) -> Option<f64> {
        if self.bins.is_empty() {
            self.few.sort_by(f64::total_cmp);
            let n = self.few.len();
            let (a, b) = (self.few.get(n.saturating_sub(1) / 2)?, self.few.get(n / 2)?);
            return Some(0.5 * (a + b));
        }
        let half = 0.5 * self.n as f64;
        let mut sum = self.below as f64;
        if half < sum {
            return None;
        }
        for (i, count) in self.bins.iter().enumerate() {
            let count = *count as f64;
            if sum + count >= half && count > 0.0 {
                return Some(self.low + self.width * (i as f64 + (half - sum) / count));
            }
            sum += count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_two_passes() {
        let values: Vec<f64> = (0..1000).map(|i| 1e3 + ((i * 7919) % 1009) as f64 * 1e-2).collect();
        let mut moments = Moments::default();
        values.iter().for_each(|x| moments.add(*x));
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let central = |k: i32| values.iter().map(|x| (x - mean).powi(k)).sum::<f64>();
        assert!((moments.mean - mean).abs() < 1e-10);
        assert!((moments.m2 / central(2) - 1.0).abs() < 1e-9);
        assert!((moments.m4 / central(4) - 1.0).abs() < 1e-8);
    }

    #[test]
    fn both_kinds_of_median_agree_and_ignore_the_order() {
        let value = |i: usize| 3.0 + 0.1 * (((i * 7919) % 25_013) as f64 / 25_013.0 - 0.5).powi(3);
        let (mut few, mut many, mut back) =
            (Median::new(3.0, 0.01), Median::new(3.0, 0.01), Median::new(3.0, 0.01));
        (0..20_000).for_each(|i| few.add(value(i)));
        (0..25_013).for_each(|i| many.add(value(i)));
        (0..25_013).rev().for_each(|i| back.add(value(i)));
        let (few, many, back) = (few.finish(), many.finish(), back.finish());
        assert!(few.is_some_and(|m| (m - 3.0).abs() < 1e-4), "{few:?}");
        assert!(many.is_some_and(|m| (m - 3.0).abs() < 1e-4), "{many:?}");
        assert_eq!(many, back);
    }
}
