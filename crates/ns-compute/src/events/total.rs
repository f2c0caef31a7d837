//! The expected number of events of a channel. It cannot be negative.

use super::channel::ChannelPlan;
use super::channel_sum::ChannelMemory;

/// A sum of rates counts as negative if it is below 0 by more than this fraction of the sum of their absolute values.
const ROUNDING: f64 = 1e-12;

/// Returns the expected number of events of an extended channel, whose `memory` has been prepared.
pub(super) fn total(channel: &ChannelPlan, memory: &ChannelMemory) -> f64 {
    match memory.total(channel) {
        Some(result) => result[0],
        None => channel.rates.iter().fold(channel.constant_rate, |sum, &rate| sum + memory.locals[rate]),
    }
}

/// Returns whether the expected number of events of a channel, whose `memory` has been prepared, is negative.
pub(super) fn is_negative(channel: &ChannelPlan, memory: &ChannelMemory) -> bool {
    let size: f64 = channel.rates.iter().map(|&rate| memory.locals[rate].abs()).sum();
    channel.extended && total(channel, memory) < -ROUNDING * (size + channel.constant_rate.abs())
}

/// What the expected number of events `total` of a channel adds to `-ln L` in a descent that finds the minimum under the
/// condition `total >= 0`: the term `(max(0, m - s total)^2 - m^2) / (2 s)` of an augmented Lagrangian function with the
/// multiplier `m` and the stiffness `s` (Nocedal and Wright, "Numerical Optimization", 2nd edition, section 17.4).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wall {
    pub(crate) multiplier: f64,
    pub(crate) stiffness: f64,
}

impl Wall {
    /// Returns the term with its first and second derivatives with respect to `total`.
    pub(super) fn at(self, total: f64) -> [f64; 3] {
        let (force, stiffness) = (self.force(total), self.stiffness);
        let value = 0.5 * (force * force - self.multiplier * self.multiplier) / stiffness;
        [value, -force, if force > 0.0 { stiffness } else { 0.0 }]
    }

    /// Returns the estimate of the multiplier at a minimum of the function.
    pub(crate) fn force(self, total: f64) -> f64 {
        (self.multiplier - self.stiffness * total).max(0.0)
    }
}
