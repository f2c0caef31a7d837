//! Tables of events.

use std::sync::Arc;

/// The events of one channel, column by column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventTable {
    /// One column per observable of the channel, followed by one column per log-density (see
    /// [`crate::EventChannel::complete`]), all of the same length.
    pub columns: Vec<Arc<[f64]>>,
    /// Weight of each event, if events have weights; may be negative.
    pub weights: Option<Arc<[f64]>>,
}

impl EventTable {
    /// Returns the number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.len())
    }

    /// Returns whether there is no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the sum of the weights of the events, or the number of events if they have no weights.
    #[must_use]
    pub fn sum_of_weights(&self) -> f64 {
        self.weights.as_ref().map_or(self.len() as f64, |weights| weights.iter().sum())
    }
}
