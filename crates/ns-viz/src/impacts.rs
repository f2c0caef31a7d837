//! Pages of impacts: nuisance parameters with their pulls and, beside them, their impacts on the parameter of interest.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BAND_ONE, BAND_TWO, BLUE, GREY, ORANGE, WHITE};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::PictureError;
use crate::font;
use crate::frame::{self, Edge};
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::number::present;
use crate::ranking::{RankingRow, largest};
use crate::rows::{self, PULL_TITLE};
use crate::text::{Style, drop, fit};

const PICTURE: &str = "impacts";
const MARGIN: f64 = 16.0;
const PANEL: f64 = 270.0;
const GUTTER: f64 = 24.0;
const ROW: f64 = 22.0;
/// Width for the numbers of the rows, in pixels.
const NUMBERS: f64 = 34.0;
/// Largest width of the names.
const WIDEST: f64 = 330.0;
const SIZE: f64 = 12.0;
/// Rows of a page, as in CMS Combine.
const ON_PAGE: usize = 30;

/// The picture of impacts: nuisance parameters in the order of their impacts, numbered, on several pages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Impacts {
    /// Name of the parameter of interest.
    pub poi: String,
    /// Best-fit value of the parameter of interest with its uncertainty, as text. If empty, it is not drawn.
    pub value: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The nuisance parameters, in any order.
    pub rows: Vec<RankingRow>,
    /// Number of parameters that are drawn, starting with the largest impact; all parameters by default.
    pub max_rows: Option<usize>,
    /// Number of parameters of a page; 30 by default.
    pub per_page: Option<usize>,
}

impl Impacts {
    /// Draws the pages. A PDF has them as pages; other formats have them side by side.
    ///
    /// # Errors
    /// If there is no row to show.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        let shown = largest(&self.rows, self.max_rows, PICTURE)?;
        let each = self.per_page.unwrap_or(ON_PAGE).max(1);
        let count = shown.len().div_ceil(each);
        let names = shown.iter().map(|row| font::width(&row.parameter, SIZE)).fold(60.0, f64::max);
        let names = names.min(WIDEST) + 10.0;
        let pages: Vec<Drawing> = shown
            .chunks(each)
            .enumerate()
            .map(|(index, rows)| self.page(rows, index * each, names, (index, count)))
            .collect();
        let (Some(first), true) = (pages.first(), count > 1) else {
            let remedy = "at least one nuisance parameter";
            let empty = || PictureError::Empty { picture: PICTURE, field: "rows".into(), remedy };
            return pages.into_iter().next().ok_or_else(empty);
        };
        let (width, height) = (first.width, first.height);
        let columns = ((count as f64 * height / width).sqrt().ceil() as usize).clamp(1, count);
        // Only the last page may be shorter than the first. Alone in its line it needs less height.
        let last =
            pages.last().filter(|_| count % columns == 1 || columns == 1).map_or(height, |page| page.height);
        let lines = count.div_ceil(columns) - 1;
        let mut sheet =
            Drawing::new(width * columns as f64, height * lines as f64 + last, self.description());
        for (index, page) in pages.iter().enumerate() {
            sheet.put(page, width * (index % columns) as f64, height * (index / columns) as f64);
        }
        sheet.pages = pages;
        Ok(sheet)
    }

    fn description(&self) -> String {
        format!("Pulls of nuisance parameters and their impacts on {}", self.poi)
    }

    /// Draws one page. `before` is the number of rows on earlier pages.
    fn page(
        &self,
        rows: &[&RankingRow],
        before: usize,
        names: f64,
        (index, count): (usize, usize),
    ) -> Drawing {
        let place = (count > 1).then(|| format!("page {} of {count}", index + 1));
        let parts = [Some(self.subtitle.as_str()), place.as_deref(), Some(self.value.as_str())];
        let subtitle =
            parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
        let width = MARGIN + NUMBERS + names + 2.0 * PANEL + GUTTER + frame::RIGHT;
        let header = Header { title: &self.title, subtitle: &subtitle, entries: legend(rows) };
        let room = width - 2.0 * MARGIN;
        let top = header.height(room) + 6.0;
        let mut page = Drawing::new(width, top + ROW * rows.len() as f64 + frame::BELOW, self.description());
        header.draw(&mut page, MARGIN, room);
        let left = MARGIN + NUMBERS + names;
        let bottom = top + ROW * rows.len() as f64;
        let pulls = Area { left, right: left + PANEL, top, bottom };
        let impacts = Area { left: pulls.right + GUTTER, right: pulls.right + GUTTER + PANEL, ..pulls };
        self.names(&mut page, rows, before, &Area { left: MARGIN, right: left, ..pulls });
        draw_pulls(&mut page, rows, &pulls);
        draw_impacts(&mut page, rows, &impacts, &self.poi);
        page
    }

    /// Writes the numbers and names of the rows.
    fn names(&self, page: &mut Drawing, rows: &[&RankingRow], before: usize, area: &Area) {
        for (place, row) in rows.iter().enumerate() {
            let y = area.top + (place as f64 + 0.5) * ROW;
            let number = Style::new(10.0).coloured(GREY).ending();
            page.text(area.left + NUMBERS - 8.0, y + drop(10.0), (before + place + 1).to_string(), number);
            let room = area.width() - NUMBERS - 10.0;
            let (text, size) = fit(&row.parameter, room, SIZE, 7.5);
            let dagger = if row.clipped { " †" } else { "" };
            page.text(
                area.right - 10.0,
                y + drop(size),
                format!("{text}{dagger}"),
                Style::new(size).ending(),
            );
        }
    }
}

fn draw_pulls(page: &mut Drawing, rows: &[&RankingRow], area: &Area) {
    let half = rows::pull_range(rows.iter().map(|row| (&row.pull, &row.constraint)), 2.0);
    let axis = Axis::linear(-half, half).between(area.left, area.right);
    for (reach, colour) in [(2.0, BAND_TWO), (1.0, BAND_ONE)] {
        let band = Area { left: axis.clamped(-reach), right: axis.clamped(reach), ..*area };
        page.rect(band, Ink::fill(colour.mix(WHITE, 0.6)));
    }
    page.line((axis.at(0.0), area.top), (axis.at(0.0), area.bottom), Stroke::dashed(GREY, 1.0, 5.0, 4.0));
    for (place, row) in rows.iter().enumerate() {
        let y = area.top + (place as f64 + 0.5) * ROW;
        rows::pull(page, area, &axis, y, row.pull, row.constraint, ROW);
        rows::note(page, area, y, &row.note, ROW, BAND_ONE.mix(WHITE, 0.6));
    }
    finish(page, area, &axis, PULL_TITLE);
}

fn draw_impacts(page: &mut Drawing, rows: &[&RankingRow], area: &Area, poi: &str) {
    let sizes = rows.iter().flat_map(|row| {
        let (up, down) = sides(row);
        [up, down]
    });
    let largest = sizes.flatten().map(f64::abs).fold(0.0, f64::max);
    let half = if largest > 0.0 { 1.15 * largest } else { 1.0 };
    let axis = Axis::linear(-half, half).between(area.left, area.right);
    rows::stripes(page, area, rows.len(), ROW);
    for (place, row) in rows.iter().enumerate() {
        let y = area.top + (place as f64 + 0.5) * ROW;
        let (up, down) = sides(row);
        for (value, colour) in [(up, BLUE), (down, ORANGE)] {
            if let Some(value) = value {
                let (zero, end) = (axis.at(0.0), axis.at(value));
                let (left, right) = (zero.min(end), zero.max(end));
                let bar = Area { left, right, top: y - 0.32 * ROW, bottom: y + 0.32 * ROW };
                page.rect(bar, Ink::fill(colour));
            }
        }
    }
    page.line((axis.at(0.0), area.top), (axis.at(0.0), area.bottom), Stroke::solid(GREY, 0.8));
    finish(page, area, &axis, &format!("Impact on {poi}"));
}

fn finish(page: &mut Drawing, area: &Area, axis: &Axis, title: &str) {
    let ticks = frame::horizontal_ticks(axis, area.width());
    frame::horizontal_marks(page, area, axis, &ticks, &[Edge::Top, Edge::Bottom]);
    frame::horizontal_labels(page, area, axis, &ticks, Edge::Bottom, title);
    frame::outline(page, area);
}

/// Impacts of the parameter upwards and downwards: those after the fit, or without them those before it.
fn sides(row: &RankingRow) -> (Option<f64>, Option<f64>) {
    let after = (present(row.postfit_up), present(row.postfit_down));
    if after == (None, None) { (present(row.prefit_up), present(row.prefit_down)) } else { after }
}

fn legend(rows: &[&RankingRow]) -> Vec<Entry> {
    let mut entries = vec![
        Entry::new(Symbol::Pull, "pull and constraint"),
        Entry::new(Symbol::Box(Ink::fill(BLUE)), "+1 standard deviation"),
        Entry::new(Symbol::Box(Ink::fill(ORANGE)), "−1 standard deviation"),
    ];
    if rows.iter().any(|row| row.clipped) {
        entries.push(Entry::new(Symbol::Sign("†"), "shift cut at a bound"));
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_thirty_numbered_rows() {
        let row = |i: u32| RankingRow {
            parameter: format!("alpha_{i}"),
            pull: Some(0.1),
            constraint: Some(0.9),
            postfit_up: Some(0.1 / f64::from(i + 1)),
            postfit_down: Some(-0.1 / f64::from(i + 1)),
            ..RankingRow::default()
        };
        let impacts = Impacts { poi: "mu".into(), rows: (0..70).map(row).collect(), ..Impacts::default() };
        let sheet = impacts.draw().unwrap();
        assert_eq!(sheet.pages(), 3);
        let texts: Vec<String> = sheet.pages[2].labels().into_iter().map(|label| label.text).collect();
        for wanted in ["61", "70", "alpha_60", "page 3 of 3", "Impact on mu"] {
            assert!(texts.iter().any(|text| text == wanted), "{wanted}: {texts:?}");
        }
        assert!(sheet.labels().iter().any(|label| label.text == "alpha_69"));
        assert!(Impacts { max_rows: Some(20), ..impacts }.draw().unwrap().pages.is_empty());
        assert!(Impacts::default().draw().is_err());
    }
}
