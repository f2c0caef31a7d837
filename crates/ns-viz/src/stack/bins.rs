//! Bins with names, such as regions, and what is drawn for each bin besides the stack.

use super::{Stack, before_line};
use crate::axis::Axis;
use crate::clip;
use crate::columns::{self, Cell};
use crate::drawing::{Area, Drawing};
use crate::font;
use crate::frame::{self, TICK_SIZE};
use crate::text::{Style, drop, fit};

/// Smallest width of a bin with a name, in pixels.
const NARROWEST: f64 = 13.0;
/// Largest length of a name that runs upwards, in pixels.
const LONGEST: f64 = 170.0;
/// Smallest font of names that run to the right.
const SMALLEST: f64 = 9.0;
/// Space between the axis and the names.
const GAP: f64 = 7.0;
/// Largest width of the labels of the vertical axis, in pixels.
const SIDE: f64 = 102.0;
/// Height below names, in pixels.
const MARGIN: f64 = 10.0;

impl Stack {
    /// Returns the width that a channel needs for the names of its bins, in pixels.
    pub(crate) fn named_width(&self) -> f64 {
        if self.labels.is_empty() { 0.0 } else { 8.0 + SIDE + NARROWEST * self.labels.len() as f64 }
    }

    /// Returns the additional height that a channel of this width needs below it for the names of its bins, in pixels. It is
    /// negative if these need less than numbers with a title.
    pub(crate) fn below_labels(&self, width: f64) -> f64 {
        let height = match (self.labels.is_empty(), self.is_flat(width)) {
            (true, _) => return 0.0,
            (_, true) if !self.x_title.is_empty() => return 0.0,
            (_, true) => TICK_SIZE,
            (_, false) => self.longest().min(LONGEST),
        };
        GAP + height + MARGIN - frame::BELOW
    }

    /// Whether names run to the right in a channel of this width.
    pub(super) fn is_flat(&self, width: f64) -> bool {
        self.fits((width - SIDE) / self.labels.len().max(1) as f64)
    }

    fn longest(&self) -> f64 {
        self.labels.iter().map(|label| font::width(label, TICK_SIZE)).fold(0.0, f64::max)
    }

    /// Whether names fit below bins of this width, in a somewhat smaller font if they are long.
    fn fits(&self, bin: f64) -> bool {
        self.longest() * SMALLEST <= (bin - 6.0) * TICK_SIZE
    }

    /// Writes the names below the bins. Names that are too long, and are not `flat`, run upwards.
    pub(super) fn name_bins(&self, page: &mut Drawing, area: &Area, x: &Axis, flat: bool) {
        let width = area.width() / self.labels.len().max(1) as f64;
        // All names have one size.
        let size = TICK_SIZE.min(0.9 * width);
        let sizes = self.labels.iter().map(|label| fit(label, LONGEST, size, size.min(8.0)).1);
        let size = sizes.fold(size, f64::min);
        for (label, ends) in self.labels.iter().zip(self.edges.windows(2)) {
            let &[low, high] = ends else { continue };
            let middle = 0.5 * (x.at(low) + x.at(high));
            if flat {
                let size = TICK_SIZE.min(TICK_SIZE * (width - 6.0) / self.longest().max(1.0));
                let style = Style::new(size).centred();
                page.text(middle, area.bottom + GAP + 0.76 * TICK_SIZE, label.clone(), style);
            } else {
                let (text, size) = fit(label, LONGEST, size, size);
                page.text(middle + drop(size), area.bottom + GAP, text, Style::new(size).ending().upwards());
            }
        }
        let (text, size) = fit(&self.x_title, area.width(), frame::TITLE_SIZE, 9.0);
        if flat {
            page.text(area.right, area.bottom + 41.0, text, Style::new(size).ending());
        }
    }

    /// Draws the expectation before the fit as a dashed line. `shown` converts it to the scale of the panel.
    pub(super) fn paint_before(
        &self,
        page: &mut Drawing,
        x: &Axis,
        y: &Axis,
        shown: impl Fn(usize, f64) -> Option<f64>,
    ) {
        if self.before.is_empty() {
            return;
        }
        let value = |bin: usize| shown(bin, self.before.get(bin).copied().flatten()?);
        let area = Area {
            left: x.at(x.lo).min(x.at(x.hi)),
            right: x.at(x.lo).max(x.at(x.hi)),
            top: y.at(y.lo).min(y.at(y.hi)),
            bottom: y.at(y.lo).max(y.at(y.hi)),
        };
        let mut line = Vec::new();
        let mut finish = |line: &mut Vec<(f64, f64)>| {
            for part in clip::polyline(line, &area) {
                page.polyline(&part, before_line());
            }
            line.clear();
        };
        for run in columns::runs(&self.cells(x, value)) {
            for Cell { left, right, bin, .. } in run {
                match value(*bin) {
                    Some(value) => line.extend([(*left, y.at(value)), (*right, y.at(value))]),
                    None => finish(&mut line),
                }
            }
            finish(&mut line);
        }
    }
}
