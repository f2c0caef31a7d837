//! The channels of a card and their observations.

use std::collections::HashSet;
use std::sync::Arc;

use crate::datacard::document::{Channel, Document, Origin};
use crate::datacard::lines::{Place, number, too_long};
use crate::pyhf::names::{nearest, quoted};
use crate::pyhf::problem::Report;

use super::Rows;

impl Rows<'_> {
    /// Adds the channels: those of the observations, or, if there are none, those of the columns.
    pub(super) fn channels(
        &self,
        bins: &[&str],
        origin: &Arc<Origin>,
        document: &mut Document,
        report: &mut Report,
    ) {
        let rate_place = self.rate.as_ref().map(|(_, place)| place.clone());
        let (names, place): (Vec<&str>, Place) = match &self.observed_bins {
            Some((names, place)) => (names.clone(), place.clone()),
            None => {
                let mut seen = HashSet::new();
                let place = self.bin.as_ref().map(|(_, place)| place.clone()).or(rate_place);
                let Some(place) = place else { return };
                (bins.iter().copied().filter(|bin| seen.insert(*bin)).collect(), place)
            }
        };
        let mut observations: Vec<Option<f64>> = vec![None; names.len()];
        match &self.observation {
            None => report.error(
                place.to_string(),
                "The card has no line 'observation'.",
                "Add one with a count per channel, or -1 for the integral of data_obs.",
            ),
            Some((counts, place)) if counts.len() != names.len() => report.error(
                place.to_string(),
                format!(
                    "The number of observations is {}, but the number of channels is {}.",
                    counts.len(),
                    names.len()
                ),
                "Give one count per channel, in the order of the 'bin' line above.",
            ),
            Some((counts, place)) => {
                for (slot, (word, name)) in observations.iter_mut().zip(counts.iter().zip(&names)) {
                    *slot = number(word).filter(|count| *count >= 0.0 || *count == -1.0);
                    if slot.is_none() {
                        report.error(
                            place.to_string(),
                            format!("The observation of channel {} is {}.", quoted(name), quoted(word)),
                            "Write a count that is not negative, or -1 for the integral of data_obs.",
                        );
                    }
                }
            }
        }
        let observed_at = self.observation.as_ref().map_or(&place, |(_, place)| place);
        let mut seen = HashSet::new();
        for (&name, observation) in names.iter().zip(observations) {
            too_long(name, "channel", &place, report);
            if !seen.insert(name) {
                report.error(
                    place.to_string(),
                    format!("Channel {} stands twice in the 'bin' line of the observations.", quoted(name)),
                    "Name each channel once.",
                );
                continue;
            }
            document.channels.push(Channel {
                name: name.to_owned(),
                place: place.clone(),
                observation,
                observed_at: observed_at.clone(),
                origin: origin.clone(),
                written: name.to_owned(),
                mc_stats: None,
            });
        }
        self.unknown_channels(bins, document, report);
    }

    /// Reports columns of channels without an observation, and channels without columns.
    fn unknown_channels(&self, bins: &[&str], document: &Document, report: &mut Report) {
        let Some((_, place)) = &self.bin else { return };
        let names: Vec<&str> = document.channels.iter().map(|c| c.name.as_str()).collect();
        let (known, used): (HashSet<&str>, HashSet<&str>) =
            (names.iter().copied().collect(), bins.iter().copied().collect());
        let mut said = HashSet::new();
        for bin in bins.iter().filter(|bin| !known.contains(*bin)) {
            if said.insert(*bin) {
                let near = nearest(bin, names.iter().copied());
                let near = near.map_or_else(String::new, |near| format!(" Did you mean {}?", quoted(near)));
                report.error(
                    place.to_string(),
                    format!("Channel {} has no observation.{near}", quoted(bin)),
                    "Add it to the 'bin' and 'observation' lines above.",
                );
            }
        }
        for channel in document.channels.iter().filter(|c| !used.contains(c.name.as_str())) {
            report.error(
                channel.place.to_string(),
                format!("Channel {} has no processes.", quoted(&channel.name)),
                "Add columns for it, or leave it out.",
            );
        }
    }
}
