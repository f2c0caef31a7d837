//! Reports of simplified likelihoods.

use super::{Part, Table};
use crate::SimplifyResult;
use crate::present::{count, or_none, significant, with_error};

impl SimplifyResult {
    /// Returns the report: the moments of each bin, and the comparison with the full model.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let titles = ["bin", "observed", "signal", "background", "skewness", "a", "b", "c"];
        let mut table = Table::new(&titles, &[1, 2, 3, 4, 5, 6, 7]);
        for bin in &self.bins {
            table.row([
                format!("{}[{}]", bin.channel, bin.bin),
                significant(bin.observed),
                significant(bin.signal),
                with_error(Some(bin.mean), Some(bin.sigma)),
                with_error(Some(bin.skewness), Some(bin.skewness_error)),
                significant(bin.a),
                significant(bin.b),
                significant(bin.c),
            ]);
        }
        let mut parts = vec![Part::Text("simplified likelihood".to_owned()), Part::Table(table)];
        if !self.validation.is_empty() {
            let mut table = Table::new(&["", "full", "simplified"], &[1, 2]);
            for row in &self.validation {
                table.row([row.quantity.clone(), or_none(row.full), or_none(row.simplified)]);
            }
            parts.push(Part::Text("full and simplified".to_owned()));
            parts.push(Part::Table(table));
        }
        parts.push(Part::Text(format!(
            "{} draws, seed {}, {}, relative error of variances {}",
            self.n_draws,
            self.seed,
            count(self.n_directions, "independent direction"),
            significant(self.variance_error),
        )));
        parts
    }
}
