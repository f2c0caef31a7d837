//! Reports of grids: one row per point.

use super::hypotest::BAND;
use super::limit::heading;
use super::{Part, Table};
use crate::grid::{GridResult, GridStatus};
use crate::present::{count, or_none};

impl GridResult {
    /// Returns the report of a grid: a table with one row per point, and the number of points that are done. The text
    /// of the last column is the reason why a point has no result.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let results = || self.rows.iter().filter_map(|row| row.result.as_ref());
        let has_observed = results().any(|result| result.observed.is_some())
            || results().all(|result| result.expected.is_empty());
        let has_expected = results().any(|result| !result.expected.is_empty());
        let mut titles = vec!["name".to_owned()];
        titles.extend(self.labels.iter().cloned());
        let mut numbers: Vec<usize> = (1..titles.len())
            .filter(|i| {
                let label = self.labels.get(i - 1);
                label.is_some_and(|label| self.rows.iter().all(|row| row.values.number(label).is_some()))
            })
            .collect();
        let first = titles.len();
        if has_observed {
            titles.push("observed".to_owned());
        }
        if has_expected {
            titles.extend(BAND.map(str::to_owned));
        }
        numbers.extend(first..titles.len());
        titles.push(String::new());
        let mut table = Table::new(&titles, &numbers);
        table.splits = true;
        for row in &self.rows {
            let mut cells = vec![row.name.clone()];
            cells.extend(self.labels.iter().map(|label| row.values.text(label)));
            let limit =
                |value: Option<f64>| if row.result.is_some() { or_none(value) } else { String::new() };
            if has_observed {
                cells.push(limit(row.result.as_ref().and_then(|result| result.observed)));
            }
            if has_expected {
                cells.extend((0..BAND.len()).map(|i| {
                    limit(row.result.as_ref().and_then(|result| result.expected.get(i).copied().flatten()))
                }));
            }
            let note = match (&row.reason, &row.result) {
                (Some(reason), _) => reason.lines().next().unwrap_or_default().to_owned(),
                (None, Some(result)) if !result.converged => "not converged".to_owned(),
                (None, Some(result)) if !result.warnings.is_empty() => {
                    count(result.warnings.len(), "warning")
                }
                _ => String::new(),
            };
            cells.push(note);
            table.row(cells);
        }
        let param = self.param.as_deref().unwrap_or("the parameter of interest");
        let mut closing = format!("{} of {} done", self.n(GridStatus::Done), count(self.rows.len(), "point"));
        for (status, word) in [(GridStatus::Failed, "failed"), (GridStatus::NotRun, "not run")] {
            if self.n(status) > 0 {
                closing += &format!(", {} {word}", self.n(status));
            }
        }
        vec![heading(param, self.cl, &self.test_stat, ""), Part::Table(table), Part::Text(closing)]
    }
}
