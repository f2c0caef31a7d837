//! Bounds of an integrand within regions, by interval arithmetic.

use crate::events::program::{Interval, Memory, Program, is_pole, slope_bounds, step_bounds, wide_operand};

/// What interval arithmetic says about the integrand within a region.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::events) struct Reach {
    /// Largest possible absolute value, times the volume of the region. It is NaN if the integrand has no value there.
    pub(in crate::events) size: f64,
    /// Difference of the largest and the smallest possible value, times the volume.
    pub(super) spread: f64,
    /// If a rule may miss a peak within the region: the axis along which the region is best divided.
    pub(in crate::events) wide: Option<usize>,
    /// Whether the integrand has no bound, because there is a pole within the region.
    pub(in crate::events) singular: bool,
}

/// Working memory: bounds of all results of a program.
#[derive(Debug, Clone, Default)]
pub(in crate::events) struct Reaches {
    pub(super) bounds: Vec<Interval>,
    /// Bounds at the centre of the region.
    central: Vec<Interval>,
    /// Bounds of the derivatives of all results: one number per observable, result after result.
    slopes: Vec<Interval>,
    sides: Vec<Interval>,
    centre: Vec<Interval>,
    /// Lengths of the sides of the first region.
    lengths: Vec<f64>,
}

impl Reaches {
    /// Reads the results that do not depend on observables. `memory` is prepared for the current variables.
    pub(in crate::events) fn prepare(&mut self, program: &Program, memory: &Memory) {
        self.bounds.clear();
        self.lengths.clear();
        for (slot, (_, uniform)) in program.all_steps().enumerate() {
            let x = if uniform { memory.number(program, slot) } else { 0.0 };
            self.bounds.push(Interval::point(x));
        }
        self.central.clone_from(&self.bounds);
    }

    /// Returns the length of a side of the first region.
    pub(super) fn length(&self, axis: usize) -> f64 {
        self.lengths.get(axis).copied().unwrap_or(1.0)
    }

    /// Bounds the integrand within a region.
    pub(in crate::events) fn of(&mut self, program: &Program, region: &[(f64, f64)]) -> Reach {
        self.sides.clear();
        self.sides.extend(region.iter().map(|&(lo, hi)| Interval::new(lo, hi)));
        if self.lengths.is_empty() {
            self.lengths.extend(region.iter().map(|(lo, hi)| hi - lo));
        }
        let mut wide = None;
        for (slot, (step, uniform)) in program.all_steps().enumerate() {
            if !uniform {
                self.bounds[slot] = step_bounds(step, program.tables(), &self.sides, &self.bounds);
                wide = wide.or_else(|| wide_operand(step, slot, &self.bounds).map(|_| 0));
            }
        }
        // In several observables, also the bounds of harmless regions are too far from their values.
        if wide.is_some() || region.len() > 1 {
            wide = self.tighten(program, region);
        }
        let steps = || program.all_steps().enumerate().filter(|(_, (_, uniform))| !uniform);
        let volume: f64 = region.iter().map(|(lo, hi)| hi - lo).product();
        let result = self.bounds.last().copied().unwrap_or(Interval::EMPTY);
        if result.is_empty() {
            return Reach { size: f64::NAN, spread: f64::NAN, wide, singular: false };
        }
        let most = result.lo.abs().max(result.hi.abs());
        let is_infinite = most == f64::INFINITY;
        let singular = is_infinite && steps().any(|(slot, (step, _))| is_pole(step, slot, &self.bounds));
        // An exponential that is too large has to be divided.
        let wide = wide.or((is_infinite && !singular).then_some(0));
        let size = if most == 0.0 { 0.0 } else { most * volume };
        Reach { size, spread: (result.hi - result.lo) * volume, wide, singular }
    }

    /// Computes the bounds again. Every result `f` is also bounded by its value at the centre `c` and its derivatives
    /// within the region: `f(c) + f' (x - c)`. For small regions this is much tighter, if observables occur several
    /// times (R. E. Moore et al., "Introduction to Interval Analysis", 2009, section 6.3). Returns the axis along which
    /// the region is best divided, if a rule may miss a peak.
    fn tighten(&mut self, program: &Program, region: &[(f64, f64)]) -> Option<usize> {
        let d = region.len();
        self.centre.clear();
        self.centre.extend(region.iter().map(|(lo, hi)| Interval::point(0.5 * lo + 0.5 * hi)));
        self.slopes.resize(self.bounds.len() * d, Interval::point(0.0));
        let Self { bounds, central, slopes, sides, centre, lengths, .. } = self;
        let mut wide = None;
        for (slot, (step, uniform)) in program.all_steps().enumerate() {
            if uniform {
                slopes[slot * d..(slot + 1) * d].fill(Interval::point(0.0));
                continue;
            }
            central[slot] = step_bounds(step, program.tables(), centre, central);
            bounds[slot] = step_bounds(step, program.tables(), sides, bounds);
            let mut room = 0.0;
            for (axis, (lo, hi)) in region.iter().enumerate() {
                let slope = slope_bounds(step, (slot, axis), bounds, &|a| slopes[a * d + axis]);
                slopes[slot * d + axis] = slope;
                room += 0.5 * (hi - lo) * slope.lo.abs().max(slope.hi.abs());
            }
            if room.is_finite() && !central[slot].is_empty() && !bounds[slot].is_empty() {
                room *= 1.0 + 1e-12;
                bounds[slot] = bounds[slot].within(central[slot].lo - room, central[slot].hi + room);
            }
            wide = wide.or_else(|| {
                let operand = wide_operand(step, slot, bounds)?;
                // Along this axis the operand varies most.
                let variation = |axis: usize| {
                    let ((lo, hi), slope) = (region[axis], slopes[operand * d + axis]);
                    let most = (hi - lo) * slope.lo.abs().max(slope.hi.abs());
                    (most, (hi - lo) / lengths.get(axis).copied().unwrap_or(1.0))
                };
                let order = |a: &usize, b: &usize| {
                    let (a, b) = (variation(*a), variation(*b));
                    a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
                };
                (0..d).max_by(order)
            });
        }
        wide
    }
}
