//! The header above a panel: title, subtitle and legend.

use crate::colour::GREY;
use crate::drawing::Drawing;
use crate::legend::{self, Entry};
use crate::text::{Style, fit};

const TOP: f64 = 14.0;
const TITLE: f64 = 17.0;
const SUBTITLE: f64 = 12.0;

/// Title, subtitle and legend of a picture.
pub(crate) struct Header<'a> {
    pub(crate) title: &'a str,
    pub(crate) subtitle: &'a str,
    pub(crate) entries: Vec<Entry>,
}

impl Header<'_> {
    /// Returns the height of the header in pixels if its width is `room`.
    pub(crate) fn height(&self, room: f64) -> f64 {
        let title = if self.title.is_empty() { 0.0 } else { 26.0 };
        let subtitle = if self.subtitle.is_empty() { 0.0 } else { 20.0 };
        TOP + title + subtitle + legend::height(&self.entries, room) + 8.0
    }

    /// Draws the header at the top of the page, with its left edge at `left` and the width `room`.
    pub(crate) fn draw(&self, drawing: &mut Drawing, left: f64, room: f64) {
        let mut y = TOP;
        if !self.title.is_empty() {
            let (text, size) = fit(self.title, room, TITLE, 11.0);
            drawing.text(left, y + 0.8 * TITLE, text, Style::new(size));
            y += 26.0;
        }
        if !self.subtitle.is_empty() {
            let (text, size) = fit(self.subtitle, room, SUBTITLE, 9.0);
            drawing.text(left, y + 0.8 * SUBTITLE, text, Style::new(size).coloured(GREY));
            y += 20.0;
        }
        legend::draw(drawing, &self.entries, left, y, room);
    }
}
