//! The statistical uncertainties of templates as in Combine: which kind of uncertainty each bin has.
//!
//! Source: the section on automatic statistical uncertainties of Combine's documentation, and its class
//! `CMSHistErrorPropagator`. Combine also solves for the parameters in closed form during fits; the minimum is the same.

use ns_core::Modifier;

use super::norm::{Factor, StartValues};
use crate::datacard::build::Builder;
use crate::datacard::document::{Channel, McStatsLine};
use crate::pyhf::names::quoted;

/// Bound of parameters with a Gaussian constraint, in standard deviations.
const BOUND: f64 = 7.0;
/// Name of samples that are uncertainties.
pub(super) const SAMPLE: &str = "autoMCStats";

/// A process with a template.
pub(super) struct Process {
    pub(super) column: usize,
    /// Uncertainties by bin.
    errors: Vec<f64>,
    pub(super) norm: Vec<Factor>,
    /// Norm at the start values.
    pub(super) start: f64,
    /// Whether the process counts for the number of effective events.
    counts: bool,
}

/// How a bin gets its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    /// One parameter for the sum of all processes.
    Total,
    /// One parameter per process.
    PerProcess,
}

impl Builder<'_> {
    /// Adds the parameters of the bins of a channel.
    pub(super) fn add_bin_parameters(
        &mut self,
        at: usize,
        channel: &Channel,
        line: &McStatsLine,
        start: &StartValues,
    ) {
        let processes = self.processes(at, line, start);
        let n_bins = self.yields.observed.get(at).map_or(0, Vec::len);
        let kinds: Vec<Kind> = (0..n_bins).map(|bin| self.kind(bin, &processes, line.threshold)).collect();
        self.add_totals(at, channel, line, &processes, &kinds);
        for process in &processes {
            self.add_terms(channel, line, (process, &processes), &kinds);
        }
    }

    fn processes(&self, at: usize, line: &McStatsLine, start: &StartValues) -> Vec<Process> {
        let mut found = Vec::new();
        for (i, column) in self.document.columns.iter().enumerate() {
            let present = column.channel == at && self.cells.get(i).is_some_and(Option::is_some);
            let Some(Some(template)) = self.yields.templates.get(i).filter(|_| present) else { continue };
            let norm = self.norm_of(i);
            found.push(Process {
                column: i,
                errors: template.squares.iter().map(|square| square.max(0.0).sqrt()).collect(),
                start: start.product(&norm),
                norm,
                counts: line.include_signal || !column.signal,
            });
        }
        found
    }

    /// Returns the nominal yield of a process in a bin, before its norm.
    pub(super) fn content(&self, process: &Process, bin: usize) -> f64 {
        let cell = self.cells.get(process.column).and_then(Option::as_ref);
        cell.and_then(|cell| cell.nominal.get(bin)).copied().unwrap_or(0.0)
    }

    /// Returns the expected events of a bin at the start values, and their uncertainty, for all processes.
    pub(super) fn sums(&self, bin: usize, processes: &[Process]) -> (f64, f64) {
        let (mut sum, mut square) = (0.0, 0.0);
        for process in processes {
            sum += process.start * self.content(process, bin);
            square += (process.start * process.error(bin)).powi(2);
        }
        (sum, square.sqrt())
    }

    fn kind(&self, bin: usize, processes: &[Process], threshold: f64) -> Kind {
        let (mut sum, mut square) = (0.0, 0.0);
        for process in processes.iter().filter(|process| process.counts) {
            sum += process.start * self.content(process, bin);
            square += (process.start * process.error(bin)).powi(2);
        }
        if !(square > 0.0) {
            Kind::Nothing
        } else if (sum * sum / square).round() <= threshold {
            Kind::PerProcess
        } else {
            Kind::Total
        }
    }

    /// Returns the modifiers that multiply a sample with a norm.
    pub(super) fn modifiers_of(&self, norm: &[Factor]) -> Vec<Modifier> {
        let name_of = |parameter: usize| self.parameters.name(parameter).unwrap_or_default().to_owned();
        norm.iter().map(|factor| factor.modifier(name_of)).collect()
    }

    /// Returns a name that no process of a channel has.
    pub(super) fn sample_name(&self, channel: usize, name: &str) -> String {
        let taken =
            |name: &str| self.document.columns.iter().any(|c| c.channel == channel && c.process == name);
        let mut name = name.to_owned();
        while taken(&name) {
            name.push('_');
        }
        name
    }

    /// Returns whether a parameter of this name exists, which is then an error.
    pub(super) fn in_use(&mut self, name: &str, line: &McStatsLine) -> bool {
        let used = self.parameters.find(name).is_some();
        if used {
            self.report.error(
                line.place.to_string(),
                format!("The name {} of a statistical uncertainty is in use.", quoted(name)),
                "Rename the parameter of this name.",
            );
        }
        used
    }
}

impl Process {
    pub(super) fn error(&self, bin: usize) -> f64 {
        self.errors.get(bin).copied().unwrap_or(0.0)
    }
}

/// Returns the bounds of a parameter that adds itself times `error` to `sum` events. Without data, the likelihood rises for
/// ever with fewer expected events. Combine keeps the sum positive; the lower bound is where it vanishes at the start values.
pub(super) fn bounds(sum: f64, error: f64) -> (f64, f64) {
    (-BOUND.min(sum.max(0.0) / error), BOUND)
}
