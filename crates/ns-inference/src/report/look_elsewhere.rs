//! Reports of searches at many places.

use super::toys::rate;
use super::{Part, Table};
use crate::LookElsewhereResult;
use crate::present::{count, exact, or_none, significant, with_error};

impl LookElsewhereResult {
    /// Returns the report of a search.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut table = Table::new(&["", "p", "Z"], &[1, 2]);
        table.row(["at one place".to_owned(), significant(self.p_local), significant(self.z_local)]);
        let global = with_error(Some(self.p_global), Some(self.p_global_error));
        table.row(["anywhere, by crossings".to_owned(), global, or_none(self.z_global)]);
        if let Some(p) = self.p_global_toys {
            let error = self.p_global_toys_error;
            let z = if p > 0.0 { significant(crate::normal::quantile(p)) } else { String::new() };
            table.row(["anywhere, by toys".to_owned(), with_error(Some(p), error), z]);
        }
        let (first, last) = (self.places.first(), self.places.last());
        let end = |value: Option<&f64>| value.copied().map_or_else(String::new, exact);
        let heading = format!(
            "search for {} at {} of {} from {} to {}",
            self.poi,
            count(self.places.len(), "value"),
            self.param,
            end(first),
            end(last)
        );
        let mut lines = vec![
            format!(
                "largest q0 {} at {} = {}",
                significant(self.q0_max),
                self.param,
                significant(self.best_place)
            ),
            format!(
                "crossings of q0 = {}: {} in the {}; trial factor {}",
                exact(self.level),
                with_error(Some(self.n_crossings), Some(self.n_crossings_error)),
                self.counted_in,
                with_error(self.trial_factor, self.trial_factor_error),
            ),
        ];
        if self.n_toys > 0 {
            lines.push(format!("{} toys, seed {}{}", self.n_toys, self.seed, rate(self.toys_per_s)));
        }
        vec![Part::Text(heading), Part::Table(table), Part::Text(lines.join("\n"))]
    }
}
