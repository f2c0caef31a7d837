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
        samples: channel.samples.iter().map(sample).collect(),
        data: channel.data.iter().map(|count| Some(*count)).collect(),
        uncertainty: channel.uncertainty.clone(),
        ..ChannelYields::default()
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
