//! The statistical uncertainties of templates as pyhf's `staterror`.

use ns_core::{Effect, Modifier};

use crate::datacard::build::Builder;
use crate::datacard::build::parameters::{Entry, Written};
use crate::datacard::document::{Channel, McStatsLine};
use crate::pyhf::names::quoted;

/// Bounds of the factors of bins, as in pyhf.
const BOUNDS: (f64, f64) = (1e-10, 10.0);

impl Builder<'_> {
    /// Adds one factor per bin on the backgrounds of a channel.
    pub(super) fn add_factors(&mut self, at: usize, channel: &Channel, line: &McStatsLine) {
        let n_bins = self.yields.observed.get(at).map_or(0, Vec::len);
        let (mut sums, mut squares) = (vec![0.0; n_bins], vec![0.0; n_bins]);
        let mut users = Vec::new();
        for (i, column) in self.document.columns.iter().enumerate() {
            let counts = column.channel == at && (line.include_signal || !column.signal);
            let present = self.cells.get(i).is_some_and(Option::is_some);
            let Some(Some(template)) = self.yields.templates.get(i).filter(|_| counts && present) else {
                continue;
            };
            users.push(i);
            for ((sum, square), (n, e)) in
                sums.iter_mut().zip(&mut squares).zip(template.contents.iter().zip(&template.squares))
            {
                *sum += n;
                *square += e;
            }
        }
        if users.is_empty() {
            return;
        }
        let entries = sums
            .iter()
            .zip(&squares)
            .map(|(&sum, &square): (&f64, &f64)| {
                let sigma = if sum > 0.0 { square.sqrt() / sum } else { 0.0 };
                let fixed = !(sigma * sigma).is_normal();
                let written = Written::Gaussian { datum: 1.0, sigma: if fixed { 1.0 } else { sigma } };
                Entry { init: 1.0, bounds: BOUNDS, fixed, written }
            })
            .collect();
        let name = format!("prop_bin{}", channel.name);
        let Some(first) = self.parameters.declare_bins(&name, entries) else {
            self.report.error(
                line.place.to_string(),
                format!("The name {} of the statistical uncertainties is in use.", quoted(&name)),
                "Rename the parameter of this name.",
            );
            return;
        };
        for i in users {
            if let Some(Some(cell)) = self.cells.get_mut(i) {
                cell.modifiers.push(Modifier { name: name.clone(), first, effect: Effect::StatError });
            }
        }
    }
}
