//! The rows of a grid.

use serde::{Deserialize, Serialize};

use super::{GridPoint, Labels};
use crate::LimitResult;
use crate::hypotest::TestStatistic;
use crate::present::count;

/// What became of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum GridStatus {
    /// The point has a result.
    #[serde(rename = "done")]
    Done,
    /// The model cannot be made, or the analysis is impossible.
    #[serde(rename = "failed")]
    Failed,
    /// The run was interrupted before the point was finished.
    #[serde(rename = "not run")]
    NotRun,
}

/// The row of one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct GridRow {
    /// Name of the point, such as that of its patch.
    pub name: String,
    /// The labels of the point with their values.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub values: Labels,
    /// What became of the point.
    pub status: GridStatus,
    /// Why there is no result; `None` if there is one.
    pub reason: Option<String>,
    /// The limits; `None` if there are none.
    pub result: Option<LimitResult>,
    /// Digest of the point's patch, as hexadecimal text. Rows of an earlier run are taken over if it is the same.
    pub patch_digest: String,
    /// Time that the point took on its thread, in seconds; `None` if it was not run.
    pub wall_s: Option<f64>,
}

impl GridRow {
    /// Creates the row of a point without a result.
    pub(super) fn without_result(point: &GridPoint, status: GridStatus, reason: &str) -> Self {
        Self {
            name: point.name.clone(),
            values: point.values.clone(),
            status,
            reason: Some(reason.to_owned()),
            result: None,
            patch_digest: point.digest.clone(),
            wall_s: None,
        }
    }

    /// Returns whether the row has a limit and all fits behind it converged.
    fn is_good(&self) -> bool {
        let found = |result: &LimitResult| {
            result.converged && (result.observed.is_some() || result.expected.iter().any(Option::is_some))
        };
        self.result.as_ref().is_some_and(found)
    }
}

/// The upper limits of all points of a grid. Serialises to the JSON of `nextstat upper-limit --patchset`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct GridResult {
    /// Name of the parameter of interest; `None` if no point has a result.
    pub param: Option<String>,
    /// Confidence level.
    pub cl: f64,
    /// Name of the test statistic.
    pub test_stat: String,
    /// Labels of the values of the points, in the order of the patchset.
    pub labels: Vec<String>,
    /// One row per point, in the order of the points.
    pub rows: Vec<GridRow>,
    /// Warnings about the grid. Those about a point are in its row.
    pub warnings: Vec<String>,
    /// Whether the caller stopped the work before all points were done.
    #[serde(skip)]
    pub interrupted: bool,
}

impl GridResult {
    /// Puts rows into the order of the points. A point without a row was not run.
    #[must_use]
    pub fn new(
        points: &[GridPoint],
        labels: &[String],
        cl: f64,
        statistic: TestStatistic,
        rows: Vec<(usize, GridRow)>,
    ) -> Self {
        let mut by_point: Vec<Option<GridRow>> = vec![None; points.len()];
        for (index, row) in rows {
            if let Some(place) = by_point.get_mut(index) {
                *place = Some(row);
            }
        }
        let not_run = |point| GridRow::without_result(point, GridStatus::NotRun, "interrupted");
        let rows: Vec<GridRow> =
            points.iter().zip(by_point).map(|(point, row)| row.unwrap_or_else(|| not_run(point))).collect();
        Self {
            param: rows.iter().find_map(|row| Some(row.result.as_ref()?.param.clone())),
            cl,
            test_stat: statistic.name().to_owned(),
            labels: labels.to_vec(),
            interrupted: rows.iter().any(|row| row.status == GridStatus::NotRun),
            warnings: warnings(&rows),
            rows,
        }
    }

    /// Returns the number of points with a status.
    #[must_use]
    pub fn n(&self, status: GridStatus) -> usize {
        self.rows.iter().filter(|row| row.status == status).count()
    }

    /// Returns whether every point has a limit, with fits that all converged.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.rows.iter().all(GridRow::is_good)
    }
}

/// Largest number of points that a warning names.
const NAMED: usize = 3;

fn warnings(rows: &[GridRow]) -> Vec<String> {
    let warn = |chosen: &dyn Fn(&GridRow) -> bool, what: &str| {
        let names: Vec<&str> = rows.iter().filter(|row| chosen(row)).map(|row| row.name.as_str()).collect();
        if names.is_empty() {
            return None;
        }
        let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if names.len() > NAMED { ", ..." } else { "" };
        Some(format!("{} of {} {what} ({shown}{more})", names.len(), count(rows.len(), "point")))
    };
    let result =
        |row: &GridRow, wanted: &dyn Fn(&LimitResult) -> bool| row.result.as_ref().is_some_and(wanted);
    [
        warn(&|row| row.status == GridStatus::Failed, "failed; `reason` of their rows says why"),
        warn(&|row| row.status == GridStatus::NotRun, "were not run, because the run was interrupted"),
        warn(&|row| result(row, &|r| !r.converged), "have fits that did not converge"),
        warn(
            &|row| result(row, &|r| r.converged && !r.warnings.is_empty()),
            "have warnings; see `warnings` in the `result` of their rows",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
