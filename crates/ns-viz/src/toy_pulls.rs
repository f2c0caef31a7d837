//! The picture of the means and widths of pulls in toys, a row for each parameter.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BLACK, GREY, VERMILION};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::PictureError;
use crate::frame::{self, Edge};
use crate::legend::{Entry, Symbol};
use crate::number::present;
use crate::rows;
use crate::sheet::{Column, Sheet};
use crate::text::{Style, drop};

const PICTURE: &str = "toy pulls";
/// Width between the two panels of a column, in pixels. It has room for half a tick label of each panel.
const BETWEEN: f64 = 36.0;
/// A point that is more than this many errors away from its expected value is drawn in another colour.
const FAR: f64 = 3.0;
/// Possible distances from the middle of an axis to its ends.
const REACHES: [f64; 6] = [0.1, 0.2, 0.3, 0.5, 1.0, 2.0];

/// The pulls of one parameter in toys.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToyPullRow {
    /// Name of the parameter.
    pub parameter: String,
    /// Mean of the pulls. 0 is expected.
    pub mean: Option<f64>,
    /// Statistical error of the mean.
    pub mean_error: Option<f64>,
    /// Standard deviation of the pulls. 1 is expected.
    pub width: Option<f64>,
    /// Statistical error of the standard deviation.
    pub width_error: Option<f64>,
}

/// The picture of pulls in toys: their means against 0 and their widths against 1.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToyPulls {
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The parameters, from top to bottom.
    pub rows: Vec<ToyPullRow>,
    /// Number of columns, all on one page. By default, up to 150 rows are arranged in columns of at most 50 rows.
    /// More rows are arranged in as many columns as make the page about square; a PDF then has several pages of two
    /// columns instead.
    pub columns: Option<usize>,
}

impl ToyPulls {
    /// Draws the mean and the width of the pulls of each parameter with their errors. Points that are more than three
    /// errors from 0 or 1 have another colour.
    ///
    /// # Errors
    /// If no parameter has pulls.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        if !self.rows.iter().any(|row| present(row.mean).or(present(row.width)).is_some()) {
            let remedy = "the pulls of at least one parameter";
            return Err(PictureError::Empty { picture: PICTURE, field: "rows".into(), remedy });
        }
        let axes = [
            Kind {
                middle: 0.0,
                reach: self.reach(0.0, |row| (row.mean, row.mean_error)),
                title: "mean of pulls",
            },
            Kind {
                middle: 1.0,
                reach: self.reach(1.0, |row| (row.width, row.width_error)),
                title: "width of pulls",
            },
        ];
        let mut entries = vec![Entry::new(Symbol::Pull, "value with its error")];
        let far = self
            .rows
            .iter()
            .filter(|row| is_far(row.mean, row.mean_error, 0.0) || is_far(row.width, row.width_error, 1.0));
        let far = far.count();
        if far > 0 {
            let text =
                format!("more than {FAR} errors from 0 or 1 ({far} of {} parameters)", self.rows.len());
            entries.push(Entry::new(Symbol::Dot(Ink::fill(VERMILION)), text));
        }
        let sheet = Sheet {
            title: &self.title,
            subtitle: &self.subtitle,
            entries,
            description: "Means and widths of the pulls in toys",
            names: self.rows.iter().map(|row| row.parameter.as_str()).collect(),
            wide_panel: 460.0,
            narrow_panel: 300.0,
            columns: self.columns,
        };
        Ok(sheet.draw(|page, column| self.column(page, column, &axes)))
    }

    /// Returns the distance from the middle of an axis to its ends. It is the smallest of [`REACHES`] that holds all
    /// points with their errors.
    fn reach(&self, middle: f64, of: impl Fn(&ToyPullRow) -> (Option<f64>, Option<f64>)) -> f64 {
        let needed = self.rows.iter().filter_map(|row| {
            let (value, error) = of(row);
            Some((present(value)? - middle).abs() + present(error).unwrap_or(0.0).abs())
        });
        let needed = 1.05 * needed.fold(0.0, f64::max);
        let [.., longest] = REACHES;
        REACHES.into_iter().find(|reach| *reach >= needed).unwrap_or(longest)
    }

    fn column(&self, page: &mut Drawing, column: &Column, axes: &[Kind; 2]) {
        let area = &column.area;
        let half = 0.5 * (area.width() - BETWEEN);
        let panels = [Area { right: area.left + half, ..*area }, Area { left: area.right - half, ..*area }];
        let rows = self.rows.get(column.rows.clone()).unwrap_or_default();
        for ((index, panel), kind) in panels.iter().enumerate().zip(axes) {
            let axis = Axis::linear(kind.middle - kind.reach, kind.middle + kind.reach)
                .between(panel.left, panel.right);
            rows::stripes(page, panel, rows.len(), column.row);
            let line = axis.at(kind.middle);
            page.line((line, panel.top), (line, panel.bottom), Stroke::dashed(GREY, 1.2, 5.0, 4.0));
            for (place, row) in rows.iter().enumerate() {
                let y = column.y(place);
                let (value, error) =
                    if index == 0 { (row.mean, row.mean_error) } else { (row.width, row.width_error) };
                match present(value) {
                    Some(value) => {
                        let colour = if is_far(Some(value), error, kind.middle) { VERMILION } else { BLACK };
                        rows::point(page, panel, &axis, y, (Some(value), error), column.row, colour);
                    }
                    None => {
                        let style = Style::new((0.6 * column.row).min(11.0)).coloured(GREY);
                        page.text(panel.left + 8.0, y + drop(style.size), "none", style);
                    }
                }
            }
            let ticks = frame::horizontal_ticks(&axis, panel.width());
            frame::horizontal_marks(page, panel, &axis, &ticks, &[Edge::Top, Edge::Bottom]);
            frame::horizontal_labels(page, panel, &axis, &ticks, Edge::Bottom, kind.title);
            if column.labels_above {
                frame::horizontal_labels(page, panel, &axis, &ticks, Edge::Top, "");
            }
            frame::outline(page, panel);
        }
        for (place, row) in rows.iter().enumerate() {
            rows::name(page, area.left, column.y(place), &row.parameter, column.names, column.row);
        }
    }
}

/// One of the two panels of a column.
struct Kind {
    /// The expected value, in the middle of the axis.
    middle: f64,
    reach: f64,
    title: &'static str,
}

fn is_far(value: Option<f64>, error: Option<f64>, expected: f64) -> bool {
    let (Some(value), Some(error)) = (present(value), present(error)) else { return false };
    (value - expected).abs() > FAR * error.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(parameter: &str, mean: f64, width: f64) -> ToyPullRow {
        ToyPullRow {
            parameter: parameter.into(),
            mean: Some(mean),
            mean_error: Some(0.03),
            width: Some(width),
            width_error: Some(0.02),
        }
    }

    #[test]
    fn far_points_are_counted_and_axes_hold_all_points() {
        let pulls = ToyPulls {
            rows: vec![
                row("a", 0.02, 1.01),
                row("b", -0.4, 1.0),
                ToyPullRow { parameter: "c".into(), ..ToyPullRow::default() },
            ],
            ..ToyPulls::default()
        };
        let reach = |middle: f64| {
            pulls.reach(middle, |row| {
                if middle == 0.0 { (row.mean, row.mean_error) } else { (row.width, row.width_error) }
            })
        };
        assert_eq!((reach(0.0), reach(1.0)), (0.5, 0.1));
        let labels = pulls.draw().unwrap().labels();
        let has = |text: &str| labels.iter().filter(|label| label.text == text).count();
        assert_eq!(has("more than 3 errors from 0 or 1 (1 of 3 parameters)"), 1);
        assert_eq!(has("none"), 2, "a parameter without pulls is named and said to have none");
    }

    #[test]
    fn hundreds_of_parameters_have_columns_and_pages() {
        let rows: Vec<_> = (0..184).map(|i| row(&format!("alpha_{i}"), 0.0, 1.0)).collect();
        let sheet = ToyPulls { rows, ..ToyPulls::default() }.draw().unwrap();
        assert_eq!(sheet.pages(), 2);
        let named = sheet.labels().into_iter().filter(|label| label.text.starts_with("alpha_")).count();
        assert_eq!(named, 184);
        let empty = ToyPulls { rows: vec![ToyPullRow::default()], ..ToyPulls::default() }.draw();
        assert!(matches!(empty, Err(PictureError::Empty { .. })));
    }
}
