//! Distributions from which the events of toys are drawn.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::EventTable;
use crate::random::Stream;

/// Columns of events that are being drawn. Their memory is reused for the next toy.
#[derive(Debug, Clone, Default)]
pub struct EventColumns {
    /// One column per observable, followed by one column per log-density (the logarithm of a density that is not a
    /// formula).
    pub columns: Vec<Vec<f64>>,
    /// Weight of each row, i.e. of each event. If the list is empty, all weights are 1.
    pub weights: Vec<f64>,
}

impl EventColumns {
    /// Removes all rows, and sets the number of columns.
    pub fn clear(&mut self, columns: usize) {
        self.columns.resize_with(columns, Vec::new);
        self.columns.iter_mut().for_each(Vec::clear);
        self.weights.clear();
    }

    /// Returns the rows as a table.
    #[must_use]
    pub fn table(&self) -> EventTable {
        let weights = (!self.weights.is_empty()).then(|| Arc::from(self.weights.as_slice()));
        EventTable { columns: self.columns.iter().map(|c| Arc::from(c.as_slice())).collect(), weights }
    }
}

/// The error if a toy cannot be drawn, because the density of a channel is negative or NaN at a proposed event. The toy
/// then has no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotDrawn;

/// The distribution of the events of one channel at one parameter point.
pub trait DrawEvents: Debug + Send + Sync {
    /// Draws the events of one toy into `columns`. The random numbers come from consecutive slots of `stream`,
    /// beginning with `slot`. A slot is the index of a random draw within its toy. Returns the first slot that was
    /// not used. The same stream and slot always give the same bits.
    ///
    /// # Errors
    /// If the density is negative or not a number where an event is drawn.
    fn draw(&self, stream: &Stream, slot: u32, columns: &mut EventColumns) -> Result<u32, NotDrawn>;

    /// Returns the distribution as [`Any`], so that a session that knows its concrete type can draw events on another
    /// device. Returns `None` if only the CPU can draw events.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// A shared distribution of the events of one channel. Two values of this type are equal if they refer to the same
/// object.
#[derive(Debug, Clone)]
pub struct EventSource(pub Arc<dyn DrawEvents>);

impl PartialEq for EventSource {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(&other.0))
    }
}
