//! Compares the log-densities that a GPU computes with those that the CPU computes.

#[cfg(feature = "neural-cuda")]
use crate::flow::runtime::Rows;

/// Largest accepted difference between the log-densities of GPU and CPU. A difference is divided by the larger of 1
/// and the absolute value of the log-density. The estimated error of the integral of a flow has the same limit, so
/// that both errors bias a yield by about the same amount.
pub const LARGEST_DIFFERENCE: f64 = 1e-4;

/// Number of events for which the GPU and the CPU are compared.
const EVENTS: usize = 1024;

/// Returns 1 024 events that fill a box evenly, one row per event. `sides` has the lower and upper end of each of
/// the `d` features. From one event to the next, feature `k` (counted from 1) moves up by the fraction `r^-k` of
/// its side. Beyond the upper end it continues at the lower end. `r` is the positive root of `x^(d+1) = x + 1`.
#[must_use]
pub fn spread(sides: &[(f64, f64)]) -> Vec<f64> {
    let d = sides.len() as i32;
    let root = (0..64).fold(2.0_f64, |x, _| (1.0 + x).powf(1.0 / f64::from(d + 1)));
    let steps: Vec<f64> = (1..=d).map(|power| root.powi(-power)).collect();
    let mut rows = Vec::with_capacity(EVENTS * sides.len());
    for event in 0..EVENTS {
        for ((lo, hi), step) in sides.iter().zip(&steps) {
            let fraction = (0.5 + step * (event + 1) as f64).fract();
            rows.push(lo + fraction * (hi - lo));
        }
    }
    rows
}

/// Events for the comparison of GPU and CPU, and their log-densities on the CPU.
pub(in crate::flow) struct Compared<'a> {
    /// Features of the events, one row per event.
    pub(in crate::flow) events: &'a [f64],
    /// Context of the events, one row per event; empty for a flow without context.
    pub(in crate::flow) context: &'a [f64],
    /// Log-densities that the CPU computed, one number per event.
    pub(in crate::flow) expected: &'a [f64],
}

impl<'a> Compared<'a> {
    /// Returns the inputs of the graph: the features and, if there is a context, the context.
    #[cfg(feature = "neural-cuda")]
    pub(super) fn rows(&self) -> Vec<Rows<'a>> {
        let n = self.expected.len().max(1);
        let of = |numbers: &'a [f64]| Rows { numbers, width: numbers.len() / n };
        if self.context.is_empty() { vec![of(self.events)] } else { vec![of(self.events), of(self.context)] }
    }
}

/// Returns the largest difference between two lists of log-densities. A difference is divided by the larger of 1
/// and the absolute value on the CPU. The result is infinite if a log-density is not finite on one of the devices,
/// unless both devices give the same value.
#[cfg(any(test, feature = "neural-cuda"))]
pub(super) fn difference(expected: &[f64], actual: &[f64]) -> f64 {
    let of = |(cpu, gpu): (&f64, &f64)| {
        if cpu == gpu || (cpu.is_nan() && gpu.is_nan()) {
            0.0
        } else if cpu.is_finite() && gpu.is_finite() {
            (cpu - gpu).abs() / cpu.abs().max(1.0)
        } else {
            f64::INFINITY
        }
    };
    expected.iter().zip(actual).map(of).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_fill_the_box_evenly() {
        for d in 1..5 {
            let sides: Vec<(f64, f64)> = (0..d).map(|i| (f64::from(i), f64::from(i) + 8.0)).collect();
            let rows = spread(&sides);
            assert_eq!(rows.len(), EVENTS * sides.len());
            for (i, (lo, hi)) in sides.iter().enumerate() {
                let column = rows.iter().skip(i).step_by(sides.len());
                let mut counts = [0_usize; 8];
                for x in column {
                    assert!(lo <= x && x < hi);
                    counts[(x - lo) as usize] += 1;
                }
                assert!(counts.iter().all(|count| count.abs_diff(128) <= 8), "{d} {i}: {counts:?}");
            }
        }
    }

    #[test]
    fn differences_are_relative_to_large_numbers_only() {
        let none = f64::NEG_INFINITY;
        assert_eq!(difference(&[0.5, none, f64::NAN], &[0.5, none, f64::NAN]), 0.0);
        assert_eq!(difference(&[0.5, -100.0], &[0.25, -101.0]), 0.25);
        assert_eq!(difference(&[0.5, -100.0], &[0.5, -101.0]), 0.01);
        for (cpu, gpu) in [(0.0, none), (none, 0.0), (0.0, f64::NAN), (f64::NAN, 0.0)] {
            assert_eq!(difference(&[cpu], &[gpu]), f64::INFINITY);
        }
    }
}
