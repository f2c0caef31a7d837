//! The picture of the rankings of several parameters of interest: a panel of impacts for each, and the pulls.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::GREY;
use crate::drawing::{Area, Drawing, Stroke};
use crate::error::PictureError;
use crate::font;
use crate::frame::{self, Edge};
use crate::header::Header;
use crate::ranking::{NOTE_SIZE, RankingRow, bars, counted, impact_axis, legend, marked, pull_lines};
use crate::rows::{self, PULL_TITLE};
use crate::text::{Style, drop};

const PICTURE: &str = "joint ranking";
/// Width of a panel of impacts. A single one has the width of all.
const PANEL: f64 = 260.0;
const PULLS: f64 = 200.0;
const GAP: f64 = 22.0;
const MARGIN: f64 = 16.0;

/// The impacts of one nuisance parameter on several parameters of interest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JointRankingRow {
    /// Name of the nuisance parameter.
    pub parameter: String,
    /// The difference between the best fit and the centre of the constraint, divided by the uncertainty before the fit. `None`
    /// for an unconstrained parameter.
    pub pull: Option<f64>,
    /// Uncertainty after the fit, divided by the uncertainty before the fit.
    pub constraint: Option<f64>,
    /// Short text to the right of the row. If empty, there is no text.
    pub note: String,
    /// The impacts, one element per parameter of interest, in the order of [`JointRanking::pois`].
    pub impacts: Vec<ImpactBars>,
}

/// Changes of a parameter of interest when a nuisance parameter is moved. `None` if there is no such number.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImpactBars {
    /// The nuisance parameter is moved up by its uncertainty before the fit.
    pub prefit_up: Option<f64>,
    /// The nuisance parameter is moved down by its uncertainty before the fit.
    pub prefit_down: Option<f64>,
    /// The nuisance parameter is moved up by its uncertainty after the fit.
    pub postfit_up: Option<f64>,
    /// The nuisance parameter is moved down by its uncertainty after the fit.
    pub postfit_down: Option<f64>,
    /// Whether a bound limited the shift of the nuisance parameter.
    pub clipped: bool,
}

/// The picture of the rankings of several parameters of interest. The nuisance parameters are the rows. There is a panel for
/// the impacts on each parameter of interest, and one for pulls and constraints.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JointRanking {
    /// Names of the parameters of interest, from left to right.
    pub pois: Vec<String>,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The nuisance parameters, from top to bottom.
    pub rows: Vec<JointRankingRow>,
    /// Number of parameters that are drawn, from the top; all parameters by default.
    pub max_rows: Option<usize>,
}

impl JointRanking {
    /// Draws the impacts on each parameter of interest, and the pulls.
    ///
    /// # Errors
    /// If there is no row or no parameter of interest to show.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        let count = self.rows.len().min(self.max_rows.unwrap_or(usize::MAX));
        let shown: Vec<&JointRankingRow> = self.rows.iter().take(count).collect();
        let empty = |field: &str, remedy| {
            Err(PictureError::Empty { picture: PICTURE, field: field.to_owned(), remedy })
        };
        if shown.is_empty() {
            return empty("rows", "at least one parameter with an impact, and a number of rows above zero");
        }
        if self.pois.is_empty() {
            return empty("pois", "at least one parameter of interest");
        }
        let panels: Vec<Vec<RankingRow>> =
            (0..self.pois.len()).map(|k| shown.iter().map(|row| row.of_panel(k)).collect()).collect();
        let row = rows::height(shown.len());
        let labels: Vec<String> = shown.iter().map(|row| row.label()).collect();
        let names = rows::name_room(labels.iter().map(String::as_str), row);
        let notes = shown.iter().map(|row| font::width(&row.note, NOTE_SIZE)).fold(0.0, f64::max);
        let panel = PANEL.max((2.0 * PANEL - GAP) / self.pois.len() as f64);
        let plotted = (panel + GAP) * self.pois.len() as f64 + PULLS;
        let width = MARGIN + names + plotted + frame::RIGHT + notes;

        let all: Vec<&RankingRow> = panels.iter().flatten().collect();
        let subtitle = counted(&self.subtitle, shown.len(), self.rows.len());
        let header = Header { title: &self.title, subtitle: &subtitle, entries: legend(&all) };
        let room = width - 2.0 * MARGIN;
        let top = header.height(room) + 46.0;
        let bottom = top + row * shown.len() as f64;
        let description =
            format!("Ranking of nuisance parameters by their impact on {}", self.pois.join(", "));
        let mut page = Drawing::new(width, bottom + frame::BELOW, description);
        header.draw(&mut page, MARGIN, room);

        let middle = |index: usize| top + (index as f64 + 0.5) * row;
        let mut left = MARGIN + names;
        for (index, label) in labels.iter().enumerate() {
            rows::name(&mut page, left, middle(index), label, names, row);
        }
        for (poi, rows) in self.pois.iter().zip(&panels) {
            let area = Area { left, top, right: left + panel, bottom };
            rows::stripes(&mut page, &area, rows.len(), row);
            let axis = impact_axis(&rows.iter().collect::<Vec<_>>()).between(area.left, area.right);
            for (index, entry) in rows.iter().enumerate() {
                bars(&mut page, &axis, entry, middle(index), row);
            }
            page.line((axis.at(0.0), top), (axis.at(0.0), bottom), Stroke::solid(GREY, 0.8));
            framed(&mut page, &area, &axis, Edge::Top, &format!("Impact on {poi}"));
            left += panel + GAP;
        }
        let area = Area { left, top, right: left + PULLS, bottom };
        rows::stripes(&mut page, &area, shown.len(), row);
        let half = rows::pull_range(shown.iter().map(|row| (&row.pull, &row.constraint)), 2.0);
        let axis = Axis::linear(-half, half).between(area.left, area.right);
        pull_lines(&mut page, &area, &axis);
        for (index, entry) in shown.iter().enumerate() {
            let y = middle(index);
            rows::pull(&mut page, &area, &axis, y, entry.pull, entry.constraint, row);
            let style = Style::new(NOTE_SIZE).coloured(GREY);
            page.text(area.right + 8.0, y + drop(NOTE_SIZE), entry.note.clone(), style);
        }
        framed(&mut page, &area, &axis, Edge::Bottom, PULL_TITLE);
        Ok(page)
    }
}

/// Draws the axis of a panel at one edge, and the outline of the panel.
fn framed(page: &mut Drawing, area: &Area, axis: &Axis, edge: Edge, title: &str) {
    let ticks = frame::horizontal_ticks(axis, area.right - area.left);
    frame::horizontal_marks(page, area, axis, &ticks, &[edge]);
    frame::horizontal_labels(page, area, axis, &ticks, edge, title);
    frame::outline(page, area);
}

impl JointRankingRow {
    fn label(&self) -> String {
        marked(&self.parameter, self.impacts.iter().any(|impact| impact.clipped))
    }

    /// Returns the row of the panel with index `k`.
    fn of_panel(&self, k: usize) -> RankingRow {
        let own = self.impacts.get(k).cloned().unwrap_or_default();
        RankingRow {
            parameter: self.parameter.clone(),
            pull: self.pull,
            constraint: self.constraint,
            prefit_up: own.prefit_up,
            prefit_down: own.prefit_down,
            postfit_up: own.postfit_up,
            postfit_down: own.postfit_down,
            clipped: own.clipped,
            note: String::new(),
        }
    }
}
