//! Search for the crossing on one side of one parameter, i.e. for the value at which `-2 ln L` has risen by a given
//! level.
//!
//! The search finds the distance `d` of the parameter from its best fit at which the rise of `-2 ln L` in a conditional
//! fit equals the level. This is the root of `t(d) = sqrt(rise) - sqrt(level)`. For a parabolic profile `t` is a
//! straight line, and a single secant step finds the root. For other profiles the search converges because it keeps the
//! root between two distances, the bracket.

use crate::root::fraction;

/// Largest difference between the rise of `-2 ln L` and the searched level at which a point counts as the crossing. For
/// a parabolic profile and a level of 1, the relative error of the distance is then 5e-9.
const TOLERANCE: f64 = 1e-8;
/// The search ends if the width of the bracket (the two distances between which the crossing lies), divided by its
/// distance from the best fit, is at most this number.
const WIDTH: f64 = 1e-10;
/// Number of conditional fits after which the search ends without a crossing.
pub(crate) const MAX_PROBES: usize = 80;

/// The minimum of a conditional fit in which the parameter is fixed at a distance from its best-fit value.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    /// Distance of the parameter from its best-fit value.
    pub(crate) distance: f64,
    /// Rise of `-2 ln L` above its minimum; infinite if the likelihood is not finite.
    pub(crate) rise: f64,
    /// Values of all parameters; empty if the likelihood is not finite.
    pub(crate) point: Vec<f64>,
}

/// Reason why a search ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// The crossing is at this distance of the parameter from its best fit. The rise of `-2 ln L` there equals the
    /// given level, for example 1.
    Found(f64),
    /// The search reached the bound of the parameter. The rise of `-2 ln L` there is still below the level of the
    /// crossing.
    Bound {
        /// Rise of `-2 ln L` at the bound.
        rise: f64,
    },
    /// The likelihood is not finite from this distance on. At smaller distances, the rise of `-2 ln L` is below the
    /// level.
    Wall(f64),
    /// At this distance the rise of `-2 ln L` jumps from below the level to above the level, because the conditional
    /// fit changes to another minimum.
    Jump(f64),
    /// The search ended after [`MAX_PROBES`] conditional fits without a crossing.
    Exhausted {
        /// Largest distance from the best fit at which the rise of `-2 ln L` in a conditional fit was below the level
        /// of the crossing.
        below: f64,
    },
}

/// The state of the search on one side of one parameter.
#[derive(Debug)]
pub(crate) struct Side {
    /// Rise of `-2 ln L` at the crossing.
    level: f64,
    /// Largest distance from the best fit at which a fit may be made: the distance to the bound of the parameter, or
    /// the distance of the outer of two probes if the search began between two probes. The distance may be infinite.
    limit: f64,
    /// The probe (conditional fit) that is farthest from the best fit among those whose rise is below the level. At the
    /// beginning, it is the best fit itself.
    inner: Probe,
    /// The probe (conditional fit) that is nearest to the best fit among those whose rise is above the level; `None` if
    /// there is no such probe.
    outer: Option<Probe>,
    /// The probe that was replaced last as `inner` or `outer`: its distance, and its value of
    /// `t = sqrt(rise) - sqrt(level)`.
    replaced: Option<(f64, f64)>,
    /// Whether the last probe became `inner`; otherwise it became `outer`.
    last_is_inner: bool,
    /// Distance from the best fit at which the next conditional fit has to be made.
    next: f64,
    n_probes: usize,
}

impl Side {
    /// Creates a search for the distance at which `-2 ln L` has risen by `level`. `best` contains the values of all
    /// parameters at the best fit, and `limit` is the largest allowed distance. The first conditional fit is made at
    /// the distance `guess`.
    pub(super) fn new(level: f64, best: Vec<f64>, guess: f64, limit: f64) -> Self {
        let inner = Probe { distance: 0.0, rise: 0.0, point: best };
        Self {
            level,
            limit,
            inner,
            outer: None,
            replaced: None,
            last_is_inner: true,
            next: guess.min(limit),
            n_probes: 0,
        }
    }

    /// Creates a search for the distance at which `-2 ln L` has risen by `level`. This distance lies between two
    /// known conditional fits: the rise of `inner` is below the level, and the rise of `outer` is above it. The first
    /// new fit is made at the distance `guess`.
    pub(crate) fn between(level: f64, inner: Probe, outer: Probe, guess: f64) -> Self {
        let next = guess.clamp(inner.distance, outer.distance);
        let limit = outer.distance;
        Self {
            level,
            limit,
            inner,
            outer: Some(outer),
            replaced: None,
            last_is_inner: true,
            next,
            n_probes: 0,
        }
    }

    /// Returns `sqrt(rise) - sqrt(level)` for a rise of `-2 ln L`. For a parabolic profile, this is a linear function
    /// of the distance from the best fit.
    fn t(&self, rise: f64) -> f64 {
        rise.max(0.0).sqrt() - self.level.sqrt()
    }

    /// Returns the distance from the best fit at which the next conditional fit has to be made.
    pub(crate) fn next(&self) -> f64 {
        self.next
    }

    /// Returns a starting point for the conditional fit at the distance [`Self::next`]. The point lies on the line
    /// through the nearest earlier probes. For the first fit there are no earlier probes, and its starting point is
    /// predicted from `first_step`, the change of each parameter per unit of distance.
    pub(super) fn predict(&self, best: &[f64], first_step: Option<&[f64]>) -> Vec<f64> {
        let along = |from: &[f64], to: &[f64], fraction: f64| -> Vec<f64> {
            from.iter().zip(to).map(|(a, b)| a + fraction * (b - a)).collect()
        };
        let inner = &self.inner;
        match (&self.outer, inner.distance > 0.0) {
            (Some(outer), _) if !outer.point.is_empty() => {
                let width = outer.distance - inner.distance;
                along(&inner.point, &outer.point, (self.next - inner.distance) / width)
            }
            (_, true) => along(best, &inner.point, self.next / inner.distance),
            // The first probe is predicted from the covariance of the best fit.
            _ => match first_step {
                Some(slope) => best.iter().zip(slope).map(|(x, s)| x + self.next * s).collect(),
                None => best.to_vec(),
            },
        }
    }

    /// Returns the values of all parameters at two conditional fits: the farthest one whose rise is below the level,
    /// then the nearest one whose rise is above the level. Fits without values are left out.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = &[f64]> {
        let outer = self.outer.as_ref().map(|outer| outer.point.as_slice());
        [Some(self.inner.point.as_slice()), outer].into_iter().flatten().filter(|point| !point.is_empty())
    }

    /// Compares `end`, the result of the search, with `probe`, a second conditional fit at the same distance. If
    /// `probe` is not lower than the first fit, or not below the level, the result is `end`. Otherwise the crossing
    /// lies farther out. If `probe` is at the bound, the search then ends with [`End::Bound`]. Elsewhere it continues
    /// outward from `probe`, and the result is `None`.
    pub(super) fn reconsider(&mut self, end: End, probe: Probe, tolerance: f64) -> Option<End> {
        let before = match end {
            End::Found(_) => self.level,
            End::Bound { rise } => rise,
            _ => f64::INFINITY,
        };
        if !(probe.rise < before - tolerance.min(1e-6)) || probe.rise >= self.level {
            return Some(end);
        }
        (self.outer, self.replaced, self.n_probes) = (None, None, 0);
        self.last_is_inner = true;
        let (distance, rise) = (probe.distance, probe.rise.max(0.0));
        self.inner = probe;
        if distance >= self.limit {
            return Some(End::Bound { rise });
        }
        // The next distance is that at which a parabola through the new point reaches the level.
        let stretch = (self.level / rise).sqrt();
        self.next = (distance * stretch.clamp(1.0 + 1e-6, 2.0)).min(self.limit);
        None
    }

    /// Returns whether the best fit is still the only point at which the rise of `-2 ln L` is below the level of the
    /// crossing.
    pub(super) fn is_first(&self) -> bool {
        self.inner.distance == 0.0
    }

    /// Continues the search outward from `beyond`, the farthest probe below the level, and returns `None`. If
    /// `beyond` is at the bound, the search ends, and the result is [`End::Bound`].
    pub(super) fn go_on(&mut self, beyond: Probe) -> Option<End> {
        (self.outer, self.replaced, self.n_probes) = (None, None, 0);
        self.last_is_inner = true;
        if beyond.distance >= self.limit {
            return Some(End::Bound { rise: beyond.rise });
        }
        self.inner = beyond;
        self.next = self.outward();
        None
    }

    /// Adds the conditional fit that was made at the distance [`Self::next`], and chooses the next distance. Returns
    /// the reason why the search ended, or `None` if it has not ended.
    pub(crate) fn accept(&mut self, probe: Probe) -> Option<End> {
        self.n_probes += 1;
        let (distance, rise) = (probe.distance, probe.rise);
        if (rise - self.level).abs() <= TOLERANCE {
            return Some(End::Found(distance));
        }
        self.last_is_inner = rise < self.level;
        if self.last_is_inner {
            if distance >= self.limit {
                return Some(End::Bound { rise });
            }
            self.replaced = Some((self.inner.distance, self.t(self.inner.rise)));
            self.inner = probe;
        } else {
            self.replaced = self.outer.as_ref().map(|outer| (outer.distance, self.t(outer.rise)));
            self.outer = Some(probe);
        }
        if let Some(end) = self.narrow_enough() {
            return Some(end);
        }
        if self.n_probes >= MAX_PROBES {
            return Some(End::Exhausted { below: self.inner.distance });
        }
        self.next = match &self.outer {
            Some(outer) => self.inside(outer),
            None => self.outward(),
        };
        None
    }

    /// Returns the result of the search if the bracket is so narrow that the search ends (see [`WIDTH`]).
    fn narrow_enough(&self) -> Option<End> {
        let outer = self.outer.as_ref()?;
        if outer.distance - self.inner.distance > WIDTH * outer.distance {
            return None;
        }
        let distance = 0.5 * (outer.distance + self.inner.distance);
        Some(if outer.rise.is_infinite() {
            End::Wall(outer.distance)
        } else if outer.rise - self.inner.rise > 1e-3 {
            End::Jump(distance)
        } else {
            End::Found(distance)
        })
    }

    /// Returns the distance of the next conditional fit as long as no fit has a rise above the level. The distance is
    /// at most 4 times the last distance.
    fn outward(&self) -> f64 {
        let (d, t) = (self.inner.distance, self.t(self.inner.rise));
        let (d0, t0) = self.replaced.unwrap_or((0.0, -self.level.sqrt()));
        let secant = d - t * (d - d0) / (t - t0);
        let proposed = if secant.is_finite() && secant > d { secant } else { 4.0 * d };
        // Each step must be larger than rounding. Otherwise the search would not end.
        proposed.clamp(d * (1.0 + 1e-9), 4.0 * d).min(self.limit)
    }

    /// Returns the next distance between `inner` and `outer` by Chandrupatla's method ([`fraction`]).
    fn inside(&self, outer: &Probe) -> f64 {
        let low = (self.inner.distance, self.t(self.inner.rise));
        let high = (outer.distance, self.t(outer.rise));
        let (from, to) = if self.last_is_inner { (low, high) } else { (high, low) };
        // The new distance differs from both ends of the bracket by more than rounding errors.
        let margin = (0.4 * WIDTH * outer.distance / (high.0 - low.0)).min(0.5);
        from.0 + fraction(from, to, self.replaced).clamp(margin, 1.0 - margin) * (to.0 - from.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search on a profile. `profile` gives the rise of `-2 ln L` at a distance from the best fit. Returns the
    /// reason for the end of the search, and the number of evaluations.
    fn search(profile: impl Fn(f64) -> f64, guess: f64, limit: f64) -> (End, usize) {
        let mut side = Side::new(1.0, vec![0.0], guess, limit);
        loop {
            let d = side.next();
            let rise = profile(d);
            let point = if rise.is_finite() { vec![d] } else { Vec::new() };
            if let Some(end) = side.accept(Probe { distance: d, rise, point }) {
                return (end, side.n_probes);
            }
        }
    }

    fn found(end: End) -> f64 {
        match end {
            End::Found(d) => d,
            other => panic!("no crossing: {other:?}"),
        }
    }

    #[test]
    fn a_parabola_takes_at_most_three_probes() {
        for guess in [0.5, 1.0, 1.9, 7.0] {
            let (end, n) = search(|d| (d / 2.0).powi(2), guess, f64::INFINITY);
            assert!((found(end) - 2.0).abs() < 1e-7);
            assert!(n <= 3, "{n} probes from {guess}");
        }
    }

    #[test]
    fn skewed_and_linear_profiles_are_found_to_tolerance() {
        // Three profiles: a Poisson count of 9 below its maximum, a straight line as at a bound, and a quartic.
        let poisson = |d: f64| 2.0 * ((9.0 - d) - 9.0 - 9.0 * ((9.0 - d) / 9.0).ln());
        let profiles: [(&dyn Fn(f64) -> f64, f64); 3] =
            [(&poisson, 9.0), (&|d| 3.0 * d, f64::INFINITY), (&|d: f64| d.powi(4) * 1e-8, 1e30)];
        for (profile, limit) in profiles {
            for guess in [1e-3, 0.3, 3.0] {
                let (end, n) = search(profile, guess, limit);
                let d = found(end);
                assert!((profile(d) - 1.0).abs() <= 1e-7, "{}", profile(d));
                assert!(n < 25, "{n} probes");
            }
        }
    }

    #[test]
    fn ends_without_a_crossing_are_told_apart() {
        assert_eq!(search(|d| d * d, 0.3, 0.5).0, End::Bound { rise: 0.25 });
        assert_eq!(search(|_| 0.0, 0.3, 1e30).0, End::Bound { rise: 0.0 });
        let wall = search(|d| if d < 0.7 { d * d } else { f64::INFINITY }, 0.3, 10.0).0;
        assert!(matches!(wall, End::Wall(d) if (d - 0.7).abs() < 1e-9), "{wall:?}");
        let jump = search(|d| if d < 0.7 { d * d } else { 9.0 + d }, 0.3, 10.0).0;
        assert!(matches!(jump, End::Jump(d) if (d - 0.7).abs() < 1e-9), "{jump:?}");
    }

    #[test]
    fn an_endless_flat_profile_gives_up() {
        assert!(matches!(search(|_| 0.5, 1.0, f64::INFINITY).0, End::Exhausted { .. }));
    }
}
