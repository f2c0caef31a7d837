//! The picture of an injection test: the bias of fitted values against the injected value.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BLACK, BLUE};
use crate::drawing::{Drawing, Ink, Stroke};
use crate::error::{PictureError, increasing, same_length};
use crate::frame;
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::number::{extent, present, resolved};
use crate::panel::Layout;

const PICTURE: &str = "linearity";
const LINE: Stroke = Stroke { colour: BLUE, width: 1.8, dash: None };

/// The picture of the mean fitted value minus the injected value.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Linearity {
    /// Name of the parameter.
    pub parameter: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Injected values, strictly increasing.
    pub injected: Vec<f64>,
    /// Mean fitted value minus injected value; `None` where there is none.
    pub bias: Vec<Option<f64>>,
    /// Error of each bias; `None` draws no error bar.
    pub error: Vec<Option<f64>>,
    /// Intercept and slope of the line through the mean fitted values, with the error of the slope.
    pub line: Option<[f64; 3]>,
}

impl Linearity {
    /// Draws the bias at each injected value with its error, and the line.
    ///
    /// # Errors
    /// If no value has a bias, the lengths of fields differ, or `injected` does not increase.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        increasing(PICTURE, "injected", &self.injected)?;
        same_length(PICTURE, "bias", self.bias.len(), "injected", self.injected.len())?;
        same_length(PICTURE, "error", self.error.len(), "injected", self.injected.len())?;
        let points: Vec<(f64, f64, f64)> = self
            .injected
            .iter()
            .zip(&self.bias)
            .zip(&self.error)
            .filter_map(|((x, bias), error)| Some((*x, present(*bias)?, present(*error).unwrap_or(0.0))))
            .collect();
        let ends = points.iter().flat_map(|(_, bias, error)| [bias - error, bias + error]);
        let Some((low, high)) = extent(ends.chain([0.0]).filter(|_| !points.is_empty())) else {
            let remedy = "at least one injected value with a bias";
            return Err(PictureError::Empty { picture: PICTURE, field: "bias".into(), remedy });
        };
        let mut panel = self.layout(&points, (low, high)).start();
        panel.curve(&[(panel.x.lo, 0.0), (panel.x.hi, 0.0)], Stroke::dashed(BLACK, 1.2, 5.0, 4.0));
        if let Some([intercept, slope, _]) = self.line {
            let at = |x: f64| (x, intercept + (slope - 1.0) * x);
            panel.curve(&[at(panel.x.lo), at(panel.x.hi)], LINE);
        }
        for (x, bias, error) in points {
            panel.curve(&[(x, bias - error), (x, bias + error)], Stroke::solid(BLACK, 1.4));
            let at = (panel.x.at(x), panel.y.at(bias));
            panel.drawing.circle(at.0, at.1, 3.5, Ink::fill(BLACK));
        }
        Ok(panel.finish())
    }

    fn layout(&self, points: &[(f64, f64, f64)], (low, high): (f64, f64)) -> Layout<'_> {
        let (first, last) = extent(points.iter().map(|point| point.0)).unwrap_or((0.0, 1.0));
        let margin = 0.06 * if last > first { last - first } else { last.abs().max(1.0) };
        let room = 0.15 * if high > low { high - low } else { 1.0 };
        let mut entries = vec![Entry::new(Symbol::Point(BLACK), "mean of the toys")];
        if let Some([intercept, slope, error]) = self.line {
            let text = format!(
                "slope {} ± {}, intercept {}",
                resolved(slope, 20.0 * error),
                resolved(error, 20.0 * error),
                resolved(intercept, high - low)
            );
            entries.push(Entry::new(Symbol::Line(LINE), text));
        }
        Layout {
            header: Header { title: &self.title, subtitle: &self.subtitle, entries },
            description: format!("Bias of {} against the injected value", self.parameter),
            x: Axis::linear(first - margin, last + margin),
            y: Axis::linear(low - room, high + room),
            x_title: &self.parameter,
            y_title: "mean fitted − injected",
            right: frame::RIGHT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legend_has_the_slope() {
        let picture = Linearity {
            parameter: "mu".into(),
            injected: vec![0.0, 1.0, 2.0],
            bias: vec![Some(0.02), None, Some(-0.01)],
            error: vec![Some(0.01), None, Some(0.02)],
            line: Some([0.02, 0.985, 0.011]),
            ..Linearity::default()
        };
        let labels = picture.draw().unwrap().labels();
        assert!(labels.iter().any(|label| label.text.starts_with("slope 0.98")), "{labels:?}");
        assert!(Linearity { bias: vec![None; 3], ..picture }.draw().is_err());
    }
}
