//! Report of a goodness-of-fit test.

use super::toys::rate;
use super::{Part, Table};
use crate::present::{count, freedom, or_none, significant, with_error};
use crate::{EventGoodness, EventStatistic, GoodnessResult, GoodnessToys};

impl GoodnessResult {
    /// Returns the report of a goodness-of-fit test.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let ndof = match self.ndof {
            None => "no degrees of freedom".to_owned(),
            Some(n) => freedom(n),
        };
        let toys = toys(self.toys.as_ref(), self.p_value_toys, self.p_value_toys_error);
        vec![Part::Text(format!(
            "goodness of fit against the saturated model\n\
             chi2 {}, {ndof} ({}, {} without a constraint)\n\
             p-value {}{toys}\n\
             twice_nll {} at the best fit, {} saturated",
            or_none(self.chi2),
            count(self.n_bins, "bin"),
            count(self.n_unconstrained, "free parameter"),
            or_none(self.p_value),
            significant(self.twice_nll),
            or_none(self.twice_nll_saturated),
        ))]
    }
}

impl EventGoodness {
    /// Returns the report of a goodness-of-fit test of events.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let (what, total) = match self.statistic {
            EventStatistic::Chi2 => ("chi2 in bins", "chi2"),
            EventStatistic::Ks => ("distance of Kolmogorov and Smirnov", "largest sqrt(n) D"),
        };
        let ndof = self.ndof.map_or_else(String::new, |n| format!(", {}", freedom(n)));
        let value = if self.statistic == EventStatistic::Chi2 { "chi2" } else { "D" };
        let mut table = Table::new(&["event channel", value, "events", "bins"], &[1, 2, 3]);
        for channel in &self.channels {
            let bins = channel.n_bins.map_or_else(String::new, |n| n.to_string());
            table.row([
                channel.name.clone(),
                significant(channel.value),
                significant(channel.n_events),
                bins,
            ]);
        }
        let toys = toys(self.toys.as_ref(), self.p_value_toys, self.p_value_toys_error);
        let text = format!(
            "{total} {}{ndof} ({} without a constraint)\np-value {}{toys}\ntwice_nll {} at the best fit",
            or_none(self.value),
            count(self.n_unconstrained, "free parameter"),
            or_none(self.p_value),
            significant(self.twice_nll),
        );
        vec![Part::Text(format!("goodness of fit: {what}")), Part::Table(table), Part::Text(text)]
    }
}

/// Returns a line about the toys; an empty text if there are no toys.
pub(super) fn toys(toys: Option<&GoodnessToys>, p_value: Option<f64>, error: Option<f64>) -> String {
    toys.map_or_else(String::new, |toys| {
        format!(
            "\np-value with toys {} ({} toys, {} not converged, {} failed, seed {}{})",
            with_error(p_value, error),
            toys.n_toys,
            toys.n_nonconverged,
            toys.n_error,
            toys.seed,
            rate(toys.toys_per_s),
        )
    })
}
