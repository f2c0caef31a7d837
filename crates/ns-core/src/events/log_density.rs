//! Densities whose logarithms are columns of the events.

use std::sync::Arc;

use crate::{Density, EventChannel, EventTable, LogProbError, SharedLogProb};

/// A density without context whose logarithm is a column of the channel's [`EventTable`], computed once per data set.
#[derive(Debug, Clone, PartialEq)]
pub struct LogDensity {
    /// Observables of the channel that are the features of the density, in the order of its features.
    pub observables: Vec<usize>,
    /// Index of its column. The columns of log-densities follow those of the observables, without gaps.
    pub column: usize,
    /// What computes the column.
    pub source: SharedLogProb,
}

impl LogDensity {
    /// Returns the column for events whose observables are `columns`.
    ///
    /// # Errors
    /// If the density cannot be evaluated for an event.
    pub fn evaluate<C: AsRef<[f64]>>(&self, columns: &[C]) -> Result<Vec<f64>, LogProbError> {
        let own: Vec<&[f64]> =
            self.observables.iter().filter_map(|&x| columns.get(x)).map(AsRef::as_ref).collect();
        let n = own.first().map_or(0, |column| column.len());
        let mut rows = Vec::with_capacity(n * own.len());
        for i in 0..n {
            rows.extend(own.iter().filter_map(|column| column.get(i)));
        }
        let mut out = vec![0.0; n];
        self.source.0.log_prob(&rows, &[], &mut out)?;
        Ok(out)
    }
}

impl Density {
    /// Adds the log-densities that this density is made of to `found`, each column once.
    fn collect_logs<'a>(&'a self, found: &mut Vec<&'a LogDensity>) {
        if let Self::Log(own) = self
            && !found.iter().any(|known| known.column == own.column)
        {
            found.push(own);
        }
        self.parts().iter().for_each(|part| part.collect_logs(found));
    }
}

impl EventChannel {
    /// Returns the densities of the channel that are columns of its events, in the order of the columns.
    #[must_use]
    pub fn log_densities(&self) -> Vec<&LogDensity> {
        let mut found = Vec::new();
        self.processes.iter().for_each(|process| process.density.collect_logs(&mut found));
        found.sort_by_key(|own| own.column);
        found
    }

    /// Adds the columns of log-densities to a table of the observables. They are computed here, once per data set.
    ///
    /// # Errors
    /// If a density cannot be evaluated for an event.
    pub fn complete(&self, mut table: EventTable) -> Result<EventTable, LogProbError> {
        table.columns.truncate(self.observables.len());
        for density in self.log_densities() {
            let column = density.evaluate(&table.columns)?;
            table.columns.push(Arc::from(column));
        }
        Ok(table)
    }
}
