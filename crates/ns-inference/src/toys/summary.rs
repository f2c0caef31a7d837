//! Counts the toys of a hypothesis test and computes the result of the test.

use super::result::{HypotestToysResult, PerHypothesis};
use super::{
    Hypothesis, INTERRUPTED, RowSink, SAME_STATISTIC, StatisticHistogram, ToyHeader, ToyRow, ToyRun,
    ToyStatus, binned,
};
use crate::InferenceError;
use crate::hypotest::ExpectedSet;
use crate::present::significant;

/// Probabilities, in percent, that a normal variable lies below -2, -1, 0, +1 and +2 standard deviations.
const PERCENTILES: [f64; 5] = [2.275_013_194_8, 15.865_525_393_1, 50.0, 84.134_474_606_9, 97.724_986_805_2];

/// Probability that a standard normal variable is below 1.
const ONE_SIGMA: f64 = 0.841_344_746_068_542_9;

/// Counts the toys of a hypothesis test, row by row.
#[derive(Debug, Clone)]
pub struct Summary {
    header: ToyHeader,
    counts: PerHypothesis<Counts>,
    distributions: PerHypothesis<StatisticHistogram>,
    /// Test statistics of the converged toys of each hypothesis; `None` if no expected values are wanted.
    kept: Option<PerHypothesis<Vec<f64>>>,
    wall_s: Option<f64>,
    interrupted: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// Number of all toys.
    n: u64,
    /// Number of converged toys. P-values are computed from these toys only.
    good: u64,
    /// Number of converged toys whose test statistic is at least the observed one.
    above: u64,
    n_nonconverged: u64,
    n_error: u64,
}

impl Summary {
    /// Creates a summary that contains no toys.
    #[must_use]
    pub fn new(header: &ToyHeader) -> Self {
        Self {
            header: header.clone(),
            counts: PerHypothesis::default(),
            distributions: PerHypothesis::default(),
            kept: None,
            wall_s: None,
            interrupted: false,
        }
    }

    /// Sets whether the test statistics of all converged toys are kept in memory, which takes 8 bytes per toy. The
    /// expected values are computed from them. Call this function before the first toy is added.
    #[must_use]
    pub fn expected_set(mut self, wanted: bool) -> Self {
        self.kept = wanted.then(PerHypothesis::default);
        self
    }

    /// Adds one toy. Each toy must be added once, in any order.
    pub fn add(&mut self, row: &ToyRow) {
        let counts = self.counts.of_mut(row.hypothesis);
        counts.n += 1;
        match (row.status, row.statistic) {
            (ToyStatus::Converged, Some(q)) => {
                counts.good += 1;
                counts.above += u64::from(q >= self.header.q_obs - SAME_STATISTIC);
                self.distributions.of_mut(row.hypothesis).add(q);
                if let Some(kept) = &mut self.kept {
                    kept.of_mut(row.hypothesis).push(q);
                }
            }
            (ToyStatus::NotConverged, _) => counts.n_nonconverged += 1,
            _ => counts.n_error += 1,
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

    /// Returns the number of toys that have been added.
    #[must_use]
    pub fn n_rows(&self) -> u64 {
        self.counts.b.n + self.counts.sb.n
    }

    /// Returns the expected CLs, each with its statistical error. The error has two parts. The first is the error of
    /// the percentile, due to the number of toys of the alternative hypothesis. The second is the binomial error of
    /// CLs+b, due to the number of toys of the tested hypothesis. The list is empty if the test statistics are not
    /// kept.
    pub(super) fn expected_cls(&self) -> Vec<Option<(f64, f64)>> {
        let Some(mut kept) = self.kept.clone() else { return Vec::new() };
        let [cls, ..] = p_values(&mut kept);
        let (n_b, n_sb) = (kept.b.len() as f64, kept.sb.len() as f64);
        let one = |percent: &f64| {
            let value = percentile(&cls, *percent)?;
            let p = percent / 100.0;
            let shift = 100.0 * (p * (1.0 - p) / n_b).sqrt();
            let place = 0.5 * (percentile(&cls, percent + shift)? - percentile(&cls, percent - shift)?);
            let clsb = value * p;
            let above = if clsb > 0.0 {
                value * ((1.0 - clsb).max(0.0) / (n_sb * clsb)).sqrt()
            } else {
                none_of(kept.sb.len() as u64, ONE_SIGMA) / p
            };
            Some((value, place.hypot(above)))
        };
        PERCENTILES.iter().map(one).collect()
    }

    /// Computes the result of the test.
    #[must_use]
    pub fn finish(self) -> HypotestToysResult {
        let header = self.header;
        let mut warnings = header.warnings.clone();
        let (b, sb) = (self.counts.b, self.counts.sb);
        let p_value = |counts: Counts| (counts.good > 0).then(|| counts.above as f64 / counts.good as f64);
        let (clb, clsb) = (p_value(b), p_value(sb));
        for (hypothesis, counts) in [(Hypothesis::Background, b), (Hypothesis::Signal, sb)] {
            let failed = counts.n - counts.good;
            if counts.good == 0 {
                warnings.push(format!("there is no toy of {hypothesis} to count: p-values are null"));
            } else if failed > 0 {
                warnings.push(format!(
                    "{failed} of {} toys of {hypothesis} did not converge or failed and are not counted; \
                     cls_failed_low and cls_failed_high say what they could change",
                    counts.n
                ));
            }
        }
        let discovery = header.test_stat == "q0";
        if discovery {
            warnings.push(
                "cls is null: q0 tests the absence of a signal; its p-value is clsb (toys of sb have no signal)".to_owned(),
            );
        }
        let ratio = |k_sb: u64, n_sb: u64, k_b: u64, n_b: u64| {
            let exists = !discovery && n_sb > 0 && n_b > 0 && k_b > 0;
            exists.then(|| (k_sb as f64 / n_sb as f64) / (k_b as f64 / n_b as f64))
        };
        let cls = ratio(sb.above, sb.good, b.above, b.good);
        if b.good > 0 && b.above == 0 {
            warnings.push(format!(
                "none of {} toys of b reached the observed statistic {}: clb is 0 and cls null; run more toys",
                b.good,
                significant(header.q_obs)
            ));
        }
        let cls_upper = match cls {
            Some(0.0) => clb.map(|clb| none_of(sb.good, 0.95) / clb),
            _ => None,
        };
        if let (0, Some(_)) = (sb.above, clsb) {
            let bound = none_of(sb.good, 0.95);
            warnings.push(format!(
                "none of {} toys of sb reached the observed statistic {}: clsb is below {} at 95 % confidence; run more \
                 toys",
                sb.good,
                significant(header.q_obs),
                significant(bound)
            ));
        }
        warnings.extend(self.interrupted.then(|| INTERRUPTED.to_owned()));
        let failed = |counts: Counts| counts.n - counts.good;
        let expected_set = self.kept.map(|kept| expected(kept, discovery));
        let [in_b, in_sb] = binned([&self.distributions.b, &self.distributions.sb], true);
        HypotestToysResult {
            cls,
            clsb,
            clb,
            cls_error: cls.and_then(|cls| cls_error(cls, sb, b)),
            clsb_error: p_error(sb),
            clb_error: p_error(b),
            cls_upper,
            cls_failed_low: ratio(sb.above, sb.n, b.above, b.n),
            cls_failed_high: ratio(sb.above + failed(sb), sb.n, b.above + failed(b), b.n),
            q_obs: header.q_obs,
            mu_test: header.mu_test,
            mu_hat: header.mu_hat_obs,
            test_stat: header.test_stat,
            param: header.param,
            n_toys: self.counts.map(|c| c.n),
            n_nonconverged: self.counts.map(|c| c.n_nonconverged),
            n_error: self.counts.map(|c| c.n_error),
            seed: header.origin.seed,
            search: header.origin.search.clone(),
            shard: header.origin.shard.to_string(),
            toys_per_s: self.wall_s.filter(|s| *s > 0.0).map(|s| (b.n + sb.n) as f64 / s),
            expected_set,
            converged: header.converged && failed(b) + failed(sb) == 0,
            warnings,
            interrupted: self.interrupted,
            distributions: PerHypothesis { b: in_b, sb: in_sb },
        }
    }
}

impl RowSink for Summary {
    fn rows(&mut self, rows: &[ToyRow]) -> Result<(), InferenceError> {
        rows.iter().for_each(|row| self.add(row));
        Ok(())
    }
}

/// Returns the upper end of the Clopper-Pearson interval for a p-value if none of `n` toys has a test statistic of at
/// least the observed one. For a p-value of this size, the probability of this case is `1 - confidence`.
fn none_of(n: u64, confidence: f64) -> f64 {
    -((1.0 - confidence).ln() / n as f64).exp_m1()
}

/// Returns the binomial error of the fraction `above / n`. If `above` is 0, the error is the upper end of the
/// Clopper-Pearson interval of one standard deviation. Returns `None` if `n` is 0.
pub(crate) fn binomial_error(above: u64, n: u64) -> Option<f64> {
    if n == 0 {
        return None;
    }
    if above == 0 {
        return Some(none_of(n, ONE_SIGMA));
    }
    let p = above as f64 / n as f64;
    Some((p * (1.0 - p) / n as f64).sqrt())
}

fn p_error(counts: Counts) -> Option<f64> {
    binomial_error(counts.above, counts.good)
}

/// Returns the error of CLs, propagated from the binomial errors of CLs+b and CLb. If CLs is 0, the error follows
/// from the Clopper-Pearson interval of CLs+b.
fn cls_error(cls: f64, sb: Counts, b: Counts) -> Option<f64> {
    let (n_sb, n_b) = (sb.good as f64, b.good as f64);
    let (clsb, clb) = (sb.above as f64 / n_sb, b.above as f64 / n_b);
    if sb.above == 0 {
        return Some(none_of(sb.good, ONE_SIGMA) / clb);
    }
    Some(cls * ((1.0 - clsb) / (n_sb * clsb) + (1.0 - clb) / (n_b * clb)).sqrt())
}

/// Returns CLs, CLs+b and CLb for each toy of the alternative hypothesis, as if this toy were the observed data.
/// There are three lists, each in ascending order. The lists are empty if one hypothesis has no toys.
fn p_values(kept: &mut PerHypothesis<Vec<f64>>) -> [Vec<f64>; 3] {
    kept.b.sort_by(f64::total_cmp);
    kept.sb.sort_by(f64::total_cmp);
    let (n_b, n_sb) = (kept.b.len(), kept.sb.len());
    let mut lists = [const { Vec::new() }; 3];
    if n_sb == 0 {
        return lists;
    }
    let (mut below_b, mut below_sb) = (0, 0);
    for q in &kept.b {
        let level = q - SAME_STATISTIC;
        while kept.b.get(below_b).is_some_and(|other| *other < level) {
            below_b += 1;
        }
        while kept.sb.get(below_sb).is_some_and(|other| *other < level) {
            below_sb += 1;
        }
        let (clsb, clb) = ((n_sb - below_sb) as f64 / n_sb as f64, (n_b - below_b) as f64 / n_b as f64);
        for (list, p) in lists.iter_mut().zip([clsb / clb, clsb, clb]) {
            list.push(p);
        }
    }
    lists.iter_mut().for_each(|list| list.sort_by(f64::total_cmp));
    lists
}

/// Computes the expected p-values of a test. If `discovery` is true (the test statistic is q0), there are no expected
/// CLs.
fn expected(mut kept: PerHypothesis<Vec<f64>>, discovery: bool) -> ExpectedSet {
    let [mut cls, clsb, clb] = p_values(&mut kept).map(|list| percentiles(&list));
    if discovery {
        cls.fill(None);
    }
    ExpectedSet { cls, clsb, clb, ..ExpectedSet::default() }
}

/// Returns a percentile of `values`, which must be in ascending order. Interpolates linearly between neighbours.
/// Returns `None` if there are no values.
fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let place = (percent / 100.0).clamp(0.0, 1.0) * last as f64;
    let below = place.floor();
    let low = *values.get(below as usize)?;
    let high = *values.get((below as usize + 1).min(last))?;
    Some(low + (place - below) * (high - low))
}

fn percentiles(values: &[f64]) -> Vec<Option<f64>> {
    PERCENTILES.iter().map(|percent| percentile(values, *percent)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toys::{Shard, ToyOrigin};

    fn header(test_stat: &str, q_obs: f64) -> ToyHeader {
        ToyHeader {
            origin: ToyOrigin {
                version: "1".into(),
                model_digest: "m".into(),
                data_digest: "d".into(),
                interpolation: "smooth".into(),
                samplers: 2,
                seed: 1,
                n_toys: 10,
                shard: Shard::WHOLE,
                fixed: Vec::new(),
                search: "standard".into(),
                integral_tolerance: None,
                parameter_names: vec!["mu".into()],
                sigmas: vec![1.0],
            },
            param: "mu".into(),
            mu_test: 1.0,
            test_stat: test_stat.into(),
            q_obs,
            mu_hat_obs: 0.5,
            poi_index: 0,
            point_b: vec![0.0],
            point_sb: vec![1.0],
            converged: true,
            warnings: Vec::new(),
        }
    }

    fn row(hypothesis: Hypothesis, index: u64, q: f64) -> ToyRow {
        ToyRow {
            hypothesis,
            index,
            statistic: Some(q),
            mu_hat: Some(0.0),
            status: ToyStatus::Converged,
            reason: String::new(),
        }
    }

    fn filled(q_obs: f64, b: &[f64], sb: &[f64]) -> Summary {
        let mut summary = Summary::new(&header("qtilde", q_obs)).expected_set(true);
        for (hypothesis, values) in [(Hypothesis::Background, b), (Hypothesis::Signal, sb)] {
            for (i, q) in values.iter().enumerate() {
                summary.add(&row(hypothesis, i as u64, *q));
            }
        }
        summary
    }

    #[test]
    fn counts_ties_and_errors_are_the_stated_ones() {
        // Three of four toys of b are counted, and one of four toys of sb. A toy is counted if it lies at most 1e-8
        // below the observed value.
        let summary = filled(2.0, &[2.0, 3.0, 2.0 - 5e-9, 0.0], &[0.0, 0.0, 2.0, 1.9]);
        let result = summary.finish();
        assert_eq!((result.clb, result.clsb, result.cls), (Some(0.75), Some(0.25), Some(0.25 / 0.75)));
        let expected: f64 = (0.25 / 0.75) * (0.75 / (4.0 * 0.25) + 0.25 / (4.0 * 0.75_f64)).sqrt();
        assert!(result.cls_error.is_some_and(|e| (e - expected).abs() < 1e-15));
        assert_eq!(result.cls_failed_low, result.cls);
        assert!(result.warnings.is_empty());
    }

    #[test]
    fn no_toy_above_gives_a_bound_and_no_background_above_gives_null() {
        let result = filled(5.0, &[6.0, 0.0], &[0.0; 100]).finish();
        assert_eq!((result.cls, result.clsb), (Some(0.0), Some(0.0)));
        // The limit on CLs+b is 1 - 0.05^(1/100). It is divided by CLb = 1/2.
        let bound = 2.0 * (1.0 - 0.05_f64.powf(0.01));
        assert!(result.cls_upper.is_some_and(|u| (u - bound).abs() < 1e-14));
        assert!(result.cls_error.is_some_and(|e| e > 0.0 && e < bound));
        assert!(result.warnings.iter().any(|w| w.contains("none of 100 toys of sb")));

        let result = filled(5.0, &[0.0, 0.0], &[6.0]).finish();
        assert_eq!((result.cls, result.clb, result.cls_error), (None, Some(0.0), None));
        assert!(result.warnings.iter().any(|w| w.contains("cls null")));
    }

    #[test]
    fn failed_toys_are_left_out_and_bracketed() {
        let mut summary = filled(1.0, &[2.0, 2.0, 0.0, 2.0], &[0.0, 2.0, 0.0, 0.0]);
        summary.add(&ToyRow {
            status: ToyStatus::NotConverged,
            reason: "x".into(),
            ..row(Hypothesis::Signal, 4, 9.0)
        });
        summary.add(&ToyRow {
            status: ToyStatus::Failed,
            statistic: None,
            reason: "x".into(),
            ..row(Hypothesis::Background, 4, 0.0)
        });
        let result = summary.finish();
        assert_eq!(result.cls, Some(0.25 / 0.75));
        assert_eq!((result.n_toys.b, result.n_error.b, result.n_nonconverged.b), (5, 1, 0));
        assert_eq!((result.n_toys.sb, result.n_error.sb, result.n_nonconverged.sb), (5, 0, 1));
        assert_eq!(result.cls_failed_low, Some(0.2 / 0.6));
        assert_eq!(result.cls_failed_high, Some(0.4 / 0.8));
        assert!(!result.converged);
    }

    #[test]
    fn the_expected_band_is_that_of_numpy_percentiles() {
        // pyhf 0.7.6: ToyCalculator.expected_pvalues on these two sets of samples.
        let b = [0.0, 0.5, 1.5, 3.0, 4.0];
        let sb = [0.0, 0.0, 0.5, 1.0, 2.0];
        let set = filled(1.0, &b, &sb).finish().expected_set.unwrap_or_default();
        let cls: Vec<f64> = set.cls.iter().flatten().copied().collect();
        // CLs of the five toys of b: 1, 3/5 / (4/5), 1/5 / (3/5), 0, 0.
        let sorted: [f64; 5] = [0.0, 0.0, 1.0 / 3.0, 0.75, 1.0];
        let at = |percent: f64| {
            let place = percent / 25.0;
            let i = place.floor() as usize;
            sorted[i] + (place - i as f64) * (sorted[i + 1] - sorted[i])
        };
        for (found, percent) in cls.iter().zip(PERCENTILES) {
            assert!((found - at(percent)).abs() < 1e-15, "{percent}: {found}");
        }
        assert!(cls.windows(2).all(|w| w[0] <= w[1]));
    }

    #[test]
    fn q0_has_a_p_value_and_no_cls() {
        let mut summary = Summary::new(&header("q0", 1.0));
        summary.add(&row(Hypothesis::Signal, 0, 2.0));
        summary.add(&row(Hypothesis::Background, 0, 2.0));
        let result = summary.finish();
        assert_eq!((result.clsb, result.cls), (Some(1.0), None));
        assert!(result.expected_set.is_none());
    }
}
