//! Plot of all channels with one bin for each.

use ns_viz::{ChannelYields, SampleYields, Yields};

use super::remarks;
use crate::yields::{ChannelYields as Channel, Stage, YieldsResult};

/// Builds the plot of all channels, with one bin for each: the sums of samples, the data, and the uncertainty of the sum of
/// all samples. `before` are the yields before the fit; their sums are drawn as a dashed line. Blinded channels, and
/// channels with blinded ranges, have no data. The latter are marked as blinded, and after a fit to their data have no
/// expectation, either. Of a channel of events that is binned along several observables, only the
/// first is drawn.
#[must_use]
pub fn summary(result: &YieldsResult, before: Option<&YieldsResult>) -> Yields {
    // All projections of a channel of events have the same events.
    let mut seen: Vec<&str> = Vec::new();
    let mut channels: Vec<&Channel> = Vec::new();
    for channel in &result.channels {
        let name = region(channel);
        if !seen.contains(&name) {
            seen.push(name);
            channels.push(channel);
        }
    }
    let mut names: Vec<(&str, bool)> = Vec::new();
    for sample in channels.iter().flat_map(|channel| &channel.samples) {
        if !names.contains(&(sample.name.as_str(), sample.signal)) {
            names.push((&sample.name, sample.signal));
        }
    }
    let has_range = |channel: &Channel| !channel.blinded && !channel.blind.is_empty();
    let fitted = result.stage == Stage::Postfit;
    let is_hidden = |channel: &Channel| fitted && has_range(channel);
    let sample = |(name, signal): (&str, bool)| {
        let of = |channel: &&Channel| {
            let own = channel
                .samples
                .iter()
                .filter(|sample| sample.name == name && sample.signal == signal && !is_hidden(channel));
            own.map(|sample| sample.sum).sum()
        };
        SampleYields {
            name: name.to_owned(),
            signal,
            counts: channels.iter().map(of).collect(),
            ..SampleYields::default()
        }
    };
    let earlier = |channel: &&Channel| {
        let own = before?.channels.iter().find(|other| other.name == channel.name);
        own.filter(|_| !is_hidden(channel)).map(|other| other.sum)
    };
    let data =
        |channel: &&Channel| (!channel.blinded && channel.blind.is_empty()).then_some(channel.data_sum);
    let weighted = channels.iter().any(|channel| !channel.data_uncertainty.is_empty());
    let error = |channel: &&Channel| {
        let own = &channel.data_uncertainty;
        let squares = own.iter().map(|sigma| sigma * sigma).sum::<f64>();
        let size = if own.is_empty() { channel.data_sum.max(0.0).sqrt() } else { squares.sqrt() };
        data(channel).map(|_| size)
    };
    let uncertainty = |channel: &&Channel| channel.sum_uncertainty.filter(|_| !is_hidden(channel));
    let blind = channels.iter().enumerate().filter(|(_, channel)| has_range(channel));
    let regions = ChannelYields {
        bin_labels: seen.iter().map(|name| (*name).to_owned()).collect(),
        samples: names.iter().copied().map(sample).collect(),
        data: channels.iter().map(data).collect(),
        data_errors: if weighted { channels.iter().map(error).collect() } else { Vec::new() },
        uncertainty: channels.iter().map(uncertainty).collect(),
        before: if before.is_some() { channels.iter().map(earlier).collect() } else { Vec::new() },
        // The bin of a region goes from its number to the next one.
        blind: blind.map(|(place, _)| (place as f64, place as f64 + 1.0)).collect(),
        fitted,
        ..ChannelYields::default()
    };
    Yields {
        title: match result.stage {
            Stage::Prefit => "Regions before the fit",
            Stage::Postfit => "Regions after the fit",
            Stage::Given => "Regions at given parameters",
        }
        .to_owned(),
        subtitle: remarks([(!result.converged).then_some("the fit did not converge")]),
        channels: vec![regions],
        ..Yields::default()
    }
}

/// The name of a channel without that of its observable.
pub(super) fn region(channel: &Channel) -> &str {
    let observable = channel.observable.as_deref();
    let suffix = observable.and_then(|observable| channel.name.strip_suffix(observable));
    suffix.and_then(|rest| rest.strip_suffix(", ")).unwrap_or(&channel.name)
}
