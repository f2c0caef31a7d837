//! Converts values to positions on the page, and places ticks of axes at round numbers.

use crate::number::{fixed, power_of_ten};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Linear,
    Log,
}

/// An axis: a range of values from `lo` to `hi`, whose ends have the positions `start` and `end` on the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    scale: Scale,
    start: f64,
    end: f64,
}

/// The ticks of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ticks {
    /// Values of the long ticks, with their labels.
    pub(crate) major: Vec<(f64, String)>,
    /// Values of the short ticks.
    pub(crate) minor: Vec<f64>,
    /// Exponent of the power of ten that multiplies all labels; `None` if the labels show the values without
    /// a factor.
    pub(crate) exponent: Option<i32>,
}

impl Axis {
    /// Creates a linear axis from `lo` to `hi`. If the ends are equal, the range is widened around them. If
    /// `lo` is above `hi`, or an end is NaN, the range becomes 0 to 1.
    pub(crate) fn linear(lo: f64, hi: f64) -> Self {
        let (lo, hi) = if lo <= hi { (lo, hi) } else { (0.0, 1.0) };
        let size = lo.abs().max(hi.abs());
        let (lo, hi) = if hi - lo > (1e-9 * size).max(1e-90) {
            (lo, hi)
        } else {
            let half = if size > 1e-80 { 0.1 * size } else { 0.5 };
            (lo - half, hi + half)
        };
        Self { lo, hi, scale: Scale::Linear, start: 0.0, end: 1.0 }
    }

    /// Creates a logarithmic axis from `lo` to `hi`. If the ends are not positive or not in ascending order,
    /// the range becomes 0.1 to 1.
    pub(crate) fn log(lo: f64, hi: f64) -> Self {
        let (lo, hi) = if lo > 0.0 && hi >= lo { (lo, hi) } else { (0.1, 1.0) };
        let (lo, hi) = if hi / lo > 1.01 { (lo, hi) } else { (lo / 3.0, hi * 3.0) };
        Self { lo, hi, scale: Scale::Log, start: 0.0, end: 1.0 }
    }

    /// Returns whether the axis is logarithmic. It then has no place for 0 and below.
    pub(crate) fn is_log(&self) -> bool {
        self.scale == Scale::Log
    }

    /// Returns the axis with its lower end at the position `start` and its upper end at the position `end`.
    pub(crate) fn between(self, start: f64, end: f64) -> Self {
        Self { start, end, ..self }
    }

    /// Returns the position of a value on the page. A value outside the range has a position beyond the ends
    /// of the axis.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.lo) / (self.hi - self.lo),
            Scale::Log if value > 0.0 => (value / self.lo).ln() / (self.hi / self.lo).ln(),
            Scale::Log => -10.0,
        };
        // Positions far outside are limited, so that every file format can store the coordinates.
        self.start + share.clamp(-100.0, 100.0) * (self.end - self.start)
    }

    /// Returns the position of a value on the page. A value outside the range has the position of the nearer
    /// end of the axis.
    pub(crate) fn clamped(&self, value: f64) -> f64 {
        self.at(value.clamp(self.lo, self.hi))
    }

    /// Returns whether the value lies on the axis, with a tolerance for rounding at its ends.
    pub(crate) fn holds(&self, value: f64) -> bool {
        let slack = (1e-9 * (self.hi - self.lo)).max(4.0 * f64::EPSILON * self.lo.abs().max(self.hi.abs()));
        value >= self.lo - slack && value <= self.hi + slack
    }

    /// Returns ticks at round values. At most about `most` of the ticks have a label.
    pub(crate) fn ticks(&self, most: usize) -> Ticks {
        match self.scale {
            Scale::Linear => self.linear_ticks(most),
            Scale::Log => self.log_ticks(most),
        }
    }

    fn linear_ticks(&self, most: usize) -> Ticks {
        let raw = (self.hi - self.lo) / most.max(1) as f64;
        let mut power = raw.log10().floor() as i32;
        let mantissa = [1.0, 2.0, 5.0].into_iter().find(|m| m * 10f64.powi(power) >= raw * (1.0 - 1e-9));
        let mantissa = mantissa.unwrap_or_else(|| {
            power += 1;
            1.0
        });
        let parts = if mantissa == 2.0 { 4 } else { 5 };
        let size = self.lo.abs().max(self.hi.abs()).log10().floor() as i32;
        let exponent = (!(-3..=5).contains(&size)).then_some(size);
        let decimals = (exponent.unwrap_or(0) - power).max(0) as usize;
        let label = |value: f64| {
            // Values are at most 1e100 in size, so neither the power of ten nor the quotient overflows.
            fixed(value / 10f64.powi(exponent.unwrap_or(0)), decimals)
        };
        let step = mantissa * 10f64.powi(power);
        let along = |step: f64| {
            let first = (self.lo / step - 1e-6).ceil();
            let count = ((self.hi / step + 1e-6).floor() - first).clamp(-1.0, 400.0) as i64;
            (0..=count).map(move |k| first + k as f64)
        };
        let value = |k: f64| if power < 0 { k * mantissa / 10f64.powi(-power) } else { k * step };
        let major = along(step).map(value).filter(|at| self.holds(*at)).map(|at| (at, label(at))).collect();
        let fine = step / f64::from(parts);
        let between = |k: &f64| k.rem_euclid(f64::from(parts)) > 0.5;
        let minor = along(fine).filter(between).map(|k| k * fine).filter(|at| self.holds(*at)).collect();
        Ticks { major, minor, exponent }
    }

    fn log_ticks(&self, most: usize) -> Ticks {
        let (low, high) = (self.lo.log10(), self.hi.log10());
        if high - low < 1.0 {
            let linear = Self { scale: Scale::Linear, ..*self };
            return linear.linear_ticks(most.min(4));
        }
        let (first, last) = ((low - 1e-9).ceil() as i32, (high + 1e-9).floor() as i32);
        if last - first < 1 && (-3..=4).contains(&first) {
            return self.ticks_within_decades(first);
        }
        let every = ((last - first + 1) as usize).div_ceil(most.max(1)).max(1) as i32;
        let label = |decade: i32| match decade {
            0 => "1".to_owned(),
            1 => "10".to_owned(),
            _ => power_of_ten(decade),
        };
        let major = (first..=last).filter(|d| d.rem_euclid(every) == 0);
        let major = major.map(|decade| (10f64.powi(decade), label(decade))).collect();
        let parts = (first - 1..=last).flat_map(|d| (1..10).map(move |m| (d, m)));
        let minor = parts
            .filter(|(d, m)| if every == 1 { *m > 1 } else { *m == 1 && d.rem_euclid(every) != 0 })
            .map(|(d, m)| f64::from(m) * 10f64.powi(d))
            .filter(|value| self.holds(*value))
            .collect();
        Ticks { major, minor, exponent: None }
    }

    /// Returns the ticks of a logarithmic axis with at most one power of ten, `10^decade`. Its doubles and its halves have
    /// labels, too, because one label gives no scale.
    fn ticks_within_decades(&self, decade: i32) -> Ticks {
        let parts = || (decade - 2..=decade + 1).flat_map(|d| (1..10).map(move |m| (d, m)));
        let value = |(d, m): (i32, i32)| {
            if d < 0 { f64::from(m) / 10f64.powi(-d) } else { f64::from(m) * 10f64.powi(d) }
        };
        let labelled = |(_, m): &(i32, i32)| matches!(m, 1 | 2 | 5);
        let label = |(d, m): (i32, i32)| (value((d, m)), fixed(value((d, m)), (-d).max(0) as usize));
        let major = parts().filter(labelled).map(label).filter(|(value, _)| self.holds(*value)).collect();
        let minor =
            parts().filter(|part| !labelled(part)).map(value).filter(|value| self.holds(*value)).collect();
        Ticks { major, minor, exponent: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, most: usize) -> Vec<String> {
        axis.ticks(most).major.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(Axis::linear(0.0, 1.0), 6), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(Axis::linear(-3.2, 3.2), 8), ["−3", "−2", "−1", "0", "1", "2", "3"]);
        assert_eq!(labels(Axis::linear(0.0, 25_000.0), 4), ["0", "10\u{2009}000", "20\u{2009}000"]);
        let small = Axis::linear(0.0, 4e-7).ticks(4);
        assert_eq!(small.exponent, Some(-7));
        assert_eq!(small.major.last().unwrap().1, "4");
        assert_eq!(labels(Axis::log(0.5, 2e3), 8), ["1", "10", "10²", "10³"]);
        assert_eq!(labels(Axis::log(11.0, 190.0), 8), ["20", "50", "100"]);
        assert_eq!(labels(Axis::log(0.03, 0.6), 8), ["0.05", "0.1", "0.2", "0.5"]);
    }

    #[test]
    fn any_range_has_ticks_inside() {
        let ends = [-1e100, -3e7, -1.0, -1e-90, 0.0, 1e-99, 2.5e-4, 1.0, 1.0 + 1e-12, 7e22, 1e100];
        for (index, lo) in ends.into_iter().enumerate() {
            for hi in ends.into_iter().skip(index) {
                let axis = Axis::linear(lo, hi).between(10.0, 500.0);
                let ticks = axis.ticks(7);
                assert!((1..=12).contains(&ticks.major.len()), "{lo} {hi}: {ticks:?}");
                assert!(ticks.major.iter().all(|(value, _)| axis.holds(*value)), "{lo} {hi}: {ticks:?}");
                assert!(ticks.minor.len() < 60);
            }
        }
    }

    #[test]
    fn values_map_onto_the_page() {
        let axis = Axis::log(1.0, 100.0).between(200.0, 0.0);
        assert!((axis.at(10.0) - 100.0).abs() < 1e-9);
        assert_eq!(axis.clamped(1e9), 0.0);
        assert!(axis.at(0.0) > 200.0, "zero is below a logarithmic axis");
        let flat = Axis::linear(3.0, 3.0).between(0.0, 100.0);
        assert!((flat.at(3.0) - 50.0).abs() < 1e-9);
    }
}
