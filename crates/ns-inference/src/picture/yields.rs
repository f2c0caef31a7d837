//! Plot of the expected and observed events.

use ns_viz::{ChannelYields, SampleYields, Yields};

use super::remarks;
use crate::yields::{Stage, YieldsResult};

/// Builds the plot of all channels with their samples, uncertainties and data. Samples that the parameter of
/// interest scales are marked as signal.
#[must_use]
pub fn yields(result: &YieldsResult) -> Yields {
    let channel = |channel: &crate::yields::ChannelYields| ChannelYields {
        name: channel.name.clone(),
        x_title: channel.observable.clone().unwrap_or_default(),
        bin_edges: channel.bin_edges.clone(),
        samples: channel.samples.iter().map(sample).collect(),
        // Nothing is expected between fit ranges, where events are not used.
        data: channel
            .data
            .iter()
            .zip(&channel.total)
            .map(|(count, total)| {
                (channel.observable.is_none() || *count != 0.0 || *total != 0.0).then_some(*count)
            })
            .collect(),
        uncertainty: channel.uncertainty.clone(),
        // Bins of events are narrow, so ratios of single bins have large errors.
        pulls: channel.observable.is_some(),
    };
    Yields {
        title: match result.stage {
            Stage::Prefit => "Pre-fit".to_owned(),
            Stage::Postfit => "Post-fit".to_owned(),
            Stage::Given => "At given parameters".to_owned(),
        },
        subtitle: remarks([(!result.converged).then_some("the fit did not converge")]),
        channels: result.channels.iter().map(channel).collect(),
        ..Yields::default()
    }
}

fn sample(sample: &crate::yields::SampleYields) -> SampleYields {
    SampleYields { name: sample.name.clone(), counts: sample.counts.clone(), signal: sample.signal }
}
