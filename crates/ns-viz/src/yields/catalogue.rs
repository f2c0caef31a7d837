//! The samples of all channels, with their colours, and the legend.

use super::{ChannelYields, Components, PICTURE, Yields};
use crate::colour::{self, BLACK, Colour};
use crate::drawing::{Ink, Stroke};
use crate::error::{PictureError, ascending, increasing, same_length};
use crate::legend::{Entry, Symbol};
use crate::number::usable;
use crate::stack::{BLIND, Layer, Parts, Stack, before_line, sample_line, sum_line};

/// The samples of all channels. `named` lists the samples that are drawn separately, each with its name,
/// whether it is signal, and its colour.
pub(super) struct Catalogue {
    named: Vec<(String, bool, Colour)>,
    /// Number of background samples that are drawn together as "other".
    others: usize,
}

const OTHER: Colour = Colour(205, 205, 205);

impl Yields {
    /// Returns the samples of all channels in the order of their first appearance. If there are more
    /// background samples than `max_samples`, the smallest are drawn together.
    pub(super) fn catalogue(&self) -> Catalogue {
        let mut found: Vec<(String, bool, f64)> = Vec::new();
        let mut chosen: Vec<(&str, bool, Colour)> = Vec::new();
        for sample in self.channels.iter().flat_map(|channel| &channel.samples) {
            if let Some([red, green, blue]) = sample.colour {
                chosen.push((&sample.name, sample.signal, Colour(red, green, blue)));
            }
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
            let own = chosen.iter().find(|(known, kind, _)| *known == name && *kind == signal);
            let own = own.map(|(.., colour)| *colour);
            if signal {
                named.push((name, true, own.unwrap_or_else(|| colour::signal(signals))));
                signals += 1;
            } else if least.is_some_and(|least| !(size > least)) {
                others += 1;
            } else {
                let place = named.len() - signals;
                named.push((name, false, own.unwrap_or_else(|| colour::sample(place))));
            }
        }
        Catalogue { named, others }
    }
}

impl Catalogue {
    pub(super) fn legend(&self, channels: &[&ChannelYields], components: Components) -> Vec<Entry> {
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
        if channels.iter().any(|channel| channel.before.iter().any(Option::is_some)) {
            entries.push(Entry::new(Symbol::Line(before_line()), "before the fit"));
        }
        if channels.iter().any(|channel| !channel.blind.is_empty()) {
            entries.push(Entry::new(Symbol::Box(Ink::outlined(BLIND, outline)), "blinded"));
        }
        entries
    }

    /// Checks the lengths of a channel's fields and returns its stack. The layers are, from bottom to top:
    /// "other", backgrounds, signals.
    pub(super) fn stack(
        &self,
        channel: &ChannelYields,
        log: bool,
        lines: bool,
    ) -> Result<Stack, PictureError> {
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
            ("before", &channel.before),
        ] {
            if !values.is_empty() {
                same_length(PICTURE, &of(field), values.len(), &reference, bins)?;
            }
        }
        if !channel.bin_labels.is_empty() {
            same_length(PICTURE, &of("bin_labels"), channel.bin_labels.len(), &reference, bins)?;
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
        let unnamed = channel.x_title.is_empty() && channel.bin_labels.is_empty();
        let x_title = if unnamed { "bin" } else { &channel.x_title };
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
            before: &channel.before,
            labels: &channel.bin_labels,
            positions,
            blind: &channel.blind,
            fitted: channel.fitted,
            log,
            pulls: channel.pulls,
            lines,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::SampleYields;
    use super::*;

    #[test]
    fn the_smallest_samples_are_drawn_together() {
        let sample = |index: usize| SampleYields {
            name: format!("s{index}"),
            counts: vec![index as f64],
            signal: index == 3,
            ..SampleYields::default()
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
