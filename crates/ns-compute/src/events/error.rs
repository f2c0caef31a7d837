//! The errors of the integrals in `-ln L`.

use ns_core::IntegralError;

use super::channel::ChannelPlan;
use super::channel_sum::ChannelMemory;
use super::term::{EventPlan, EventScratch};
use super::wide::Wide;

/// Returns the largest relative error of the integrals at the last point that was evaluated. Returns `None` if no
/// integral was computed numerically.
pub(crate) fn integral_error(plan: &EventPlan, scratch: &EventScratch) -> Option<IntegralError> {
    let channels = plan.channels.iter().zip(&scratch.channels).enumerate();
    let errors = channels.flat_map(|(channel, (plan, memory))| {
        of_channel(plan, memory).into_iter().map(move |(relative, process)| IntegralError {
            relative,
            channel,
            process,
        })
    });
    // An error that is not a number is worse than every other error.
    let size = |error: &IntegralError| if error.relative.is_nan() { f64::INFINITY } else { error.relative };
    errors.filter(|error| error.relative != 0.0).max_by(|a, b| size(a).total_cmp(&size(b)))
}

/// Returns the relative errors of the integrals of one channel, each with the index of a process that needs the integral.
fn of_channel(plan: &ChannelPlan, memory: &ChannelMemory) -> Vec<(f64, usize)> {
    let of_bins = memory.pieces.prepared(|sums| {
        let leaves = plan.leaves.iter().zip(&sums.leaves);
        leaves.filter_map(|(leaf, memory)| leaf.integral_error(memory)).collect::<Vec<_>>()
    });
    let mut errors = of_bins.unwrap_or_default();
    errors.extend(of_normalisations(plan, memory));
    errors
}

/// Returns the relative errors of the integrals that normalise the densities of a channel, each with the index of a
/// process. The error of the integral over a fit range counts by the share of this range in the sum over all ranges.
pub(super) fn of_normalisations(plan: &ChannelPlan, memory: &ChannelMemory) -> Vec<(f64, usize)> {
    let values = memory.integral_values(plan);
    let errors: Vec<f64> = plan
        .integrals
        .iter()
        .zip(&memory.integral_memories)
        .map(|(integral, own)| integral.error(own))
        .collect();
    let of = |ranges: &Vec<Vec<usize>>| {
        let size =
            |range: &Vec<usize>| range.iter().fold(Wide::from(1.0), |size, &i| size.mul(values[i].abs()));
        let total = ranges.iter().fold(Wide::from(0.0), |sum, range| sum.add(size(range)));
        let share = |range: &Vec<usize>| {
            let share = if ranges.len() == 1 { 1.0 } else { size(range).div(total).to_f64() };
            // Nothing is known of the shares of a sum that is 0 or not finite.
            if share.is_finite() { share } else { 1.0 }
        };
        let weighted = |range| {
            let share = share(range);
            range.iter().map(move |&i| (share, i))
        };
        let parts = ranges.iter().flat_map(weighted).filter(|&(share, _)| share > 0.0);
        let mut sum = 0.0;
        let mut worst = (0.0, None);
        for (share, i) in parts {
            let error = share * errors[i];
            sum += error;
            if error.is_nan() || error > worst.0 {
                worst = (error, Some(i));
            }
        }
        worst.1.map(|i| (sum, plan.integrals[i].process))
    };
    plan.normalisations.iter().filter_map(of).collect()
}
