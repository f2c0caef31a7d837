//! Statistical uncertainties of templates (`autoMCStats`).

mod bounds;
mod combine;
mod norm;
mod staterror;
mod terms;
mod totals;

use super::Builder;
use crate::datacard::document::{Channel, McStatsLine};
use crate::datacard::options::McStats;

impl Builder<'_> {
    /// Adds the parameters of `autoMCStats` lines, as the options ask.
    pub(super) fn add_mc_stats(&mut self) {
        let document = self.document;
        let mut lines: Vec<(usize, &Channel, &McStatsLine)> = Vec::new();
        for (at, channel) in document.channels.iter().enumerate() {
            // With a negative threshold, Combine has no such parameters.
            if let Some(line) = channel.mc_stats.as_ref().filter(|line| line.threshold >= 0.0)
                && self.kept.get(at) == Some(&true)
            {
                lines.push((at, channel, line));
            }
        }
        let Some((_, _, first)) = lines.first() else { return };
        let place = first.place.to_string();
        match self.options.mc_stats {
            McStats::Combine => {
                let start = self.start_values();
                for (at, channel, line) in lines {
                    self.add_bin_parameters(at, channel, line, &start);
                }
            }
            McStats::Ignore => self.report.warn(
                place,
                "The statistical uncertainties of templates (autoMCStats) are left out.",
                "Take Combine's parameters with --mc-stats combine.",
            ),
            McStats::StatError => {
                self.report.warn(
                    place,
                    "autoMCStats is replaced by pyhf's staterror: one Gaussian factor per bin on the backgrounds. \
                     In Combine, the size of the uncertainty follows the norms of the processes, and bins with few \
                     events have Poisson terms.",
                    "Take Combine's parameters with --mc-stats combine.",
                );
                for (at, channel, line) in lines {
                    self.add_factors(at, channel, line);
                }
            }
        }
    }
}
