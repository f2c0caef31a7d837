//! The picture of a profile likelihood scan in one parameter.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BLACK, BLUE, GREY, VERMILION};
use crate::drawing::{Drawing, Ink, Stroke};
use crate::error::{PictureError, increasing, same_length};
use crate::font;
use crate::frame;
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::number::{extent, present, resolved};
use crate::panel::Layout;
use crate::refine;
use crate::text::{Style, drop};

const PICTURE: &str = "scan";

/// The picture of a scan of `-2 Δ ln L` over one parameter. All other parameters are profiled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scan {
    /// Name of the scanned parameter.
    pub parameter: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Scanned values of the parameter, strictly increasing.
    pub x: Vec<f64>,
    /// Twice the difference between the negative log-likelihood and its value at the best fit, at each scanned
    /// value; `None` where the fit failed.
    pub twice_delta_nll: Vec<Option<f64>>,
    /// Best-fit value of the parameter, if known.
    pub best_fit: Option<f64>,
    /// Values of `twice_delta_nll` at which a line is drawn, 1 and 4 by default. Each line is labelled with
    /// its coverage for one parameter of interest.
    pub levels: Vec<f64>,
    /// Values of the parameter at which the scan crosses the levels, for example from MINOS. There is one list for
    /// each level. If there are no lists, the crossings of the drawn curve are used, which are less precise.
    pub crossings: Vec<Vec<f64>>,
    /// Upper end of the vertical axis. By default the axis shows the points of the scan up to four times the
    /// highest level, or all points if fewer than three are below this value.
    pub y_max: Option<f64>,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            parameter: String::new(),
            title: String::new(),
            subtitle: String::new(),
            x: Vec::new(),
            twice_delta_nll: Vec::new(),
            best_fit: None,
            levels: vec![1.0, 4.0],
            crossings: Vec::new(),
            y_max: None,
        }
    }
}

impl Scan {
    /// Draws the scan as a curve with its points, the levels, and the crossings of the curve with the levels.
    ///
    /// # Errors
    /// If no point has a value, the lengths of fields differ, or `x` does not increase.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        same_length(PICTURE, "twice_delta_nll", self.twice_delta_nll.len(), "x", self.x.len())?;
        increasing(PICTURE, "x", &self.x)?;
        if !self.crossings.is_empty() {
            same_length(PICTURE, "crossings", self.crossings.len(), "levels", self.levels.len())?;
        }
        let heights: Vec<_> = self.twice_delta_nll.iter().map(|value| present(*value)).collect();
        let Some((low, high)) = extent(heights.iter().copied().flatten()) else {
            let remedy = "at least one point whose fit succeeded";
            return Err(PictureError::Empty { picture: PICTURE, field: "twice_delta_nll".into(), remedy });
        };
        let curve: Vec<_> =
            refine::positions(&self.x, 16).into_iter().zip(refine::resample(&self.x, &heights, 16)).collect();
        let levels = self.levels_with_crossings(&curve);
        let mut panel = self.layout(&heights, (low, high), &levels).start();

        // If the scan is far higher than the levels, the labels of the levels would overlap. Some labels are
        // then left out.
        let mut named_at = Vec::new();
        for (level, label, crossings) in &levels {
            let dashes = Stroke::dashed(GREY, 1.2, 6.0, 4.0);
            panel.curve(&[(panel.x.lo, *level), (panel.x.hi, *level)], dashes);
            let axis = panel.x;
            for crossing in crossings.iter().filter(|x| axis.holds(**x)) {
                let pen = Stroke::dashed(GREY, 1.0, 2.0, 3.0);
                panel.curve(&[(*crossing, panel.y.lo), (*crossing, *level)], pen);
            }
            let apart =
                named_at.iter().all(|y: &f64| (y - panel.y.at(*level)).abs() > frame::TICK_SIZE + 1.0);
            if panel.y.holds(*level) && apart {
                named_at.push(panel.y.at(*level));
                let y = panel.y.at(*level) + drop(frame::TICK_SIZE);
                let style = Style::new(frame::TICK_SIZE).coloured(GREY);
                panel.drawing.text(panel.area.right + 6.0, y, label.clone(), style);
            }
        }
        if let Some(best) = present(self.best_fit).filter(|best| panel.x.holds(*best)) {
            panel.curve(&[(best, panel.y.lo), (best, panel.y.hi)], Stroke::dashed(BLACK, 1.2, 1.5, 3.0));
        }
        for part in curve.split(|(_, height)| height.is_none()) {
            let line: Vec<_> = part.iter().filter_map(|(x, height)| Some((*x, (*height)?))).collect();
            panel.curve(&line, Stroke::solid(BLUE, 2.0));
        }
        for (x, height) in self.x.iter().zip(&heights) {
            let (at, floor) = (panel.x.at(*x), panel.area.bottom - 12.0);
            match height {
                Some(height) if self.x.len() <= 61 && panel.holds(*x, *height) => {
                    let y = panel.y.at(*height);
                    panel.drawing.circle(at, y, 3.0, Ink::fill(BLUE));
                }
                None => panel.drawing.cross(at, floor, 4.5, Stroke::solid(VERMILION, 1.8)),
                _ => {}
            }
        }
        for (level, _, crossings) in &levels {
            let (across, up) = (panel.x, panel.y);
            for crossing in crossings.iter().filter(|x| across.holds(**x) && up.holds(*level)) {
                let ink = Ink::outlined(crate::colour::WHITE, Stroke::solid(BLACK, 1.4));
                panel.drawing.circle(across.at(*crossing), up.at(*level), 4.0, ink);
            }
        }
        Ok(panel.finish())
    }

    fn layout(
        &self,
        heights: &[Option<f64>],
        (low, high): (f64, f64),
        levels: &[(f64, String, Vec<f64>)],
    ) -> Layout<'_> {
        let failed = heights.iter().filter(|height| height.is_none()).count();
        let top_level = levels.iter().map(|(level, ..)| *level).fold(0.0, f64::max);
        // If fewer than three points lie below four times the highest level, all points are shown.
        let few = heights.iter().flatten().filter(|height| **height <= 4.0 * top_level).count() < 3;
        let most = if top_level > 0.0 && !few { 4.0 * top_level } else { high };
        let top = present(self.y_max).unwrap_or((1.06 * high).min(most).max(1.15 * top_level));
        let bottom = if low < 0.0 { 1.1 * low } else { 0.0 };
        let labels = levels.iter().map(|(_, label, _)| font::width(label, frame::TICK_SIZE));
        let (first, last) = extent(self.x.iter().copied()).unwrap_or((0.0, 1.0));
        let span = if last > first { last - first } else { last };
        let mut entries = vec![Entry::new(
            if self.x.len() <= 61 {
                Symbol::Dotted(Stroke::solid(BLUE, 2.0))
            } else {
                Symbol::Line(Stroke::solid(BLUE, 2.0))
            },
            "profile likelihood",
        )];
        if let Some(best) = present(self.best_fit) {
            let text = format!("best fit {}", resolved(best, span));
            entries.push(Entry::new(Symbol::Line(Stroke::dashed(BLACK, 1.2, 1.5, 3.0)), text));
        }
        for (_, label, crossings) in levels.iter().filter(|(.., crossings)| !crossings.is_empty()) {
            let values: Vec<_> = crossings.iter().take(4).map(|x| resolved(*x, span)).collect();
            let text = format!("{label} at {}", values.join(", "));
            entries.push(Entry::new(Symbol::Line(Stroke::dashed(GREY, 1.2, 6.0, 4.0)), text));
        }
        if failed > 0 {
            let text =
                if failed == 1 { "fit failed".to_owned() } else { format!("fit failed ({failed} points)") };
            entries.push(Entry::new(Symbol::Cross(Stroke::solid(VERMILION, 1.8)), text));
        }
        Layout {
            header: Header { title: &self.title, subtitle: &self.subtitle, entries },
            description: format!("Profile likelihood scan of {}", self.parameter),
            x: Axis::linear(first, last),
            y: Axis::linear(bottom, top),
            x_title: &self.parameter,
            y_title: "−2 Δ ln L",
            right: labels.fold(frame::RIGHT, |room, label| room.max(label + 14.0)),
        }
    }

    /// Returns the levels that can be drawn. Each has a label and the values of the parameter at which the
    /// scan crosses it.
    fn levels_with_crossings(&self, curve: &[(f64, Option<f64>)]) -> Vec<(f64, String, Vec<f64>)> {
        let mut out = Vec::new();
        for (index, level) in self.levels.iter().enumerate() {
            let Some(level) = crate::number::usable(*level).filter(|level| *level > 0.0) else { continue };
            let given = self.crossings.get(index);
            let crossings = given.map_or_else(
                || crossings(curve, level),
                |given| given.iter().filter_map(|x| crate::number::usable(*x)).collect(),
            );
            out.push((level, coverage(libm::erf((0.5 * level).sqrt())), crossings));
        }
        out
    }
}

/// Returns a probability in per cent, such as "68.3 %" or "95 %". One decimal distinguishes two standard
/// deviations (95.4 %) from 95 %. Probabilities near one keep all their nines, as in "99.994 %".
pub(crate) fn coverage(probability: f64) -> String {
    if 1.0 - probability < 1e-9 {
        return "> 99.999999 %".to_owned();
    }
    let percent = 100.0 * probability;
    let nines = (-(1.0 - probability).log10()).max(1.0);
    let decimals = if percent < 99.0 { 1 } else { nines.floor() as usize - 1 };
    let number = format!("{percent:.decimals$}");
    format!("{} %", number.strip_suffix(".0").unwrap_or(&number))
}

/// Returns the positions at which a curve crosses the height `level`.
fn crossings(curve: &[(f64, Option<f64>)], level: f64) -> Vec<f64> {
    let cross = |pair: &[(f64, Option<f64>)]| {
        let [(x, Some(from)), (end, Some(to))] = *pair else { return None };
        let passes = (from < level) != (to < level);
        passes.then(|| x + (level - from) / (to - from) * (end - x))
    };
    curve.windows(2).filter_map(cross).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_level_covers_everything() {
        let names = [1.0, 4.0, 9.0, 16.0, 25.0].map(|level: f64| coverage(libm::erf((0.5 * level).sqrt())));
        assert_eq!(names, ["68.3 %", "95.4 %", "99.7 %", "99.994 %", "99.99994 %"]);
        assert_eq!(coverage(1.0), "> 99.999999 %");
    }

    #[test]
    fn a_rise_by_4_is_not_called_95_per_cent() {
        let name = |level: f64| coverage(libm::erf((0.5 * level).sqrt()));
        assert_eq!([name(4.0), name(3.84), name(3.841_459), name(2.71)], ["95.4 %", "95 %", "95 %", "90 %"]);
    }

    #[test]
    fn levels_are_named_and_crossed_where_the_parabola_crosses_them() {
        let x: Vec<f64> = (0..15).map(|i| -1.0 + 0.3 * f64::from(i)).collect();
        let heights = x.iter().map(|x| Some((x - 1.1f64).powi(2) / 0.36)).collect();
        let scan = Scan { x: x.clone(), twice_delta_nll: heights, ..Scan::default() };
        let curve: Vec<_> = refine::positions(&scan.x, 16)
            .into_iter()
            .zip(refine::resample(&scan.x, &scan.twice_delta_nll, 16))
            .collect();
        let levels = scan.levels_with_crossings(&curve);
        assert_eq!((levels[0].1.as_str(), levels[1].1.as_str()), ("68.3 %", "95.4 %"));
        for (found, expected) in levels.iter().flat_map(|l| &l.2).zip([0.5, 1.7, -0.1, 2.3]) {
            assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        }
    }
}
