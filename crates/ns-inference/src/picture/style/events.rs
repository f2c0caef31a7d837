//! Styles of pictures of events: axes, colours, groups of samples and blinded ranges.

use std::collections::BTreeMap;

use ns_viz::{ChannelYields, SampleYields, Yields};
use serde::Deserialize;

use super::{Style, StyleError, matches};
use crate::YieldsResult;
use crate::picture::summary::region;
use crate::picture::{self, summary};

/// The horizontal axis of a channel.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Axis {
    /// Title, with the unit.
    pub title: Option<String>,
    /// Edges of the bins; 0, 1, 2 and so on if empty.
    pub edges: Vec<f64>,
}

/// A colour, written as `#rrggbb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Colour([u8; 3]);

impl TryFrom<String> for Colour {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is no colour; write it as '#1f77b4': red, green and blue from 00 to ff");
        let digits = text
            .strip_prefix('#')
            .filter(|rest| rest.len() == 6 && rest.bytes().all(|b| b.is_ascii_hexdigit()));
        let number = u32::from_str_radix(digits.ok_or_else(wrong)?, 16).map_err(|_| wrong())?;
        let [_, red, green, blue] = number.to_be_bytes();
        Ok(Self([red, green, blue]))
    }
}

impl Style {
    /// Applies the style to a picture of events, except names and titles.
    ///
    /// # Errors
    /// [`StyleError`] for a channel that is not there, edges that are not those of its bins, and a range that is empty.
    pub fn shape(&self, mut picture: Yields) -> Result<Yields, StyleError> {
        self.set_axes(&mut picture)?;
        for channel in &mut picture.channels {
            channel.samples = self.grouped(&channel.samples);
            for sample in &mut channel.samples {
                sample.colour = self.colours.get(&sample.name).map(|colour| colour.0).or(sample.colour);
            }
        }
        if let Some([low, high]) = self.ratio.filter(|[low, high]| !(low < high && (high - low).is_finite()))
        {
            return Err(StyleError::Ratio { low, high });
        }
        Ok(Yields {
            log_y: self.log || picture.log_y,
            columns: self.columns.or(picture.columns),
            ratio: self.ratio.or(picture.ratio),
            pages: self.pages || picture.pages,
            max_samples: self.max_samples.unwrap_or(picture.max_samples),
            components: self.components.unwrap_or(picture.components),
            ..picture
        })
    }

    /// Returns the picture of all channels with one bin for each. Blinded channels have no data in it.
    ///
    /// # Errors
    /// The errors of [`Self::shape`].
    pub fn summary(
        &self,
        mut yields: YieldsResult,
        before: Option<&YieldsResult>,
    ) -> Result<Yields, StyleError> {
        self.set_axes(&mut picture::yields(&yields))?;
        // A range along any observable of a channel of events blinds the channel.
        let blinded: Vec<(String, (f64, f64))> = yields
            .channels
            .iter()
            .filter_map(|channel| {
                Some((region(channel).to_owned(), *self.blind.get(&channel.name)?.first()?))
            })
            .collect();
        for channel in &mut yields.channels {
            let own = blinded.iter().find(|(name, _)| name == region(channel)).map(|(_, range)| *range);
            channel.blind.extend(own);
        }
        // The only channel of the picture is none of the model.
        let of_regions = Self { axes: BTreeMap::new(), blind: BTreeMap::new(), ..self.clone() };
        of_regions.shape(summary(&yields, before))
    }

    /// Sets the axes and the blinded ranges of channels.
    fn set_axes(&self, picture: &mut Yields) -> Result<(), StyleError> {
        for (name, axis) in &self.axes {
            let Some(channel) = self.channel(picture, "axes", name)? else { continue };
            let bins = channel.data.len().max(channel.uncertainty.len());
            if !axis.edges.is_empty() {
                let rising = axis.edges.iter().zip(axis.edges.iter().skip(1)).all(|(a, b)| a < b);
                if axis.edges.len() != bins + 1 || !rising {
                    let (channel, given) = (name.clone(), axis.edges.len());
                    return Err(StyleError::Edges { channel, given, bins });
                }
                channel.bin_edges.clone_from(&axis.edges);
            }
            if let Some(title) = &axis.title {
                channel.x_title.clone_from(title);
            }
        }
        for (name, ranges) in &self.blind {
            if let Some(&(from, to)) = ranges.iter().find(|(from, to)| !(from < to)) {
                return Err(StyleError::EmptyRange { channel: name.clone(), from, to });
            }
            if let Some(channel) = self.channel(picture, "blind", name)? {
                channel.blind.extend(ranges);
            }
        }
        Ok(())
    }

    /// Returns a channel; `None` if the style leaves it out.
    fn channel<'a>(
        &self,
        picture: &'a mut Yields,
        key: &'static str,
        name: &str,
    ) -> Result<Option<&'a mut ChannelYields>, StyleError> {
        let Some(place) = picture.channels.iter().position(|channel| channel.name == *name) else {
            if !self.keeps(name) {
                return Ok(None);
            }
            let known = picture.channels.iter().map(|channel| channel.name.clone()).collect();
            return Err(StyleError::NoSuchChannel { key, name: name.to_owned(), known });
        };
        Ok(picture.channels.get_mut(place))
    }

    /// Returns the samples with those of each group put together, at the place of its first sample.
    fn grouped(&self, samples: &[SampleYields]) -> Vec<SampleYields> {
        let mut found: Vec<SampleYields> = Vec::new();
        for sample in samples {
            let group = self.groups.iter().find(|(_, patterns)| matches(patterns, &sample.name));
            let Some((group, _)) = group else {
                found.push(sample.clone());
                continue;
            };
            let same = |other: &&mut SampleYields| other.name == *group && other.signal == sample.signal;
            if let Some(sum) = found.iter_mut().find(same) {
                sum.counts.iter_mut().zip(&sample.counts).for_each(|(sum, count)| *sum += count);
                sum.curve.iter_mut().zip(&sample.curve).for_each(|(sum, height)| *sum += height);
            } else {
                found.push(SampleYields { name: group.clone(), ..sample.clone() });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn picture() -> Yields {
        let sample = |name: &str, count: f64| SampleYields {
            name: name.into(),
            counts: vec![count; 2],
            ..SampleYields::default()
        };
        let channel = ChannelYields {
            name: "SR".into(),
            samples: vec![sample("ttbar", 1.0), sample("wjets", 2.0), sample("zjets", 3.0)],
            data: vec![Some(6.0); 2],
            ..ChannelYields::default()
        };
        Yields { channels: vec![channel], ..Yields::default() }
    }

    fn shaped(value: serde_json::Value) -> Result<Yields, StyleError> {
        serde_json::from_value::<Style>(value).unwrap().shape(picture())
    }

    #[test]
    fn samples_are_grouped_and_coloured() {
        let yields =
            shaped(json!({"groups": {"V + jets": ["?jets"]}, "colours": {"V + jets": "#ff0080"}})).unwrap();
        let samples = &yields.channels[0].samples;
        let names: Vec<&str> = samples.iter().map(|sample| sample.name.as_str()).collect();
        assert_eq!(names, ["ttbar", "V + jets"]);
        assert_eq!((samples[1].counts[0], samples[1].colour), (5.0, Some([255, 0, 128])));
        assert!(serde_json::from_value::<Style>(json!({"colours": {"x": "red"}})).is_err());
    }

    #[test]
    fn ranges_are_checked() {
        let yields = shaped(json!({"ratio": [0.8, 1.2], "blind": {"SR": [[1, 2]]}, "pages": true})).unwrap();
        assert_eq!((yields.ratio, yields.pages), (Some([0.8, 1.2]), true));
        assert_eq!(yields.channels[0].blind, [(1.0, 2.0)]);
        for (wrong, word) in [
            (json!({"ratio": [1.2, 0.8]}), "rising"),
            (json!({"blind": {"SR": [[2, 1]]}}), "empty"),
            (json!({"blind": {"CR": [[1, 2]]}}), "there are SR"),
            (json!({"axes": {"SR": {"edges": [0, 1]}}}), "3 edges"),
        ] {
            let error = shaped(wrong).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
