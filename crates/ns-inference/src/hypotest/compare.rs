//! Compares fits at neighbouring values of the POI. Fits that ended in a higher local minimum are found in this way.
//!
//! A descent at one value of the POI, started from the minimum at a neighbouring value, gives an upper bound on the
//! profile of `-ln L`. The profile is continuous, so the bound is close to the profile. A fit that ended above the
//! bound is in a higher local minimum.

use ns_core::OutcomeParts;

use super::profile::{Effort, Profile};
use super::tester::Tester;
use crate::{InferenceError, lowest};

/// Smallest distance between two values of the POI for which the slope between them is computed. The unit is the
/// distance of the larger value from the best fit.
const CLOSE: f64 = 1e-3;

/// Largest ratio of two neighbouring slopes of `sqrt(r)` in a smooth profile, where `r` is the rise of `-2 ln L`
/// above its minimum.
const SHARPLY: f64 = 3.0;

impl Tester<'_> {
    /// For the observed data and for the Asimov set (expected data), starts a descent from the minimum at each tested
    /// value to each of its two neighbouring tested values. Returns whether any descent ended lower than the earlier
    /// fit at the same value.
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

    /// Returns whether the fits made so far seem to lie in different local minima. There are two signs of different
    /// minima: the profile of `-2 ln L` decreases somewhere above the best fit, or the slope of the square root of the
    /// profile changes sharply. In general this slope is almost constant. The function makes no fits.
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

    /// Makes one fit at each tested value of the POI, in ascending or descending order. Each fit is a descent from the
    /// minimum at the previous value. If `is_asimov` is true, the fits are to the Asimov set (expected data), otherwise
    /// to the observed data.
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
