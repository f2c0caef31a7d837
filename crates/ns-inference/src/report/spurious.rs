//! Reports of spurious-signal tests.

use super::{Part, Table};
use crate::SpuriousResult;
use crate::present::{count, exact, or_none, sign, significant, with_error};
use crate::spurious::SpuriousPeak;

impl SpuriousResult {
    /// Returns the report: the largest spurious signals with each background.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let titles = ["background", "events", "largest signal", "at", "largest ratio", "at"];
        let mut table = Table::new(&titles, &[1, 2, 3, 4, 5]);
        let place = |peak: &Option<SpuriousPeak>| or_none(peak.as_ref().map(|peak| peak.place));
        for own in &self.backgrounds {
            let largest = own.largest.as_ref().map(|peak| (peak.strength, peak.uncertainty));
            table.row([
                own.name.clone(),
                significant(own.n_events),
                with_error(largest.map(|peak| peak.0), largest.map(|peak| peak.1)),
                place(&own.largest),
                own.largest_ratio.as_ref().map_or_else(|| "none".to_owned(), |peak| sign(peak.ratio, 3)),
                place(&own.largest_ratio),
            ]);
        }
        let end = |value: Option<&f64>| value.copied().map_or_else(String::new, exact);
        let heading = format!(
            "spurious signal {} at {} of {} from {} to {}",
            self.poi,
            count(self.places.len(), "value"),
            self.param,
            end(self.places.first()),
            end(self.places.last())
        );
        let verdict = match self.passed {
            Some(true) => "within",
            Some(false) => "beyond",
            None => "not compared with",
        };
        let lines = format!(
            "largest spurious signal {}, largest ratio to its uncertainty {}: {verdict} the limit {}",
            or_none(self.spurious_signal),
            or_none(self.largest_ratio),
            exact(self.limit)
        );
        vec![Part::Text(heading), Part::Table(table), Part::Text(lines)]
    }
}
