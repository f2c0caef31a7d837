//! The picture of yields. For each channel it shows the stacked samples, the data, and the ratio of data and
//! prediction.

use serde::{Deserialize, Serialize};

use crate::colour::{self, BLACK, Colour};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::{PictureError, ascending, increasing, same_length};
use crate::frame;
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::number::usable;
use crate::stack::{BLIND, Layer, Parts, Stack, sample_line, sum_line};

pub(crate) const PICTURE: &str = "yields";
const MARGIN: f64 = 16.0;
const GUTTER: f64 = 14.0;
const CAPTION: f64 = 22.0;

/// The expected yields of one sample in a channel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SampleYields {
    /// Name of the sample. A sample has the same colour in all channels.
    pub name: String,
    /// Expected yield of each bin.
    pub counts: Vec<f64>,
    /// Whether the sample is signal. Signal is drawn in red, on top of the other samples.
    pub signal: bool,
    /// Expected yield at each of the channel's `curve_positions`; empty for a histogram.
    pub curve: Vec<f64>,
}

/// How the samples of a channel are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Components {
    /// The samples are filled, one on top of the other.
    #[default]
    Stack,
    /// Each sample is a line, and another line shows their sum.
    Lines,
}

impl std::str::FromStr for Components {
    type Err = String;

    /// Parses `stack` or `lines`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "stack" => Ok(Self::Stack),
            "lines" => Ok(Self::Lines),
            other => Err(format!("'{other}' is no way to draw components; use stack or lines")),
        }
    }
}

/// Expected and observed events of one channel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelYields {
    /// Name of the channel.
    pub name: String,
    /// Remark in brackets after the name. If empty, there is no remark.
    pub note: String,
    /// Title of the horizontal axis. If empty, the title is `bin`.
    pub x_title: String,
    /// Edges of the bins, strictly increasing, one more than there are bins. If empty, the edges are 0, 1, 2
    /// and so on.
    pub bin_edges: Vec<f64>,
    /// The samples, from the bottom of the stack to its top. Signal samples are always on top.
    pub samples: Vec<SampleYields>,
    /// Observed events of each bin; `None` for a bin whose data must not be shown. If the list is empty, no
    /// data are drawn.
    pub data: Vec<Option<f64>>,
    /// Size of the error bar of the data in each bin, both up and down, as for sums of weights. If the list
    /// is empty, the data are counts with Poisson intervals.
    pub data_errors: Vec<Option<f64>>,
    /// Positions on the horizontal axis at which the curves of all samples are given, in ascending order. A
    /// position may occur twice, where a curve has a step. If the list is empty, samples are drawn as
    /// histograms.
    pub curve_positions: Vec<f64>,
    /// Blinded ranges of the horizontal axis. Bins that overlap with such a range show no data.
    pub blind: Vec<(f64, f64)>,
    /// Uncertainty of the total expected yield of each bin; empty if unknown.
    pub uncertainty: Vec<Option<f64>>,
    /// Whether the lower panel shows pulls in place of ratios. A pull is the difference between data and
    /// prediction, divided by the error bar of the data.
    pub pulls: bool,
}

/// The picture of expected and observed events of one or more channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Yields {
    /// Title of the picture, such as "Post-fit". If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The channels, in reading order.
    pub channels: Vec<ChannelYields>,
    /// Whether the axis of events is logarithmic.
    pub log_y: bool,
    /// Number of channels next to each other. By default there are about as many columns as rows, but at most
    /// four columns.
    pub columns: Option<usize>,
    /// Largest number of colours for background samples, including the colour for "other". If there are more
    /// background samples, the smallest are added up and drawn as "other".
    pub max_samples: usize,
    /// The way in which samples are drawn.
    pub components: Components,
}

impl Default for Yields {
    fn default() -> Self {
        Self {
            title: String::new(),
            subtitle: String::new(),
            channels: Vec::new(),
            log_y: false,
            columns: None,
            max_samples: 12,
            components: Components::Stack,
        }
    }
}

/// The samples of all channels. `named` lists the samples that are drawn separately, each with its name,
/// whether it is signal, and its colour.
struct Catalogue {
    named: Vec<(String, bool, Colour)>,
    /// Number of background samples that are drawn together as "other".
    others: usize,
}

const OTHER: Colour = Colour(205, 205, 205);

impl Yields {
    /// Draws all channels on one page with a common legend.
    ///
    /// # Errors
    /// If there is no channel, a channel has no bins or neither samples nor data, the lengths of fields
    /// differ, or bin edges do not increase.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        self.draw_channels(&self.channels.iter().collect::<Vec<_>>(), "Expected and observed events")
    }

    /// Draws each channel on a separate page, with the same colours as on the common page. Returns the name
    /// and the page of each channel.
    ///
    /// # Errors
    /// The errors of [`draw`](Self::draw).
    pub fn draw_each(&self) -> Result<Vec<(String, Drawing)>, PictureError> {
        let one = |channel: &ChannelYields| {
            let description = format!("Expected and observed events in {}", channel.name);
            Ok((channel.name.clone(), self.draw_channels(&[channel], &description)?))
        };
        self.channels.iter().map(one).collect()
    }

    fn draw_channels(&self, channels: &[&ChannelYields], description: &str) -> Result<Drawing, PictureError> {
        if channels.is_empty() {
            let remedy = "at least one channel";
            return Err(PictureError::Empty { picture: PICTURE, field: "channels".into(), remedy });
        }
        let catalogue = self.catalogue();
        let stacks = channels
            .iter()
            .map(|channel| catalogue.stack(channel, self.log_y, self.components == Components::Lines))
            .collect::<Result<Vec<_>, _>>()?;

        let count = channels.len();
        let single = count == 1;
        let by_default = ((count as f64).sqrt().ceil() as usize).min(4);
        let columns = self.columns.unwrap_or(by_default).clamp(1, count);
        let (block, main, ratio) = if single { (688.0, 340.0, 110.0) } else { (440.0, 240.0, 80.0) };
        let width = 2.0 * MARGIN + columns as f64 * block + (columns - 1) as f64 * GUTTER;
        let room = width - 2.0 * MARGIN;
        let header = Header {
            title: &self.title,
            subtitle: &self.subtitle,
            entries: catalogue.legend(channels, self.components),
        };
        let top = header.height(room);
        let data = |stack: &Stack| if stack.has_ratio() { ratio + frame::SPLIT } else { 0.0 };
        let lower = stacks.iter().map(data).fold(0.0, f64::max);
        let each = CAPTION + main + lower + frame::BELOW;
        let height = top + each * count.div_ceil(columns) as f64;
        let mut page = Drawing::new(width, height, description.to_owned());
        header.draw(&mut page, MARGIN, room);
        for (index, stack) in stacks.iter().enumerate() {
            let left = MARGIN + (index % columns) as f64 * (block + GUTTER);
            let top = top + (index / columns) as f64 * each;
            let area = Area { left, right: left + block - 8.0, top, bottom: top + CAPTION + main + lower };
            stack.draw(&mut page, area, CAPTION, if stack.has_ratio() { ratio } else { 0.0 });
        }
        Ok(page)
    }

    /// Returns the samples of all channels in the order of their first appearance. If there are more
    /// background samples than `max_samples`, the smallest are drawn together.
    fn catalogue(&self) -> Catalogue {
        let mut found: Vec<(String, bool, f64)> = Vec::new();
        for sample in self.channels.iter().flat_map(|channel| &channel.samples) {
            let events: f64 = sample.counts.iter().copied().filter_map(usable).map(f64::abs).sum();
            match found.iter_mut().find(|(name, signal, _)| *name == sample.name && *signal == sample.signal)
            {
                Some((_, _, total)) => *total += events,
                None => found.push((sample.name.clone(), sample.signal, events)),
            }
        }
        let mut sizes: Vec<f64> =
            found.iter().filter(|(_, signal, _)| !signal).map(|(.., size)| *size).collect();
        sizes.sort_by(|a, b| b.total_cmp(a));
        let most = self.max_samples.max(1);
        let backgrounds = sizes.len();
        // "Other" takes one of the colours, and always contains at least two samples.
        let least = if backgrounds > most { sizes.get(most - 1).copied() } else { None };
        let mut named = Vec::new();
        let (mut signals, mut others) = (0, 0);
        for (name, signal, size) in found {
            if signal {
                named.push((name, true, colour::signal(signals)));
                signals += 1;
            } else if least.is_some_and(|least| !(size > least)) {
                others += 1;
            } else {
                named.push((name, false, colour::sample(named.len() - signals)));
            }
        }
        Catalogue { named, others }
    }
}

impl Catalogue {
    fn legend(&self, channels: &[&ChannelYields], components: Components) -> Vec<Entry> {
        let outline = Stroke::solid(BLACK, 0.6);
        let symbol = |colour: Colour, dashed: bool| match components {
            Components::Stack => Symbol::Box(Ink::outlined(colour, outline)),
            Components::Lines => Symbol::Line(sample_line(colour, dashed)),
        };
        let mut entries = Vec::new();
        if channels.iter().any(|channel| channel.data.iter().any(Option::is_some)) {
            entries.push(Entry::new(Symbol::Point(BLACK), "data"));
        }
        if components == Components::Lines && channels.iter().any(|channel| !channel.samples.is_empty()) {
            entries.push(Entry::new(Symbol::Line(sum_line()), "sum"));
        }
        let signals = self.named.iter().filter(|(_, signal, _)| *signal);
        let backgrounds = self.named.iter().rev().filter(|(_, signal, _)| !signal);
        for (name, signal, colour) in signals.chain(backgrounds) {
            let mut samples = channels.iter().flat_map(|channel| &channel.samples);
            if samples.any(|sample| sample.name == *name && sample.signal == *signal) {
                entries.push(Entry::new(symbol(*colour, !signal), name.clone()));
            }
        }
        if self.others > 0 {
            let text = format!("other ({} samples)", self.others);
            entries.push(Entry::new(symbol(OTHER, true), text));
        }
        if channels.iter().any(|channel| channel.uncertainty.iter().any(Option::is_some)) {
            entries.push(Entry::new(Symbol::Hatched, "uncertainty"));
        }
        if channels.iter().any(|channel| !channel.blind.is_empty()) {
            entries.push(Entry::new(Symbol::Box(Ink::outlined(BLIND, outline)), "blinded"));
        }
        entries
    }

    /// Checks the lengths of a channel's fields and returns its stack. The layers are, from bottom to top:
    /// "other", backgrounds, signals.
    fn stack(&self, channel: &ChannelYields, log: bool, lines: bool) -> Result<Stack, PictureError> {
        let of = |field: &str| format!("channels '{}', {field}", channel.name);
        let first = channel.samples.first().map(|sample| sample.counts.len());
        let bins = first.unwrap_or(channel.data.len());
        if bins == 0 {
            let remedy = "samples or data with at least one bin";
            return Err(PictureError::Empty { picture: PICTURE, field: of("samples"), remedy });
        }
        let reference = if first.is_some() { of("first sample") } else { of("data") };
        for sample in &channel.samples {
            same_length(
                PICTURE,
                &of(&format!("sample '{}'", sample.name)),
                sample.counts.len(),
                &reference,
                bins,
            )?;
        }
        for (field, values) in [
            ("data", &channel.data),
            ("data_errors", &channel.data_errors),
            ("uncertainty", &channel.uncertainty),
        ] {
            if !values.is_empty() {
                same_length(PICTURE, &of(field), values.len(), &reference, bins)?;
            }
        }
        let edges: Vec<f64> = if channel.bin_edges.is_empty() {
            (0..=bins).map(|edge| edge as f64).collect()
        } else {
            same_length(PICTURE, &of("bin_edges"), channel.bin_edges.len(), &reference, bins + 1)?;
            increasing(PICTURE, &of("bin_edges"), &channel.bin_edges)?;
            channel.bin_edges.clone()
        };
        let positions = &channel.curve_positions;
        ascending(PICTURE, &of("curve_positions"), positions)?;
        for sample in channel.samples.iter().filter(|_| !positions.is_empty()) {
            let field = of(&format!("curve of sample '{}'", sample.name));
            same_length(PICTURE, &field, sample.curve.len(), &of("curve_positions"), positions.len())?;
        }
        let finite = |values: &[f64]| -> Vec<f64> {
            values.iter().map(|value| usable(*value).unwrap_or(0.0)).collect()
        };
        let (counts, curve) = (vec![0.0; bins], vec![0.0; positions.len()]);
        let mut other = Layer { colour: OTHER, counts, curve, dashed: true };
        let mut layers: Vec<(bool, Layer)> = Vec::new();
        for sample in &channel.samples {
            let counts = finite(&sample.counts);
            let curve = if positions.is_empty() { Vec::new() } else { finite(&sample.curve) };
            let known =
                self.named.iter().find(|(name, signal, _)| *name == sample.name && *signal == sample.signal);
            match known {
                Some((_, signal, colour)) => {
                    layers.push((*signal, Layer { colour: *colour, counts, curve, dashed: !signal }));
                }
                None => {
                    other.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                    other.curve.iter_mut().zip(curve).for_each(|(sum, height)| *sum += height);
                }
            }
        }
        layers.sort_by_key(|(signal, _)| *signal);
        let others = (self.others > 0).then_some(other);
        let layers = others.into_iter().chain(layers.into_iter().map(|(_, layer)| layer)).collect();
        let x_title = if channel.x_title.is_empty() { "bin" } else { &channel.x_title };
        Ok(Stack::new(Parts {
            name: &if channel.note.is_empty() {
                channel.name.clone()
            } else {
                format!("{} ({})", channel.name, channel.note)
            },
            x_title,
            edges,
            layers,
            data: &channel.data,
            errors: &channel.data_errors,
            uncertainty: &channel.uncertainty,
            positions,
            blind: &channel.blind,
            log,
            pulls: channel.pulls,
            lines,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_samples_are_drawn_together() {
        let sample = |index: usize| SampleYields {
            name: format!("s{index}"),
            counts: vec![index as f64],
            signal: index == 3,
            curve: Vec::new(),
        };
        let channel = ChannelYields { samples: (0..20).map(sample).collect(), ..ChannelYields::default() };
        let yields = Yields { channels: vec![channel], max_samples: 6, ..Yields::default() };
        let catalogue = yields.catalogue();
        let names: Vec<_> = catalogue.named.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["s3", "s15", "s16", "s17", "s18", "s19"]);
        assert_eq!(catalogue.others, 14);
        let stack = catalogue.stack(&yields.channels[0], false, false).unwrap();
        assert_eq!(stack.total(), &[190.0]);
    }
}
