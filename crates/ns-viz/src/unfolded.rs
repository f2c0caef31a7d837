//! The picture of an unfolded distribution.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::clip;
use crate::colour::{BLACK, BLUE, LIGHT_GREY};
use crate::drawing::{Area, Drawing, Ink, Stroke, rectangle};
use crate::error::{PictureError, increasing, same_length};
use crate::frame::{self, Edge};
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::marks::Marks;
use crate::number::{extent, present};

const PICTURE: &str = "unfolded";
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 380.0;
const RATIO: f64 = 130.0;
const PREDICTION: Stroke = Stroke { colour: BLUE, width: 1.8, dash: None };
/// Largest distance from 1 of the ends of the axis of ratios.
const WIDEST_RATIO: f64 = 4.0;

/// The picture of an unfolded distribution with its prediction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Unfolded {
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Title of the axis of truth bins.
    pub x_title: String,
    /// Title of the axis of the distribution.
    pub y_title: String,
    /// Edges of the truth bins, strictly increasing.
    pub edges: Vec<f64>,
    /// Predicted value of each bin.
    pub prediction: Vec<f64>,
    /// Unfolded value of each bin; `None` draws no point.
    pub unfolded: Vec<Option<f64>>,
    /// Uncertainty of each unfolded value, drawn as an error bar.
    pub error: Vec<Option<f64>>,
    /// A second uncertainty of each unfolded value, drawn as a box; empty for none.
    pub second_error: Vec<Option<f64>>,
    /// Text of the legend about the error bars.
    pub error_text: String,
    /// Text of the legend about the boxes.
    pub second_text: String,
    /// Whether a lower panel shows the ratio to the prediction.
    pub ratio: bool,
    /// Whether the axis of the distribution is logarithmic.
    pub log_y: bool,
}

/// A panel with its axes.
struct Panel {
    area: Area,
    x: Axis,
    y: Axis,
}

impl Unfolded {
    /// Draws the prediction as steps and the unfolded values as points, with their ratio below.
    ///
    /// # Errors
    /// If no bin has an unfolded value, the lengths of fields differ, or `edges` does not increase.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        increasing(PICTURE, "edges", &self.edges)?;
        let n = self.edges.len().saturating_sub(1);
        for (field, found) in [
            ("prediction", self.prediction.len()),
            ("unfolded", self.unfolded.len()),
            ("error", self.error.len()),
        ] {
            same_length(PICTURE, field, found, "edges", n)?;
        }
        if !self.second_error.is_empty() {
            same_length(PICTURE, "second_error", self.second_error.len(), "edges", n)?;
        }
        if !self.unfolded.iter().any(|value| present(*value).is_some()) {
            let remedy = "at least one unfolded value";
            return Err(PictureError::Empty { picture: PICTURE, field: "unfolded".into(), remedy });
        }
        let (y, ratio) = (self.y_axis(), self.ratio_axis());
        let (y_ticks, ratio_ticks) = (frame::vertical_ticks(&y, HEIGHT), ratio.ticks(4));
        let left = frame::left_room(&[&y_ticks, &ratio_ticks]);
        let right = WIDTH - frame::RIGHT;
        let header = Header { title: &self.title, subtitle: &self.subtitle, entries: self.entries() };
        let top = header.height(right - left);
        let upper = Area { left, top, right, bottom: top + HEIGHT };
        let lower =
            Area { top: upper.bottom + frame::SPLIT, bottom: upper.bottom + frame::SPLIT + RATIO, ..upper };
        let lowest = if self.ratio { lower } else { upper };
        let mut page = Drawing::new(WIDTH, lowest.bottom + frame::BELOW, "Unfolded distribution".into());
        header.draw(&mut page, left, right - left);
        let (first, last) = extent(self.edges.iter().copied()).unwrap_or((0.0, 1.0));
        let x = Axis::linear(first, last).between(left, right);
        let x_ticks = frame::horizontal_ticks(&x, right - left);

        let panel = Panel { area: upper, x, y: y.between(upper.bottom, upper.top) };
        self.paint(&mut page, &panel, |_| Some(1.0));
        frame::horizontal_marks(&mut page, &upper, &x, &x_ticks, &[Edge::Bottom, Edge::Top]);
        frame::vertical(&mut page, &upper, &panel.y, &y_ticks, left, &self.y_title);
        frame::outline(&mut page, &upper);
        if self.ratio {
            let panel = Panel { area: lower, x, y: ratio.between(lower.bottom, lower.top) };
            self.paint(&mut page, &panel, |bin| self.unit(bin));
            frame::horizontal_marks(&mut page, &lower, &x, &x_ticks, &[Edge::Bottom, Edge::Top]);
            frame::vertical(&mut page, &lower, &panel.y, &ratio_ticks, left, "Ratio");
            frame::outline(&mut page, &lower);
        }
        frame::horizontal_labels(&mut page, &lowest, &x, &x_ticks, Edge::Bottom, &self.x_title);
        Ok(page)
    }

    fn entries(&self) -> Vec<Entry> {
        let error = if self.error_text.is_empty() { String::new() } else { format!(", {}", self.error_text) };
        let mut entries = vec![
            Entry::new(Symbol::Point(BLACK), format!("unfolded{error}")),
            Entry::new(Symbol::Line(PREDICTION), "prediction"),
        ];
        if self.second_error.iter().any(|error| present(*error).is_some()) {
            entries.push(Entry::new(Symbol::Box(Ink::fill(LIGHT_GREY)), self.second_text.clone()));
        }
        entries
    }

    /// Returns the value by which those of a bin are divided in the ratio.
    fn unit(&self, bin: usize) -> Option<f64> {
        self.prediction.get(bin).copied().filter(|value| *value > 0.0 && value.is_finite())
    }

    /// Returns an unfolded value with the ends of its bar, and half the height of its box.
    fn point(&self, bin: usize) -> Option<(f64, f64, f64)> {
        let value = present(self.unfolded.get(bin).copied().flatten())?;
        let size = |list: &[Option<f64>]| present(list.get(bin).copied().flatten()).map_or(0.0, f64::abs);
        Some((value, size(&self.error), size(&self.second_error)))
    }

    fn bins(&self) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        self.edges.windows(2).enumerate().map(|(bin, pair)| (bin, pair[0], pair[1]))
    }

    /// Draws boxes, prediction and points, each divided by the unit of its bin.
    fn paint(&self, page: &mut Drawing, panel: &Panel, unit: impl Fn(usize) -> Option<f64>) {
        let Panel { area, x, y } = panel;
        let mut boxes = Vec::new();
        let mut steps = Vec::new();
        let mut marks = Marks::new(area, *y, true);
        for (bin, low, high) in self.bins() {
            let Some(unit) = unit(bin) else { continue };
            let (left, right) = (x.at(low), x.at(high));
            if let Some(value) = self.prediction.get(bin).copied().and_then(crate::number::usable) {
                steps.extend([(left, y.at(value / unit)), (right, y.at(value / unit))]);
            }
            let Some((value, error, second)) = self.point(bin) else { continue };
            if second > 0.0 {
                let inset = 0.2 * (right - left);
                let (top, bottom) = (y.clamped((value + second) / unit), y.clamped((value - second) / unit));
                boxes.extend(rectangle(Area { left: left + inset, right: right - inset, top, bottom }));
            }
            marks.add((left, right), value / unit, (value - error) / unit, (value + error) / unit);
        }
        page.path(boxes, Ink::tile(LIGHT_GREY));
        for part in clip::polyline(&steps, area) {
            page.polyline(&part, PREDICTION);
        }
        marks.draw(page);
    }

    /// Returns the ends of all bars and boxes, and the predictions, divided by units.
    fn ends<'a>(&'a self, unit: impl Fn(usize) -> Option<f64> + 'a) -> impl Iterator<Item = f64> + 'a {
        self.bins().filter_map(move |(bin, ..)| Some((bin, unit(bin)?))).flat_map(|(bin, unit)| {
            let (value, error, second) = self.point(bin).unwrap_or((f64::NAN, 0.0, 0.0));
            let reach = error.max(second);
            let prediction = self.prediction.get(bin).copied().unwrap_or(f64::NAN);
            [(value - reach) / unit, (value + reach) / unit, prediction / unit]
        })
    }

    fn y_axis(&self) -> Axis {
        let (low, high) = extent(self.ends(|_| Some(1.0))).unwrap_or((0.0, 1.0));
        if self.log_y && high > 0.0 {
            let positive = extent(self.ends(|_| Some(1.0)).filter(|value| *value > 0.0));
            let low = positive.map_or(0.1 * high, |ends| ends.0);
            return Axis::log((0.5 * low).max(1e-8 * high), 2.0 * high);
        }
        let room = 0.12 * (high.max(0.0) - low.min(0.0));
        Axis::linear(if low < 0.0 { low - room } else { 0.0 }, high.max(0.0) + room)
    }

    fn ratio_axis(&self) -> Axis {
        let (low, high) = extent(self.ends(|bin| self.unit(bin))).unwrap_or((0.5, 1.5));
        let reach = 1.1 * (1.0 - low).max(high - 1.0).max(0.05);
        let half = [0.1, 0.2, 0.3, 0.5, 1.0, 2.0].into_iter().find(|half| *half >= reach);
        let half = half.unwrap_or(WIDEST_RATIO);
        Axis::linear(1.0 - half, 1.0 + half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Unfolded {
        Unfolded {
            x_title: "mass [GeV]".into(),
            y_title: "Events".into(),
            edges: vec![0.0, 1.0, 2.0, 4.0],
            prediction: vec![100.0, 50.0, 20.0],
            unfolded: vec![Some(90.0), None, Some(-4.0)],
            error: vec![Some(12.0), None, Some(9.0)],
            second_error: vec![Some(15.0), None, Some(11.0)],
            second_text: "penalised".into(),
            ratio: true,
            ..Unfolded::default()
        }
    }

    #[test]
    fn the_axes_hold_the_points() {
        let picture = example();
        let axis = picture.y_axis();
        assert!(axis.lo < -15.0 && axis.hi > 105.0, "{axis:?}");
        assert!(picture.ratio_axis().holds(-15.0 / 20.0));
        let labels = picture.draw().unwrap().labels();
        for text in ["unfolded", "prediction", "penalised", "Ratio", "mass [GeV]"] {
            assert!(labels.iter().any(|label| label.text == text), "{text}: {labels:?}");
        }
    }

    #[test]
    fn lists_of_other_lengths_are_refused() {
        assert!(Unfolded { unfolded: vec![None; 3], ..example() }.draw().is_err());
        assert!(Unfolded { error: vec![None; 2], ..example() }.draw().is_err());
        assert!(Unfolded { second_error: vec![None; 2], ..example() }.draw().is_err());
        assert!(Unfolded { second_error: Vec::new(), log_y: true, ..example() }.draw().is_ok());
    }
}
