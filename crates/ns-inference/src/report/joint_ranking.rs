//! Report of the rankings of several parameters of interest: one table with a column of impacts for each of them.

use super::ranking::{ImpactColumn, impact_columns, impact_text, notes_of_impacts, notes_of_state, state};
use super::{Part, Table};
use crate::ranking::{JointRow, RankingResult, joint_rows};

/// Returns the report of rankings that share their best fit, one per parameter of interest. It has one table of the nuisance
/// parameters for each definition of impact, then the tables of groups and the summary of each ranking.
#[must_use]
pub fn joint_ranking(results: &[RankingResult]) -> Vec<Part> {
    let mut parts = Vec::new();
    let Some(first) = results.first() else { return parts };
    let rows = joint_rows(results);
    for &definition in &first.impacts {
        if first.impacts.len() > 1 {
            parts.push(Part::Text(format!("impact by {definition}")));
        }
        for column in impact_columns(std::iter::once(definition), first.prefit) {
            parts.push(Part::Table(table(results, &rows, &column)));
        }
    }
    for result in results {
        let groups = result.group_tables();
        if !groups.is_empty() {
            parts.push(Part::Text(format!("groups, impact on {}", result.param)));
            parts.extend(groups);
        }
        parts.push(Part::Text(result.summary()));
    }
    parts
}

/// Builds the table of one kind of impact. It has a column for each parameter of interest.
fn table(results: &[RankingResult], rows: &[JointRow<'_>], column: &ImpactColumn<'_>) -> Table {
    let mut titles: Vec<String> = ["parameter", "pull", "constraint"].map(str::to_owned).into();
    titles.extend(results.iter().map(|result| format!("{} {}", result.param, column.title(""))));
    let numbers: Vec<usize> = (1..titles.len()).collect();
    titles.push(String::new());
    let mut table = Table { splits: true, ..Table::new(&titles, &numbers) };
    for row in rows {
        let mut cells = vec![row.name.to_owned()];
        cells.extend(row.state().map(state).unwrap_or_default());
        cells.extend(row.entries.iter().zip(results).map(|(entry, result)| {
            entry.map_or_else(String::new, |entry| impact_text(entry, column, result.mu_uncertainty))
        }));
        let mut notes = row.state().map(notes_of_state).unwrap_or_default();
        for note in row.entries.iter().flatten().flat_map(|e| notes_of_impacts(e, &[column.definition])) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        cells.push(notes.join(", "));
        table.row(cells);
    }
    table
}
