//! The effects of systematic uncertainties and of free factors on processes.

use std::collections::{BTreeMap, HashMap};

use ns_core::{Effect, Modifier};

use crate::datacard::document::{Document, Kind, RateParam, Size, Systematic};
use crate::pyhf::names::quoted;

use super::Builder;
use super::gamma::gamma_entry;
use super::log_shapes::LogShape;
use super::parameters::{Entry, Written};

/// The effects of the lines of one column, apart from those of signals.
#[derive(Default)]
pub(super) struct Column {
    /// Factors at -1 and +1 sigma, by parameter.
    pub(super) norms: BTreeMap<usize, (f64, f64)>,
    /// Scales of the shape effects, each with the index of its line and whether it is asymmetric.
    pub(super) scales: Vec<(f64, usize, bool)>,
    /// Effects of `shapeN` lines.
    pub(super) log_shapes: Vec<LogShape>,
}

impl Builder<'_> {
    /// Adds the effects of all systematic uncertainties.
    pub(super) fn add_systematics(&mut self) {
        let document = self.document;
        let mut columns: Vec<Column> = Vec::new();
        columns.resize_with(document.columns.len(), Column::default);
        for (line, systematic) in document.systematics.iter().enumerate() {
            for (&at, &size) in &systematic.sizes {
                if self.cells.get(at).is_none_or(Option::is_none) {
                    continue;
                }
                let Some(column) = columns.get_mut(at) else { continue };
                match systematic.kind {
                    Kind::LogNormal { .. } => self.log_normal(systematic, size, column),
                    Kind::Shape { optional, log, .. } => {
                        self.shape(line, systematic, at, size, (optional, log), column);
                    }
                    Kind::Gamma { .. } => self.gamma_factor(systematic, at),
                    Kind::Param { .. } => {}
                }
            }
        }
        self.add_norms(&columns);
        self.add_log_shapes(&columns);
        self.check_scales(&columns);
    }

    /// Adds the factors of normalisations. Those of one parameter are one factor: their product has the same form.
    fn add_norms(&mut self, columns: &[Column]) {
        let mut lines: BTreeMap<usize, &Systematic> = BTreeMap::new();
        for systematic in &self.document.systematics {
            if let Some(parameter) = self.parameters.find(&systematic.name) {
                lines.entry(parameter).or_insert(systematic);
            }
        }
        for (cell, column) in self.cells.iter_mut().zip(columns) {
            let Some(cell) = cell else { continue };
            for (&first, &(lo, hi)) in &column.norms {
                let Some(line) = lines.get(&first) else { continue };
                if [lo, hi].iter().all(|factor| factor.is_normal()) {
                    let name = line.name.clone();
                    cell.modifiers.push(Modifier { name, first, effect: Effect::NormSys { lo, hi } });
                } else {
                    self.report.error(
                        line.place.to_string(),
                        format!("The factors of {} are too large or too small.", quoted(&line.name)),
                        "Correct them.",
                    );
                }
            }
        }
    }

    /// Returns the parameter of a line, which is added if it is new.
    pub(super) fn parameter(&mut self, systematic: &Systematic) -> Option<usize> {
        let entry = match systematic.kind {
            Kind::LogNormal { uniform: true } | Kind::Shape { uniform: true, .. } => {
                Entry { init: 0.0, bounds: (-1.0, 1.0), fixed: false, written: Written::Free }
            }
            Kind::LogNormal { .. } | Kind::Shape { .. } => {
                self.constrained(&systematic.name).unwrap_or_else(|| {
                    let wide = if systematic.kind.word() == "shape" { 4.0 } else { 7.0 };
                    Entry {
                        init: 0.0,
                        bounds: (-wide, wide),
                        fixed: false,
                        written: Written::Gaussian { datum: 0.0, sigma: 1.0 },
                    }
                })
            }
            Kind::Gamma { count } => gamma_entry(count),
            Kind::Param { .. } => return None,
        };
        self.declare(&systematic.name, entry, &systematic.place.to_string())
    }

    /// Returns the parameter that a `param` line declares.
    pub(super) fn constrained(&self, name: &str) -> Option<Entry> {
        self.params.get(name).copied()
    }

    pub(super) fn declare(&mut self, name: &str, entry: Entry, place: &str) -> Option<usize> {
        let declared = self.parameters.declare(name, entry);
        if declared.is_err() {
            self.report.error(
                place.to_owned(),
                format!("The parameter {} has another constraint in another line.", quoted(name)),
                "Rename it in one of the lines, or give both the same type.",
            );
        }
        declared.ok()
    }

    pub(super) fn log_normal(&mut self, systematic: &Systematic, size: Size, column: &mut Column) {
        let (lo, hi) = match size {
            Size::One(k) => (1.0 / k, k),
            Size::Two(lo, hi) => (lo, hi),
        };
        if let Some(parameter) = self.parameter(systematic) {
            multiply(column, parameter, lo, hi);
        }
    }

    fn gamma_factor(&mut self, systematic: &Systematic, at: usize) {
        let Some(first) = self.parameter(systematic) else { return };
        if let Some(Some(cell)) = self.cells.get_mut(at) {
            cell.modifiers.push(Modifier {
                name: systematic.name.clone(),
                first,
                effect: Effect::NormFactor,
            });
        }
    }

    /// Adds the free factors.
    pub(super) fn add_rate_params(&mut self) {
        for param in self.document.rate_params.iter().filter(|param| param.formula.is_none()) {
            let users: Vec<usize> = param
                .columns
                .iter()
                .copied()
                .filter(|at| self.cells.get(*at).is_some_and(Option::is_some))
                .collect();
            if users.is_empty() {
                continue;
            }
            let Some(first) = self.rate_parameter(param) else { continue };
            for at in users {
                if let Some(Some(cell)) = self.cells.get_mut(at) {
                    cell.modifiers.push(Modifier {
                        name: param.name.clone(),
                        first,
                        effect: Effect::NormFactor,
                    });
                }
            }
        }
    }

    /// Returns the parameter of a `rateParam` line. A parameter of interest or a `param` of its name takes precedence.
    pub(super) fn rate_parameter(&mut self, param: &RateParam) -> Option<usize> {
        let written = self.constrained(&param.name);
        if let Some(known) = self.parameters.find(&param.name) {
            let expected = written.map_or(Written::Free, |entry| entry.written);
            if self.parameters.get(known).is_some_and(|entry| entry.written == expected) {
                return Some(known);
            }
        }
        let (lo, hi) = param.range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let entry = written.unwrap_or(Entry {
            init: param.value.clamp(lo, hi),
            bounds: (lo, hi),
            fixed: false,
            written: Written::Free,
        });
        self.declare(&param.name, entry, &param.place.to_string())
    }
}

/// Returns the parameters of the `param` lines, by name.
pub(super) fn params(document: &Document) -> HashMap<&str, Entry> {
    let mut params = HashMap::new();
    for systematic in &document.systematics {
        if let Kind::Param { mean, sigma, range } = systematic.kind {
            let (lo, hi) = range.unwrap_or((mean - 4.0 * sigma, mean + 4.0 * sigma));
            let written = Written::Gaussian { datum: mean, sigma };
            let entry = Entry { init: mean.clamp(lo, hi), bounds: (lo, hi), fixed: false, written };
            params.entry(systematic.name.as_str()).or_insert(entry);
        }
    }
    params
}

pub(super) fn multiply(column: &mut Column, parameter: usize, lo: f64, hi: f64) {
    let factors = column.norms.entry(parameter).or_insert((1.0, 1.0));
    factors.0 *= lo;
    factors.1 *= hi;
}
