//! Reports of upper limits, from asymptotic formulae or from toys.

use super::hypotest::BAND;
use super::toys::rate;
use super::{Part, Table};
use crate::limit::LimitScan;
use crate::present::{count, or_none, percent, significant, with_error};
use crate::{LimitOptions, LimitResult, ToyLimitResult};

impl LimitResult {
    /// Returns the report of an upper limit that was computed with `options`. The report contains CLs along a scan only
    /// if `options.scan` gives the values. An automatic scan, which is made for a plot, is left out.
    #[must_use]
    pub fn parts(&self, options: &LimitOptions) -> Vec<Part> {
        let mut table = Table::new(&["", "limit", "CLs there"], &[1, 2]);
        let mut add = |label: String, limit, cls| {
            table.row([label, or_none(limit), or_none(cls)]);
        };
        if !options.expected_only {
            add("observed".to_owned(), self.observed, self.cls_at_limit.observed);
        }
        for (i, (limit, label)) in self.expected.iter().zip(BAND).enumerate() {
            let cls = self.cls_at_limit.expected.get(i).copied().flatten();
            add(format!("expected {label}"), *limit, cls);
        }
        let mut parts = vec![heading(&self.param, self.cl, self.test_stat, ""), Part::Table(table)];
        if let Some(scan) = self.scan.as_ref().filter(|_| !options.scan.is_empty()) {
            parts.push(Part::Text("CLs along the grid".to_owned()));
            parts.push(Part::Table(along(scan, &self.param)));
        }
        let (best, tested) = (significant(self.mu_hat), count(self.n_evaluations, "tested value"));
        parts.push(Part::Text(format!("best fit {} = {best}, {tested}", self.param)));
        parts
    }
}

pub(super) fn heading(param: &str, cl: f64, statistic: &str, more: &str) -> Part {
    Part::Text(format!("upper limit on {param} at {} % confidence, CLs with {statistic}{more}", percent(cl)))
}

/// Builds the table of CLs along a scan, with one row per tested value. There is one column for the observed CLs and
/// one for each of the five expected CLs. Columns without values are left out.
fn along(scan: &LimitScan, param: &str) -> Table {
    let columns: Vec<(&str, &Vec<Option<f64>>)> = std::iter::once(("observed", &scan.observed))
        .chain(BAND.into_iter().zip(&scan.expected))
        .filter(|(_, values)| values.iter().any(Option::is_some))
        .collect();
    let titles: Vec<&str> = std::iter::once(param).chain(columns.iter().map(|(name, _)| *name)).collect();
    let mut table = Table::new(&titles, &(0..titles.len()).collect::<Vec<_>>());
    for (i, mu) in scan.mu_values.iter().enumerate() {
        let cells = columns.iter().map(|(_, values)| match values.get(i).copied().flatten() {
            None => "none".to_owned(),
            Some(cls) if cls > 0.0 && cls < 1e-3 => format!("{cls:.1e}"),
            Some(cls) => format!("{cls:.4}"),
        });
        table.row(std::iter::once(significant(*mu)).chain(cells));
    }
    table
}

impl ToyLimitResult {
    /// Returns the report of a limit from toys.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut table = Table::new(&["", "limit"], &[1]);
        table.row(["observed".to_owned(), with_error(self.observed, self.observed_error)]);
        for ((limit, error), label) in self.expected.iter().zip(&self.expected_error).zip(BAND) {
            table.row([format!("expected {label}"), with_error(*limit, *error)]);
        }
        let mut points = Table::new(&[self.param.as_str(), "CLs", "CLs+b", "CLb"], &[0, 1, 2, 3]);
        for point in &self.points {
            let cls = with_error(point.cls, point.cls_error);
            points.row([significant(point.mu), cls, or_none(point.clsb), or_none(point.clb)]);
        }
        let closing = format!(
            "best fit {} = {}, asymptotic limit {}\n{} toys of each hypothesis at {}, seed {}{}",
            self.param,
            significant(self.mu_hat),
            or_none(self.observed_asymptotic),
            self.n_toys,
            count(self.n_evaluations, "value"),
            self.seed,
            rate(self.toys_per_s),
        );
        vec![
            heading(&self.param, self.cl, self.test_stat, " and toys"),
            Part::Table(table),
            Part::Text("values tested".to_owned()),
            Part::Table(points),
            Part::Text(closing),
        ]
    }
}
