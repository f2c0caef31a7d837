//! The errors of the integrals in `-ln L`.

use ns_core::IntegralError;

use super::channel::ChannelPlan;
use super::channel_sum::ChannelMemory;
use super::term::{EventPlan, EventScratch};

/// Returns the largest relative error of the integrals at the last point that was evaluated. Returns `None` if no
/// integral was computed numerically.
pub(crate) fn integral_error(plan: &EventPlan, scratch: &EventScratch) -> Option<IntegralError> {
    let channels = plan.channels.iter().zip(&scratch.channels).enumerate();
    let errors = channels.flat_map(|(channel, (plan, memory))| {
        of_channel(plan, memory).map(move |(relative, process)| IntegralError { relative, channel, process })
    });
    // An error that is not a number is worse than every other error.
    let size = |error: &IntegralError| if error.relative.is_nan() { f64::INFINITY } else { error.relative };
    errors.filter(|error| error.relative != 0.0).max_by(|a, b| size(a).total_cmp(&size(b)))
}

/// Iterates over the relative errors of the integrals of one channel, each with the index of a process that needs the
/// integral.
fn of_channel(plan: &ChannelPlan, memory: &ChannelMemory) -> impl Iterator<Item = (f64, usize)> {
    let of_bins = memory.pieces.prepared(|sums| {
        let leaves = plan.leaves.iter().zip(&sums.leaves);
        leaves.filter_map(|(leaf, memory)| leaf.integral_error(memory)).collect::<Vec<_>>()
    });
    let integrals = plan.integrals.iter().zip(&memory.integral_memories);
    integrals
        .map(|(integral, own)| (integral.error(own), integral.process))
        .chain(of_bins.unwrap_or_default())
}
