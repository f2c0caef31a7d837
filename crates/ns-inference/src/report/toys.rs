//! Reports of hypothesis tests with toys, and of studies of fits to toys.

use super::hypotest::{add_band, p_values};
use super::{Part, Table};
use crate::present::{or_none, significant, with_error};
use crate::{FitToysResult, HypotestToysResult};

/// Formats the number of toys per second, with a comma in front. The text is empty if `toys_per_s` is `None`.
pub(super) fn rate(toys_per_s: Option<f64>) -> String {
    toys_per_s.map_or_else(String::new, |rate| format!(", {rate:.0} toys/s"))
}

impl HypotestToysResult {
    /// Returns the report of a hypothesis test with toys.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut table = p_values([
            with_error(self.cls, self.cls_error),
            with_error(self.clsb, self.clsb_error),
            with_error(self.clb, self.clb_error),
        ]);
        if let Some(set) = &self.expected_set {
            add_band(&mut table, set);
        }
        let mut toys = Table::new(&["toys", "run", "not converged", "failed"], &[1, 2, 3]);
        let (n, nonconverged, error) = (self.n_toys, self.n_nonconverged, self.n_error);
        for (name, counts) in
            [("b", [n.b, nonconverged.b, error.b]), ("sb", [n.sb, nonconverged.sb, error.sb])]
        {
            toys.row(std::iter::once(name.to_owned()).chain(counts.map(|count| count.to_string())));
        }
        let (name, value) = (&self.param, significant(self.mu_test));
        let closing = format!(
            "q {}, best fit {name} = {}\nseed {}, shard {}{}",
            significant(self.q_obs),
            significant(self.mu_hat),
            self.seed,
            self.shard,
            rate(self.toys_per_s),
        );
        vec![
            Part::Text(format!("{name} = {value} tested with {} and toys", self.test_stat)),
            Part::Table(table),
            Part::Table(toys),
            Part::Text(closing),
        ]
    }
}

impl FitToysResult {
    /// Returns the report of a study of fits to toys.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let titles = ["parameter", "generated", "mean", "spread", "pull mean", "pull width", "coverage"];
        let mut table = Table::new(&titles, &[1, 2, 3, 4, 5, 6]);
        for p in &self.parameters {
            // If a best fit should be 0, rounding gives a tiny value instead. A value far below the spread of the
            // toys is therefore shown as 0.
            let is_zero = p.spread.is_some_and(|spread| p.generated.abs() < 1e-6 * spread);
            table.row([
                p.name.clone(),
                significant(if is_zero { 0.0 } else { p.generated }),
                with_error(p.mean, p.bias_error),
                or_none(p.spread),
                with_error(p.pull_mean, p.pull_mean_error),
                with_error(p.pull_width, p.pull_width_error),
                with_error(p.coverage, p.coverage_error),
            ]);
        }
        let closing = format!(
            "{} toys, {} not converged, {} failed\nseed {}, shard {}{}",
            self.n_toys,
            self.n_nonconverged,
            self.n_error,
            self.seed,
            self.shard,
            rate(self.toys_per_s),
        );
        vec![Part::Text("fits of toys".to_owned()), Part::Table(table), Part::Text(closing)]
    }
}
