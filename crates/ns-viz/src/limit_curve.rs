//! The picture of upper limits against a label of signals, such as a mass.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::clip;
use crate::colour::{BAND_ONE, BAND_TWO, BLACK, Colour, VERMILION};
use crate::crossing::{Range, ranges_below};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::{PictureError, increasing, same_length};
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::limit::confidence;
use crate::number::{extent, present, trimmed, usable};
use crate::panel::{Layout, Panel};

const PICTURE: &str = "limit curve";
/// Strokes of the observed and the median expected limit, and of the line at `excluded_below`.
const OBSERVED: Stroke = Stroke { colour: BLACK, width: 1.8, dash: None };
const MEDIAN: Stroke = Stroke { colour: BLACK, width: 1.8, dash: Some((6.0, 4.0)) };
const LEVEL: Stroke = Stroke { colour: VERMILION, width: 1.6, dash: Some((8.0, 4.0)) };
/// Half the width of the boxes that stand for the bands of a point without neighbours, in pixels.
const BOX: f64 = 11.0;

/// The picture of upper limits on the strength of signals, against a label that the signals differ by, such as a mass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitCurve {
    /// Name of the label, for example `m(gluino) [GeV]`.
    pub label: String,
    /// Name of the parameter of interest.
    pub poi: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Values of the label, strictly increasing, in the unit of the label.
    pub x: Vec<f64>,
    /// Observed upper limit for each value of the label; `None` if there is none. If the list is empty, no observed
    /// limits are drawn.
    pub observed: Vec<Option<f64>>,
    /// Expected upper limits for each value of the label, for background fluctuations of -2, -1, 0, 1 and 2 standard
    /// deviations. If the list is empty, no expected limits are drawn.
    pub expected: Vec<[Option<f64>; 5]>,
    /// Confidence level of the limits, between 0 and 1.
    pub cl: f64,
    /// Signals with a limit below this value are excluded; a line marks it. `None` draws no line.
    pub excluded_below: Option<f64>,
    /// Whether the limits are drawn on a logarithmic axis. Limits that are not positive are left out there.
    pub log_y: bool,
}

impl Default for LimitCurve {
    fn default() -> Self {
        Self {
            label: String::new(),
            poi: String::new(),
            title: String::new(),
            subtitle: String::new(),
            x: Vec::new(),
            observed: Vec::new(),
            expected: Vec::new(),
            cl: 0.95,
            excluded_below: Some(1.0),
            log_y: false,
        }
    }
}

impl LimitCurve {
    /// Draws the observed and the median expected limit as lines, with bands of one and two standard deviations, and a
    /// line at `excluded_below`. The legend names the excluded values of the label. They end where the straight line
    /// between neighbouring limits crosses the level, on the axis of the picture.
    ///
    /// # Errors
    /// If there is no limit, the lengths of fields differ, `x` does not increase, or `cl` is not between 0 and 1.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        increasing(PICTURE, "x", &self.x)?;
        if !self.observed.is_empty() {
            same_length(PICTURE, "observed", self.observed.len(), "x", self.x.len())?;
        }
        if !self.expected.is_empty() {
            same_length(PICTURE, "expected", self.expected.len(), "x", self.x.len())?;
        }
        if !(self.cl > 0.0 && self.cl < 1.0) {
            let range = "between 0 and 1";
            let (field, value) = ("cl".into(), self.cl);
            return Err(PictureError::OutOfRange { picture: PICTURE, field, value, range });
        }
        let limits = self.observed.iter().chain(self.expected.iter().flatten());
        let Some((low, high)) = extent(limits.filter_map(|limit| self.shown(*limit))) else {
            let remedy = "an observed or expected limit for at least one value of the label";
            return Err(PictureError::Empty { picture: PICTURE, field: "observed".into(), remedy });
        };
        let level = self.level();
        let (low, high) = (low.min(level.unwrap_or(low)), high.max(level.unwrap_or(high)));
        let y = if self.log_y {
            Axis::log(low / 1.5, 1.5 * high)
        } else {
            let bottom = low.min(0.0);
            Axis::linear(1.05 * bottom, bottom + 1.08 * (high - bottom))
        };
        let title = format!("{} upper limit on {}", confidence(1.0 - self.cl), self.poi);
        let mut panel = self.layout(y, &title).start();
        for ((low, high), colour) in [((0, 4), BAND_TWO), ((1, 3), BAND_ONE)] {
            self.band(&mut panel, low, high, colour);
        }
        if let Some(level) = level {
            panel.curve(&[(panel.x.lo, level), (panel.x.hi, level)], LEVEL);
        }
        let median: Vec<Option<f64>> = self.expected.iter().map(|all| self.shown(all[2])).collect();
        let observed: Vec<Option<f64>> = self.observed.iter().map(|limit| self.shown(*limit)).collect();
        self.line(&mut panel, &median, MEDIAN);
        self.line(&mut panel, &observed, OBSERVED);
        for (x, limit) in self.x.iter().zip(&observed) {
            if let Some(limit) = limit {
                let (x, y) = (panel.x.at(*x), panel.y.at(*limit));
                panel.drawing.circle(x, y, if self.x.len() > 60 { 2.0 } else { 3.0 }, Ink::fill(BLACK));
            }
        }
        Ok(panel.finish())
    }

    /// Returns the ranges of the label in which the observed limits are below `excluded_below`, in ascending order. A
    /// range ends at a crossing, or at the first or the last value.
    #[must_use]
    pub fn excluded(&self) -> Vec<(f64, f64)> {
        self.ranges().0.iter().map(|range| (range.from, range.to)).collect()
    }

    /// Returns the ranges of [`Self::excluded`] for the median expected limits.
    #[must_use]
    pub fn expected_to_be_excluded(&self) -> Vec<(f64, f64)> {
        self.ranges().1.iter().map(|range| (range.from, range.to)).collect()
    }

    /// Returns the excluded ranges of the observed and of the median expected limits.
    fn ranges(&self) -> (Vec<Range>, Vec<Range>) {
        let Some(level) = self.level() else { return Default::default() };
        let below = |limits: &[Option<f64>]| {
            let heights: Vec<Option<f64>> = limits
                .iter()
                .map(|limit| limit.map(|limit| if self.log_y { (limit / level).ln() } else { limit - level }))
                .collect();
            ranges_below(&self.x, &heights)
        };
        let observed: Vec<Option<f64>> = self.observed.iter().map(|limit| self.shown(*limit)).collect();
        let median: Vec<Option<f64>> = self.expected.iter().map(|all| self.shown(all[2])).collect();
        (below(&observed), below(&median))
    }

    /// Returns the level, if it can be drawn.
    fn level(&self) -> Option<f64> {
        self.shown(self.excluded_below)
    }

    /// Returns a limit if it can be drawn on the axis.
    fn shown(&self, limit: Option<f64>) -> Option<f64> {
        present(limit).filter(|limit| !self.log_y || *limit > 1e-100)
    }

    fn layout<'a>(&'a self, y: Axis, title: &'a str) -> Layout<'a> {
        let (observed, median) = self.ranges();
        let mut entries = Vec::new();
        let excluded = |name: &str, ranges: &[Range]| match self.level() {
            Some(_) => format!("{name}, excludes {}", self.words(ranges)),
            None => name.to_owned(),
        };
        if self.observed.iter().any(|limit| self.shown(*limit).is_some()) {
            entries.push(Entry::new(Symbol::Dotted(OBSERVED), excluded("observed", &observed)));
        }
        if self.expected.iter().any(|all| self.shown(all[2]).is_some()) {
            entries.push(Entry::new(Symbol::Line(MEDIAN), excluded("expected", &median)));
        }
        for (name, (low, high), colour) in [("±1 σ", (1, 3), BAND_ONE), ("±2 σ", (0, 4), BAND_TWO)] {
            if self
                .expected
                .iter()
                .any(|all| self.shown(all[low]).is_some() && self.shown(all[high]).is_some())
            {
                entries.push(Entry::new(Symbol::Box(Ink::fill(colour)), name));
            }
        }
        if let Some(level) = self.level() {
            entries.push(Entry::new(Symbol::Line(LEVEL), format!("{} = {}", self.poi, trimmed(level, 4))));
        }
        let (first, last) = extent(self.x.iter().copied()).unwrap_or((0.0, 1.0));
        // A point without neighbours has a box, which needs room at both sides.
        let room = if self.x.len() > 1 { 0.02 * (last - first) } else { 0.0 };
        Layout {
            header: Header { title: &self.title, subtitle: &self.subtitle, entries },
            description: format!("Upper limits on {} against {}", self.poi, self.label),
            x: Axis::linear(first - room, last + room),
            y,
            x_title: &self.label,
            y_title: title,
            right: 0.0,
        }
    }

    /// Returns the excluded ranges in words.
    fn words(&self, ranges: &[Range]) -> String {
        let number = |x: f64| trimmed(x, 4);
        let (first, last) = (self.x.first().copied(), self.x.last().copied());
        let range = |range: &Range| {
            // Beyond the first and the last value nothing is known, so the range may go on there.
            let open = (!range.opens && Some(range.from) == first, !range.closes && Some(range.to) == last);
            match open {
                _ if range.from == range.to => number(range.from),
                (true, true) => format!("{} – {} (all)", number(range.from), number(range.to)),
                (true, false) => format!("up to {}", number(range.to)),
                (false, true) => format!("from {}", number(range.from)),
                (false, false) => format!("{} – {}", number(range.from), number(range.to)),
            }
        };
        match ranges {
            [] => "nothing".to_owned(),
            few if few.len() <= 3 => few.iter().map(range).collect::<Vec<_>>().join(", "),
            many => format!("{} ranges", many.len()),
        }
    }

    fn band(&self, panel: &mut Panel<'_>, low: usize, high: usize, colour: Colour) {
        let edges: Vec<Option<(f64, f64, f64)>> = self
            .x
            .iter()
            .zip(&self.expected)
            .map(|(x, all)| Some((*x, self.shown(all[low])?, self.shown(all[high])?)))
            .collect();
        for part in edges.split(Option::is_none) {
            let part: Vec<(f64, f64, f64)> = part.iter().flatten().copied().collect();
            if let [(x, low, high)] = part[..] {
                let x = panel.x.at(x);
                let (left, right) = ((x - BOX).max(panel.area.left), (x + BOX).min(panel.area.right));
                let area = Area { left, right, top: panel.y.clamped(high), bottom: panel.y.clamped(low) };
                panel.drawing.rect(area, Ink::fill(colour));
                continue;
            }
            let upper = part.iter().map(|(x, _, high)| (panel.x.at(*x), panel.y.at(*high)));
            let lower = part.iter().rev().map(|(x, low, _)| (panel.x.at(*x), panel.y.at(*low)));
            let corners: Vec<_> = upper.chain(lower).collect();
            let outline = clip::polygon(&corners, &panel.area);
            panel.drawing.polygon(&outline, Ink::fill(colour));
        }
    }

    /// Draws a line through the limits, with gaps where a limit is missing. A limit without neighbours is a short line.
    fn line(&self, panel: &mut Panel<'_>, limits: &[Option<f64>], pen: Stroke) {
        let points: Vec<Option<(f64, f64)>> =
            self.x.iter().zip(limits).map(|(x, limit)| Some((usable(*x)?, (*limit)?))).collect();
        for part in points.split(Option::is_none) {
            let part: Vec<_> = part.iter().flatten().copied().collect();
            if let [(x, limit)] = part[..] {
                let (x, y) = (panel.x.at(x), panel.y.at(limit));
                let ends = [(x - BOX).max(panel.area.left), (x + BOX).min(panel.area.right)];
                panel.drawing.line((ends[0], y), (ends[1], y), Stroke { dash: None, ..pen });
            } else {
                panel.curve(&part, pen);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::Item;

    fn curve(observed: &[f64]) -> LimitCurve {
        LimitCurve {
            label: "mass".into(),
            poi: "mu".into(),
            x: (0..observed.len()).map(|i| 100.0 * (i + 1) as f64).collect(),
            observed: observed.iter().copied().map(Some).collect(),
            expected: observed
                .iter()
                .map(|limit| [0.5, 0.7, 1.0, 1.4, 2.0].map(|f| Some(f * limit)))
                .collect(),
            ..LimitCurve::default()
        }
    }

    fn texts(curve: &LimitCurve) -> Vec<String> {
        curve.draw().unwrap().labels().into_iter().map(|label| label.text).collect()
    }

    #[test]
    fn the_legend_names_excluded_ranges() {
        let has = |curve: &LimitCurve, text: &str| {
            let all = texts(curve);
            assert!(all.iter().any(|label| label == text), "{text}: {all:?}");
        };
        has(&curve(&[0.5, 1.5]), "observed, excludes up to 150");
        has(&curve(&[1.5, 0.5, 1.5]), "observed, excludes 150 – 250");
        has(&curve(&[2.0, 4.0]), "observed, excludes nothing");
        has(&curve(&[0.2, 0.4]), "expected, excludes 100 – 200 (all)");
        has(&LimitCurve { log_y: true, ..curve(&[0.1, 10.0]) }, "observed, excludes up to 150");
        assert_eq!(curve(&[1.5, 0.5, 1.5]).excluded(), [(150.0, 250.0)]);
        assert_eq!(curve(&[1.5, 0.5, 1.5]).expected_to_be_excluded(), [(150.0, 250.0)]);
    }

    #[test]
    fn a_point_without_neighbours_is_a_box() {
        let boxes = |curve: &LimitCurve| {
            let drawing = curve.draw().unwrap();
            let shape = |item: &&Item| matches!(item, Item::Shape(s) if s.ink == Ink::fill(BAND_ONE));
            drawing.items.iter().filter(shape).count()
        };
        // One in the panel, one in the legend.
        assert_eq!(boxes(&curve(&[0.5])), 2);
        let mut gap = curve(&[0.5, 0.6, 0.7]);
        gap.expected[1] = [None; 5];
        assert_eq!(boxes(&gap), 3);
    }

    #[test]
    fn limits_that_a_log_axis_cannot_show_are_missing() {
        let mut zero = LimitCurve { log_y: true, ..curve(&[0.0, 1.0, 2.0]) };
        assert!(zero.draw().is_ok());
        zero.observed = vec![Some(0.0); 3];
        zero.expected = Vec::new();
        assert!(matches!(zero.draw(), Err(PictureError::Empty { .. })));
    }
}
