//! Plot of the expected and the observed numbers of events.

use std::str::FromStr;

use ns_core::Model;
use ns_viz::{ChannelYields, SampleYields, Yields};
use thiserror::Error;

use super::remarks;
use crate::yields::{Stage, YieldsResult, projection_name};

/// A range of an observable in which plots do not show the data.
#[derive(Debug, Clone, PartialEq)]
pub struct BlindRange {
    /// Name of the observable.
    pub observable: String,
    /// Lower end of the range, in the unit of the observable.
    pub from: f64,
    /// Upper end of the range, in the unit of the observable.
    pub to: f64,
}

impl FromStr for BlindRange {
    type Err = String;

    /// Parses a text of the form `NAME=FROM:TO`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no blinded range; expected NAME=FROM:TO, for example m=120:130");
        let (name, ends) = text.rsplit_once('=').ok_or_else(wrong)?;
        let (from, to) = ends.split_once(':').ok_or_else(wrong)?;
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
        Ok(Self { observable: name.trim().to_owned(), from: number(from)?, to: number(to)? })
    }
}

impl BlindRange {
    /// Checks that an event channel of the model has the observable of this range, and that the range overlaps with the
    /// axis of the observable.
    ///
    /// # Errors
    /// [`BlindError`] if the observable does not exist, or the range is empty or outside the axis.
    pub fn check(&self, model: &Model) -> Result<(), BlindError> {
        let axes = || model.event_channels.iter().flat_map(|channel| &channel.observables);
        self.check_among(axes().map(|axis| axis.name.clone()).collect())?;
        let mut own = axes().filter(|axis| axis.name == self.observable);
        if own.clone().any(|axis| self.from < axis.max && self.to > axis.min) {
            return Ok(());
        }
        let (low, high) = own.next().map_or((f64::NAN, f64::NAN), |axis| (axis.min, axis.max));
        let (name, from, to) = (self.observable.clone(), self.from, self.to);
        Err(BlindError::Outside { name, from, to, low, high })
    }

    fn check_among(&self, mut known: Vec<String>) -> Result<(), BlindError> {
        let (name, from, to) = (self.observable.clone(), self.from, self.to);
        if !(from < to && (to - from).is_finite()) {
            return Err(BlindError::Empty { name, from, to });
        }
        if known.contains(&name) {
            return Ok(());
        }
        known.sort();
        known.dedup();
        Err(BlindError::NoSuchObservable { name, known })
    }
}

/// Reasons why a range cannot be blinded.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BlindError {
    /// No event channel has an observable with the given name.
    #[error("no channel of single events has the observable '{name}'; {}", known_observables(known))]
    NoSuchObservable {
        /// Name of the observable that was given.
        name: String,
        /// Names of the observables in the plot.
        known: Vec<String>,
    },
    /// The range is outside the axis of the observable.
    #[error("the range from {from} to {to} lies outside of the axis of '{name}', from {low} to {high}")]
    Outside {
        /// Name of the observable.
        name: String,
        /// Lower end of the range.
        from: f64,
        /// Upper end of the range.
        to: f64,
        /// Lower end of the axis.
        low: f64,
        /// Upper end of the axis.
        high: f64,
    },
    /// The range is empty, or one of its ends is not finite.
    #[error("the range from {from} to {to} of '{name}' is empty")]
    Empty {
        /// Name of the observable.
        name: String,
        /// Lower end of the range.
        from: f64,
        /// Upper end of the range.
        to: f64,
    },
}

fn known_observables(known: &[String]) -> String {
    match known {
        [] => "the model has no such channels".to_owned(),
        known => format!("the observables are {}", known.join(", ")),
    }
}

/// Builds the plot of all channels with their samples, uncertainties and data. Samples that are scaled by the parameter
/// of interest are marked as signal. Blinded channels have no data. The data in ranges that the model blinds are hidden as by [`blind`].
#[must_use]
pub fn yields(result: &YieldsResult) -> Yields {
    let channel = |channel: &crate::yields::ChannelYields| ChannelYields {
        name: channel.name.clone(),
        x_title: channel.observable.as_ref().unwrap_or(&channel.axis_title).clone(),
        bin_edges: channel.bin_edges.clone(),
        samples: channel.samples.iter().map(sample).collect(),
        // Between fit ranges no events are expected. Events there are not part of the fit.
        data: channel
            .data
            .iter()
            .zip(&channel.total)
            .map(|(count, total)| {
                (channel.observable.is_none() || *count != 0.0 || *total != 0.0).then_some(*count)
            })
            .collect(),
        data_errors: channel.data_uncertainty.iter().map(|sigma| Some(*sigma)).collect(),
        curve_positions: channel.curve_positions.clone(),
        uncertainty: channel.uncertainty.clone(),
        // Bins of event channels are narrow. Ratios of single bins would have large errors.
        pulls: channel.observable.is_some(),
        fitted: result.stage == Stage::Postfit && !channel.blinded,
        ..ChannelYields::default()
    };
    let mut picture = Yields {
        title: match result.stage {
            Stage::Prefit => "Pre-fit".to_owned(),
            Stage::Postfit => "Post-fit".to_owned(),
            Stage::Given => "At given parameters".to_owned(),
        },
        subtitle: remarks([(!result.converged).then_some("the fit did not converge")]),
        channels: result.channels.iter().map(channel).collect(),
        ..Yields::default()
    };
    for (shown, _) in picture.channels.iter_mut().zip(&result.channels).filter(|(_, channel)| channel.blinded)
    {
        shown.data.clear();
        shown.data_errors.clear();
        shown.note = "blinded".to_owned();
    }
    for (index, channel) in result.channels.iter().enumerate() {
        for &range in &channel.blind {
            hide(&mut picture, index, range);
        }
    }
    picture
}

fn sample(sample: &crate::yields::SampleYields) -> SampleYields {
    SampleYields {
        name: sample.name.clone(),
        counts: sample.counts.clone(),
        signal: sample.signal,
        curve: sample.curve.clone(),
        ..SampleYields::default()
    }
}

/// Hides the data in a range of an observable, in all event channels that have this observable, and what was fitted to them. Bins that overlap
/// with the range are shown without data. The plots of the other observables of these channels are shown without
/// data, because every bin may contain events of the range. The fit does not change.
///
/// # Errors
/// If no channel has the observable, or the range is empty.
pub fn blind(picture: &mut Yields, range: &BlindRange) -> Result<(), BlindError> {
    // Only event channels have pulls and the title of their x axis.
    let of_events = |channel: &&ChannelYields| channel.pulls && !channel.x_title.is_empty();
    range.check_among(picture.channels.iter().filter(of_events).map(|c| c.x_title.clone()).collect())?;
    for index in 0..picture.channels.len() {
        let channel = picture.channels.get(index);
        if channel.filter(of_events).is_some_and(|channel| channel.x_title == range.observable) {
            hide(picture, index, (range.from, range.to));
        }
    }
    Ok(())
}

/// Hides the data in a range of the channel with index `index`. Also hides the data of the plots that show other
/// observables of the same events.
fn hide(picture: &mut Yields, index: usize, range: (f64, f64)) {
    let Some(channel) = picture.channels.get_mut(index) else { return };
    channel.blind.push(range);
    let observable = channel.x_title.clone();
    let name = channel.name.clone();
    let Some(region) = name.strip_suffix(&projection_name("", &observable)) else { return };
    for (other, channel) in picture.channels.iter_mut().enumerate() {
        if other != index && channel.name == projection_name(region, &channel.x_title) {
            channel.data.clear();
            channel.data_errors.clear();
            channel.note = format!("no data: {observable} is blinded");
        }
    }
}
