//! The picture of the templates of systematics: nominal, up and down, before and after smoothing, and their relative changes.

use serde::{Deserialize, Serialize};

use crate::axis::{Axis, Ticks};
use crate::clip;
use crate::colour::{BLACK, BLUE, Colour, GREY, LIGHT_GREY, VERMILION};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::{PictureError, drawable, increasing, same_length};
use crate::frame::{self, Edge};
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::number::extent;
use crate::text::{Style, fit};

const PICTURE: &str = "templates";
const MARGIN: f64 = 16.0;
/// Size of the two panels of a systematic, in pixels.
const WIDTH: f64 = 300.0;
const UPPER: f64 = 130.0;
const LOWER: f64 = 110.0;
/// Height of the two lines above a panel.
const CAPTION: f64 = 40.0;
const SMALL: f64 = 12.0;
/// Largest number of systematics on a page of a PDF.
const ON_PAGE: usize = 12;
const COLUMNS: usize = 3;

/// The templates of one systematic on one sample of a channel. Lists have one number for each bin.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TemplateSet {
    /// Name of the systematic.
    pub systematic: String,
    /// Names of channel and sample, or another text below the name.
    pub subject: String,
    /// A text about what is left out. If empty, there is none.
    pub note: String,
    /// Title of the horizontal axis. If empty, there is none.
    pub x_title: String,
    /// Edges of the bins, one more than there are bins.
    pub bin_edges: Vec<f64>,
    /// Expected events without the systematic.
    pub nominal: Vec<f64>,
    /// Statistical uncertainty of the nominal events. If the list is empty, no uncertainty is drawn.
    pub uncertainty: Vec<f64>,
    /// Expected events at +1 standard deviation.
    pub up: Vec<f64>,
    /// Expected events at -1 standard deviation.
    pub down: Vec<f64>,
    /// The same as `up` before it was smoothed. If the list is empty, it was not smoothed.
    pub up_before: Vec<f64>,
    /// The same as `down` before it was smoothed.
    pub down_before: Vec<f64>,
}

/// The picture of the templates of systematics, two panels for each.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Templates {
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The systematics, in reading order.
    pub sets: Vec<TemplateSet>,
}

/// A line of a panel.
struct Curve<'a> {
    values: &'a [f64],
    pen: Stroke,
}

impl Templates {
    /// Draws events and relative changes of all systematics, in rows of three. A PDF has pages of twelve.
    ///
    /// # Errors
    /// If there is no systematic, the lengths of lists differ, edges do not increase, or a number cannot be drawn.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        if self.sets.is_empty() {
            let remedy = "at least one systematic with templates";
            return Err(PictureError::Empty { picture: PICTURE, field: "sets".into(), remedy });
        }
        for set in &self.sets {
            set.check()?;
        }
        // A picture of very many systematics is about square.
        let square =
            ((self.sets.len() as f64 * (UPPER + LOWER + 140.0) / (WIDTH + 90.0)).sqrt()).ceil() as usize;
        let columns = if self.sets.len() > 4 * ON_PAGE { square.max(COLUMNS) } else { COLUMNS };
        let mut page = self.page(&self.sets, columns, &self.subtitle);
        if self.sets.len() > ON_PAGE {
            let count = self.sets.len().div_ceil(ON_PAGE);
            for (index, sets) in self.sets.chunks(ON_PAGE).enumerate() {
                let place = format!("page {} of {count}", index + 1);
                let subtitle = match self.subtitle.as_str() {
                    "" => place,
                    own => format!("{own} · {place}"),
                };
                page.pages.push(self.page(sets, COLUMNS, &subtitle));
            }
        }
        Ok(page)
    }

    fn page(&self, sets: &[TemplateSet], columns: usize, subtitle: &str) -> Drawing {
        let columns = columns.min(sets.len()).max(1);
        let scales: Vec<Scales> = sets.iter().map(Scales::new).collect();
        let left = scales.iter().map(Scales::left_room).fold(0.0, f64::max);
        let cell = left + WIDTH + frame::RIGHT;
        let tall = CAPTION + UPPER + frame::SPLIT + LOWER + frame::BELOW;
        let width = (2.0 * MARGIN + cell * columns as f64).max(520.0);
        let smoothed = sets.iter().any(|set| !set.up_before.is_empty() || !set.down_before.is_empty());
        let uncertain = sets.iter().any(|set| !set.uncertainty.is_empty());
        let header = Header { title: &self.title, subtitle, entries: entries(smoothed, uncertain) };
        let room = width - 2.0 * MARGIN;
        let top = header.height(room) + 8.0;
        let height = top + tall * sets.len().div_ceil(columns) as f64 + MARGIN;
        let description = format!("Templates of {} systematic uncertainties", sets.len());
        let mut page = Drawing::new(width, height, description);
        header.draw(&mut page, MARGIN, room);
        for (index, (set, scales)) in sets.iter().zip(&scales).enumerate() {
            let x = MARGIN + cell * (index % columns) as f64 + left;
            let y = top + tall * (index / columns) as f64 + CAPTION;
            let upper = Area { left: x, right: x + WIDTH, top: y, bottom: y + UPPER };
            let below = y + UPPER + frame::SPLIT;
            let lower = Area { top: below, bottom: below + LOWER, ..upper };
            set.draw(&mut page, upper, lower, scales, left);
        }
        page
    }
}

/// The axes of a systematic, and their ticks.
struct Scales {
    x: Axis,
    events: Axis,
    change: Axis,
    ticks: [Ticks; 3],
}

impl Scales {
    fn new(set: &TemplateSet) -> Self {
        let ends = extent(set.bin_edges.iter().copied()).unwrap_or((0.0, 1.0));
        let all = || set.curves().into_iter().flat_map(|curve| curve.values.iter().copied());
        let (least, most) = extent(all().chain([0.0])).unwrap_or((0.0, 1.0));
        let changes = set.curves().into_iter().flat_map(|curve| set.changes(curve.values));
        let bands = set.bands().into_iter();
        let largest = changes.flatten().chain(bands).map(f64::abs).fold(0.0, f64::max);
        let largest = if largest > 0.0 { 1.2 * largest } else { 1.0 };
        let x = Axis::linear(ends.0, ends.1).between(0.0, WIDTH);
        let events = Axis::linear(least, 1.15 * most).between(UPPER, 0.0);
        let change = Axis::linear(-largest, largest).between(LOWER, 0.0);
        let ticks = [
            frame::horizontal_ticks(&x, WIDTH),
            // The panels are too low for the usual distance of ticks.
            events.ticks(4),
            change.ticks(4),
        ];
        Self { x, events, change, ticks }
    }

    fn left_room(&self) -> f64 {
        frame::left_room(&[&self.ticks[1], &self.ticks[2]])
    }
}

impl TemplateSet {
    fn check(&self) -> Result<(), PictureError> {
        increasing(PICTURE, "bin_edges", &self.bin_edges)?;
        let bins = self.bin_edges.len().saturating_sub(1);
        for (field, values, optional) in [
            ("nominal", &self.nominal, false),
            ("uncertainty", &self.uncertainty, true),
            ("up", &self.up, false),
            ("down", &self.down, false),
            ("up_before", &self.up_before, true),
            ("down_before", &self.down_before, true),
        ] {
            if !(optional && values.is_empty()) {
                same_length(PICTURE, field, values.len(), "bin_edges", bins)?;
            }
            drawable(PICTURE, field, values)?;
        }
        Ok(())
    }

    /// The lines of a systematic, those in front last.
    fn curves(&self) -> Vec<Curve<'_>> {
        let before = |values, colour| Curve { values, pen: Stroke::dashed(colour, 1.3, 3.0, 3.0) };
        let after = |values, colour| Curve { values, pen: Stroke::solid(colour, 1.8) };
        vec![
            before(&self.up_before, VERMILION),
            before(&self.down_before, BLUE),
            after(&self.nominal, BLACK),
            after(&self.down, BLUE),
            after(&self.up, VERMILION),
        ]
    }

    /// Relative changes in per cent; `None` where nothing is expected.
    fn changes(&self, values: &[f64]) -> Vec<Option<f64>> {
        let change = |(v, n): (&f64, &f64)| (*n != 0.0).then(|| 100.0 * (v / n - 1.0));
        values.iter().zip(&self.nominal).map(change).map(|x| x.filter(|x| x.is_finite())).collect()
    }

    /// Relative uncertainties of the nominal events in per cent; 0 where nothing is expected.
    fn bands(&self) -> Vec<f64> {
        let band = |(u, n): (&f64, &f64)| if *n == 0.0 { 0.0 } else { (100.0 * u / n).abs() };
        self.uncertainty.iter().zip(&self.nominal).map(band).filter(|x| x.is_finite()).collect()
    }

    fn draw(&self, page: &mut Drawing, upper: Area, lower: Area, scales: &Scales, left: f64) {
        let (name, size) = fit(&self.systematic, WIDTH, frame::TITLE_SIZE, 9.0);
        page.text(upper.left, upper.top - 24.0, name, Style::new(size));
        let subject = match self.note.as_str() {
            "" => self.subject.clone(),
            note => format!("{} · {note}", self.subject),
        };
        let (subject, size) = fit(&subject, WIDTH, SMALL, 8.0);
        page.text(upper.left, upper.top - 8.0, subject, Style::new(size).coloured(GREY));
        let x = scales.x.between(upper.left, upper.right);
        let events = scales.events.between(upper.bottom, upper.top);
        let change = scales.change.between(lower.bottom, lower.top);
        for (band, pair) in self.bands().into_iter().zip(self.bin_edges.windows(2)) {
            let [low, high] = [pair[0], pair[1]].map(|edge| x.at(edge));
            let area =
                Area { left: low, right: high, top: change.clamped(band), bottom: change.clamped(-band) };
            page.rect(area, Ink::tile(LIGHT_GREY));
        }
        for curve in self.curves() {
            let values: Vec<Option<f64>> = curve.values.iter().map(|value| Some(*value)).collect();
            self.steps(page, &upper, (&x, &events), &values, curve.pen);
            self.steps(page, &lower, (&x, &change), &self.changes(curve.values), curve.pen);
        }
        let [ticks, event_ticks, change_ticks] = &scales.ticks;
        for (area, y, ticks_of_y, title) in
            [(&upper, &events, event_ticks, "events"), (&lower, &change, change_ticks, "change [%]")]
        {
            frame::horizontal_marks(page, area, &x, ticks, &[Edge::Bottom, Edge::Top]);
            frame::vertical(page, area, y, ticks_of_y, left, title);
            frame::outline(page, area);
        }
        // A longer title would reach into the panels to the left.
        let (title, _) = fit(&self.x_title, WIDTH, frame::TITLE_SIZE, frame::TITLE_SIZE);
        frame::horizontal_labels(page, &lower, &x, ticks, Edge::Bottom, &title);
    }

    /// Draws values as steps, with gaps where there are none.
    fn steps(
        &self,
        page: &mut Drawing,
        area: &Area,
        (x, y): (&Axis, &Axis),
        values: &[Option<f64>],
        pen: Stroke,
    ) {
        let mut line: Vec<(f64, f64)> = Vec::with_capacity(2 * values.len());
        let mut finish = |line: &mut Vec<(f64, f64)>| {
            for part in clip::polyline(line, area) {
                page.polyline(&part, pen);
            }
            line.clear();
        };
        for (value, pair) in values.iter().zip(self.bin_edges.windows(2)) {
            match value {
                Some(value) => line.extend([(x.at(pair[0]), y.at(*value)), (x.at(pair[1]), y.at(*value))]),
                None => finish(&mut line),
            }
        }
        finish(&mut line);
    }
}

fn entries(smoothed: bool, uncertain: bool) -> Vec<Entry> {
    let line = |colour: Colour| Symbol::Line(Stroke::solid(colour, 1.8));
    let mut entries = vec![
        Entry::new(line(BLACK), "nominal"),
        Entry::new(line(VERMILION), "up"),
        Entry::new(line(BLUE), "down"),
    ];
    if smoothed {
        entries.push(Entry::new(Symbol::Line(Stroke::dashed(GREY, 1.3, 3.0, 3.0)), "before smoothing"));
    }
    if uncertain {
        entries.push(Entry::new(Symbol::Box(Ink::fill(LIGHT_GREY)), "statistical uncertainty"));
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> TemplateSet {
        TemplateSet {
            systematic: "scale".into(),
            subject: "SR, background".into(),
            x_title: "mass [GeV]".into(),
            bin_edges: vec![0.0, 1.0, 3.0, 4.0],
            nominal: vec![10.0, 0.0, 5.0],
            uncertainty: vec![1.0, 0.0, 0.5],
            up: vec![11.0, 0.0, 6.0],
            down: vec![9.0, 1.0, 4.5],
            up_before: vec![12.0, 0.0, 5.5],
            ..TemplateSet::default()
        }
    }

    #[test]
    fn systematics_have_panels_and_pages() {
        let one = Templates { sets: vec![set()], ..Templates::default() }.draw().unwrap();
        assert!(one.pages.is_empty());
        let texts: Vec<String> = one.labels().into_iter().map(|label| label.text).collect();
        for wanted in ["scale", "SR, background", "before smoothing", "change [%]", "mass [GeV]"] {
            assert!(texts.iter().any(|text| text == wanted), "{texts:?}");
        }
        let many = Templates { sets: vec![set(); 30], ..Templates::default() }.draw().unwrap();
        assert_eq!(many.pages.len(), 3);
    }

    #[test]
    fn wrong_numbers_are_named() {
        let draw = |set: TemplateSet| Templates { sets: vec![set], ..Templates::default() }.draw();
        assert!(Templates::default().draw().is_err());
        assert!(draw(TemplateSet { up: vec![1.0], ..set() }).is_err());
        assert!(draw(TemplateSet { down: vec![1.0, f64::NAN, 2.0], ..set() }).is_err());
        assert!(draw(TemplateSet { bin_edges: vec![0.0, 0.0, 1.0, 2.0], ..set() }).is_err());
    }
}
