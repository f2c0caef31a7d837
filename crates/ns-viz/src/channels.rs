//! The picture of the values of a parameter in each channel, with the common value.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BAND_ONE, BLACK, VERMILION, WHITE};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::PictureError;
use crate::frame::{self, Edge};
use crate::legend::{Entry, Symbol};
use crate::number::present;
use crate::rows;
use crate::sheet::{Column, Sheet};

const PICTURE: &str = "channels";
const LINE: Stroke = Stroke { colour: BLACK, width: 1.6, dash: None };
const OTHERS: Stroke = Stroke { colour: VERMILION, width: 1.4, dash: Some((4.0, 3.0)) };

/// A value with the ends of its error bar.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bar {
    /// The value.
    pub value: f64,
    /// Lower end of the error bar; `None` draws no bar on this side.
    pub lower: Option<f64>,
    /// Upper end of the error bar.
    pub upper: Option<f64>,
}

/// One channel in the picture.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelRow {
    /// Name of the channel.
    pub channel: String,
    /// Value of the channel.
    pub own: Bar,
    /// Common value of the other channels; `None` draws nothing.
    pub others: Option<Bar>,
}

/// The picture of the values of a parameter in each channel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Channels {
    /// Name of the parameter.
    pub parameter: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The channels, from top to bottom.
    pub rows: Vec<ChannelRow>,
    /// Value that all channels have in common, with its error as a band.
    pub common: Bar,
}

impl Channels {
    /// Draws one row per channel, with the common value as a line with a band.
    ///
    /// # Errors
    /// If there is no row with a value.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        let ends = |bar: &Bar| [Some(bar.value), bar.lower, bar.upper].map(present);
        let all = self.rows.iter().flat_map(|row| std::iter::once(&row.own).chain(&row.others));
        let values = all.chain([&self.common]).flat_map(ends).flatten();
        let Some((low, high)) = crate::number::extent(values).filter(|_| !self.rows.is_empty()) else {
            let remedy = "at least one channel with a value";
            return Err(PictureError::Empty { picture: PICTURE, field: "rows".into(), remedy });
        };
        let margin = 0.08 * if high > low { high - low } else { high.abs().max(1.0) };
        let mut entries = vec![
            Entry::new(Symbol::Dotted(LINE), "channel"),
            Entry::new(Symbol::Box(Ink::fill(BAND_ONE.mix(WHITE, 0.35))), "common value"),
        ];
        if self.rows.iter().any(|row| row.others.is_some()) {
            entries.push(Entry::new(Symbol::Line(OTHERS), "without the channel"));
        }
        let sheet = Sheet {
            title: &self.title,
            subtitle: &self.subtitle,
            entries,
            description: "Values of the parameter in each channel",
            names: self.rows.iter().map(|row| row.channel.as_str()).collect(),
            wide_panel: 380.0,
            narrow_panel: 220.0,
            columns: Some(1),
        };
        Ok(sheet.draw(|page, column| self.column(page, column, (low - margin, high + margin))))
    }

    fn column(&self, page: &mut Drawing, column: &Column, (low, high): (f64, f64)) {
        let area = &column.area;
        let axis = Axis::linear(low, high).between(area.left, area.right);
        let (left, right) = (self.common.lower.unwrap_or(low), self.common.upper.unwrap_or(high));
        let band = Area { left: axis.clamped(left), right: axis.clamped(right), ..*area };
        page.rect(band, Ink::fill(BAND_ONE.mix(WHITE, 0.35)));
        let middle = axis.clamped(self.common.value);
        page.line((middle, area.top), (middle, area.bottom), Stroke::dashed(BLACK, 1.0, 5.0, 4.0));
        for (place, row) in self.rows.get(column.rows.clone()).unwrap_or_default().iter().enumerate() {
            let y = column.y(place);
            let mut draw = |bar: &Bar, y: f64, pen: Stroke, size: f64| {
                let (from, to) = (bar.lower.unwrap_or(low), bar.upper.unwrap_or(high));
                page.line((axis.clamped(from), y), (axis.clamped(to), y), pen);
                page.circle(axis.clamped(bar.value), y, size, Ink::fill(pen.colour));
            };
            draw(&row.own, y, LINE, 3.5);
            if let Some(others) = &row.others {
                draw(others, y + 0.28 * column.row, OTHERS, 2.4);
            }
            rows::name(page, area.left, y, &row.channel, column.names, column.row);
        }
        let ticks = frame::horizontal_ticks(&axis, area.width());
        frame::horizontal_marks(page, area, &axis, &ticks, &[Edge::Top, Edge::Bottom]);
        frame::horizontal_labels(page, area, &axis, &ticks, Edge::Bottom, &self.parameter);
        frame::outline(page, area);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_channel_has_a_row() {
        let bar = |value: f64| Bar { value, lower: Some(value - 0.5), upper: None };
        let row = |channel: &str, value| ChannelRow {
            channel: channel.into(),
            own: bar(value),
            others: Some(bar(1.0)),
        };
        let picture = Channels {
            parameter: "mu".into(),
            rows: vec![row("SR1", 0.8), row("SR2", 1.4)],
            common: bar(1.1),
            ..Channels::default()
        };
        let labels = picture.draw().unwrap().labels();
        for text in ["SR1", "SR2", "mu", "common value", "without the channel"] {
            assert!(labels.iter().any(|label| label.text == text), "{text}: {labels:?}");
        }
        assert!(Channels { rows: Vec::new(), ..picture }.draw().is_err());
    }
}
