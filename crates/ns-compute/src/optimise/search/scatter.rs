//! Scattered starting points within the bounds, for small models in which a descent takes only microseconds.
//!
//! The number of starting points depends on the minima that are found. As long as new minima are found, more are
//! expected. If `N` descents have found `W` different minima, the expected total number of minima is
//! `W (N - 1) / (N - W - 2)` (Boender and Rinnooy Kan, Mathematical Programming 37, 1987). The search ends when this
//! number is at most `W + 1/4`.

use super::super::Problem;

/// Largest number of free parameters of a model that is searched with scattered starting points.
pub(crate) const MOST_FREE: usize = 48;

/// Largest number of descents from scattered points.
pub(super) const MOST_STARTS: usize = 64;

/// Largest distances of the scattered points from the given starting point. The first point uses the first distance,
/// the next point the next distance, and so on in turn. For asymmetric parameters and for parameters near 0, the
/// distance is the change of the parameter. For all other parameters it is the change of the parameter's logarithm.
const SPREADS: [f64; 4] = [1.0, 2.0, 4.0, 0.5];

/// The values of `-ln L` at the different minima that were found so far, and the number of descents.
#[derive(Debug, Default)]
pub(super) struct Census {
    minima: Vec<f64>,
    descents: usize,
}

impl Census {
    /// Counts a descent that ended at a minimum with the value `value` of `-ln L`.
    pub(super) fn count(&mut self, value: f64) {
        self.descents += 1;
        if self.minima.iter().all(|m| (m - value).abs() > 1e-7 * (1.0 + value.abs())) {
            self.minima.push(value);
        }
    }

    /// Returns whether no further minima are expected. The search can then end.
    pub(super) fn is_complete(&self) -> bool {
        let (n, w) = (self.descents as f64, self.minima.len() as f64);
        n > w + 2.0 && w * (n - 1.0) / (n - w - 2.0) <= w + 0.25
    }
}

/// Returns whether the likelihood may have several minima. This requires a free parameter with an asymmetric effect, or
/// two parameters whose effects multiply each other.
pub(super) fn may_have_several_minima(problem: &Problem<'_>) -> bool {
    let plan = problem.plan;
    let length = |(from, to): (usize, usize)| to - from;
    plan.policy.asymmetric.iter().zip(&problem.fixed).any(|(&asymmetric, &fixed)| asymmetric && !fixed)
        || plan.structure.blocks.iter().any(|b| {
            length(b.norm) + length(b.factor) + length(b.binwise) + usize::from(length(b.hist) > 0) > 1
        })
}

/// A random-number generator for starting points: SplitMix64.
pub(super) struct Scatter(u64);

impl Scatter {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Returns a uniform random number in [-1, 1). It consists of the top 53 bits of the generator's output.
    pub(super) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 * (2.0 / (1_u64 << 53) as f64) - 1.0
    }
}

/// Returns the scattered starting point with number `index` around `start`. The point is the same in every call.
pub(super) fn scattered(problem: &Problem<'_>, start: &[f64], index: usize) -> Vec<f64> {
    let mut scatter = Scatter::new(index as u64 + 1);
    let mut uniform = || scatter.uniform();
    let spread = SPREADS[index % SPREADS.len()];
    (0..start.len())
        .map(|p| {
            let (offset, flip) = (spread * uniform(), uniform());
            if problem.fixed[p] {
                return start[p];
            }
            let (lower, upper) = (problem.lower[p], problem.upper[p]);
            let to = if problem.plan.policy.asymmetric[p] || start[p].abs() < 0.5 {
                start[p] + offset
            } else {
                let side = if lower < 0.0 && flip > 0.5 { -1.0 } else { 1.0 };
                side * start[p] * offset.exp()
            };
            to.clamp(lower, upper)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Census;

    #[test]
    fn one_minimum_met_eleven_times_is_all_there_is() {
        let mut census = Census::default();
        for met in 1..=11 {
            assert!(!census.is_complete(), "complete after {} descents", met - 1);
            census.count(25.0 + 1e-9 * f64::from(met));
        }
        assert!(census.is_complete());
    }

    #[test]
    fn new_minima_ask_for_more_descents() {
        let mut census = Census::default();
        for met in 0..27 {
            census.count(f64::from(met % 2));
            assert!(!census.is_complete(), "complete after {} descents", met + 1);
        }
        census.count(0.0);
        assert!(census.is_complete());
    }
}
