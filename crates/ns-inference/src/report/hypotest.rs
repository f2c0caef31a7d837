//! Reports of asymptotic tests: the test of one value of the parameter of interest, and the test of the
//! background-only hypothesis.

use super::goodness::toys;
use super::{Part, Table};
use crate::hypotest::ExpectedSet;
use crate::present::{freedom, or_none, significant};
use crate::{HypotestResult, PointResult, SignificanceResult};

/// Labels of the five expected values of a result: the values two and one standard deviations below the median, the
/// median, and the values one and two standard deviations above the median.
pub(super) const BAND: [&str; 5] = ["-2 sigma", "-1 sigma", "median", "+1 sigma", "+2 sigma"];

/// Builds a table of p-values with a single row: the observed CLs, CLs+b and CLb.
pub(super) fn p_values(observed: [String; 3]) -> Table {
    let mut table = Table::new(&["", "CLs", "CLs+b", "CLb"], &[1, 2, 3]);
    table.row(std::iter::once("observed".to_owned()).chain(observed));
    table
}

/// Adds five rows to a table: the expected p-values in `set`, under the background-only hypothesis.
pub(super) fn add_band(table: &mut Table, set: &ExpectedSet) {
    for (i, label) in BAND.into_iter().enumerate() {
        let of = |list: &[Option<f64>]| or_none(list.get(i).copied().flatten());
        table.row([format!("expected {label}"), of(&set.cls), of(&set.clsb), of(&set.clb)]);
    }
}

impl HypotestResult {
    /// Returns the report of a hypothesis test. If `expected_set` is true, the table has rows for the expected
    /// p-values under the background-only hypothesis.
    #[must_use]
    pub fn parts(&self, expected_set: bool) -> Vec<Part> {
        let mut table = p_values([self.cls, self.clsb, self.clb].map(or_none));
        if expected_set {
            add_band(&mut table, &self.expected_set);
        }
        let (name, value) = (&self.param, significant(self.mu_test));
        vec![
            Part::Text(format!("{name} = {value} tested with {}", self.test_stat)),
            Part::Table(table),
            Part::Text(format!(
                "q {}, Asimov q {}, best fit {name} = {}",
                significant(self.q_obs),
                significant(self.q_asimov),
                significant(self.mu_hat),
            )),
        ]
    }
}

impl PointResult {
    /// Returns the report of a test of a point: a table of the tested values, and the p-values.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut table = Table::new(&["parameter", "tested", "best fit"], &[1, 2]);
        for ((name, value), best) in self.params.iter().zip(&self.values).zip(&self.best_fit) {
            table.row([name.clone(), significant(*value), significant(*best)]);
        }
        let freedom = freedom(self.n_dof);
        let toys = toys(self.toys.as_ref(), self.p_value_toys, self.p_value_toys_error);
        vec![
            Part::Text("test of a point by the likelihood ratio".to_owned()),
            Part::Table(table),
            Part::Text(format!(
                "t {}, {freedom}: p-value {}, Z {} (two-sided){toys}",
                significant(self.t),
                or_none(self.p_value),
                or_none(self.z),
            )),
        ]
    }
}

impl SignificanceResult {
    /// Returns the report of the test of the background-only hypothesis.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut table = Table::new(&["", "p0", "Z"], &[1, 2]);
        table.row(["observed".to_owned(), or_none(self.p0), or_none(self.z)]);
        table.row(["expected".to_owned(), or_none(self.p0_expected), or_none(self.z_expected)]);
        let name = &self.param;
        let (q0, best) = (significant(self.q0), significant(self.mu_hat));
        vec![
            Part::Text(format!("discovery test of {name} = 0")),
            Part::Table(table),
            Part::Text(format!("q0 {q0}, best fit {name} = {best}")),
        ]
    }
}
