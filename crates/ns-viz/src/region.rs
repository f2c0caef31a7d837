//! The picture of a confidence region of two parameters, with the border of the chi2 law beside it.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BAND_ONE, BLACK, BLUE, Colour, GREY, WHITE};
use crate::drawing::{Drawing, Ink, Stroke};
use crate::error::{PictureError, same_length};
use crate::frame;
use crate::header::Header;
use crate::legend::{self, Entry, Symbol};
use crate::limit::confidence;
use crate::number::{extent, significant, usable};
use crate::panel::{Layout, Panel};
use crate::smooth;

const PICTURE: &str = "region";
const BORDER: Stroke = Stroke { colour: BLUE, width: 2.0, dash: None };
const BAR: Stroke = Stroke { colour: BLUE, width: 1.4, dash: None };
const ASYMPTOTIC: Stroke = Stroke { colour: BLACK, width: 1.6, dash: Some((6.0, 4.0)) };
const OUTSIDE: Stroke = Stroke { colour: GREY, width: 1.0, dash: None };

/// Space between what is drawn and the frame, as a share of its extent.
const MARGIN: f64 = 0.04;

/// Colour of the region from toys, light enough for what is drawn on it.
fn fill() -> Colour {
    BAND_ONE.mix(WHITE, 0.75)
}

/// The picture of a confidence region in the plane of two parameters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Region {
    /// Name of the parameter on the horizontal axis.
    pub x_parameter: String,
    /// Name of the parameter on the vertical axis.
    pub y_parameter: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The p-value on the border: 0.05 for a confidence level of 95 %.
    pub alpha: f64,
    /// Points of the border from toys, in their order around the best fit; empty without toys.
    pub border: Vec<[f64; 2]>,
    /// Error of each point of the border, as a change of both parameters along the line from the best fit; `None` draws no
    /// error bar.
    pub error: Vec<Option<[f64; 2]>>,
    /// Points of the border of the chi2 law, in their order around the best fit. A smooth curve is drawn through them.
    pub asymptotic: Vec<[f64; 2]>,
    /// Best-fit values, marked in the picture if given.
    pub best_fit: Option<[f64; 2]>,
    /// Points that were tested with toys and are inside the region.
    pub inside: Vec<[f64; 2]>,
    /// Points that were tested with toys and are outside the region.
    pub outside: Vec<[f64; 2]>,
}

fn pair([x, y]: [f64; 2]) -> Option<(f64, f64)> {
    Some((usable(x)?, usable(y)?))
}

fn pairs(points: &[[f64; 2]]) -> Vec<(f64, f64)> {
    points.iter().filter_map(|point| pair(*point)).collect()
}

impl Region {
    /// Draws the region, its border with errors, the border of the chi2 law, and the tested points.
    ///
    /// # Errors
    /// If neither border has three points, the lengths of fields differ, or `alpha` is not between 0 and 1.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        same_length(PICTURE, "error", self.error.len(), "border", self.border.len())?;
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            let (field, range) = ("alpha".into(), "between 0 and 1");
            return Err(PictureError::OutOfRange { picture: PICTURE, field, value: self.alpha, range });
        }
        let (border, law) = (pairs(&self.border), pairs(&self.asymptotic));
        if border.len().max(law.len()) < 3 {
            let remedy = "at least three points of a border";
            return Err(PictureError::Empty { picture: PICTURE, field: "border".into(), remedy });
        }
        let mut panel = self.layout(&border, &law).start();
        if border.len() >= 3 {
            let corners: Vec<_> = border.iter().map(|at| clamped(&panel, *at)).collect();
            panel.drawing.polygon(&corners, Ink::fill(fill()));
        }
        for (points, ink) in [(&self.outside, Ink::outlined(WHITE, OUTSIDE)), (&self.inside, Ink::fill(GREY))]
        {
            for (x, y) in pairs(points) {
                if panel.holds(x, y) {
                    let (x, y) = (panel.x.at(x), panel.y.at(y));
                    panel.drawing.circle(x, y, 2.0, ink);
                }
            }
        }
        panel.curve(&closed(&smooth::closed(&law)), ASYMPTOTIC);
        panel.curve(&closed(&border), BORDER);
        for (point, error) in self.border.iter().zip(&self.error) {
            let Some((x, y)) = pair(*point) else { continue };
            if let Some((dx, dy)) = self.away(*point, *error) {
                panel.curve(&[(x - dx, y - dy), (x + dx, y + dy)], BAR);
            }
            if panel.holds(x, y) {
                let (x, y) = (panel.x.at(x), panel.y.at(y));
                panel.drawing.circle(x, y, 3.0, Ink::fill(BLUE));
            }
        }
        if let Some((x, y)) = self.best_fit.and_then(pair).filter(|(x, y)| panel.holds(*x, *y)) {
            let (x, y) = (panel.x.at(x), panel.y.at(y));
            legend::plus(&mut panel.drawing, x, y);
        }
        Ok(panel.finish())
    }

    /// Returns an error with the signs of the direction from the best fit.
    fn away(&self, point: [f64; 2], error: Option<[f64; 2]>) -> Option<(f64, f64)> {
        let (dx, dy) = pair(error?)?;
        let [x, y] = self.best_fit?;
        Some((dx.abs().copysign(point[0] - x), dy.abs().copysign(point[1] - y)))
    }

    fn layout(&self, border: &[(f64, f64)], law: &[(f64, f64)]) -> Layout<'_> {
        let mut entries = Vec::new();
        if let Some((x, y)) = self.best_fit.and_then(pair) {
            let text = format!("best fit ({}, {})", significant(x, 3), significant(y, 3));
            entries.push(Entry::new(Symbol::Plus, text));
        }
        let confidence = confidence(self.alpha);
        if !border.is_empty() {
            entries.push(Entry::new(Symbol::Dotted(BORDER), format!("{confidence} by toys")));
        }
        entries.push(Entry::new(Symbol::Line(ASYMPTOTIC), format!("{confidence} by the chi2 law")));
        if !self.inside.is_empty() {
            entries.push(Entry::new(Symbol::Dot(Ink::fill(GREY)), "tested, inside"));
        }
        if !self.outside.is_empty() {
            entries.push(Entry::new(Symbol::Dot(Ink::outlined(WHITE, OUTSIDE)), "tested, outside"));
        }
        let best = self.best_fit.and_then(pair);
        let all = || border.iter().chain(law).copied().chain(best);
        let axis = |values: Vec<f64>| {
            let (first, last) = extent(values).unwrap_or((0.0, 1.0));
            let margin = MARGIN * (last - first);
            Axis::linear(first - margin, last + margin)
        };
        Layout {
            header: Header { title: &self.title, subtitle: &self.subtitle, entries },
            description: format!("Confidence region of {} and {}", self.x_parameter, self.y_parameter),
            x: axis(all().map(|(x, _)| x).collect()),
            y: axis(all().map(|(_, y)| y).collect()),
            x_title: &self.x_parameter,
            y_title: &self.y_parameter,
            right: frame::RIGHT,
        }
    }
}

/// Returns the position of a point on the page, at most at the frame.
fn clamped(panel: &Panel<'_>, (x, y): (f64, f64)) -> (f64, f64) {
    (panel.x.clamped(x), panel.y.clamped(y))
}

/// Returns the points with the first one again at the end.
fn closed(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().chain(points.first()).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legend_names_both_borders() {
        let square = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let picture = Region {
            x_parameter: "mu".into(),
            alpha: 0.05,
            error: vec![Some([0.1, 0.1]), None, None, None],
            border: square.clone(),
            asymptotic: square,
            best_fit: Some([0.5, 0.5]),
            inside: vec![[0.4, 0.4]],
            ..Region::default()
        };
        let labels = picture.draw().unwrap().labels();
        for text in ["95 % by toys", "95 % by the chi2 law", "best fit (0.500, 0.500)", "tested, inside"] {
            assert!(labels.iter().any(|label| label.text == text), "{text}: {labels:?}");
        }
        assert!(Region { alpha: 0.0, ..picture.clone() }.draw().is_err());
        let law = Region { border: Vec::new(), error: Vec::new(), ..picture };
        assert!(law.draw().is_ok() && Region { asymptotic: Vec::new(), ..law }.draw().is_err());
    }
}
