//! Bracketed root search on one side of one parameter.
//!
//! Searched is the distance `d` from the minimum at which `twice_nll` of the conditional fit has
//! risen by a level. In `t(d) = sqrt(rise) - sqrt(level)` a parabola is a straight line, so a secant
//! step lands on the root of a nearly quadratic profile at once; a bracket keeps every other profile
//! safe.

/// Largest accepted `|rise - level|`: 5e-9 of the distance on a parabola at level 1.
const TOLERANCE: f64 = 1e-8;
/// A bracket narrower than this, relative to the distance, ends the search.
const WIDTH: f64 = 1e-10;
/// Conditional fits after which the search gives up.
pub(crate) const MAX_PROBES: usize = 80;

/// A conditional minimum at a distance.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    /// Distance from the best-fit value.
    pub(crate) distance: f64,
    /// `twice_nll` above the minimum; infinite where the likelihood is not finite.
    pub(crate) rise: f64,
    /// All parameters there; empty where the likelihood is not finite.
    pub(crate) point: Vec<f64>,
}

/// How a search ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// The distance of the crossing.
    Found(f64),
    /// No crossing before the bound; the rise that is reached there.
    Bound {
        /// `twice_nll` above the minimum at the bound.
        rise: f64,
    },
    /// No crossing before the likelihood stops being finite, at this distance.
    Wall(f64),
    /// The profile jumps across the level at this distance: the conditional fit changed minimum.
    Jump(f64),
    /// Given up after [`MAX_PROBES`] conditional fits.
    Exhausted {
        /// Largest distance still below the level.
        below: f64,
    },
}

/// The state of one search.
#[derive(Debug)]
pub(crate) struct Side {
    /// The rise that is searched for.
    level: f64,
    /// Largest distance allowed: that of the bound, possibly infinite.
    limit: f64,
    /// Farthest probe below the level; the minimum itself at first.
    inner: Probe,
    /// Nearest probe above the level.
    outer: Option<Probe>,
    /// Distance and `t` of the probe that the last one replaced on its side of the level.
    replaced: Option<(f64, f64)>,
    /// Whether the last probe lies below the level.
    last_is_inner: bool,
    /// The next distance to probe.
    next: f64,
    n_probes: usize,
}

impl Side {
    /// A search for a rise by 1 from `best`, the minimum, with a first guess of the distance.
    pub(super) fn new(best: Vec<f64>, guess: f64, limit: f64) -> Self {
        let inner = Probe { distance: 0.0, rise: 0.0, point: best };
        Self {
            level: 1.0,
            limit,
            inner,
            outer: None,
            replaced: None,
            last_is_inner: true,
            next: guess.min(limit),
            n_probes: 0,
        }
    }

    /// A search for `level` between two conditional minima on either side of it.
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

    /// Where a rise lies relative to the level, on a scale that straightens a parabola.
    fn t(&self, rise: f64) -> f64 {
        rise.max(0.0).sqrt() - self.level.sqrt()
    }

    /// The distance to probe next.
    pub(crate) fn next(&self) -> f64 {
        self.next
    }

    /// A start point for the probe at [`Self::next`]: on the line through the nearest probes.
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
            // Along the covariance: where the other parameters follow this one.
            _ => match first_step {
                Some(slope) => best.iter().zip(slope).map(|(x, s)| x + self.next * s).collect(),
                None => best.to_vec(),
            },
        }
    }

    /// The points nearest to the next probe, on either side of the level.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = &[f64]> {
        let outer = self.outer.as_ref().map(|outer| outer.point.as_slice());
        [Some(self.inner.point.as_slice()), outer].into_iter().flatten().filter(|point| !point.is_empty())
    }

    /// Adds a second conditional fit at the end of the search. If it lies lower, the search goes on from there,
    /// and the values of the higher valley are dropped.
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
        // As on a parabola that goes through the new point.
        let stretch = (self.level / rise).sqrt();
        self.next = (distance * stretch.clamp(1.0 + 1e-6, 2.0)).min(self.limit);
        None
    }

    /// Whether only the minimum itself lies below the level so far.
    pub(super) fn is_first(&self) -> bool {
        self.inner.distance == 0.0
    }

    /// Goes on beyond a probe below the level, farther out than all others.
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

    /// Takes the probe at [`Self::next`]; returns the end of the search if it is reached.
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

    /// The end, if the bracket has shrunk to rounding.
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

    /// The next distance outside, before anything lies above the level.
    fn outward(&self) -> f64 {
        let (d, t) = (self.inner.distance, self.t(self.inner.rise));
        let (d0, t0) = self.replaced.unwrap_or((0.0, -self.level.sqrt()));
        let secant = d - t * (d - d0) / (t - t0);
        let proposed = if secant.is_finite() && secant > d { secant } else { 4.0 * d };
        // A step that does not move past rounding would never end.
        proposed.clamp(d * (1.0 + 1e-9), 4.0 * d).min(self.limit)
    }

    /// The next distance inside the bracket, by Chandrupatla's rule: inverse quadratic
    /// interpolation where the three last points allow it, else the middle; a straight line where
    /// there are only two (T. R. Chandrupatla, Adv. Eng. Softw. 28 (1997) 145).
    fn inside(&self, outer: &Probe) -> f64 {
        let low = (self.inner.distance, self.t(self.inner.rise));
        let high = (outer.distance, self.t(outer.rise));
        let ((a, fa), (b, fb)) = if self.last_is_inner { (low, high) } else { (high, low) };
        let fraction = if fa.is_infinite() || fb.is_infinite() {
            0.5
        } else {
            match self.replaced {
                Some((c, fc)) if fc.is_finite() => {
                    let (xi, phi) = ((a - b) / (c - b), (fa - fb) / (fc - fb));
                    if phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi {
                        fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
                    } else {
                        0.5
                    }
                }
                _ => fa / (fa - fb),
            }
        };
        // Never closer to an end than rounding can tell.
        let margin = (0.4 * WIDTH * outer.distance / (high.0 - low.0)).min(0.5);
        let fraction = if fraction.is_finite() { fraction.clamp(margin, 1.0 - margin) } else { 0.5 };
        a + fraction * (b - a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search on a profile given as a function of the distance.
    fn search(profile: impl Fn(f64) -> f64, guess: f64, limit: f64) -> (End, usize) {
        let mut side = Side::new(vec![0.0], guess, limit);
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
        // A Poisson count of 9 below its maximum; a line, as at a bound; a quartic.
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
