//! The effects of shape uncertainties: templates of the nominal integral, and normalisations.

use std::collections::BTreeMap;

use ns_core::{Effect, Modifier};

use crate::datacard::document::{Size, Systematic};
use crate::pyhf::names::{quoted, show};

use super::Builder;
use super::effects::{Column, multiply};
use super::log_shapes::LogShape;
use super::template::Scaling;

/// Change of an integral, relative to the nominal one, below which Combine leaves out its normalisation.
const SMALL: f64 = 1e-3;

impl Builder<'_> {
    pub(super) fn shape(
        &mut self,
        line: usize,
        systematic: &Systematic,
        at: usize,
        size: Size,
        (optional, log): (bool, bool),
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
        if !self.take_bins(2 * n, place) {
            return;
        }
        let Some(first) = self.parameter(systematic) else { return };
        let scaling = self.scaling(at);
        if !column.scales.is_empty() && log == column.log_shapes.is_empty() {
            self.report.error(
                place.to_string(),
                format!("The shape uncertainty {subject} is interpolated in another way than the others of the process."),
                "Make all of them shape, or all of them shapeN.",
            );
            return;
        }
        let templates = (&template.contents[..], &down.contents[..], &up.contents[..]);
        let asymmetric = if log {
            column.log_shapes.push(LogShape::new(first, scale, scaling, templates));
            false
        } else {
            self.add_templates(systematic, at, first, scaling, templates, scale);
            self.cells.get(at).and_then(Option::as_ref).is_some_and(|cell| is_asymmetric(cell, first))
        };
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
        (template, down, up): (&[f64], &[f64], &[f64]),
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
    pub(super) fn check_scales(&mut self, columns: &[Column]) {
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

/// Rounds as Combine does when it writes the number into the name of an object.
fn six_decimals(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_six_decimals() {
        assert_eq!(six_decimals(1.054_321_49), 1.054_321);
        assert_eq!(six_decimals(4e-7), 0.0);
    }
}
