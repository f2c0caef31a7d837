//! Reports of combinations of given results.

use super::{Part, Table};
use crate::blue::BlueResult;
use crate::present::{count, freedom, measurement, significant};

impl BlueResult {
    /// Returns the report of a combination: the combined values with their uncertainties by source, and the weights.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let label =
            |quantity: &str| if quantity.is_empty() { "combined".to_owned() } else { quantity.to_owned() };
        let mut table = Table::new(&["", "value"], &[1]);
        let mut sources = Table::new(&["uncertainty", "source", "size"], &[2]);
        let titles: Vec<String> = std::iter::once("result".to_owned())
            .chain(self.combined.iter().map(|own| format!("weight in {}", label(&own.quantity))))
            .chain(["pull".to_owned()])
            .collect();
        let numbers: Vec<usize> = (1..titles.len()).collect();
        let mut weights = Table::new(&titles, &numbers);
        for own in &self.combined {
            table.row([label(&own.quantity), measurement(own.value, own.uncertainty)]);
            for (source, size) in &own.uncertainties {
                sources.row([label(&own.quantity), source.clone(), significant(*size)]);
            }
        }
        for (i, (name, pull)) in self.results.iter().zip(&self.pulls).enumerate() {
            let of = self
                .combined
                .iter()
                .map(|own| own.weights.get(i).map_or_else(String::new, |w| format!("{w:.3}")));
            let pull = pull.map_or_else(String::new, |pull| format!("{pull:.2}"));
            weights.row(std::iter::once(name.clone()).chain(of).chain([pull]));
        }
        let mut closing = format!("chi2 {}, {}", significant(self.chi2), freedom(self.n_dof));
        if let Some(p) = self.p_value {
            closing.push_str(&format!(": p-value {}", significant(p)));
        }
        vec![
            Part::Text(format!("best linear unbiased estimate from {}", count(self.results.len(), "result"))),
            Part::Table(table),
            Part::Table(sources),
            Part::Table(weights),
            Part::Text(closing),
        ]
    }
}
