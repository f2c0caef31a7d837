//! Plot of the values of a parameter in each channel.

use ns_viz::{Bar, ChannelRow, Channels};

use super::remarks;
use crate::CompatibilityResult;
use crate::compatibility::Estimate;
use crate::present::significant;

/// Builds the plot of a test of compatibility.
#[must_use]
pub fn compatibility(result: &CompatibilityResult) -> Channels {
    let bar = |estimate: &Estimate| {
        let symmetric = |sign: f64| estimate.uncertainty.map(|sigma| estimate.value + sign * sigma);
        let (lower, upper) = (estimate.lower.or(symmetric(-1.0)), estimate.upper.or(symmetric(1.0)));
        Bar { value: estimate.value, lower, upper }
    };
    let row = |channel: &crate::compatibility::ChannelEstimate| ChannelRow {
        channel: channel.channel.clone(),
        own: bar(&channel.own),
        others: channel.others.as_ref().map(bar),
    };
    let p = result.p_value_toys.or(result.p_value);
    let how = if result.p_value_toys.is_some() { "toys" } else { "chi2" };
    let p = p.map(|p| format!("p = {} ({how})", significant(p)));
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
