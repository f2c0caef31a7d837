//! Where an interval is tested next, and its borders, from the p-values found so far.
//!
//! A value is inside the interval if its p-value is above `1 - cl`. The search tests a grid, then values between
//! neighbours of which one is inside and the other is not. The next value depends on the tested values alone, so a search
//! that starts again with saved toys makes the same steps.

use super::blocks::Counts;
use super::result::Border;
use crate::normal;
use crate::present::exact;

/// Distance of a p-value from `1 - cl` beyond which no more toys are made, in units of its error.
const SETTLED: f64 = 4.0;

/// Distance of a p-value from `1 - cl` at which a value counts as the border, in units of its error.
const NEAR: f64 = 1.0;

/// Largest distance of the values on both sides of a border that is found by the slope, in units of its error. A jump
/// between them would not be noticed.
const WIDTH: f64 = 4.0;

/// Smallest difference of two significances that gives a slope, in units of its error.
const APART: f64 = 4.0;

/// By which factor the number of toys grows at a value that is not settled.
const GROWTH: u64 = 4;

/// Largest number of values that are tested for one border after the grid.
const MOST_STEPS: usize = 30;

/// Largest number of values by which the grid is extended on one side.
const MOST_EXTENSIONS: usize = 40;

/// A tested value.
#[derive(Debug, Clone)]
pub(super) struct Tested {
    pub(super) value: f64,
    pub(super) t: f64,
    /// Toys so far; `None` where `t` is 0, so that no toy can be below it.
    pub(super) counts: Option<Counts>,
}

/// The two sides of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Lower,
    Upper,
}

impl Side {
    /// Both sides.
    pub(super) const BOTH: [Self; 2] = [Self::Lower, Self::Upper];

    fn direction(self) -> f64 {
        match self {
            Self::Lower => -1.0,
            Self::Upper => 1.0,
        }
    }
}

/// What is known of one border.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// The value at the bound of the parameter is inside.
    Bound(f64),
    /// The border, with its error.
    Found(f64, f64),
    /// This value is to be tested.
    Test(f64),
    /// The interval goes beyond this value, and the search has ended there.
    Beyond(f64),
    /// No tested value is inside.
    Empty,
}

/// The search for both borders.
pub(super) struct Search {
    /// The probability `1 - cl`.
    pub(super) alpha: f64,
    /// Largest number of toys at a value.
    pub(super) n_toys: u64,
    pub(super) bounds: (f64, f64),
    /// Values that are tested first, in ascending order.
    pub(super) grid: Vec<f64>,
    /// Distance by which the grid is extended.
    pub(super) step: f64,
    /// Half the distance of two values between which the border is not searched further.
    pub(super) resolution: f64,
    /// Tested values, in ascending order.
    pub(super) tested: Vec<Tested>,
}

impl Search {
    /// Adds a tested value, or replaces its counts.
    pub(super) fn learn(&mut self, tested: Tested) {
        match self.tested.iter_mut().find(|other| other.value == tested.value) {
            Some(other) => *other = tested,
            None => {
                let place = self.tested.partition_point(|other| other.value < tested.value);
                self.tested.insert(place, tested);
            }
        }
    }

    /// Returns the value to test next, and the number of toys that it should have then. `None` if both borders are known.
    pub(super) fn next(&self) -> Option<(f64, u64)> {
        let is_new = |value: f64| self.tested.iter().all(|tested| tested.value != value);
        if let Some(value) = self.grid.iter().copied().find(|value| is_new(*value)) {
            return Some((value, self.first()));
        }
        for tested in &self.tested {
            if let Some(counts) = tested.counts.filter(|_| !self.is_settled(tested)) {
                let more = counts.run.max(self.first() / GROWTH).saturating_mul(GROWTH);
                return Some((tested.value, more.min(self.n_toys)));
            }
        }
        Side::BOTH.into_iter().find_map(|side| match self.state(side) {
            State::Test(value) if is_new(value) => Some((value, self.first())),
            _ => None,
        })
    }

    /// Number of toys of a value that has none yet.
    fn first(&self) -> u64 {
        (self.n_toys / 32).clamp(100, 1000).min(self.n_toys)
    }

    fn is_settled(&self, tested: &Tested) -> bool {
        let Some(counts) = tested.counts else { return true };
        if counts.run >= self.n_toys {
            return true;
        }
        let Some(p) = counts.p_value() else { return false };
        (p - self.alpha).abs() > SETTLED * self.error(counts)
    }

    /// Error of a p-value near `1 - cl`. Toys that were left out may all lie on one side.
    fn error(&self, counts: Counts) -> f64 {
        let binomial = (self.alpha * (1.0 - self.alpha) / counts.good().max(1) as f64).sqrt();
        binomial.hypot(counts.left_out())
    }

    fn is_inside(&self, tested: &Tested) -> bool {
        tested.counts.is_none_or(|counts| counts.p_value().is_some_and(|p| p > self.alpha))
    }

    fn is_near(&self, tested: &Tested) -> bool {
        let near = |counts: &Counts| {
            let p = counts.p_value();
            p.is_some_and(|p| (p - self.alpha).abs() <= NEAR * self.error(*counts))
        };
        tested.counts.as_ref().is_some_and(near)
    }

    /// Returns the significance of a tested value (the standard deviations of a normal distribution, two-sided, that have
    /// its p-value), and its error.
    fn height(&self, tested: &Tested) -> (f64, f64) {
        let Some(counts) = tested.counts.filter(|counts| counts.good() > 0) else { return (0.0, 0.0) };
        let n = counts.good() as f64;
        let p = (counts.above as f64).clamp(0.5, n - 0.5) / n;
        let z = significance(p);
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let error = (p * (1.0 - p) / n).sqrt().hypot(counts.left_out());
        (z, error / (2.0 * density))
    }

    /// Returns the outermost value inside the interval and its outer neighbour, which is outside or missing.
    fn pair(&self, side: Side) -> Option<(&Tested, Option<&Tested>)> {
        let mut outwards: Vec<&Tested> = self.tested.iter().collect();
        if side == Side::Upper {
            outwards.reverse();
        }
        let place = outwards.iter().position(|tested| self.is_inside(tested))?;
        let outer = place.checked_sub(1).and_then(|before| outwards.get(before).copied());
        Some((*outwards.get(place)?, outer))
    }

    fn state(&self, side: Side) -> State {
        let Some((inside, outer)) = self.pair(side) else { return State::Empty };
        let bound = if side == Side::Lower { self.bounds.0 } else { self.bounds.1 };
        let Some(outside) = outer else {
            if inside.value == bound {
                return State::Bound(bound);
            }
            if self.tested.len() > self.grid.len() + 1 + 2 * MOST_STEPS + MOST_EXTENSIONS {
                return State::Beyond(inside.value);
            }
            let next = inside.value + side.direction() * self.step;
            return State::Test(next.clamp(self.bounds.0, self.bounds.1));
        };
        let width = (outside.value - inside.value).abs();
        let between = |fraction: f64| inside.value + fraction * (outside.value - inside.value);
        let near = [inside, outside].into_iter().filter(|tested| self.is_near(tested));
        let distance = |tested: &&Tested| (self.height(tested).0 - significance(self.alpha)).abs();
        let nearest = near.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        if let Some((value, error)) = nearest.and_then(|tested| self.at(side, tested, (inside, outside)))
            && width <= (WIDTH * error).max(2.0 * self.resolution)
        {
            return State::Found(value, error.max(self.doubtful(side, value)));
        }
        let extra = self.tested.iter().filter(|tested| !self.grid.contains(&tested.value)).count();
        let middle = between(0.5);
        let is_new = middle != inside.value && middle != outside.value;
        if width <= 2.0 * self.resolution || extra > 2 * MOST_STEPS + MOST_EXTENSIONS || !is_new {
            return State::Found(middle, (0.5 * width).max(self.doubtful(side, middle)));
        }
        let (low, high) = (self.height(inside).0, self.height(outside).0);
        let fraction = (significance(self.alpha) - low) / (high - low);
        // Every second step halves the distance, for p-values that jump. Near the border the slope is that of chance.
        let halve = nearest.is_some() || extra % 2 == 1 || !(0.0..=1.0).contains(&fraction);
        State::Test(between(if halve { 0.5 } else { fraction.clamp(0.05, 0.95) }))
    }

    /// Returns the largest distance from `border` to values whose p-values do not differ from `1 - cl` by more than an error,
    /// without a gap. Where p-values hardly change, the border may be anywhere there.
    fn doubtful(&self, side: Side, border: f64) -> f64 {
        let beyond = |tested: &&Tested, sign: f64| (tested.value - border) * sign > 0.0;
        let reach = |sign: f64| {
            let mut outwards: Vec<&Tested> =
                self.tested.iter().filter(|tested| beyond(tested, sign)).collect();
            if sign < 0.0 {
                outwards.reverse();
            }
            let near = outwards.iter().take_while(|tested| self.is_near(tested));
            near.last().map_or(0.0, |tested| (tested.value - border).abs())
        };
        reach(side.direction()).max(reach(-side.direction()))
    }

    /// Returns the border near a tested value, by the slope of the significance, with the error of the toys.
    fn at(&self, side: Side, tested: &Tested, (inside, outside): (&Tested, &Tested)) -> Option<(f64, f64)> {
        let (z, error) = self.height(tested);
        let outwards = |slope: &f64| slope.is_finite() && slope * side.direction() > 0.0;
        let apart = |other: &&Tested| {
            let (there, its) = self.height(other);
            other.counts.is_some() && (there - z).abs() > APART * error.hypot(its)
        };
        let far = |other: &&Tested| (other.value - tested.value).abs();
        let slope_to = |other: &Tested| (self.height(other).0 - z) / (other.value - tested.value);
        let of_toys = self.tested.iter().filter(apart).filter(|other| outwards(&slope_to(other)));
        let of_toys = of_toys.min_by(|a, b| far(a).total_cmp(&far(b))).map(slope_to);
        let of_data = Some((outside.t.sqrt() - inside.t.sqrt()) / (outside.value - inside.value));
        let of_data = of_data.filter(outwards);
        let slope = of_toys.or(of_data)?;
        // A jump between two values makes their slope larger than it is at the border.
        let smallest = [of_toys, of_data].into_iter().flatten().map(f64::abs).fold(f64::INFINITY, f64::min);
        let shift = (significance(self.alpha) - z) / slope;
        let room = (outside.value - inside.value).abs();
        Some((tested.value + shift.clamp(-room, room), error / smallest))
    }

    /// Returns a border. `name` is the name of the parameter.
    pub(super) fn border(&self, side: Side, name: &str) -> Border {
        let which = if side == Side::Lower { "lower" } else { "upper" };
        match self.state(side) {
            State::Bound(value) => Border {
                value: Some(value),
                error: Some(0.0),
                reason: Some(format!("the {which} bound {} of {name} is inside the interval", exact(value))),
            },
            State::Found(value, error) => Border { value: Some(value), error: Some(error), reason: None },
            State::Test(value) => Border {
                reason: Some(format!("the search ended before {name} = {value} was tested")),
                ..Border::default()
            },
            State::Beyond(value) => Border {
                reason: Some(format!("all values tested up to {name} = {value} are inside the interval")),
                ..Border::default()
            },
            State::Empty => Border {
                reason: Some("no tested value is inside the interval".to_owned()),
                ..Border::default()
            },
        }
    }

    /// Returns whether no value between the borders is clearly outside.
    pub(super) fn is_connected(&self) -> bool {
        let first = self.tested.iter().position(|tested| self.is_inside(tested));
        let last = self.tested.iter().rposition(|tested| self.is_inside(tested));
        let (Some(first), Some(last)) = (first, last) else { return true };
        let clearly_outside = |tested: &Tested| {
            let p = tested.counts.and_then(|counts| Some((counts.p_value()?, self.error(counts))));
            p.is_some_and(|(p, error)| p < self.alpha - SETTLED * error)
        };
        !self.tested.get(first..=last).unwrap_or_default().iter().any(clearly_outside)
    }
}

/// Standard deviations of a normal distribution, two-sided, that have the probability `p`.
fn significance(p: f64) -> f64 {
    normal::quantile(0.5 * p)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
