//! Replaces many events by fewer weighted events. The first steps of a fit use the weighted events.

use std::sync::Arc;

use super::Dataset;
use crate::events::{Cells, Crew, EventPlan};

/// Number of cells along an observable in the first fit of gathered events. All events in a cell become one weighted
/// event.
const COARSE: usize = 1024;

/// Number of cells along an observable in the second fit of gathered events, which starts near the minimum. All events
/// in a cell become one weighted event.
const FINE: usize = 8192;

/// A channel must have more events than this number for its events to be gathered in [`COARSE`] cells.
const FEWEST: usize = 8 * COARSE;

/// A channel must have more events than this number for its events to be gathered in [`FINE`] cells too.
const FEWEST_FINE: usize = 4 * FINE;

impl Dataset {
    /// Returns data sets in which the events of channels with many events are gathered. Such a channel has one
    /// weighted event per cell (a short interval of its observable). The first data set has coarse cells. If a channel
    /// has very many events, there is a second data set with fine cells. The result is empty if no channel has many
    /// events, or if a channel with many events has several columns or is a histogram.
    pub(crate) fn gathered(&self, plan: &EventPlan, crew: Option<&Crew>) -> Vec<Self> {
        let most = self.events.iter().map(|table| table.len()).max().unwrap_or(0);
        if most <= FEWEST {
            return Vec::new();
        }
        let (mut coarse, mut fine) = (self.events.clone(), self.events.clone());
        for (channel, table) in self.events.iter().enumerate() {
            if table.len() <= FEWEST {
                continue;
            }
            let Some(axis) = plan.line(channel) else { return Vec::new() };
            let count = if table.len() > FEWEST_FINE { FINE } else { COARSE };
            let cells = Cells::gather(table, axis, count, crew);
            coarse[channel] = Arc::new(cells.table(count / COARSE));
            if count == FINE {
                fine[channel] = Arc::new(cells.table(1));
            }
        }
        let with = |events| Self { events, ..self.clone() };
        if most > FEWEST_FINE { vec![with(coarse), with(fine)] } else { vec![with(coarse)] }
    }
}
