//! The picture of a scan of CLs, with bands for the expected CLs.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::clip;
use crate::colour::{BAND_ONE, BAND_TWO, BLACK, VERMILION, WHITE};
use crate::drawing::{Drawing, Ink, Stroke};
use crate::error::{PictureError, increasing, same_length};
use crate::font;
use crate::frame::TICK_SIZE;
use crate::header::Header;
use crate::legend::{self, Entry, Symbol};
use crate::number::{extent, fixed, present, significant, usable};
use crate::panel::{Layout, Panel};
use crate::text::{Style, drop};

const PICTURE: &str = "limit";
/// Stroke of the line that marks the observed limit. This line goes from the level `alpha` down to the limit on the
/// horizontal axis. The line for the expected limit has the stroke [`EXPECTED`].
const OBSERVED: Stroke = Stroke { colour: BLACK, width: 1.4, dash: None };
const EXPECTED: Stroke = Stroke { colour: BLACK, width: 1.4, dash: Some((5.0, 3.0)) };

/// The picture of a scan of CLs over the parameter of interest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limit {
    /// Name of the parameter of interest.
    pub poi: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Tested values of the parameter of interest, strictly increasing.
    pub mu: Vec<f64>,
    /// Observed CLs at each tested value; `None` where the test failed. If the list is empty, no observed CLs
    /// are drawn.
    pub observed: Vec<Option<f64>>,
    /// Expected CLs at each tested value, for background fluctuations of -2, -1, 0, 1 and 2 standard
    /// deviations. If the list is empty, no expected CLs are drawn.
    pub expected: Vec<[Option<f64>; 5]>,
    /// Value of CLs at which a parameter value is excluded: 0.05 for a confidence level of 95 %.
    pub alpha: f64,
    /// Observed upper limit on the parameter of interest.
    pub observed_limit: Option<f64>,
    /// Expected upper limits for background fluctuations of -2, -1, 0, 1 and 2 standard deviations.
    pub expected_limits: [Option<f64>; 5],
    /// Whether CLs is drawn on a logarithmic axis.
    pub log_y: bool,
}

impl Default for Limit {
    fn default() -> Self {
        Self {
            poi: String::new(),
            title: String::new(),
            subtitle: String::new(),
            mu: Vec::new(),
            observed: Vec::new(),
            expected: Vec::new(),
            alpha: 0.05,
            observed_limit: None,
            expected_limits: [None; 5],
            log_y: false,
        }
    }
}

impl Limit {
    /// Draws the observed and the expected CLs with bands of one and two standard deviations, a line at the
    /// level `alpha`, and the limits.
    ///
    /// # Errors
    /// If no tested value has an observed or expected CLs, the lengths of fields differ, `mu` does not
    /// increase, or `alpha` is not between 0 and 1.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        increasing(PICTURE, "mu", &self.mu)?;
        if !self.observed.is_empty() {
            same_length(PICTURE, "observed", self.observed.len(), "mu", self.mu.len())?;
        }
        if !self.expected.is_empty() {
            same_length(PICTURE, "expected", self.expected.len(), "mu", self.mu.len())?;
        }
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            let range = "between 0 and 1";
            return Err(PictureError::OutOfRange {
                picture: PICTURE,
                field: "alpha".into(),
                value: self.alpha,
                range,
            });
        }
        let values: Vec<f64> = self
            .observed
            .iter()
            .chain(self.expected.iter().flatten())
            .filter_map(|value| present(*value))
            .collect();
        let Some((_, high)) = extent(values.iter().copied()) else {
            let remedy = "observed or expected CLs for at least one value of the parameter of interest";
            return Err(PictureError::Empty { picture: PICTURE, field: "observed".into(), remedy });
        };
        let y = if self.log_y {
            let positive = values.iter().copied().filter(|value| *value > 0.0).fold(self.alpha, f64::min);
            Axis::log((0.5 * positive).max(1e-2 * self.alpha), 1.5 * high.max(self.alpha))
        } else {
            Axis::linear(0.0, 1.05 * high.max(1.5 * self.alpha))
        };
        let mut panel = self.layout(y).start();
        self.bands(&mut panel);
        let level = self.alpha;
        panel.curve(&[(panel.x.lo, level), (panel.x.hi, level)], Stroke::dashed(VERMILION, 1.6, 8.0, 4.0));
        let style = Style::new(TICK_SIZE).coloured(VERMILION);
        let label_at = (panel.area.right + 6.0, panel.y.at(level) + drop(TICK_SIZE));
        panel.drawing.text(label_at.0, label_at.1, self.level_label(), style);
        for (limit, pen, head) in [
            (self.expected_limits.get(2).copied().flatten(), EXPECTED, open()),
            (self.observed_limit, OBSERVED, Ink::fill(BLACK)),
        ] {
            if let Some(limit) = present(limit).filter(|limit| panel.x.holds(*limit)) {
                panel.curve(&[(limit, panel.y.lo), (limit, level)], pen);
                let (x, y) = (panel.x.at(limit), panel.area.bottom);
                legend::arrow_head(&mut panel.drawing, x, y - 1.0, head);
            }
        }
        self.line(
            &mut panel,
            |index| self.expected.get(index).and_then(|all| all[2]),
            Stroke::dashed(BLACK, 1.8, 6.0, 4.0),
        );
        self.line(&mut panel, |index| self.observed.get(index).copied().flatten(), Stroke::solid(BLACK, 1.8));
        for (mu, value) in self.mu.iter().zip(&self.observed) {
            if let Some(value) = present(*value).filter(|value| panel.holds(*mu, *value)) {
                let (x, y) = (panel.x.at(*mu), panel.y.at(value));
                panel.drawing.circle(x, y, 3.0, Ink::fill(BLACK));
            }
        }
        Ok(panel.finish())
    }

    fn level_label(&self) -> String {
        format!("α = {}", plain(self.alpha))
    }

    fn layout(&self, y: Axis) -> Layout<'_> {
        let mut entries = Vec::new();
        if self.observed.iter().any(Option::is_some) {
            entries.push(Entry::new(Symbol::Dotted(Stroke::solid(BLACK, 1.8)), "observed"));
        }
        if self.expected.iter().flatten().any(Option::is_some) {
            let dashes = Stroke::dashed(BLACK, 1.8, 6.0, 4.0);
            entries.push(Entry::new(Symbol::Line(dashes), "expected"));
            entries.push(Entry::new(Symbol::Box(Ink::fill(BAND_ONE)), "±1 σ"));
            entries.push(Entry::new(Symbol::Box(Ink::fill(BAND_TWO)), "±2 σ"));
        }
        let confidence = confidence(self.alpha);
        if let Some(limit) = present(self.observed_limit) {
            let text = format!("observed {confidence} limit: {}", significant(limit, 3));
            entries.push(Entry::new(Symbol::Arrow(OBSERVED, Ink::fill(BLACK)), text));
        }
        if let [_, low, Some(limit), up, _] = self.expected_limits.map(present) {
            let mut text = format!("expected {confidence} limit: {}", significant(limit, 3));
            if let (Some(low), Some(up)) = (low, up) {
                text += &format!(" (+{} −{})", significant(up - limit, 2), significant(limit - low, 2));
            }
            entries.push(Entry::new(Symbol::Arrow(EXPECTED, open()), text));
        }
        let (first, last) = extent(self.mu.iter().copied()).unwrap_or((0.0, 1.0));
        Layout {
            header: Header { title: &self.title, subtitle: &self.subtitle, entries },
            description: format!("CLs as a function of {}", self.poi),
            x: Axis::linear(first, last),
            y,
            x_title: &self.poi,
            y_title: "CLₛ",
            right: font::width(&self.level_label(), TICK_SIZE) + 14.0,
        }
    }

    fn bands(&self, panel: &mut Panel<'_>) {
        for ((low, high), colour) in [((0, 4), BAND_TWO), ((1, 3), BAND_ONE)] {
            let edges: Vec<Option<(f64, f64, f64)>> = self
                .mu
                .iter()
                .zip(&self.expected)
                .map(|(mu, all)| Some((*mu, present(all[low])?, present(all[high])?)))
                .collect();
            for part in edges.split(Option::is_none) {
                let upper = part.iter().flatten().map(|(mu, _, up)| (panel.x.at(*mu), panel.y.at(*up)));
                let lower =
                    part.iter().flatten().rev().map(|(mu, down, _)| (panel.x.at(*mu), panel.y.at(*down)));
                let corners: Vec<_> = upper.chain(lower).collect();
                let outline = clip::polygon(&corners, &panel.area);
                panel.drawing.polygon(&outline, Ink::fill(colour));
            }
        }
    }

    /// Draws a line through CLs at all tested values. `value` returns CLs for the index of a tested value.
    /// The line has gaps where CLs is missing.
    fn line(&self, panel: &mut Panel<'_>, value: impl Fn(usize) -> Option<f64>, pen: Stroke) {
        let points: Vec<Option<(f64, f64)>> = self
            .mu
            .iter()
            .enumerate()
            .map(|(index, mu)| Some((*mu, value(index).and_then(usable)?)))
            .collect();
        for part in points.split(Option::is_none) {
            let part: Vec<_> = part.iter().flatten().copied().collect();
            panel.curve(&part, pen);
        }
    }
}

/// Returns a confidence level in per cent, with all its nines. `alpha` is 1 minus the confidence level.
pub(crate) fn confidence(alpha: f64) -> String {
    let digits = (5.0 - (100.0 * alpha).log10().floor()).clamp(0.0, 13.0) as usize;
    let text = fixed(100.0 * (1.0 - alpha), digits);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// Returns a number with at most seven significant digits and without trailing zeros, as users write a
/// confidence level.
pub(crate) fn plain(value: f64) -> String {
    // Removes rounding errors: 1 - 0.9999 is a little less than 0.0001.
    let rounded = format!("{value:.6e}").parse().unwrap_or(value);
    let text = significant(rounded, 7);
    let (number, power) = text.find(" ×").map_or((text.as_str(), ""), |at| text.split_at(at));
    let digits =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{digits}{power}")
}

/// Returns the ink of the arrow head at the expected limit. It is white with a black outline, while the arrow
/// head at the observed limit is black.
fn open() -> Ink {
    Ink::outlined(WHITE, Stroke::solid(BLACK, 1.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::Item;

    /// Returns the number of corners of each shape with this fill colour. The rectangles of the legend are
    /// not included.
    fn corners(drawing: &Drawing, colour: crate::colour::Colour) -> Vec<usize> {
        let shapes = drawing.items.iter().filter_map(|item| match item {
            Item::Shape(shape) if shape.ink.fill == Some(colour) => Some(shape.path.len() - 1),
            _ => None,
        });
        shapes.filter(|count| *count > 4).collect()
    }

    #[test]
    fn bands_stop_at_missing_values() {
        let row = |k: i32| [0.9, 0.7, 0.5, 0.3, 0.1].map(|at: f64| Some(at.powi(k)));
        let mut limit = Limit {
            mu: (0..9).map(f64::from).collect(),
            expected: (0..9).map(row).collect(),
            ..Limit::default()
        };
        assert_eq!(corners(&limit.draw().unwrap(), BAND_ONE), [18]);
        limit.expected[4][1] = None;
        let drawing = limit.draw().unwrap();
        assert_eq!(corners(&drawing, BAND_ONE), [8, 8]);
        assert_eq!(corners(&drawing, BAND_TWO), [18], "the other band has all its values");
    }

    #[test]
    fn the_confidence_level_is_not_rounded() {
        for (cl, confidence, level) in [
            (0.95, "95 %", "α = 0.05"),
            (0.975, "97.5 %", "α = 0.025"),
            (0.99, "99 %", "α = 0.01"),
            (0.9999, "99.99 %", "α = 0.0001"),
            (0.683, "68.3 %", "α = 0.317"),
            (0.9999999, "99.99999 %", "α = 1 × 10⁻⁷"),
            (1.0 - 1e-9, "99.9999999 %", "α = 1 × 10⁻⁹"),
        ] {
            let limit = Limit {
                mu: vec![0.0, 1.0],
                observed: vec![Some(1.0), Some(0.01)],
                observed_limit: Some(0.75),
                alpha: 1.0 - cl,
                ..Limit::default()
            };
            let labels = limit.draw().unwrap().labels();
            for text in [format!("observed {confidence} limit: 0.750"), level.to_owned()] {
                assert!(labels.iter().any(|label| label.text == text), "{text}: {labels:?}");
            }
        }
    }

    #[test]
    fn arrows_of_observed_and_expected_limits_differ() {
        let limit = Limit {
            mu: vec![0.0, 1.0],
            observed: vec![Some(1.0), Some(0.01)],
            observed_limit: Some(0.75),
            expected_limits: [None, None, Some(0.5), None, None],
            ..Limit::default()
        };
        let heads = |ink: Ink| {
            let drawing = limit.draw().unwrap();
            drawing
                .items
                .iter()
                .filter(|item| matches!(item, Item::Shape(s) if s.ink == ink && s.path.len() == 4))
                .count()
        };
        // Each limit has one arrow in the panel and one in the legend.
        assert_eq!((heads(Ink::fill(BLACK)), heads(open())), (2, 2));
    }

    #[test]
    fn the_legend_gives_the_limits() {
        let limit = Limit {
            mu: vec![0.0, 1.0],
            observed: vec![Some(1.0), Some(0.01)],
            observed_limit: Some(0.75),
            expected_limits: [None, Some(0.5), Some(0.8), Some(1.2), None],
            alpha: 0.1,
            ..Limit::default()
        };
        let labels = limit.draw().unwrap().labels();
        for text in ["observed 90 % limit: 0.750", "expected 90 % limit: 0.800 (+0.40 −0.30)", "α = 0.1"] {
            assert!(labels.iter().any(|label| label.text == text), "{text}: {labels:?}");
        }
        assert!(labels.iter().all(|label| label.text != "±1 σ"), "no band, no entry");
    }
}
