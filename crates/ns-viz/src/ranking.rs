//! The picture of a ranking of nuisance parameters: their impacts on the parameter of interest, and their
//! pulls.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BLACK, BLUE, Colour, GREY, ORANGE};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::PictureError;
use crate::font;
use crate::frame::{self, Edge};
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::number::present;
use crate::rows::{self, PULL_TITLE};
use crate::text::{Style, drop};

const PICTURE: &str = "ranking";
const PANEL: f64 = 460.0;
const MARGIN: f64 = 16.0;
pub(crate) const NOTE_SIZE: f64 = 10.0;

/// One nuisance parameter in the picture of a ranking.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RankingRow {
    /// Name of the nuisance parameter.
    pub parameter: String,
    /// The difference between the best fit and the centre of the constraint, divided by the uncertainty before the
    /// fit, as in [`PullRow::pull`](crate::PullRow::pull). `None` for an unconstrained parameter.
    pub pull: Option<f64>,
    /// Uncertainty after the fit, divided by the uncertainty before the fit.
    pub constraint: Option<f64>,
    /// Change of the parameter of interest when the nuisance parameter is moved up by its uncertainty before
    /// the fit.
    pub prefit_up: Option<f64>,
    /// Change of the parameter of interest when the nuisance parameter is moved down by its uncertainty
    /// before the fit.
    pub prefit_down: Option<f64>,
    /// Change of the parameter of interest when the nuisance parameter is moved up by its uncertainty after
    /// the fit.
    pub postfit_up: Option<f64>,
    /// Change of the parameter of interest when the nuisance parameter is moved down by its uncertainty after
    /// the fit.
    pub postfit_down: Option<f64>,
    /// Whether a bound limited the shift of the nuisance parameter. A dagger marks such a row.
    pub clipped: bool,
    /// Short text to the right of the row, such as the value of a free normalisation. If empty, there is no
    /// text.
    pub note: String,
}

/// The picture of a ranking: nuisance parameters, ordered by their impact on the parameter of interest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ranking {
    /// Name of the parameter of interest.
    pub poi: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The nuisance parameters, in any order.
    pub rows: Vec<RankingRow>,
    /// Number of parameters that are drawn, starting with the largest impact; all parameters by default.
    pub max_rows: Option<usize>,
}

impl RankingRow {
    /// Returns the impact that gives the order of the rows. It is the magnitude of the larger post-fit change
    /// of the parameter of interest, or of the larger pre-fit change if there are no post-fit changes.
    pub(crate) fn impact(&self) -> Option<f64> {
        let largest = |up, down| {
            let sizes = [present(up), present(down)].into_iter().flatten().map(f64::abs);
            sizes.reduce(f64::max)
        };
        largest(self.postfit_up, self.postfit_down).or_else(|| largest(self.prefit_up, self.prefit_down))
    }
}

/// Returns the rows with the largest impacts, in their order, at most `most` of them.
///
/// # Errors
/// If there is none.
pub(crate) fn largest<'a>(
    rows: &'a [RankingRow],
    most: Option<usize>,
    picture: &'static str,
) -> Result<Vec<&'a RankingRow>, PictureError> {
    let mut shown: Vec<&RankingRow> = rows.iter().collect();
    shown.sort_by(|a, b| b.impact().unwrap_or(-1.0).total_cmp(&a.impact().unwrap_or(-1.0)));
    shown.truncate(most.unwrap_or(usize::MAX));
    if shown.is_empty() {
        let remedy = "at least one parameter with an impact, and a number of rows above zero";
        return Err(PictureError::Empty { picture, field: "rows".into(), remedy });
    }
    Ok(shown)
}

impl Ranking {
    /// Draws the impacts and the pulls. The axis of the impacts is above the panel, and the axis of the pulls
    /// below it.
    ///
    /// # Errors
    /// If there is no row to show.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        let shown = largest(&self.rows, self.max_rows, PICTURE)?;
        let row = rows::height(shown.len());
        let labels: Vec<String> = shown.iter().map(|row| marked(&row.parameter, row.clipped)).collect();
        let names = rows::name_room(labels.iter().map(String::as_str), row);
        let notes = shown.iter().map(|row| font::width(&row.note, NOTE_SIZE)).fold(0.0, f64::max);
        let width = (MARGIN + names + PANEL + frame::RIGHT + notes).max(720.0);
        let left = width - frame::RIGHT - notes - PANEL;

        let subtitle = counted(&self.subtitle, shown.len(), self.rows.len());
        let header = Header { title: &self.title, subtitle: &subtitle, entries: legend(&shown) };
        let room = width - 2.0 * MARGIN;
        let top = header.height(room) + 46.0;
        let bottom = top + row * shown.len() as f64;
        let area = Area { left, top, right: left + PANEL, bottom };
        let description = format!("Ranking of nuisance parameters by their impact on {}", self.poi);
        let mut page = Drawing::new(width, bottom + frame::BELOW, description);
        header.draw(&mut page, MARGIN, room);
        rows::stripes(&mut page, &area, shown.len(), row);

        let impacts = impact_axis(&shown).between(area.left, area.right);
        let half = rows::pull_range(shown.iter().map(|row| (&row.pull, &row.constraint)), 2.0);
        let pulls = Axis::linear(-half, half).between(area.left, area.right);
        for (index, (entry, label)) in shown.iter().zip(&labels).enumerate() {
            let y = area.top + (index as f64 + 0.5) * row;
            bars(&mut page, &impacts, entry, y, row);
            rows::name(&mut page, area.left, y, label, names, row);
            let style = Style::new(NOTE_SIZE).coloured(GREY);
            page.text(area.right + 8.0, y + drop(NOTE_SIZE), entry.note.clone(), style);
        }
        pull_lines(&mut page, &area, &pulls);
        for (index, entry) in shown.iter().enumerate() {
            let y = area.top + (index as f64 + 0.5) * row;
            rows::pull(&mut page, &area, &pulls, y, entry.pull, entry.constraint, row);
        }
        for (axis, edge, title) in [
            (&impacts, Edge::Top, format!("Impact on {}", self.poi)),
            (&pulls, Edge::Bottom, PULL_TITLE.into()),
        ] {
            let ticks = frame::horizontal_ticks(axis, PANEL);
            frame::horizontal_marks(&mut page, &area, axis, &ticks, &[edge]);
            frame::horizontal_labels(&mut page, &area, axis, &ticks, edge, &title);
        }
        frame::outline(&mut page, &area);
        Ok(page)
    }
}

/// Returns a subtitle that says how many of `all` parameters are shown, if it is not all of them.
pub(crate) fn counted(subtitle: &str, shown: usize, all: usize) -> String {
    if shown == all {
        return subtitle.to_owned();
    }
    let counted = format!("the leading {shown} of {all} parameters");
    if subtitle.is_empty() { counted } else { format!("{subtitle} · {counted}") }
}

/// Returns the label of a row: the name of the parameter, with a dagger if a bound limited a shift.
pub(crate) fn marked(parameter: &str, clipped: bool) -> String {
    if clipped { format!("{parameter} †") } else { parameter.to_owned() }
}

/// Draws vertical lines at the pulls -1, 0 and 1.
pub(crate) fn pull_lines(page: &mut Drawing, area: &Area, pulls: &Axis) {
    for value in [-1.0, 0.0, 1.0] {
        let pen = if value == 0.0 { Stroke::solid(GREY, 0.8) } else { Stroke::dashed(GREY, 1.0, 5.0, 4.0) };
        page.line((pulls.at(value), area.top), (pulls.at(value), area.bottom), pen);
    }
}

/// Returns an axis that is symmetric around 0 and holds all impacts.
pub(crate) fn impact_axis(shown: &[&RankingRow]) -> Axis {
    let sizes =
        shown.iter().flat_map(|row| [row.prefit_up, row.prefit_down, row.postfit_up, row.postfit_down]);
    let largest = sizes.filter_map(present).map(f64::abs).fold(0.0, f64::max);
    let half = if largest > 0.0 { 1.15 * largest } else { 1.0 };
    Axis::linear(-half, half)
}

/// Draws the impacts of a row: pre-fit impacts as open boxes, post-fit impacts as filled boxes.
pub(crate) fn bars(page: &mut Drawing, axis: &Axis, row: &RankingRow, y: f64, height: f64) {
    let bar = |value: f64, share: f64| {
        let (zero, end) = (axis.at(0.0), axis.at(value));
        let half = 0.5 * share * height;
        Area { left: zero.min(end), right: zero.max(end), top: y - half, bottom: y + half }
    };
    for (value, colour) in [(row.postfit_up, BLUE), (row.postfit_down, ORANGE)] {
        if let Some(value) = present(value) {
            page.rect(bar(value, 0.56), Ink::fill(colour));
        }
    }
    for (value, colour) in [(row.prefit_up, BLUE), (row.prefit_down, ORANGE)] {
        if let Some(value) = present(value) {
            page.rect(bar(value, 0.78), Ink::stroke(Stroke::solid(dark(colour), 1.1)));
        }
    }
}

fn dark(colour: Colour) -> Colour {
    colour.mix(BLACK, 0.15)
}

pub(crate) fn legend(shown: &[&RankingRow]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let any = |found: fn(&RankingRow) -> bool| shown.iter().any(|row| found(row));
    if any(|row| row.prefit_up.is_some() || row.prefit_down.is_some()) {
        for (colour, text) in [(BLUE, "pre-fit: θ\u{302} + Δθ"), (ORANGE, "pre-fit: θ\u{302} − Δθ")] {
            entries.push(Entry::new(Symbol::Box(Ink::stroke(Stroke::solid(dark(colour), 1.1))), text));
        }
    }
    if any(|row| row.postfit_up.is_some() || row.postfit_down.is_some()) {
        for (colour, text) in
            [(BLUE, "post-fit: θ\u{302} + Δθ\u{302}"), (ORANGE, "post-fit: θ\u{302} − Δθ\u{302}")]
        {
            entries.push(Entry::new(Symbol::Box(Ink::fill(colour)), text));
        }
    }
    if any(|row| row.pull.is_some()) {
        entries.push(Entry::new(Symbol::Pull, "pull and constraint"));
    }
    if any(|row| row.clipped) {
        entries.push(Entry::new(Symbol::Sign("†"), "shift cut at a bound"));
    }
    entries
}
