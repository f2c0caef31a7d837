//! The picture of the pulls of constrained parameters.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BAND_ONE, BAND_TWO, GREY, WHITE};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::PictureError;
use crate::frame::{self, Edge};
use crate::legend::{Entry, Symbol};
use crate::rows::{self, PULL_TITLE};
use crate::sheet::{Column, Sheet};

const PICTURE: &str = "pulls";

/// One parameter in the picture of pulls.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PullRow {
    /// Name of the parameter.
    pub parameter: String,
    /// The difference between the best fit and the centre of the constraint, divided by the uncertainty before the
    /// fit. For a Gaussian constraint, the centre is the auxiliary datum. For a Poisson constraint, it is the
    /// auxiliary datum divided by tau.
    pub pull: Option<f64>,
    /// Uncertainty after the fit, divided by the uncertainty before the fit.
    pub constraint: Option<f64>,
    /// Text in the middle of the row, such as the value of a parameter without a constraint. If empty, there is none.
    pub note: String,
}

/// The picture of the pulls of parameters, with the bands of one and two standard deviations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pulls {
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The parameters, from top to bottom.
    pub rows: Vec<PullRow>,
    /// Number of columns, all on one page. By default, up to 150 rows are arranged in columns of at most 50 rows.
    /// More rows are arranged in as many columns as make the page about square; a PDF then has several pages of two
    /// columns instead.
    pub columns: Option<usize>,
}

impl Pulls {
    /// Draws the pull of each parameter as a point, with its uncertainty after the fit as error bar. Long
    /// lists are arranged in columns, as described at [`Pulls::columns`].
    ///
    /// # Errors
    /// If there is no row.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        if self.rows.is_empty() {
            let remedy = "at least one constrained parameter";
            return Err(PictureError::Empty { picture: PICTURE, field: "rows".into(), remedy });
        }
        let half = rows::pull_range(self.rows.iter().map(|entry| (&entry.pull, &entry.constraint)), 3.0);
        let one = Entry::new(Symbol::Box(Ink::fill(BAND_ONE.mix(WHITE, 0.35))), "±1 standard deviation");
        let two = Entry::new(Symbol::Box(Ink::fill(BAND_TWO.mix(WHITE, 0.35))), "±2 standard deviations");
        let point = Entry::new(Symbol::Pull, "pull and constraint");
        let sheet = Sheet {
            title: &self.title,
            subtitle: &self.subtitle,
            entries: vec![point, one, two],
            description: "Pulls of the nuisance parameters",
            names: self.rows.iter().map(|entry| entry.parameter.as_str()).collect(),
            wide_panel: 380.0,
            narrow_panel: 220.0,
            columns: self.columns,
        };
        Ok(sheet.draw(|page, column| self.column(page, column, half)))
    }

    /// Draws a column. Its axis goes from `-half` to `half`.
    fn column(&self, page: &mut Drawing, column: &Column, half: f64) {
        let area = &column.area;
        let axis = Axis::linear(-half, half).between(area.left, area.right);
        for (reach, colour) in [(2.0, BAND_TWO), (1.0, BAND_ONE)] {
            let band = Area { left: axis.clamped(-reach), right: axis.clamped(reach), ..*area };
            page.rect(band, Ink::fill(colour.mix(WHITE, 0.35)));
        }
        page.line((axis.at(0.0), area.top), (axis.at(0.0), area.bottom), Stroke::dashed(GREY, 1.0, 5.0, 4.0));
        for (place, entry) in self.rows.get(column.rows.clone()).unwrap_or_default().iter().enumerate() {
            let y = column.y(place);
            rows::pull(page, area, &axis, y, entry.pull, entry.constraint, column.row);
            rows::name(page, area.left, y, &entry.parameter, column.names, column.row);
        }
        let ticks = frame::horizontal_ticks(&axis, area.width());
        frame::horizontal_marks(page, area, &axis, &ticks, &[Edge::Top, Edge::Bottom]);
        // Ticks of the frame reach into the first and the last row.
        for (place, entry) in self.rows.get(column.rows.clone()).unwrap_or_default().iter().enumerate() {
            rows::note(page, area, column.y(place), &entry.note, column.row, BAND_ONE.mix(WHITE, 0.35));
        }
        frame::horizontal_labels(page, area, &axis, &ticks, Edge::Bottom, PULL_TITLE);
        frame::outline(page, area);
        if column.labels_above {
            frame::horizontal_labels(page, area, &axis, &ticks, Edge::Top, "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_in_front_of_ticks() {
        let row = |note: &str| PullRow { parameter: "mu".into(), note: note.into(), ..PullRow::default() };
        let svg = |note: &str| {
            Pulls { rows: vec![row(note), row("")], ..Pulls::default() }.draw().unwrap().to_svg()
        };
        let (with, without) = (svg("1.0"), svg(""));
        // The pictures are the same up to the last tick, which is before the tile of the note.
        let same = with.bytes().zip(without.bytes()).take_while(|(a, b)| a == b).count();
        let ticks = with.match_indices("<line").map(|(at, _)| at).filter(|at| *at > same).count();
        assert_eq!(ticks, 0, "{with}");
    }

    #[test]
    fn pulls_of_a_thousand_parameters_fold_into_columns_and_pages() {
        let rows = (0..1000).map(|index| PullRow {
            parameter: format!("alpha_systematic_{index}"),
            pull: Some(0.001 * f64::from(index)),
            constraint: Some(0.9),
            ..PullRow::default()
        });
        let pulls = Pulls { rows: rows.collect(), subtitle: "interrupted".into(), ..Pulls::default() };
        let sheet = pulls.draw().unwrap();
        let shape = sheet.width() / sheet.height();
        assert!((0.5..2.0).contains(&shape), "{} x {}", sheet.width(), sheet.height());
        assert!(sheet.width() < 4000.0, "{}", sheet.width());
        assert_eq!(sheet.pages(), 10);
        let names = |drawing: &Drawing| {
            drawing.labels().into_iter().filter(|label| label.text.starts_with("alpha_")).count()
        };
        assert_eq!((names(&sheet), sheet.pages.iter().map(names).sum::<usize>()), (1000, 1000));
        for page in &sheet.pages {
            assert!(page.width() < 1000.0 && page.height() < 1100.0, "{} x {}", page.width(), page.height());
            assert!(page.labels().iter().any(|label| label.text.starts_with("interrupted · page ")));
        }
        let pdf = sheet.to_pdf().unwrap();
        assert!(String::from_utf8_lossy(&pdf).contains("/Count 10"));
        assert_eq!(Pulls { columns: Some(4), ..pulls }.draw().unwrap().pages(), 1);
    }
}
