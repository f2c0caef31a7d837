//! Reports of injection tests.

use super::toys::rate;
use super::{Part, Table};
use crate::InjectionResult;
use crate::present::{freedom, or_none, significant, with_error};

impl InjectionResult {
    /// Returns the report of an injection test, with one row per injected value.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let titles =
            ["injected", "mean", "bias", "spread", "pull mean", "pull width", "coverage", "left out"];
        let mut table = Table::new(&titles, &(0..titles.len()).collect::<Vec<_>>());
        for point in &self.points {
            let p = &point.study;
            table.row([
                significant(point.value),
                with_error(p.mean, p.bias_error),
                with_error(p.bias, p.bias_error),
                or_none(p.spread),
                with_error(p.pull_mean, p.pull_mean_error),
                with_error(p.pull_width, p.pull_width_error),
                with_error(p.coverage, p.coverage_error),
                point.n_failed.to_string(),
            ]);
        }
        let mut lines = Vec::new();
        if let Some(line) = &self.line {
            let test = match line.n_dof {
                0 => "two values do not test the line".to_owned(),
                n => format!(
                    "chi2 {} with {}, p-value {}",
                    significant(line.chi2),
                    freedom(n),
                    or_none(line.p_value)
                ),
            };
            lines.push(format!(
                "slope {}, intercept {}, {test}",
                with_error(Some(line.slope), Some(line.slope_error)),
                with_error(Some(line.intercept), Some(line.intercept_error)),
            ));
        }
        let each = self.points.first().map_or(0, |point| point.n_toys);
        lines.push(format!("{each} toys at each value, seed {}{}", self.seed, rate(self.toys_per_s)));
        vec![
            Part::Text(format!("injected values of {}", self.param)),
            Part::Table(table),
            Part::Text(lines.join("\n")),
        ]
    }
}
