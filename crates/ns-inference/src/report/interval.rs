//! Reports of confidence intervals.

use super::toys::rate;
use super::{Part, Table};
use crate::IntervalResult;
use crate::present::{count, or_none, percent, significant, with_error};

impl IntervalResult {
    /// Returns the report of an interval.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut table = Table::new(&["", "lower", "upper"], &[1, 2]);
        let end = |value, error: Option<f64>| with_error(value, error.filter(|error| *error > 0.0));
        let has_toys = self.method == "feldman-cousins";
        if has_toys {
            let (lower, upper) = (end(self.lower, self.lower_error), end(self.upper, self.upper_error));
            table.row(["toys".to_owned(), lower, upper]);
        }
        let (lower, upper) = (self.asymptotic.lower, self.asymptotic.upper);
        table.row(["chi2 law".to_owned(), or_none(lower), or_none(upper)]);
        let how = if has_toys { "Feldman-Cousins" } else { "likelihood ratio" };
        let heading = format!("interval of {} at {} % confidence, {how}", self.param, percent(self.cl));
        let mut parts = vec![Part::Text(heading), Part::Table(table)];
        let mut lines = vec![format!("best fit {} = {}", self.param, significant(self.best_fit))];
        if has_toys {
            let mut points =
                Table::new(&[self.param.as_str(), "t", "p", "p by chi2", "toys"], &[0, 1, 2, 3, 4]);
            for point in &self.points {
                points.row([
                    significant(point.value),
                    significant(point.t),
                    with_error(point.p_value, point.p_value_error),
                    significant(point.p_value_asymptotic),
                    point.n_toys.to_string(),
                ]);
            }
            parts.push(Part::Text("values tested".to_owned()));
            parts.push(Part::Table(points));
            lines.push(format!(
                "{} toys at {}, seed {}{}",
                self.n_toys,
                count(self.points.len(), "value"),
                self.seed,
                rate(self.toys_per_s),
            ));
        }
        for (which, reason) in [("lower", &self.lower_reason), ("upper", &self.upper_reason)] {
            if let Some(reason) = reason {
                lines.push(format!("{which} end: {reason}"));
            }
        }
        parts.push(Part::Text(lines.join("\n")));
        parts
    }
}
