//! The picture of a likelihood scan in two parameters, with contours.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{Colour, GREY, VERMILION, WHITE, sequential};
use crate::drawing::{Area, Drawing, Ink, Segment, Stroke};
use crate::error::{PictureError, increasing, same_length};
use crate::font;
use crate::frame::{self, TICK_SIZE};
use crate::header::Header;
use crate::legend::{self, Entry, Symbol};
use crate::marching::Grid;
use crate::number::{present, significant, usable};
use crate::panel::{Layout, Panel};
use crate::refine;
use crate::scan::coverage;
use crate::text::{Style, drop};

const PICTURE: &str = "contour";
const LINE: Colour = Colour(8, 48, 107);
const BANDS: usize = 14;

/// The picture of a scan of `-2 Δ ln L` over two parameters. All other parameters are profiled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Contour {
    /// Name of the parameter on the horizontal axis.
    pub x_parameter: String,
    /// Name of the parameter on the vertical axis.
    pub y_parameter: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Scanned values of the horizontal parameter, strictly increasing.
    pub x: Vec<f64>,
    /// Scanned values of the vertical parameter, strictly increasing.
    pub y: Vec<f64>,
    /// Twice the difference between the negative log-likelihood and its value at the best fit, for each point of
    /// the scan, indexed `[y][x]`; `None` where the fit failed.
    pub twice_delta_nll: Vec<Vec<Option<f64>>>,
    /// Best-fit values of the horizontal and the vertical parameter, marked in the picture if given.
    pub best_fit: Option<[f64; 2]>,
    /// Values of `twice_delta_nll` at which contours are drawn. Each contour is labelled with its coverage for
    /// two parameters of interest. The default levels cover 68.27 % and 95 %.
    pub levels: Vec<f64>,
}

impl Default for Contour {
    fn default() -> Self {
        Self {
            x_parameter: String::new(),
            y_parameter: String::new(),
            title: String::new(),
            subtitle: String::new(),
            x: Vec::new(),
            y: Vec::new(),
            twice_delta_nll: Vec::new(),
            best_fit: None,
            levels: vec![2.295_748_928_898_636, 5.991_464_547_107_979],
        }
    }
}

impl Contour {
    /// Draws the scan as coloured regions, the contours as lines, and the best fit as a mark.
    ///
    /// # Errors
    /// If no point has a value, a parameter has fewer than two values or its values do not increase, or the
    /// lengths of fields differ.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        same_length(PICTURE, "twice_delta_nll", self.twice_delta_nll.len(), "y", self.y.len())?;
        for (index, row) in self.twice_delta_nll.iter().enumerate() {
            same_length(PICTURE, &format!("twice_delta_nll[{index}]"), row.len(), "x", self.x.len())?;
        }
        increasing(PICTURE, "x", &self.x)?;
        increasing(PICTURE, "y", &self.y)?;
        let empty =
            |field: &str, remedy| PictureError::Empty { picture: PICTURE, field: field.into(), remedy };
        for (field, values) in [("x", &self.x), ("y", &self.y)] {
            if values.len() < 2 {
                return Err(empty(field, "at least two values in each parameter"));
            }
        }
        let values: Vec<Vec<_>> =
            self.twice_delta_nll.iter().map(|row| row.iter().map(|v| present(*v)).collect()).collect();
        let failed = values.iter().flatten().filter(|value| value.is_none()).count();
        if failed == self.x.len() * self.y.len() {
            return Err(empty("twice_delta_nll", "at least one point whose fit succeeded"));
        }
        let levels: Vec<f64> =
            self.levels.iter().copied().filter_map(usable).filter(|level| *level > 0.0).collect();
        let top = 2.0 * levels.iter().copied().fold(1.0, f64::max);

        let parts = |nodes: usize| (120 / nodes.saturating_sub(1).max(1)).clamp(1, 12);
        let (x, y, fine) =
            refine::surface(&self.x, &self.y, &values, (parts(self.x.len()), parts(self.y.len())));
        let grid = Grid { x: &x, y: &y, values: &fine };

        let colours = Axis::linear(0.0, top);
        let colour_labels = colours.ticks(6).major;
        let bar = 20.0
            + 16.0
            + 6.0
            + colour_labels.iter().map(|(_, label)| font::width(label, TICK_SIZE)).fold(0.0, f64::max)
            + 34.0;
        let mut panel = self.layout(&levels, failed, bar).start();
        self.paint_surface(&mut panel, &grid, top);
        for (index, level) in levels.iter().enumerate() {
            for line in grid.lines(*level) {
                panel.curve(&line, pen(index));
            }
        }
        if failed <= 400 {
            for (y, row) in self.y.iter().zip(&values) {
                for (x, _) in self.x.iter().zip(row).filter(|(_, value)| value.is_none()) {
                    let (x, y) = (panel.x.at(*x), panel.y.at(*y));
                    panel.drawing.cross(x, y, 3.5, Stroke::solid(VERMILION, 1.4));
                }
            }
        }
        if let Some([x, y]) = self.best().filter(|[x, y]| panel.holds(*x, *y)) {
            let (x, y) = (panel.x.at(x), panel.y.at(y));
            legend::plus(&mut panel.drawing, x, y);
        }
        colour_bar(&mut panel, colours, &colour_labels);
        Ok(panel.finish())
    }

    fn layout(&self, levels: &[f64], failed: usize, right: f64) -> Layout<'_> {
        let mut entries = Vec::new();
        if let Some([x, y]) = self.best() {
            let text = format!("best fit ({}, {})", significant(x, 3), significant(y, 3));
            entries.push(Entry::new(Symbol::Plus, text));
        }
        for (index, level) in levels.iter().enumerate() {
            let label = coverage(1.0 - (-0.5 * level).exp());
            entries.push(Entry::new(Symbol::Line(pen(index)), label));
        }
        if failed > 0 {
            let cross = Symbol::Cross(Stroke::solid(VERMILION, 1.4));
            entries.push(Entry::new(cross, format!("fit failed ({failed})")));
        }
        let ends = |values: &[f64]| {
            let (first, last) = crate::number::extent(values.iter().copied()).unwrap_or((0.0, 1.0));
            Axis::linear(first, last)
        };
        Layout {
            header: Header { title: &self.title, subtitle: &self.subtitle, entries },
            description: format!("Likelihood contours of {} and {}", self.x_parameter, self.y_parameter),
            x: ends(&self.x),
            y: ends(&self.y),
            x_title: &self.x_parameter,
            y_title: &self.y_parameter,
            right,
        }
    }

    fn best(&self) -> Option<[f64; 2]> {
        self.best_fit.filter(|values| values.iter().all(|value| usable(*value).is_some()))
    }

    /// Paints the regions below a series of decreasing heights, each region on top of the previous one.
    fn paint_surface(&self, panel: &mut Panel<'_>, grid: &Grid<'_>, top: f64) {
        for band in (1..=BANDS + 1).rev() {
            let height = if band > BANDS { f64::MAX } else { top * band as f64 / BANDS as f64 };
            let mut path = Vec::new();
            for outline in grid.regions(height) {
                for (index, (x, y)) in outline.iter().enumerate() {
                    let (x, y) = (panel.x.clamped(*x), panel.y.clamped(*y));
                    path.push(if index == 0 { Segment::Move(x, y) } else { Segment::Line(x, y) });
                }
                path.push(Segment::Close);
            }
            panel.drawing.path(path, Ink::fill(band_colour(band)));
        }
    }
}

fn band_colour(band: usize) -> Colour {
    if band > BANDS { WHITE } else { sequential((band as f64 - 0.5) / BANDS as f64) }
}

fn pen(index: usize) -> Stroke {
    match index {
        0 => Stroke::solid(LINE, 2.2),
        1 => Stroke::dashed(LINE, 2.2, 8.0, 5.0),
        _ => Stroke::dashed(LINE, 1.8, 2.0, 3.0),
    }
}

fn colour_bar(panel: &mut Panel<'_>, axis: Axis, labels: &[(f64, String)]) {
    let area = Area { left: panel.area.right + 20.0, right: panel.area.right + 36.0, ..panel.area };
    let axis = axis.between(area.bottom, area.top);
    let page = &mut panel.drawing;
    for band in 1..=BANDS {
        let share = |edge: usize| area.bottom - area.height() * edge as f64 / BANDS as f64;
        page.rect(Area { top: share(band), bottom: share(band - 1), ..area }, Ink::tile(band_colour(band)));
    }
    frame::outline(page, &area);
    for (value, label) in labels {
        let y = axis.at(*value);
        page.line((area.right - 5.0, y), (area.right, y), Stroke::solid(GREY, 1.0));
        page.text(area.right + 6.0, y + drop(TICK_SIZE), label.clone(), Style::new(TICK_SIZE));
    }
    let style = Style::new(frame::TITLE_SIZE).ending().upwards();
    page.text(page.width - 8.0, area.top, "−2 Δ ln L", style);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_scans_of_a_paraboloid_give_ellipses() {
        let x: Vec<f64> = (0..13).map(|i| -3.0 + 0.5 * f64::from(i)).collect();
        let q = |x: f64, y: f64| 1.3 * x * x - x * y + 0.9 * y * y;
        let values: Vec<Vec<_>> = x.iter().map(|y| x.iter().map(|x| Some(q(*x, *y))).collect()).collect();
        let (xs, ys, fine) = refine::surface(&x, &x, &values, (10, 10));
        let grid = Grid { x: &xs, y: &ys, values: &fine };
        let lines = grid.lines(2.295_748_928_898_636);
        assert_eq!(lines.len(), 1);
        for (x, y) in &lines[0] {
            assert!((q(*x, *y) - 2.295_748_928_898_636).abs() < 5e-3, "{x} {y}");
        }
    }

    #[test]
    fn default_levels_cover_68_and_95_per_cent() {
        let labels: Vec<_> =
            Contour::default().levels.iter().map(|level| coverage(1.0 - (-0.5 * level).exp())).collect();
        assert_eq!(labels, ["68.3 %", "95 %"]);
    }
}
