//! Rankings of several parameters of interest, joined: a row per nuisance parameter.

use std::collections::HashMap;

use super::{RankedParameter, RankingResult};

/// A nuisance parameter in the rankings of several parameters of interest.
#[derive(Debug, Clone)]
pub struct JointRow<'a> {
    /// Name of the nuisance parameter.
    pub name: &'a str,
    /// Its entry in each ranking, in their order; `None` in a ranking that does not list it.
    pub entries: Vec<Option<&'a RankedParameter>>,
    /// Its largest post-fit impact in units of the uncertainty of the parameter of interest; `None` without impacts.
    size: Option<f64>,
}

impl<'a> JointRow<'a> {
    /// Returns an entry of the parameter. Pull and constraint are the same in all of them, because the rankings share the best
    /// fit.
    #[must_use]
    pub fn state(&self) -> Option<&'a RankedParameter> {
        self.entries.iter().copied().flatten().next()
    }
}

/// Joins rankings that share their best fit. Returns a row for each parameter that any of them lists. Rows are sorted by the
/// largest impact in units of the uncertainty of the parameter of interest, the largest first.
#[must_use]
pub fn joint_rows(results: &[RankingResult]) -> Vec<JointRow<'_>> {
    let mut rows: Vec<JointRow<'_>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (k, result) in results.iter().enumerate() {
        for entry in &result.ranking {
            let place = *places.entry(&entry.name).or_insert_with(|| {
                rows.push(JointRow { name: &entry.name, entries: vec![None; results.len()], size: None });
                rows.len() - 1
            });
            let size = entry.impacts.largest().map(|impact| impact / result.mu_uncertainty.unwrap_or(1.0));
            if let Some(row) = rows.get_mut(place) {
                if let Some(own) = row.entries.get_mut(k) {
                    *own = Some(entry);
                }
                row.size = match (row.size, size) {
                    (Some(a), Some(b)) => Some(a.max(b)),
                    (a, b) => a.or(b),
                };
            }
        }
    }
    let size = |row: &JointRow<'_>| row.size.unwrap_or(-1.0);
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    rows
}
