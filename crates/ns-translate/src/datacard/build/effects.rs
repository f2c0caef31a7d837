//! The effects of systematic uncertainties and of free factors on processes.

use std::collections::{BTreeMap, HashMap};

use ns_core::{Effect, Modifier};

use crate::datacard::document::{Document, Kind, RateParam, Size, Systematic};
use crate::pyhf::names::{quoted, show};

use super::Builder;
use super::parameters::{Entry, Written};
use super::template::Scaling;

/// Change of an integral, relative to the nominal one, below which Combine leaves out its normalisation.
const SMALL: f64 = 1e-3;

/// The effects of the lines of one column, apart from those of signals.
#[derive(Default)]
struct Column {
    /// Factors at -1 and +1 sigma, by parameter.
    norms: BTreeMap<usize, (f64, f64)>,
    /// Scales of the shape effects, each with the index of its line and whether it is asymmetric.
    scales: Vec<(f64, usize, bool)>,
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
                    Kind::Shape { optional, .. } => self.shape(line, systematic, at, size, optional, column),
                    Kind::Gamma { .. } => self.gamma_factor(systematic, at),
                    Kind::Param { .. } => {}
                }
            }
        }
        self.add_norms(&columns);
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
    fn parameter(&mut self, systematic: &Systematic) -> Option<usize> {
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
    fn constrained(&self, name: &str) -> Option<Entry> {
        self.params.get(name).copied()
    }

    fn declare(&mut self, name: &str, entry: Entry, place: &str) -> Option<usize> {
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

    fn log_normal(&mut self, systematic: &Systematic, size: Size, column: &mut Column) {
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

    fn shape(
        &mut self,
        line: usize,
        systematic: &Systematic,
        at: usize,
        size: Size,
        optional: bool,
        column: &mut Column,
    ) {
        let document = self.document;
        let Some(written) = document.columns.get(at) else { return };
        let Some(channel) = document.channels.get(written.channel) else { return };
        let process = written.process.as_str();
        let place = &systematic.place;
        let rule = self.yields.rules.get(at).copied().flatten();
        let (Some(template), Some(rule)) = (self.yields.templates.get(at).and_then(Option::clone), rule)
        else {
            if optional {
                self.log_normal(systematic, size, column);
            } else {
                self.report.warn(
                    place.to_string(),
                    format!(
                        "The shape uncertainty {} has no effect on process {} in channel {}, which has no template.",
                        quoted(&systematic.name),
                        quoted(process),
                        quoted(&channel.name)
                    ),
                    "Write - for this column, or use lnN.",
                );
            }
            return;
        };
        let name = systematic.written.get(&at).unwrap_or(&systematic.name);
        let up = format!("{name}Up");
        let up = match self.shapes.varied(channel, process, rule, &up, optional, place, &mut self.report) {
            None => return,
            Some(None) => return self.log_normal(systematic, size, column),
            Some(Some(up)) => up,
        };
        let down = format!("{name}Down");
        let down = self.shapes.varied(channel, process, rule, &down, false, place, &mut self.report);
        let Some(Some(down)) = down else { return };
        let subject = format!(
            "{} on process {} in channel {}",
            quoted(&systematic.name),
            quoted(process),
            quoted(&channel.name)
        );
        let Size::One(scale) = size else {
            self.report.error(
                place.to_string(),
                format!("The shape uncertainty {subject} has two factors, and its templates exist."),
                "Write one number.",
            );
            return;
        };
        let n = template.contents.len();
        let sums = (down.integral(), up.integral());
        if down.contents.len() != n || up.contents.len() != n {
            self.report.error(
                place.to_string(),
                format!(
                    "The templates of {subject} have {} and {} bins, and the nominal one has {n}.",
                    down.contents.len(),
                    up.contents.len()
                ),
                "Use the same bins.",
            );
            return;
        }
        if !(sums.0 > 0.0 && sums.1 > 0.0 && (sums.0 + sums.1).is_finite()) {
            self.report.error(
                place.to_string(),
                format!(
                    "The templates of {subject} have the integrals {} and {}.",
                    show(sums.0),
                    show(sums.1)
                ),
                "Correct the templates, or write - for this column.",
            );
            return;
        }
        if [&template, &down, &up].iter().any(|t| t.contents.iter().any(|x| *x < 0.0)) {
            self.report.warn(
                place.to_string(),
                format!("A template of {subject} is negative in a bin. Where the sum of all effects on a process is negative, Combine takes 1e-9, and here it stays negative."),
                "Correct the templates.",
            );
        }
        let Some(first) = self.parameter(systematic) else { return };
        let scaling = self.scaling(at);
        self.add_templates(
            systematic,
            at,
            first,
            scaling,
            &template.contents,
            &down.contents,
            &up.contents,
            scale,
        );
        let asymmetric =
            self.cells.get(at).and_then(Option::as_ref).is_some_and(|cell| is_asymmetric(cell, first));
        column.scales.push((scale, line, asymmetric));
        if scaling == (Scaling::Own { keep_integrals: true }) {
            return;
        }
        let nominal = template.integral();
        let (lo, hi) = (sums.0 / nominal, sums.1 / nominal);
        if (lo - 1.0).abs() < SMALL && (hi - 1.0).abs() < SMALL {
            return;
        }
        let (lo, hi) = (six_decimals(lo.powf(scale)), six_decimals(hi.powf(scale)));
        if lo > 0.0 && hi > 0.0 && (lo * hi).is_finite() {
            multiply(column, first, lo, hi);
        } else {
            self.report.error(
                place.to_string(),
                format!("The templates of {subject} have integrals that are too far from the nominal one."),
                "Correct the templates.",
            );
        }
    }

    /// Adds the templates at -1 and +1 sigma to a process, if they differ from the nominal one.
    fn add_templates(
        &mut self,
        systematic: &Systematic,
        at: usize,
        first: usize,
        scaling: Scaling,
        template: &[f64],
        down: &[f64],
        up: &[f64],
        scale: f64,
    ) {
        let Some(Some(cell)) = self.cells.get_mut(at) else { return };
        // With gmN, the rate is that where its factor is 1.
        let scaling = match scaling {
            Scaling::Rate(_) => Scaling::Rate(cell.nominal.iter().sum()),
            own => own,
        };
        let (lo, hi) = (scaling.varied(template, down, scale), scaling.varied(template, up, scale));
        let twice =
            cell.modifiers.iter().any(|m| m.first == first && matches!(m.effect, Effect::HistoSys { .. }));
        if twice {
            self.report.error(
                systematic.place.to_string(),
                format!("The shape uncertainty {} acts twice on a process.", quoted(&systematic.name)),
                "Write - in the columns of one of the lines.",
            );
            return;
        }
        if !lo.iter().chain(&hi).all(|x| x.is_finite()) {
            self.report.error(
                systematic.place.to_string(),
                format!("The shape uncertainty {} is too large.", quoted(&systematic.name)),
                "Correct its scale or the templates.",
            );
            return;
        }
        let differs =
            |varied: &[f64]| varied.iter().zip(&cell.nominal).any(|(v, n)| (v - n).abs() > 1e-12 * n.abs());
        if differs(&lo) || differs(&hi) {
            let name = systematic.name.clone();
            cell.modifiers.push(Modifier { name, first, effect: Effect::HistoSys { lo, hi } });
        }
    }

    /// Warns where scales of one process differ. Combine then uses a narrower region of smooth interpolation for all.
    fn check_scales(&mut self, columns: &[Column]) {
        let mut warned = BTreeMap::new();
        for (at, column) in columns.iter().enumerate() {
            let smooth = column.scales.iter().map(|(scale, ..)| *scale).fold(1.0, f64::min);
            for (scale, line, asymmetric) in &column.scales {
                if *asymmetric && *scale != smooth {
                    warned.entry(*line).or_insert((at, *scale, smooth));
                }
            }
        }
        for (line, (at, scale, smooth)) in warned {
            let (Some(systematic), Some(column)) =
                (self.document.systematics.get(line), self.document.columns.get(at))
            else {
                continue;
            };
            self.report.warn(
                systematic.place.to_string(),
                format!(
                    "The shape uncertainty {} has the scale {} on process {} in channel {}, where Combine changes \
                     from smooth to linear interpolation at {} sigma; here it is 1 sigma.",
                    quoted(&systematic.name),
                    show(scale),
                    quoted(&column.process),
                    quoted(self.document.channel_of(column)),
                    show(smooth / scale)
                ),
                "Give all shape uncertainties of the process one scale, if this matters.",
            );
        }
    }

    /// Adds the free factors.
    pub(super) fn add_rate_params(&mut self) {
        for param in &self.document.rate_params {
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
    fn rate_parameter(&mut self, param: &RateParam) -> Option<usize> {
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

/// Returns whether the templates of a parameter lie asymmetrically around the nominal one.
fn is_asymmetric(cell: &super::Cell, first: usize) -> bool {
    cell.modifiers.iter().any(|modifier| match &modifier.effect {
        Effect::HistoSys { lo, hi } if modifier.first == first => lo
            .iter()
            .zip(hi)
            .zip(&cell.nominal)
            .any(|((lo, hi), n)| (lo + hi - 2.0 * n).abs() > 1e-6 * n.abs()),
        _ => false,
    })
}

fn multiply(column: &mut Column, parameter: usize, lo: f64, hi: f64) {
    let factors = column.norms.entry(parameter).or_insert((1.0, 1.0));
    factors.0 *= lo;
    factors.1 *= hi;
}

/// Rounds as Combine does when it writes the number into the name of an object.
fn six_decimals(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}

/// Returns the factor of a sideband with `count` events: the number of events divided by `count`, or the number itself
/// if `count` is 0. The bounds are Combine's, where the probability of the count is below 1e-12.
fn gamma_entry(count: f64) -> Entry {
    let unit = count.max(1.0);
    let unlikely = |mean: f64| log_poisson(count, mean) <= (1e-12_f64).ln();
    let mut lo = if count > 0.0 { count + 1.0 } else { 0.0 };
    while lo > 0.0 && !unlikely(lo) {
        lo *= 0.8;
    }
    let mut hi = count + 1.0;
    while !unlikely(hi) {
        hi *= 1.2;
    }
    Entry {
        init: 1.0,
        bounds: (lo / unit, hi / unit),
        fixed: false,
        written: Written::Poisson { datum: count, tau: unit },
    }
}

/// Returns the logarithm of the probability of a count.
fn log_poisson(count: f64, mean: f64) -> f64 {
    if count == 0.0 {
        return -mean;
    }
    // Stirling's series of ln(n!), relative to its leading terms; an error of a thousandth does not matter here.
    let correction = 0.5 * (2.0 * std::f64::consts::PI * count).ln() + 1.0 / (12.0 * count);
    count * (mean / count).ln() + count - mean - correction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_a_sideband_are_far_from_its_count() {
        for count in [0.0, 1.0, 4.0, 1000.0, 1e12] {
            let entry = gamma_entry(count);
            let unit = count.max(1.0);
            assert!(entry.bounds.0 < entry.init && entry.init < entry.bounds.1, "{count}");
            assert!(log_poisson(count, entry.bounds.1 * unit) < -27.0, "{count}");
        }
        assert_eq!(gamma_entry(0.0).bounds.0, 0.0);
        assert!((log_poisson(4.0, 5.0) - 0.175_467_4_f64.ln()).abs() < 1e-3);
    }

    #[test]
    fn numbers_are_rounded_to_six_decimals() {
        assert_eq!(six_decimals(1.054_321_49), 1.054_321);
        assert_eq!(six_decimals(4e-7), 0.0);
    }
}
