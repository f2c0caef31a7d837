//! Compares fits at neighbouring values of the parameter of interest.
//!
//! The profile likelihood is continuous: it is the lowest of many continuous functions. So the minimum of a
//! neighbour, moved to another value of the parameter and followed downhill from there, is a bound from above; a
//! fit that lies above it was caught in a higher valley.

use ns_core::OutcomeParts;

use super::profile::{Effort, Profile};
use super::tester::Tester;
use crate::{InferenceError, lowest};

/// Values closer to each other than this, relative to the distance from the best fit, do not determine a slope.
const CLOSE: f64 = 1e-3;

/// A ratio of neighbouring slopes that is too large for a smooth profile.
const SHARPLY: f64 = 3.0;

impl Tester<'_> {
    /// Follows every known minimum to the values next to it, up and down, for both data sets. True if anything lower
    /// was found than what was known before.
    ///
    /// # Errors
    /// If the device fails or the caller stopped the work.
    pub(crate) fn compare(&mut self) -> Result<bool, InferenceError> {
        let before = self.n_lowered;
        for is_asimov in [false, true] {
            if is_asimov && self.without_asimov.is_some() {
                continue;
            }
            for ascending in [true, false] {
                self.sweep(is_asimov, ascending)?;
            }
            if !is_asimov {
                self.renew_asimov()?;
                for value in self.observed.values() {
                    self.look_lower(value)?;
                }
            }
        }
        Ok(self.n_lowered > before)
    }

    /// Whether a profile looks as if its fits lay in different valleys: away from the best fit it falls, or its root,
    /// which is nearly a straight line except at a best fit that a bound holds, bends sharply. A look at numbers that are known; it costs no fit.
    pub(crate) fn is_broken(&self) -> bool {
        let broken = |profile: &Profile| {
            let best = profile.best_value();
            let mut roots: Vec<(f64, f64)> = Vec::new();
            for value in profile.values().into_iter().filter(|value| *value > best) {
                roots.push((value, profile.rise(value).unwrap_or(0.0).sqrt()));
            }
            let slopes: Vec<f64> = roots
                .windows(2)
                .filter(|pair| pair[1].0 - pair[0].0 > CLOSE * (pair[1].0 - best))
                .map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0))
                .collect();
            slopes.iter().any(|slope| *slope < 0.0)
                || slopes.windows(2).any(|pair| pair[1] > SHARPLY * pair[0] || pair[0] > SHARPLY * pair[1])
        };
        broken(&self.observed) || (self.without_asimov.is_none() && broken(&self.asimov))
    }

    /// One pass along the values. Each fit starts from the minimum of the one before.
    fn sweep(&mut self, is_asimov: bool, ascending: bool) -> Result<(), InferenceError> {
        let profile = if is_asimov { &self.asimov } else { &self.observed };
        let best = profile.best_value();
        let mut values = profile.values();
        values.push(best);
        values.sort_by(f64::total_cmp);
        if !ascending {
            values.reverse();
        }
        for pair in values.windows(2) {
            let &[from, to] = pair else { continue };
            let profile = if is_asimov { &self.asimov } else { &self.observed };
            let neighbour = if from == best { Some(&profile.best) } else { profile.at(from).map(|k| &k.fit) };
            let (Some(neighbour), Some(known)) = (neighbour, profile.at(to)) else { continue };
            let before = known.fit.nll;
            let task = profile.task_from(&self.analysis, to, neighbour);
            let fits = self.analysis.run(std::slice::from_ref(&task), OutcomeParts::default())?;
            if self.analysis.is_cancelled() {
                return Err(InferenceError::Cancelled);
            }
            let profile: &mut Profile = if is_asimov { &mut self.asimov } else { &mut self.observed };
            for fitted in &fits {
                profile.learn(to, fitted, Effort::Follow);
            }
            let now = profile.at(to).map_or(before, |known| known.fit.nll);
            self.n_lowered += usize::from(2.0 * (before - now) > lowest::tolerance(before));
        }
        Ok(())
    }
}
