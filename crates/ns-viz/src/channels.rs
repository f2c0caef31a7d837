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
/// Largest length of an error bar that the axis contains, in units of the shortest one.
const LONGEST: f64 = 12.0;
const LINE: Stroke = Stroke { colour: BLACK, width: 1.6, dash: None };
const OTHERS: Stroke = Stroke { colour: VERMILION, width: 1.4, dash: Some((4.0, 3.0)) };

/// A value with the ends of its error bar.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bar {
    /// The value.
    pub value: f64,
    /// Lower end of the error bar. `None` draws an arrow to the end of the axis: the end is not known.
    pub lower: Option<f64>,
    /// Upper end of the error bar, like `lower`.
    pub upper: Option<f64>,
}

impl Bar {
    /// Returns the length of the error bar; `None` if an end is not known.
    fn length(&self) -> Option<f64> {
        Some(present(self.upper)? - present(self.lower)?).filter(|length| *length > 0.0)
    }
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
        let Some((low, high)) = self.range() else {
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

    /// Returns the ends of the axis. Channels with long error bars are left out: they would make all others points.
    fn range(&self) -> Option<(f64, f64)> {
        let bars = || self.rows.iter().map(|row| &row.own);
        let shortest = bars().filter_map(Bar::length).reduce(f64::min).unwrap_or(f64::INFINITY);
        let fits = |bar: &&Bar| bar.length().is_none_or(|length| length <= LONGEST * shortest);
        let others = self.rows.iter().filter_map(|row| row.others.as_ref());
        let shown = bars().filter(fits).chain(others.filter(fits)).chain([&self.common]);
        let values = shown.flat_map(|bar| [Some(bar.value), bar.lower, bar.upper].map(present)).flatten();
        crate::number::extent(values).filter(|_| !self.rows.is_empty())
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
            bar(page, &axis, &row.own, y, LINE, 3.5);
            if let Some(others) = &row.others {
                bar(page, &axis, others, y + 0.28 * column.row, OTHERS, 2.4);
            }
            rows::name(page, area.left, y, &row.channel, column.names, column.row);
        }
        let ticks = frame::horizontal_ticks(&axis, area.width());
        frame::horizontal_marks(page, area, &axis, &ticks, &[Edge::Top, Edge::Bottom]);
        frame::horizontal_labels(page, area, &axis, &ticks, Edge::Bottom, &self.parameter);
        frame::outline(page, area);
    }
}

/// Draws a value with its error bar. What goes on beyond an end of the axis ends there in an arrow head.
fn bar(page: &mut Drawing, axis: &Axis, bar: &Bar, y: f64, pen: Stroke, size: f64) {
    let (from, to) = (present(bar.lower).unwrap_or(f64::MIN), present(bar.upper).unwrap_or(f64::MAX));
    page.line((axis.clamped(from), y), (axis.clamped(to), y), pen);
    if axis.holds(bar.value) {
        page.circle(axis.at(bar.value), y, size, Ink::fill(pen.colour));
    }
    for (beyond, end, side) in [(from < axis.lo, axis.lo, 1.0), (to > axis.hi, axis.hi, -1.0)] {
        if beyond {
            let (tip, back) = (axis.at(end) + side, axis.at(end) + 2.4 * side * size);
            page.polygon(&[(tip, y), (back, y - size), (back, y + size)], Ink::fill(pen.colour));
        }
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

    #[test]
    fn channels_without_sensitivity_do_not_stretch_the_axis() {
        let row = |value: f64, error: f64| ChannelRow {
            channel: "SR".into(),
            own: Bar { value, lower: Some(value - error), upper: Some(value + error) },
            others: None,
        };
        let picture =
            Channels { rows: vec![row(1.0, 0.2), row(37.0, 40.0), row(0.5, 1.0)], ..Channels::default() };
        assert_eq!(picture.range(), Some((-0.5, 1.5)));
        assert!(picture.draw().is_ok());
        let open = Bar { value: 0.3, lower: None, upper: Some(0.9) };
        let all = Channels { rows: vec![row(1.0, 0.2)], common: open, ..Channels::default() };
        assert_eq!(all.range(), Some((0.3, 1.2)));
    }
}
