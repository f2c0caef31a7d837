//! The picture of excluded signals in a plane of two labels, such as two masses.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::clip;
use crate::colour::{BAND_ONE, BLACK, GREY, VERMILION, WHITE};
use crate::drawing::{Drawing, Ink, Segment, Stroke};
use crate::error::{PictureError, drawable, same_length};
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::limit::confidence;
use crate::number::{extent, present, trimmed};
use crate::panel::{Layout, Panel};
use crate::triangles::Triangles;

const PICTURE: &str = "exclusion";
const OBSERVED: Stroke = Stroke { colour: BLACK, width: 2.2, dash: None };
const MEDIAN: Stroke = Stroke { colour: BLACK, width: 2.0, dash: Some((7.0, 4.0)) };
const FAILED: Stroke = Stroke { colour: VERMILION, width: 1.4, dash: None };
/// Smallest limit that counts, divided by the level. Smaller and negative limits count as this one.
const SMALLEST: f64 = 1e-3;

/// The picture of excluded signals in a plane of two labels. Signals lie anywhere in the plane, not only on a grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Exclusion {
    /// Name of the label on the horizontal axis.
    pub x_label: String,
    /// Name of the label on the vertical axis.
    pub y_label: String,
    /// Name of the parameter of interest.
    pub poi: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Value of the horizontal label for each signal.
    pub x: Vec<f64>,
    /// Value of the vertical label for each signal.
    pub y: Vec<f64>,
    /// Observed upper limit for each signal; `None` if there is none. If the list is empty, no observed limits are
    /// drawn.
    pub observed: Vec<Option<f64>>,
    /// Expected upper limits for each signal, for background fluctuations of -2, -1, 0, 1 and 2 standard deviations. If
    /// the list is empty, no expected limits are drawn.
    pub expected: Vec<[Option<f64>; 5]>,
    /// Confidence level of the limits, between 0 and 1.
    pub cl: f64,
    /// Signals with a limit below this value, which must be positive, are excluded.
    pub excluded_below: f64,
}

impl Default for Exclusion {
    fn default() -> Self {
        Self {
            x_label: String::new(),
            y_label: String::new(),
            poi: String::new(),
            title: String::new(),
            subtitle: String::new(),
            x: Vec::new(),
            y: Vec::new(),
            observed: Vec::new(),
            expected: Vec::new(),
            cl: 0.95,
            excluded_below: 1.0,
        }
    }
}

impl Exclusion {
    /// Draws a mark for each signal, and the lines at which the observed and the median expected limit are
    /// `excluded_below`, with the band between the lines of -1 and +1 standard deviations. Between signals the logarithm
    /// of a limit is linear in the triangles of a Delaunay triangulation; outside of them there are no lines.
    ///
    /// # Errors
    /// If there is no limit, the lengths of fields differ, a coordinate is not finite, `cl` is not between 0 and 1, or
    /// `excluded_below` is not positive.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        drawable(PICTURE, "x", &self.x)?;
        drawable(PICTURE, "y", &self.y)?;
        same_length(PICTURE, "y", self.y.len(), "x", self.x.len())?;
        if !self.observed.is_empty() {
            same_length(PICTURE, "observed", self.observed.len(), "x", self.x.len())?;
        }
        if !self.expected.is_empty() {
            same_length(PICTURE, "expected", self.expected.len(), "x", self.x.len())?;
        }
        let levels = 1e-90..1e90;
        for (field, value, good, range) in [
            ("cl", self.cl, self.cl > 0.0 && self.cl < 1.0, "between 0 and 1"),
            (
                "excluded_below",
                self.excluded_below,
                levels.contains(&self.excluded_below),
                "between 1e-90 and 1e90",
            ),
        ] {
            if !good {
                return Err(PictureError::OutOfRange { picture: PICTURE, field: field.into(), value, range });
            }
        }
        if self.decisive().all(|height| height.is_none()) {
            let remedy = "an observed or expected limit for at least one signal";
            return Err(PictureError::Empty { picture: PICTURE, field: "observed".into(), remedy });
        }
        let observed: Vec<Option<f64>> = self.observed.iter().map(|limit| self.height(*limit)).collect();
        let expected = |k: usize| -> Vec<Option<f64>> {
            self.expected.iter().map(|all| self.height(all.get(k).copied().flatten())).collect()
        };
        let (low, median, high) = (expected(1), expected(2), expected(3));
        // The legend says whether there are lines, and only their positions depend on its height.
        let panel = self.layout(Vec::new()).start();
        let has_lines = [&observed, &median].map(|heights| !self.lines(&panel, heights).is_empty());
        let entries = self.entries(&observed, &median, &low, &high, has_lines);
        let mut panel = self.layout(entries).start();
        self.band(&mut panel, &low, &high);
        for (heights, pen) in [(&median, MEDIAN), (&observed, OBSERVED)] {
            for line in self.lines(&panel, heights) {
                for part in clip::polyline(&line, &panel.area) {
                    panel.drawing.polyline(&part, pen);
                }
            }
        }
        for ((x, y), height) in self.x.iter().zip(&self.y).zip(self.decisive()) {
            let (x, y) = (panel.x.at(*x), panel.y.at(*y));
            match height {
                Some(height) => panel.drawing.circle(x, y, 2.6, mark(height < 0.0)),
                None => panel.drawing.cross(x, y, 3.5, FAILED),
            }
        }
        Ok(panel.finish())
    }

    /// Returns the logarithm of a limit divided by the level.
    fn height(&self, limit: Option<f64>) -> Option<f64> {
        present(limit).map(|limit| (limit / self.excluded_below).max(SMALLEST).ln())
    }

    /// Returns for each signal the height that decides whether it is excluded: that of the observed limit, or without
    /// observed limits that of the median expected one.
    fn decisive(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        let has_observed = self.observed.iter().any(|limit| present(*limit).is_some());
        (0..self.x.len()).map(move |i| {
            if has_observed {
                return self.height(self.observed.get(i).copied().flatten());
            }
            self.height(self.expected.get(i).and_then(|all| all.get(2).copied().flatten()))
        })
    }

    /// Returns the positions of the signals on the page that have all of these heights, with the heights.
    fn placed<const N: usize>(
        &self,
        panel: &Panel<'_>,
        heights: [&[Option<f64>]; N],
    ) -> (Vec<(f64, f64)>, [Vec<f64>; N]) {
        let (mut points, mut values) = (Vec::new(), std::array::from_fn(|_| Vec::new()));
        for (i, (x, y)) in self.x.iter().zip(&self.y).enumerate() {
            let all = heights.map(|heights| heights.get(i).copied().flatten());
            if all.iter().all(Option::is_some) {
                points.push((panel.x.at(*x), panel.y.at(*y)));
                values.iter_mut().zip(all).for_each(|(list, value): (&mut Vec<f64>, _)| list.extend(value));
            }
        }
        (points, values)
    }

    fn lines(&self, panel: &Panel<'_>, heights: &[Option<f64>]) -> Vec<Vec<(f64, f64)>> {
        let (points, [heights]) = self.placed(panel, [heights]);
        Triangles::of(&points).lines(&heights)
    }

    fn band(&self, panel: &mut Panel<'_>, low: &[Option<f64>], high: &[Option<f64>]) {
        let (points, [low, high]) = self.placed(panel, [low, high]);
        // One path for all polygons, so that no edges show between them.
        let mut path = Vec::new();
        for polygon in Triangles::of(&points).between(&low, &high) {
            for (i, (x, y)) in polygon.into_iter().enumerate() {
                path.push(if i == 0 { Segment::Move(x, y) } else { Segment::Line(x, y) });
            }
            path.push(Segment::Close);
        }
        panel.drawing.path(path, Ink::fill(BAND_ONE));
    }

    fn layout(&self, entries: Vec<Entry>) -> Layout<'_> {
        let ends = |values: &[f64]| {
            let (first, last) = extent(values.iter().copied()).unwrap_or((0.0, 1.0));
            let room = 0.04 * (last - first);
            Axis::linear(first - room, last + room)
        };
        Layout {
            header: Header { title: &self.title, subtitle: &self.subtitle, entries },
            description: format!("Excluded signals in the plane of {} and {}", self.x_label, self.y_label),
            x: ends(&self.x),
            y: ends(&self.y),
            x_title: &self.x_label,
            y_title: &self.y_label,
            right: 0.0,
        }
    }

    fn entries(
        &self,
        observed: &[Option<f64>],
        median: &[Option<f64>],
        low: &[Option<f64>],
        high: &[Option<f64>],
        has_lines: [bool; 2],
    ) -> Vec<Entry> {
        let mut entries = Vec::new();
        let confidence = confidence(1.0 - self.cl);
        // Signals are usually those of the model, at a strength of 1.
        let strength = if self.excluded_below == 1.0 {
            String::new()
        } else {
            format!(" at {} = {}", self.poi, trimmed(self.excluded_below, 4))
        };
        let kinds = [("observed", OBSERVED, observed), ("expected", MEDIAN, median)];
        for ((name, pen, heights), has_line) in kinds.into_iter().zip(has_lines) {
            let known: Vec<f64> = heights.iter().copied().flatten().collect();
            let note = match known.iter().filter(|height| **height < 0.0).count() {
                _ if known.is_empty() => continue,
                _ if has_line => "",
                0 => ": none excluded",
                n if n == known.len() => ": all excluded",
                // The signals lie on a line, so that nothing is known beside it.
                _ => ": no line",
            };
            entries.push(Entry::new(Symbol::Line(pen), format!("{name} {confidence}{note}")));
        }
        if low.iter().zip(high).any(|(low, high)| low.is_some() && high.is_some()) {
            entries.push(Entry::new(Symbol::Box(Ink::fill(BAND_ONE)), "±1 σ"));
        }
        let count =
            |wanted: &dyn Fn(Option<f64>) -> bool| self.decisive().filter(|height| wanted(*height)).count();
        let (inside, outside) = (
            count(&|height| height.is_some_and(|height| height < 0.0)),
            count(&|height| height.is_some_and(|height| height >= 0.0)),
        );
        let missing = count(&|height| height.is_none());
        if inside > 0 {
            let text = format!("excluded{strength} ({inside})");
            entries.push(Entry::new(Symbol::Dot(mark(true)), text));
        }
        if outside > 0 {
            let text = format!("not excluded{strength} ({outside})");
            entries.push(Entry::new(Symbol::Dot(mark(false)), text));
        }
        if missing > 0 {
            entries.push(Entry::new(Symbol::Cross(FAILED), format!("no limit ({missing})")));
        }
        entries
    }
}

/// Returns the ink of a signal's mark.
fn mark(excluded: bool) -> Ink {
    let pen = Stroke::solid(GREY, 1.0);
    if excluded { Ink::outlined(GREY, pen) } else { Ink::outlined(WHITE, pen) }
}
