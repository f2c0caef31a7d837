//! The picture of the p-values of tested values of a parameter, with the confidence intervals that follow from them.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BAND_ONE, BLACK, BLUE, Colour, GREY, VERMILION, WHITE};
use crate::drawing::{Drawing, Ink, Stroke};
use crate::error::{PictureError, increasing, same_length};
use crate::font;
use crate::frame::TICK_SIZE;
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::limit::{confidence, plain};
use crate::number::{extent, present, resolved};
use crate::panel::Layout;
use crate::text::{Style, drop};

const PICTURE: &str = "confidence";
const TOYS: Stroke = Stroke { colour: BLUE, width: 1.4, dash: None };
const ASYMPTOTIC: Stroke = Stroke { colour: BLACK, width: 1.6, dash: Some((6.0, 4.0)) };

/// Colour of the interval from toys, light enough for what is drawn on it.
fn band() -> Colour {
    BAND_ONE.mix(WHITE, 0.75)
}

/// The picture of p-values along a parameter, from toys and from the chi2 law.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Confidence {
    /// Name of the parameter.
    pub parameter: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Tested values of the parameter, strictly increasing.
    pub x: Vec<f64>,
    /// The p-value from toys at each tested value; `None` where there is none.
    pub p_value: Vec<Option<f64>>,
    /// Error of each p-value; `None` draws no error bar.
    pub error: Vec<Option<f64>>,
    /// The p-value of the chi2 law at each tested value.
    pub asymptotic: Vec<f64>,
    /// The p-value at the ends of the interval: 0.05 for a confidence level of 95 %.
    pub alpha: f64,
    /// Ends of the interval from toys, with their errors.
    pub interval: [Option<(f64, f64)>; 2],
    /// Ends of the interval of the chi2 law.
    pub asymptotic_interval: [Option<f64>; 2],
}

impl Confidence {
    /// Draws the p-values with their errors, the curve of the chi2 law, the level and both intervals.
    ///
    /// # Errors
    /// If no value has a p-value, the lengths of fields differ, `x` does not increase, or `alpha` is not between 0 and 1.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        increasing(PICTURE, "x", &self.x)?;
        for (field, length) in [
            ("p_value", self.p_value.len()),
            ("error", self.error.len()),
            ("asymptotic", self.asymptotic.len()),
        ] {
            same_length(PICTURE, field, length, "x", self.x.len())?;
        }
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            let (field, range) = ("alpha".into(), "between 0 and 1");
            return Err(PictureError::OutOfRange { picture: PICTURE, field, value: self.alpha, range });
        }
        if self.p_value.iter().all(|p| present(*p).is_none()) {
            let remedy = "at least one tested value with a p-value";
            return Err(PictureError::Empty { picture: PICTURE, field: "p_value".into(), remedy });
        }
        let mut panel = self.layout().start();
        let (floor, level) = (panel.y.lo, self.alpha);
        if let [Some((low, _)), Some((high, _))] = self.interval {
            let (left, right) = (panel.x.at(low.max(panel.x.lo)), panel.x.at(high.min(panel.x.hi)));
            let (top, bottom) = (panel.area.top, panel.area.bottom);
            let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
            panel.drawing.polygon(&corners, Ink::fill(band()));
        }
        panel.curve(&[(panel.x.lo, level), (panel.x.hi, level)], Stroke::dashed(VERMILION, 1.6, 8.0, 4.0));
        let style = Style::new(TICK_SIZE).coloured(VERMILION);
        let (x, y) = (panel.area.right + 6.0, panel.y.at(level) + drop(TICK_SIZE));
        panel.drawing.text(x, y, self.label(), style);
        // The p-value has a kink at the best fit, so no smooth curve is drawn through its values.
        let curve = self.x.iter().zip(&self.asymptotic).filter_map(|(x, p)| Some((*x, present(Some(*p))?)));
        panel.curve(&curve.collect::<Vec<_>>(), ASYMPTOTIC);
        for end in self.asymptotic_interval.iter().filter_map(|end| present(*end)) {
            panel.curve(&[(end, floor), (end, level)], ASYMPTOTIC);
        }
        for (end, _) in self.interval.iter().flatten() {
            panel.curve(&[(*end, floor), (*end, level)], Stroke::solid(BLUE, 2.0));
        }
        for ((x, p), error) in self.x.iter().zip(&self.p_value).zip(&self.error) {
            let Some(p) = present(*p).filter(|p| panel.holds(*x, *p)) else { continue };
            if let Some(error) = present(*error) {
                panel.curve(&[(*x, (p - error).max(floor)), (*x, (p + error).min(panel.y.hi))], TOYS);
            }
            let at = (panel.x.at(*x), panel.y.at(p));
            panel.drawing.circle(at.0, at.1, 3.0, Ink::fill(BLUE));
        }
        Ok(panel.finish())
    }

    fn label(&self) -> String {
        format!("p = {}", plain(self.alpha))
    }

    fn layout(&self) -> Layout<'_> {
        let (first, last) = extent(self.x.iter().copied()).unwrap_or((0.0, 1.0));
        let span = if last > first { last - first } else { last };
        let mut entries =
            vec![Entry::new(Symbol::Dotted(TOYS), "toys"), Entry::new(Symbol::Line(ASYMPTOTIC), "chi2 law")];
        let confidence = confidence(self.alpha);
        if let [Some((low, _)), Some((high, _))] = self.interval {
            let text = format!("{confidence} by toys: {} to {}", resolved(low, span), resolved(high, span));
            entries.push(Entry::new(Symbol::Box(Ink::fill(band())), text));
        }
        if let [Some(low), Some(high)] = self.asymptotic_interval {
            let text =
                format!("{confidence} by the chi2 law: {} to {}", resolved(low, span), resolved(high, span));
            entries.push(Entry::new(Symbol::Line(Stroke::dashed(GREY, 1.4, 6.0, 4.0)), text));
        }
        Layout {
            header: Header { title: &self.title, subtitle: &self.subtitle, entries },
            description: format!("p-values of {}", self.parameter),
            x: Axis::linear(first, last),
            y: Axis::linear(0.0, 1.03),
            x_title: &self.parameter,
            y_title: "p-value",
            right: font::width(&self.label(), TICK_SIZE) + 14.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legend_gives_both_intervals() {
        let picture = Confidence {
            parameter: "mu".into(),
            x: vec![0.0, 1.0, 2.0],
            p_value: vec![Some(1.0), Some(0.4), None],
            error: vec![None, Some(0.02), None],
            asymptotic: vec![1.0, 0.3, 0.05],
            alpha: 0.1,
            interval: [Some((0.0, 0.0)), Some((1.7, 0.02))],
            asymptotic_interval: [Some(0.0), Some(1.6)],
            ..Confidence::default()
        };
        let labels = picture.draw().unwrap().labels();
        for text in ["90 % by toys: 0.00 to 1.70", "90 % by the chi2 law: 0.00 to 1.60", "p = 0.1"] {
            assert!(labels.iter().any(|label| label.text == text), "{text}: {labels:?}");
        }
        assert!(Confidence { p_value: vec![None; 3], ..picture.clone() }.draw().is_err());
        assert!(Confidence { alpha: 1.0, ..picture }.draw().is_err());
    }
}
