//! Report of a scan. The table of a scan in one parameter has one row per point. The table of a scan in two parameters
//! is a matrix with one row per value of the second parameter.

use super::{Part, Table};
use crate::ScanResult;
use crate::present::{best_fit, count, or_none, significant};
use crate::scan::SecondAxis;

impl ScanResult {
    /// Returns the report of a scan.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let (mut parts, second) = match &self.second {
            None => (vec![Part::Table(self.line())], String::new()),
            Some(second) => (
                vec![Part::Text("twice_delta_nll".to_owned()), Part::Table(self.plane(second))],
                format!(", {}", best_fit(&second.param, second.mu_hat, second.uncertainty)),
            ),
        };
        let first = best_fit(&self.param, self.mu_hat, self.uncertainty);
        let mut lines = vec![format!("best fit {first}{second}, twice_nll {}", significant(self.twice_nll))];
        for interval in &self.intervals {
            lines.push(format!(
                "twice_delta_nll = {} ({:.1} %): {} to {}",
                interval.level,
                100.0 * interval.confidence_level,
                or_none(interval.lower),
                or_none(interval.upper),
            ));
        }
        let converged = self.converged.iter().filter(|c| **c).count();
        lines.push(format!("{converged} of {} converged", count(self.converged.len(), "point")));
        parts.push(Part::Text(lines.join("\n")));
        parts
    }

    /// Builds the table of a scan in one parameter, with one row per point.
    fn line(&self) -> Table {
        let mut table = Table::new(&[self.param.as_str(), "twice_delta_nll", "q_mu", ""], &[0, 1, 2]);
        let values = self.twice_delta_nll.iter().zip(&self.q_mu_values).zip(&self.converged);
        for (x, ((delta, q), converged)) in self.mu_values.iter().zip(values) {
            let note = match (delta, converged) {
                (None, _) => "no value",
                (_, false) => "not converged",
                _ => "",
            };
            table.row([significant(*x), or_none(*delta), or_none(*q), note.to_owned()]);
        }
        table
    }

    /// Builds the table of a scan in two parameters, with one row per value of the second parameter.
    fn plane(&self, second: &SecondAxis) -> Table {
        let corner = format!("{} \\ {}", second.param, self.param);
        let titles: Vec<String> =
            std::iter::once(corner).chain(self.mu_values.iter().map(|x| significant(*x))).collect();
        let mut table = Table::new(&titles, &(0..titles.len()).collect::<Vec<_>>());
        table.splits = true;
        let delta = |x: &Option<f64>| x.map_or_else(|| "none".to_owned(), |x| format!("{x:.3}"));
        for (y, row) in second.mu_values.iter().zip(self.twice_delta_nll.chunks(self.row_length())) {
            table.row(std::iter::once(significant(*y)).chain(row.iter().map(delta)));
        }
        table
    }
}
