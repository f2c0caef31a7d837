//! Finds a root of a decreasing function. The search proposes one point at a time, and the caller evaluates the
//! function there.
//!
//! Because the caller evaluates the function, several searches can share one batch of fits, and learn from each other's points.
//! The next point comes from inverse interpolation of up to five points, if the function falls along them. Otherwise the
//! method is Chandrupatla's (Adv. Eng. Softw. 28 (1997) 145): inverse quadratic interpolation if the last three points are
//! suitable, bisection otherwise. The search also finds the first bracket, i.e. the first two points between which the
//! root lies. If the function cannot be evaluated at a point, this point counts as lying above the root. Every search
//! ends after a limited number of evaluations.

use crate::root::fraction;

/// Largest number of times that one search evaluates the function.
const MOST_EVALUATIONS: usize = 100;

/// Largest number of points of an inverse interpolation.
const INTERPOLATED: usize = 5;

/// Number of evaluations after which the function does not count as smooth. A smooth one takes five.
const SMOOTH: usize = 10;

/// Reason why a search ended, and the point at which it ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum End {
    /// The search found the root at this point.
    Found(f64),
    /// The function is still positive at the upper end of the range, so the range contains no root.
    NotCrossed {
        /// Upper end of the range.
        upper: f64,
    },
    /// The function is zero or negative at the lower end of the range. As the function decreases, there is no root
    /// above this end.
    Below {
        /// Lower end of the range.
        low: f64,
    },
    /// The search reached the largest number of evaluations. The function is positive at `below` and at all smaller
    /// points.
    Exhausted {
        /// Largest point at which the function was evaluated and is positive.
        below: f64,
    },
    /// The function is positive at `below` and at all smaller points. Beyond `below` the function cannot be evaluated.
    Wall {
        /// Largest point at which the function could be evaluated. The function is positive there.
        below: f64,
    },
}

/// One search for a root. A value of the function is a finite number, or `None` if the function cannot be evaluated
/// at a point.
#[derive(Debug, Clone)]
pub(crate) struct Bracket {
    /// Largest point known to lie below the root, and the positive value of the function at this point.
    low: (f64, f64),
    /// Smallest point known to lie above the root, and the value of the function at this point. The value is `None`
    /// if the function cannot be evaluated at the point.
    high: Option<(f64, Option<f64>)>,
    /// The point that was replaced last as an end of the bracket (the two points between which the root lies), and the
    /// value of the function at this point.
    third: Option<(f64, f64)>,
    /// All points at which the value of the function is known.
    known: Vec<(f64, f64)>,
    /// Lower end of the range.
    start: f64,
    upper: f64,
    /// Length scale of the search: the distance from `start` to the guessed root, or 1 if there is no guess above
    /// `start`.
    scale: f64,
    next: f64,
    /// Largest absolute value of the function at which a point counts as the root.
    tolerance: f64,
    evaluations: usize,
    end: Option<End>,
}

impl Bracket {
    /// Starts a search in the range from `low` to `upper`. The function has the value `value` at `low`. If `guess` is
    /// above `low`, it is the first point to evaluate. A point counts as the root if the absolute value of the function
    /// is at most `tolerance`.
    pub(crate) fn new(low: f64, value: f64, guess: f64, upper: f64, tolerance: f64) -> Self {
        let mut search = Self {
            low: (low, value),
            high: None,
            third: None,
            known: if value.is_finite() { vec![(low, value)] } else { Vec::new() },
            start: low,
            upper,
            scale: if guess.is_finite() && guess > low { guess - low } else { 1.0 },
            next: low,
            tolerance,
            evaluations: 0,
            end: None,
        };
        if low >= upper {
            search.end = Some(End::NotCrossed { upper });
        } else if !(value > 0.0) {
            search.end = Some(End::Below { low });
        } else {
            search.next = if guess.is_finite() && guess > low { guess.min(upper) } else { search.further() };
        }
        search
    }

    /// Returns the point at which the caller must evaluate the function next; `None` if the search has ended.
    pub(crate) fn next(&self) -> Option<f64> {
        self.end.is_none().then_some(self.next)
    }

    /// Returns the lower end of the range.
    pub(crate) fn start(&self) -> f64 {
        self.start
    }

    /// Returns the reason why the search ended; `None` if the search is in progress.
    pub(crate) fn end(&self) -> Option<End> {
        self.end
    }

    /// Returns a new point above the largest point known to lie below the root.
    fn further(&self) -> f64 {
        let step = match self.third {
            // The step goes a little beyond the root of the secant.
            Some((x, f)) if f > self.low.1 && x < self.low.0 => {
                let slope = (self.low.1 - f) / (self.low.0 - x);
                (-1.05 * self.low.1 / slope).min(8.0 * (self.low.0 - x))
            }
            Some((x, _)) => 2.0 * (self.low.0 - x).abs(),
            None => self.low.0.abs().max(1.0),
        };
        let next = self.low.0 + step;
        if next.is_finite() && next > self.low.0 { next.min(self.upper) } else { self.upper.min(f64::MAX) }
    }

    /// Takes the value of the function at the point that [`Self::next`] returned; `None` if the function cannot be
    /// evaluated at this point.
    pub(crate) fn accept(&mut self, value: Option<f64>) {
        let x = self.next;
        self.evaluations += 1;
        self.take(x, value.filter(|f| f.is_finite()));
    }

    /// Takes the value of the function at a point where it was evaluated for another search.
    pub(crate) fn learn(&mut self, x: f64, value: f64) {
        let new = value.is_finite() && self.known.iter().all(|(known, _)| *known != x);
        if self.end.is_some() || !new {
            return;
        }
        if x > self.low.0 && self.high.is_none_or(|(high, _)| x < high) {
            self.take(x, Some(value));
        } else {
            self.known.push((x, value));
            self.next = if self.high.is_some() { self.propose() } else { self.next };
        }
    }

    /// Takes the value at a point inside of the bracket.
    fn take(&mut self, x: f64, value: Option<f64>) {
        if value.is_some_and(|f| f.abs() <= self.tolerance) {
            self.end = Some(End::Found(x));
            return;
        }
        self.known.extend(value.map(|f| (x, f)));
        match value {
            Some(f) if f > 0.0 => {
                self.third = Some(self.low);
                self.low = (x, f);
            }
            other => {
                self.third = self.high.and_then(|(x, f)| f.map(|f| (x, f)));
                self.high = Some((x, other));
            }
        }
        self.end = self.ended();
        if self.end.is_none() {
            self.next = self.propose();
        }
    }

    fn ended(&self) -> Option<End> {
        let (low, _) = self.low;
        match self.high {
            None if low >= self.upper => Some(End::NotCrossed { upper: self.upper }),
            None if self.evaluations >= MOST_EVALUATIONS => Some(End::Exhausted { below: low }),
            None => None,
            Some((high, value)) => {
                let narrow = high - low <= 4.0 * f64::EPSILON * (low.abs() + high.abs());
                match value {
                    Some(_) if narrow || self.evaluations >= MOST_EVALUATIONS => {
                        // The function jumps here, or the bracket is as narrow as floating point allows.
                        Some(End::Found(low))
                    }
                    None if high - low <= 1e-6 * (low.abs() + high.abs()).max(self.scale)
                        || self.evaluations >= MOST_EVALUATIONS =>
                    {
                        Some(End::Wall { below: low })
                    }
                    _ => None,
                }
            }
        }
    }

    fn propose(&self) -> f64 {
        let Some((high, value)) = self.high else { return self.further() };
        let low = self.low.0;
        let (Some(f_high), f_low) = (value, self.low.1) else { return low + 0.5 * (high - low) };
        let inner = |x: f64| {
            let margin = 1e-9 * (high - low);
            x.clamp(low + margin, high - margin)
        };
        let smooth = self.evaluations < SMOOTH;
        let trusted = |(x, error): &(f64, f64)| *x > low && *x < high && *error < 0.1 * (high - low);
        let interpolated = smooth.then(|| self.interpolated()).flatten().filter(trusted).map(|(x, _)| x);
        inner(
            interpolated
                .unwrap_or_else(|| low + fraction((low, f_low), (high, f_high), self.third) * (high - low)),
        )
    }

    /// Returns the position of the root by inverse interpolation (Neville's scheme) of the points nearest to the root, and how far
    /// it is from those of the points without the first or the last. `None` if the function does not fall along the points.
    fn interpolated(&self) -> Option<(f64, f64)> {
        let mut points = self.known.clone();
        points.sort_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        points.truncate(INTERPOLATED);
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let falls = |pair: &[(f64, f64)]| matches!(pair, [a, b] if a.1 > b.1);
        if points.len() < 3 || !points.windows(2).all(falls) {
            return None;
        }
        let mut column: Vec<f64> = points.iter().map(|point| point.0).collect();
        let mut error = f64::NAN;
        for width in 1..points.len() {
            let ends = points.iter().zip(points.iter().skip(width)).map(|(a, b)| (a.1, b.1));
            let step = |(pair, (f, g)): (&[f64], (f64, f64))| match pair {
                [x, y] => (f * y - g * x) / (f - g),
                _ => f64::NAN,
            };
            let next: Vec<f64> = column.windows(2).zip(ends).map(step).collect();
            if let ([x], [below, above]) = (next.as_slice(), column.as_slice()) {
                error = (x - below).abs().max((x - above).abs());
            }
            column = next;
        }
        column.first().map(|x| (*x, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(mut search: Bracket, f: impl Fn(f64) -> Option<f64>) -> (End, usize) {
        let mut n = 0;
        while let Some(x) = search.next() {
            search.accept(f(x));
            n += 1;
            assert!(n <= MOST_EVALUATIONS, "the search does not end");
        }
        (search.end().unwrap_or(End::Found(f64::NAN)), n)
    }

    #[test]
    fn nearly_straight_functions_take_few_evaluations() {
        let f = |x: f64| Some(2.0 - x - 0.02 * x * x);
        let (end, n) = solve(Bracket::new(0.0, 2.0, 1.5, f64::INFINITY, 1e-12), f);
        let End::Found(x) = end else { panic!("{end:?}") };
        assert!((2.0 - x - 0.02 * x * x).abs() < 1e-11);
        assert!(n <= 6, "{n} evaluations");
    }

    /// Searches for several roots of one function, as those for the expected limits are, share their points.
    #[test]
    fn searches_that_share_points_take_few_rounds() {
        let f = |x: f64| x + 0.1 * x * x - 0.01 * x.powi(3);
        let targets = [0.7, 1.2, 1.9, 2.7, 3.6];
        let mut searches: Vec<Bracket> =
            targets.iter().map(|t| Bracket::new(0.0, *t, *t, 6.0, 1e-10)).collect();
        let mut n = 0;
        while searches.iter().any(|search| search.next().is_some()) {
            let asked: Vec<Option<f64>> = searches.iter().map(Bracket::next).collect();
            for ((search, x), target) in searches.iter_mut().zip(&asked).zip(targets) {
                if let Some(x) = x {
                    search.accept(Some(target - f(*x)));
                    n += 1;
                }
            }
            for x in asked.into_iter().flatten() {
                for (search, target) in searches.iter_mut().zip(targets) {
                    search.learn(x, target - f(x));
                }
            }
        }
        for (search, target) in searches.iter().zip(targets) {
            let Some(End::Found(x)) = search.end() else { panic!("{:?}", search.end()) };
            assert!((f(x) - target).abs() < 1e-9);
        }
        assert!(n <= 20, "{n} evaluations");
    }

    #[test]
    fn hard_functions_are_solved_all_the_same() {
        type Hard = (&'static str, fn(f64) -> f64, f64);
        let hard: [Hard; 5] = [
            ("steep", |x| (3.0 - x).signum() * (3.0 - x).abs().powf(0.1), 3.0),
            ("flat", |x| (3.0 - x).powi(9), 3.0),
            ("step", |x| if x < 1e-7 { 1.0 } else { -1.0 }, 1e-7),
            ("far", |x| 1.0 - x / 1e12, 1e12),
            ("cliff", |x| 10.0 - x.exp(), 10_f64.ln()),
        ];
        for (name, f, root) in hard {
            for guess in [1e-9, 0.3, 50.0, f64::NAN] {
                let (end, _) = solve(Bracket::new(0.0, f(0.0), guess, f64::INFINITY, 1e-13), |x| Some(f(x)));
                let End::Found(x) = end else { panic!("{name}: {end:?}") };
                assert!((x - root).abs() <= 0.05 * root, "{name}: {x} is not {root}");
            }
        }
    }

    #[test]
    fn a_range_without_a_root_says_so() {
        let (end, _) = solve(Bracket::new(0.0, 1.0, 1.0, 10.0, 1e-9), |_| Some(1.0));
        assert_eq!(end, End::NotCrossed { upper: 10.0 });
        let (end, _) = solve(Bracket::new(0.0, 1.0, 1.0, f64::INFINITY, 1e-9), |_| Some(1.0));
        assert!(matches!(end, End::Exhausted { .. } | End::NotCrossed { .. }));
        let (end, _) = solve(Bracket::new(0.0, -1.0, 1.0, 10.0, 1e-9), |_| Some(-2.0));
        assert_eq!(end, End::Below { low: 0.0 });
        let (end, _) = solve(Bracket::new(10.0, 1.0, 11.0, 10.0, 1e-9), |_| Some(1.0));
        assert_eq!(end, End::NotCrossed { upper: 10.0 });
    }

    #[test]
    fn a_wall_is_found_and_named() {
        let (end, _) = solve(Bracket::new(0.0, 1.0, 1.0, 100.0, 1e-9), |x| (x < 7.0).then_some(1.0));
        let End::Wall { below } = end else { panic!("{end:?}") };
        assert!((below - 7.0).abs() < 1e-3);
    }
}
