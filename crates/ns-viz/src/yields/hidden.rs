//! What a picture of yields does not show: expectations that were fitted to the data of blinded ranges.

use std::borrow::Cow;

use super::{ChannelYields, Yields};
use crate::stack::overlaps;

impl Yields {
    /// Returns the picture without any number about what it hides, so that nothing of it gets into a file: no shape, no
    /// length of an axis, and no order of samples.
    pub(super) fn shown(&self) -> Cow<'_, Self> {
        if !self.channels.iter().any(|channel| channel.fitted && !channel.blind.is_empty()) {
            return Cow::Borrowed(self);
        }
        let mut shown = self.clone();
        for channel in shown.channels.iter_mut().filter(|channel| channel.fitted) {
            channel.hide();
        }
        Cow::Owned(shown)
    }
}

impl ChannelYields {
    /// Removes the numbers of bins that overlap with a blinded range, and of positions of curves in such a range.
    fn hide(&mut self) {
        let bins = self.samples.first().map_or(self.data.len(), |sample| sample.counts.len());
        let counted: Vec<f64>;
        let edges = if self.bin_edges.is_empty() {
            counted = (0..=bins).map(|edge| edge as f64).collect();
            &counted
        } else {
            &self.bin_edges
        };
        for bin in (0..bins).filter(|bin| overlaps(&self.blind, edges, *bin)) {
            let counts = self.samples.iter_mut().filter_map(|sample| sample.counts.get_mut(bin));
            counts.for_each(|count| *count = 0.0);
            let lists = [&mut self.data, &mut self.data_errors, &mut self.uncertainty, &mut self.before];
            lists.into_iter().filter_map(|list| list.get_mut(bin)).for_each(|value| *value = None);
        }
        for (index, at) in self.curve_positions.iter().enumerate() {
            if self.blind.iter().any(|(from, to)| from < at && at < to) {
                let heights = self.samples.iter_mut().filter_map(|sample| sample.curve.get_mut(index));
                heights.for_each(|height| *height = 0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Components, SampleYields};
    use super::*;

    /// Two channels, of bins and of events, in which the range from 1 to 2 is blinded. `scale` multiplies everything
    /// that the range hides.
    fn picture(scale: f64, components: Components, log_y: bool) -> Yields {
        let counts = [30.0, 20.0 * scale, 10.0, 5.0];
        let sample = |name: &str, share: f64, growth: f64| SampleYields {
            name: name.into(),
            signal: name == "signal",
            counts: counts
                .iter()
                .map(|count| share * count)
                .zip([1.0, growth, 1.0, 1.0])
                .map(|(a, b)| a * b)
                .collect(),
            ..SampleYields::default()
        };
        let binned = ChannelYields {
            name: "SR".into(),
            samples: vec![
                sample("small", 0.2, scale),
                sample("smaller", 0.1, 1.0),
                sample("large", 0.6, -1.0),
                sample("signal", 0.1, scale),
            ],
            data: [28.0, 21.0 * scale, 12.0, 4.0].map(Some).to_vec(),
            uncertainty: [2.0, 2.0 * scale, 1.0, 1.0].map(Some).to_vec(),
            before: [29.0, 25.0 * scale, 9.0, 5.0].map(Some).to_vec(),
            blind: vec![(1.2, 1.8)],
            fitted: true,
            ..ChannelYields::default()
        };
        let positions: Vec<f64> = (0..=40).map(|k| 0.1 * f64::from(k)).collect();
        let curve = |at: &f64| 10.0 * if *at > 1.0 && *at < 2.0 { scale } else { 1.0 };
        let mut events = ChannelYields {
            name: "events".into(),
            curve_positions: positions.clone(),
            blind: vec![(1.0, 2.0)],
            before: Vec::new(),
            pulls: true,
            ..binned.clone()
        };
        for sample in &mut events.samples {
            sample.curve = positions.iter().map(curve).collect();
        }
        Yields { channels: vec![binned, events], components, log_y, max_samples: 2, ..Yields::default() }
    }

    #[test]
    fn a_file_does_not_depend_on_what_is_hidden() {
        for components in [Components::Stack, Components::Lines] {
            for log_y in [false, true] {
                let svg = |scale: f64| picture(scale, components, log_y).draw().unwrap().to_svg();
                let each = |scale: f64| {
                    let all = picture(scale, components, log_y).draw_each().unwrap();
                    all.into_iter().map(|(_, page)| page.to_svg()).collect::<Vec<_>>()
                };
                for scale in [0.0, 7.3, 1e4] {
                    assert_eq!(svg(1.0), svg(scale), "{components:?}, log {log_y}, times {scale}");
                    assert_eq!(each(1.0), each(scale));
                }
                assert!(svg(1.0).contains("blinded"));
            }
        }
    }

    #[test]
    fn what_was_not_fitted_to_hidden_data_is_drawn() {
        let svg = |scale: f64| {
            let mut picture = picture(scale, Components::Stack, false);
            picture.channels.iter_mut().for_each(|channel| channel.fitted = false);
            assert!(matches!(picture.shown(), Cow::Borrowed(_)));
            picture.draw().unwrap().to_svg()
        };
        assert_ne!(svg(1.0), svg(2.0));
    }
}
