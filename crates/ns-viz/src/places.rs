//! The picture of a search for a signal at many places.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BLUE, GREY, VERMILION};
use crate::drawing::{Drawing, Ink, Stroke};
use crate::error::{PictureError, increasing, same_length};
use crate::font;
use crate::frame::TICK_SIZE;
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::number::{extent, present, significant, usable};
use crate::panel::Layout;
use crate::text::{Style, drop};

const PICTURE: &str = "places";
const CURVE: Stroke = Stroke { colour: BLUE, width: 2.0, dash: None };
const LEVEL: Stroke = Stroke { colour: VERMILION, width: 1.4, dash: Some((8.0, 4.0)) };
const SIGMA: Stroke = Stroke { colour: GREY, width: 1.0, dash: Some((2.0, 3.0)) };

/// The picture of the statistic `q0` along the places of a search.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Places {
    /// Name of the parameter that says where the signal is.
    pub parameter: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Places, strictly increasing.
    pub x: Vec<f64>,
    /// The statistic at each place; `None` where the fit failed.
    pub q0: Vec<Option<f64>>,
    /// Value of the statistic whose crossings are counted.
    pub level: f64,
    /// Place and statistic of the largest excess.
    pub peak: Option<[f64; 2]>,
    /// Local and global significance of the largest excess.
    pub significance: Option<[f64; 2]>,
}

impl Places {
    /// Draws the statistic, the level and the largest excess. Dotted lines are whole local significances.
    ///
    /// # Errors
    /// If no place has a value, the lengths of fields differ, or `x` does not increase.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        increasing(PICTURE, "x", &self.x)?;
        same_length(PICTURE, "q0", self.q0.len(), "x", self.x.len())?;
        let Some((_, most)) = extent(self.q0.iter().filter_map(|q| present(*q))) else {
            let remedy = "at least one place whose fit succeeded";
            return Err(PictureError::Empty { picture: PICTURE, field: "q0".into(), remedy });
        };
        let top = 1.12 * self.peak.map_or(most, |[_, q]| most.max(q)).max(1.0).max(self.level);
        let mut panel = self.layout(top).start();
        let (low, high) = (panel.x.lo, panel.x.hi);
        for sigma in (1..=40_u32).map(f64::from).take_while(|sigma| sigma * sigma <= top) {
            panel.curve(&[(low, sigma * sigma), (high, sigma * sigma)], SIGMA);
            let (x, y) = (panel.area.right + 6.0, panel.y.at(sigma * sigma) + drop(TICK_SIZE));
            // Lines that are too close have no label.
            if panel.y.at((sigma - 1.0).powi(2)) - panel.y.at(sigma * sigma) > 12.0 {
                panel.drawing.text(x, y, format!("{sigma:.0} σ"), Style::new(TICK_SIZE).coloured(GREY));
            }
        }
        panel.curve(&[(low, self.level), (high, self.level)], LEVEL);
        for part in self.curve().split(Option::is_none) {
            panel.curve(&part.iter().flatten().copied().collect::<Vec<_>>(), CURVE);
        }
        if let Some([x, q]) = self.peak.filter(|[x, q]| panel.holds(*x, *q)) {
            let (x, y) = (panel.x.at(x), panel.y.at(q));
            panel.drawing.circle(x, y, 3.5, Ink::fill(VERMILION));
        }
        Ok(panel.finish())
    }

    /// Returns the points of the curve, `None` where a fit failed. The largest excess may lie between two places, and the curve
    /// goes through it.
    fn curve(&self) -> Vec<Option<(f64, f64)>> {
        let mut points: Vec<_> = self.x.iter().zip(&self.q0).map(|(x, q)| Some((*x, present(*q)?))).collect();
        let after = |x: f64| self.x.partition_point(|place| *place < x);
        if let Some([x, q]) = self.peak
            && (1..points.len()).contains(&after(x))
            && !self.x.contains(&x)
        {
            points.insert(after(x), Some((x, q)));
        }
        points
    }

    fn layout(&self, top: f64) -> Layout<'_> {
        let (first, last) = extent(self.x.iter().copied()).unwrap_or((0.0, 1.0));
        let mut entries = vec![
            Entry::new(Symbol::Line(CURVE), "data"),
            Entry::new(Symbol::Line(LEVEL), format!("crossings counted at {}", significant(self.level, 2))),
        ];
        if let Some([local, global]) = self.significance.filter(|z| z.iter().all(|z| usable(*z).is_some())) {
            let text = format!("largest excess: {local:.2} σ local, {global:.2} σ global");
            entries.push(Entry::new(Symbol::Dot(Ink::fill(VERMILION)), text));
        }
        Layout {
            header: Header { title: &self.title, subtitle: &self.subtitle, entries },
            description: format!("Search for a signal along {}", self.parameter),
            x: Axis::linear(first, last),
            y: Axis::linear(0.0, top),
            x_title: &self.parameter,
            y_title: "q₀",
            right: font::width("10 σ", TICK_SIZE) + 14.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legend_gives_both_significances() {
        let picture = Places {
            parameter: "mass".into(),
            x: vec![100.0, 110.0, 120.0, 130.0],
            q0: vec![Some(0.0), Some(9.0), None, Some(1.0)],
            level: 0.5,
            peak: Some([111.0, 9.2]),
            significance: Some([3.03, 2.1]),
            ..Places::default()
        };
        let labels = picture.draw().unwrap().labels();
        for text in ["largest excess: 3.03 σ local, 2.10 σ global", "3 σ", "crossings counted at 0.50"] {
            assert!(labels.iter().any(|label| label.text == text), "{text}: {labels:?}");
        }
        let (curve, peak) = (picture.curve(), Some((111.0, 9.2)));
        assert_eq!(curve, [Some((100.0, 0.0)), Some((110.0, 9.0)), peak, None, Some((130.0, 1.0))]);
        let beyond = Places { peak: Some([90.0, 9.2]), ..picture.clone() };
        assert_eq!(beyond.curve().len(), 4);
        assert!(Places { q0: vec![None; 4], ..picture }.draw().is_err());
    }
}
