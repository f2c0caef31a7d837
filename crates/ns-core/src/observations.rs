//! The data of a model.

use std::sync::Arc;

use crate::EventTable;

/// Counts, auxiliary measurements and events of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observations {
    /// Counts of the main bins, channel after channel. Counts may be fractional, as in Asimov data.
    pub main: Vec<f64>,
    /// Auxiliary data: one number per parameter with a [`Constraint`](crate::Constraint), in the order of these
    /// parameters, followed by the auxiliary data of the other constraint terms ([`Penalty`](crate::Penalty)).
    pub aux: Vec<f64>,
    /// Events, one table per event channel. If the list is empty, the observed events of the model are used.
    pub events: Vec<Arc<EventTable>>,
}

impl Observations {
    /// Returns the data of a model without event channels. `main` are the counts, and `aux` are the auxiliary
    /// measurements.
    #[must_use]
    pub fn binned(main: Vec<f64>, aux: Vec<f64>) -> Self {
        Self { main, aux, events: Vec::new() }
    }
}
