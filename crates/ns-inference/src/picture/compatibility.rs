//! Plot of the values of a parameter in each channel.

use ns_viz::{Bar, ChannelRow, Channels};

use super::remarks;
use crate::CompatibilityResult;
use crate::compatibility::Estimate;
use crate::present::rounded;

/// Builds the plot of a test of compatibility.
#[must_use]
pub fn compatibility(result: &CompatibilityResult) -> Channels {
    let bar = |estimate: &Estimate| {
        // Without a crossing the interval ends at a bound. At a bound, the value itself has no uncertainty.
        let at_bound = estimate.uncertainty.is_none().then_some(estimate.value);
        Bar { value: estimate.value, lower: estimate.lower.or(at_bound), upper: estimate.upper.or(at_bound) }
    };
    let row = |channel: &crate::compatibility::ChannelEstimate| ChannelRow {
        channel: channel.channel.clone(),
        own: bar(&channel.own),
        others: channel.others.as_ref().map(bar),
    };
    let p = result.p_value_toys.or(result.p_value);
    let how = if result.p_value_toys.is_some() { "toys" } else { "χ²" };
    let p = p.map(|p| format!("p = {} ({how})", rounded(p, Some(p))));
    Channels {
        parameter: result.param.clone(),
        rows: result.channels.iter().map(row).collect(),
        common: bar(&result.common),
        subtitle: remarks([
            p.as_deref(),
            (!result.converged).then_some("not converged"),
            result.interrupted.then_some("interrupted"),
        ]),
        ..Channels::default()
    }
}
