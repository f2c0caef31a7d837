//! The picture of spurious signals along the places of a search.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BLACK, GREY, sample};
use crate::drawing::{Drawing, Stroke};
use crate::error::{PictureError, increasing, same_length};
use crate::frame;
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::number::{extent, present, trimmed, usable};
use crate::panel::Layout;

const PICTURE: &str = "spurious signal";
const ZERO: Stroke = Stroke { colour: BLACK, width: 0.8, dash: None };
const LIMIT: Stroke = Stroke { colour: GREY, width: 1.4, dash: Some((8.0, 4.0)) };

/// The ratios with one background.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpuriousCurve {
    /// Name of the background.
    pub name: String,
    /// Spurious signal divided by its uncertainty at each place; `None` where there is none.
    pub ratio: Vec<Option<f64>>,
}

/// The picture of spurious signals, divided by their uncertainties.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spurious {
    /// Name of the parameter that says where the signal is.
    pub parameter: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Places, strictly increasing.
    pub x: Vec<f64>,
    /// One curve for each background.
    pub curves: Vec<SpuriousCurve>,
    /// Largest accepted ratio.
    pub limit: f64,
}

impl Spurious {
    /// Draws a curve for each background, and the limit on both sides of 0.
    ///
    /// # Errors
    /// If no background has a value, the lengths of fields differ, or `x` does not increase.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        increasing(PICTURE, "x", &self.x)?;
        for curve in &self.curves {
            same_length(PICTURE, &format!("curves '{}'", curve.name), curve.ratio.len(), "x", self.x.len())?;
        }
        let values = self.curves.iter().flat_map(|curve| &curve.ratio).filter_map(|ratio| present(*ratio));
        let Some((low, high)) = extent(values) else {
            let remedy = "at least one place with a fit";
            return Err(PictureError::Empty { picture: PICTURE, field: "curves".into(), remedy });
        };
        let limit = usable(self.limit).map_or(0.0, f64::abs);
        let reach = 1.2 * low.abs().max(high.abs()).max(limit).max(1e-3);
        let mut panel = self.layout(reach, limit).start();
        let (first, last) = (panel.x.lo, panel.x.hi);
        panel.curve(&[(first, 0.0), (last, 0.0)], ZERO);
        for level in [-limit, limit] {
            panel.curve(&[(first, level), (last, level)], LIMIT);
        }
        for (index, curve) in self.curves.iter().enumerate() {
            let points: Vec<Option<(f64, f64)>> =
                self.x.iter().zip(&curve.ratio).map(|(x, ratio)| Some((*x, present(*ratio)?))).collect();
            for part in points.split(Option::is_none) {
                panel.curve(&part.iter().flatten().copied().collect::<Vec<_>>(), line(index));
            }
        }
        Ok(panel.finish())
    }

    fn layout(&self, reach: f64, limit: f64) -> Layout<'_> {
        let (first, last) = extent(self.x.iter().copied()).unwrap_or((0.0, 1.0));
        let curve = |(index, curve): (usize, &SpuriousCurve)| {
            Entry::new(Symbol::Line(line(index)), curve.name.clone())
        };
        let mut entries: Vec<Entry> = self.curves.iter().enumerate().map(curve).collect();
        entries.push(Entry::new(Symbol::Line(LIMIT), format!("limit ± {}", trimmed(limit, 4))));
        Layout {
            header: Header { title: &self.title, subtitle: &self.subtitle, entries },
            description: format!("Spurious signals along {}", self.parameter),
            x: Axis::linear(first, last),
            y: Axis::linear(-reach, reach),
            x_title: &self.parameter,
            y_title: "Spurious signal / uncertainty",
            right: frame::RIGHT,
        }
    }
}

fn line(index: usize) -> Stroke {
    Stroke::solid(sample(index), 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_background_is_in_the_legend() {
        let curve =
            |name: &str, ratio: [Option<f64>; 3]| SpuriousCurve { name: name.into(), ratio: ratio.to_vec() };
        let picture = Spurious {
            parameter: "mass".into(),
            x: vec![110.0, 120.0, 130.0],
            curves: vec![curve("power law", [Some(0.1), None, Some(-0.3)]), curve("sum", [None; 3])],
            limit: 0.2,
            ..Spurious::default()
        };
        let labels = picture.draw().unwrap().labels();
        for text in ["power law", "sum", "limit ± 0.2"] {
            assert!(labels.iter().any(|label| label.text == text), "{text}: {labels:?}");
        }
        assert!(Spurious { curves: vec![curve("sum", [None; 3])], ..picture }.draw().is_err());
    }
}
