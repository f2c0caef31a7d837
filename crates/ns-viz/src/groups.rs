//! The picture of the impacts of groups of nuisance parameters.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BLACK, BLUE, Colour, GREY, ORANGE};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::PictureError;
use crate::frame::{self, Edge};
use crate::legend::{Entry, Symbol};
use crate::number::present;
use crate::rows;
use crate::sheet::{Column, Sheet};

const PICTURE: &str = "groups";
const SEQUENTIAL: Colour = Colour(0, 158, 115);

/// The impacts of one group, by definition. Impacts are parts of the uncertainty of the parameter of interest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GroupRow {
    /// Name of the group.
    pub group: String,
    /// Impact of the auxiliary data of the group.
    pub global: Option<f64>,
    /// Impact by holding the group alone.
    pub fixed: Option<f64>,
    /// Impact by holding the groups one after another.
    pub sequential: Option<f64>,
}

/// The picture of the impacts of groups: a row with bars for each group.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Groups {
    /// Name of the parameter of interest.
    pub poi: String,
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The groups, from top to bottom.
    pub rows: Vec<GroupRow>,
    /// Total uncertainty of the parameter of interest, drawn as a line.
    pub total: Option<f64>,
}

impl GroupRow {
    /// The impacts with their colours and names, in the order in which they are drawn.
    fn bars(&self) -> [(Option<f64>, Colour, &'static str); 3] {
        [
            (present(self.global), BLUE, "auxiliary data of the group"),
            (present(self.fixed), ORANGE, "group held alone"),
            (present(self.sequential), SEQUENTIAL, "groups held one after another"),
        ]
    }
}

impl Groups {
    /// Draws a row for each group, with a bar for each definition of impact.
    ///
    /// # Errors
    /// If no group has an impact.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        let all = || self.rows.iter().flat_map(GroupRow::bars);
        let impacts = all().filter_map(|(value, ..)| value).chain(present(self.total)).map(f64::abs);
        let largest = impacts.fold(0.0, f64::max);
        if all().all(|(value, ..)| value.is_none()) {
            let remedy = "at least one group with an impact";
            return Err(PictureError::Empty { picture: PICTURE, field: "rows".into(), remedy });
        }
        let mut entries: Vec<Entry> = Vec::new();
        for (value, colour, name) in all() {
            if value.is_some() && !entries.iter().any(|entry| entry.text == name) {
                entries.push(Entry::new(Symbol::Box(Ink::fill(colour)), name));
            }
        }
        if present(self.total).is_some() {
            entries.push(Entry::new(Symbol::Line(total_line()), "total uncertainty"));
        }
        let description = format!("Impacts of groups of parameters on {}", self.poi);
        let sheet = Sheet {
            title: &self.title,
            subtitle: &self.subtitle,
            entries,
            description: &description,
            names: self.rows.iter().map(|row| row.group.as_str()).collect(),
            wide_panel: 420.0,
            narrow_panel: 260.0,
            columns: Some(1),
        };
        let high = if largest > 0.0 { 1.1 * largest } else { 1.0 };
        Ok(sheet.draw(|page, column| self.column(page, column, high)))
    }

    fn column(&self, page: &mut Drawing, column: &Column, high: f64) {
        let area = &column.area;
        let axis = Axis::linear(0.0, high).between(area.left, area.right);
        rows::stripes(page, area, column.rows.len(), column.row);
        for (place, row) in self.rows.get(column.rows.clone()).unwrap_or_default().iter().enumerate() {
            let y = column.y(place);
            rows::name(page, area.left, y, &row.group, column.names, column.row);
            let bars: Vec<_> = row
                .bars()
                .into_iter()
                .filter_map(|(value, colour, _)| Some((value?.abs(), colour)))
                .collect();
            let height = 0.8 * column.row / bars.len().max(1) as f64;
            let top = y - 0.4 * column.row;
            for (k, (value, colour)) in bars.into_iter().enumerate() {
                let top = top + height * k as f64;
                let bar = Area { left: area.left, right: axis.clamped(value), top, bottom: top + height };
                page.rect(bar, Ink::fill(colour));
            }
        }
        if let Some(total) = present(self.total) {
            let x = axis.clamped(total.abs());
            page.line((x, area.top), (x, area.bottom), total_line());
        }
        let ticks = frame::horizontal_ticks(&axis, area.width());
        frame::horizontal_marks(page, area, &axis, &ticks, &[Edge::Top, Edge::Bottom]);
        let title = format!("Impact on {}", self.poi);
        frame::horizontal_labels(page, area, &axis, &ticks, Edge::Bottom, &title);
        page.line((area.left, area.top), (area.left, area.bottom), Stroke::solid(GREY, 0.8));
        frame::outline(page, area);
    }
}

fn total_line() -> Stroke {
    Stroke::dashed(BLACK, 1.4, 6.0, 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_its_bars() {
        let row = |group: &str, fixed| GroupRow { group: group.into(), fixed, ..GroupRow::default() };
        let picture = Groups {
            poi: "mu".into(),
            rows: vec![row("jets", Some(0.3)), row("leptons", None), row("theory", Some(f64::NAN))],
            total: Some(0.6),
            ..Groups::default()
        };
        let labels = picture.draw().unwrap().labels();
        for text in ["jets", "leptons", "Impact on mu", "group held alone", "total uncertainty"] {
            assert!(labels.iter().any(|label| label.text == text), "{text}: {labels:?}");
        }
        assert!(!labels.iter().any(|label| label.text.contains("auxiliary")));
        assert!(Groups { rows: vec![row("x", None)], ..picture }.draw().is_err());
    }
}
