//! Densities that are not formulae, such as normalising flows. If such a density does not depend on parameters, its
//! logarithm is stored as a column of the events. Otherwise the density depends on a context (a list of parameters
//! and functions of parameters).

use std::ops::Range;
use std::sync::Arc;

use crate::{Density, EventChannel, EventTable, LogProbError, SharedLogProb, Value};

/// A density that is not a formula and does not depend on parameters. Its logarithm is computed once per data set and
/// stored as a column of the channel's [`EventTable`].
#[derive(Debug, Clone, PartialEq)]
pub struct LogDensity {
    /// Indices of the observables that are the features (arguments) of the density, in the order of the features.
    pub observables: Vec<usize>,
    /// Index of the column that has the logarithm of the density. The columns of log-densities come after the columns
    /// of the observables, without gaps.
    pub column: usize,
    /// The object that computes the logarithm of the density for each event.
    pub source: SharedLogProb,
}

impl LogDensity {
    /// Computes the log-density of each event. `columns` has one column for each observable of the channel.
    ///
    /// # Errors
    /// If the density cannot be evaluated for an event.
    pub fn evaluate<C: AsRef<[f64]>>(&self, columns: &[C]) -> Result<Vec<f64>, LogProbError> {
        let n = columns.first().map_or(0, |column| column.as_ref().len());
        let mut rows = Vec::with_capacity(n * self.observables.len());
        push_rows(columns, &self.observables, 0..n, &mut rows);
        let mut out = vec![0.0; n];
        self.source.0.log_prob(&rows, &[], &mut out)?;
        Ok(out)
    }
}

/// A density that is not a formula and depends on a context, i.e. on a list of parameters and functions of parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionalDensity {
    /// Indices of the observables that are the features (arguments) of the density, in the order of the features.
    pub observables: Vec<usize>,
    /// The parameters and functions that make up the context, in the order in which `source` takes them.
    pub context: Vec<Value>,
    /// The object that computes log-densities.
    pub source: SharedLogProb,
}

impl ConditionalDensity {
    /// Appends the features (arguments of the density) of the events with the indices `events` to `rows`, one event
    /// after another. `columns` has one column for each observable of the channel.
    pub fn push_rows<C: AsRef<[f64]>>(&self, columns: &[C], events: Range<usize>, rows: &mut Vec<f64>) {
        push_rows(columns, &self.observables, events, rows);
    }
}

fn push_rows<C: AsRef<[f64]>>(
    columns: &[C],
    observables: &[usize],
    events: Range<usize>,
    rows: &mut Vec<f64>,
) {
    for event in events {
        let own = observables.iter().filter_map(|&x| columns.get(x));
        rows.extend(own.filter_map(|column| column.as_ref().get(event)));
    }
}

impl Density {
    /// Adds the log-densities that this density contains, also as factors or summands, to `found`. A column that occurs
    /// several times is added once.
    fn collect_logs<'a>(&'a self, found: &mut Vec<&'a LogDensity>) {
        if let Self::Log(own) = self
            && !found.iter().any(|known| known.column == own.column)
        {
            found.push(own);
        }
        self.parts().iter().for_each(|part| part.collect_logs(found));
    }

    /// Adds the densities with context that this density contains, also as factors or summands, to `found`. A density
    /// that occurs several times is added once.
    fn collect_conditionals<'a>(&'a self, found: &mut Vec<&'a ConditionalDensity>) {
        if let Self::Conditional(own) = self
            && !found.contains(&own)
        {
            found.push(own);
        }
        self.parts().iter().for_each(|part| part.collect_conditionals(found));
    }
}

impl EventChannel {
    /// Returns the log-densities of the channel, in the order of their columns.
    #[must_use]
    pub fn log_densities(&self) -> Vec<&LogDensity> {
        let mut found = Vec::new();
        self.processes.iter().for_each(|process| process.density.collect_logs(&mut found));
        found.sort_by_key(|own| own.column);
        found
    }

    /// Returns the densities of the channel that depend on a context of parameters. Each density occurs once.
    #[must_use]
    pub fn conditional_densities(&self) -> Vec<&ConditionalDensity> {
        let mut found = Vec::new();
        self.processes.iter().for_each(|process| process.density.collect_conditionals(&mut found));
        found
    }

    /// Computes the columns of log-densities and appends them to `table`, which has the columns of the observables.
    /// This is done once per data set.
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
