//! Reports of tests of compatibility.

use super::toys::rate;
use super::{Part, Table};
use crate::CompatibilityResult;
use crate::compatibility::Estimate;
use crate::present::{freedom, measurement, or_none, significant, with_error};

impl CompatibilityResult {
    /// Returns the report of a test of compatibility, with one row per channel.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let has_others = self.channels.iter().any(|channel| channel.others.is_some());
        let mut titles = vec!["channel", self.param.as_str(), "lower", "upper"];
        if has_others {
            titles.push("without it");
        }
        let mut table = Table::new(&titles, &(1..titles.len()).collect::<Vec<_>>());
        let value = |estimate: &Estimate| match estimate.uncertainty {
            Some(sigma) => measurement(estimate.value, sigma),
            None => significant(estimate.value),
        };
        let cells = |name: &str, estimate: &Estimate| {
            [name.to_owned(), value(estimate), or_none(estimate.lower), or_none(estimate.upper)]
        };
        for channel in &self.channels {
            let others = channel.others.as_ref().map(value);
            table.row(cells(&channel.channel, &channel.own).into_iter().chain(others.filter(|_| has_others)));
        }
        let last = has_others.then(String::new);
        table.row(cells("all, a common value", &self.common).into_iter().chain(last));
        let mut lines = vec![format!(
            "q {}, {}, p-value {} by the chi2 law",
            significant(self.q),
            freedom(self.n_dof),
            or_none(self.p_value),
        )];
        if let Some(toys) = &self.toys {
            lines.push(format!(
                "p-value {} by {} toys, seed {}{}",
                with_error(self.p_value_toys, self.p_value_toys_error),
                toys.n_toys,
                toys.seed,
                rate(toys.toys_per_s),
            ));
        }
        vec![
            Part::Text(format!("compatibility of the channels in {}", self.param)),
            Part::Table(table),
            Part::Text(lines.join("\n")),
        ]
    }
}
