//! Bins with few effective events: one parameter per process.

use ns_core::{Effect, Modifier, Sample, Value};

use super::bounds::seven_sigma;
use super::combine::{Kind, Process, SAMPLE, bounds};
use crate::datacard::build::Builder;
use crate::datacard::build::parameters::{Entry, Written};
use crate::datacard::document::{Channel, McStatsLine};

/// Part of its uncertainty that the yield of a process has at least for a Poisson constraint.
const VIABLE: f64 = 0.999;

impl Builder<'_> {
    /// Adds the parameters of one process in bins with few events.
    pub(super) fn add_terms(
        &mut self,
        channel: &Channel,
        line: &McStatsLine,
        (process, all): (&Process, &[Process]),
        kinds: &[Kind],
    ) {
        let Some(column) = self.document.columns.get(process.column) else { return };
        let Some(Some(cell)) = self.cells.get(process.column) else { return };
        // Factors of single bins, which shapeN has, must not multiply the uncertainties.
        let apart = cell.modifiers.iter().any(|m| m.function().is_some_and(|values| values.len() > 1));
        let base = if apart { vec![0.0; kinds.len()] } else { cell.nominal.clone() };
        let place = line.place.to_string();
        let mut factors = vec![Value::Number(1.0); kinds.len()];
        let mut terms = Vec::new();
        for (bin, _) in kinds.iter().enumerate().filter(|(_, kind)| **kind == Kind::PerProcess) {
            let (content, error) = (self.content(process, bin), process.error(bin));
            if !(error > 0.0) || content < 0.0 {
                continue;
            }
            let name = format!("prop_bin{}_bin{bin}_{}", channel.name, column.process);
            if self.in_use(&name, line) {
                return;
            }
            let count = (content * content / (error * error)).round();
            if content >= VIABLE * error && count <= line.threshold {
                let (lo, hi) = seven_sigma(count);
                let written = Written::Poisson { datum: count, tau: count };
                let entry = Entry { init: 1.0, bounds: (lo / count, hi / count), fixed: false, written };
                let Some(parameter) = self.declare(&name, entry, &place) else { return };
                if let Some(factor) = factors.get_mut(bin) {
                    *factor = Value::Parameter(parameter);
                }
                continue;
            }
            if !self.take_bins(2 * kinds.len(), &line.place) {
                return;
            }
            let written = Written::Gaussian { datum: 0.0, sigma: 1.0 };
            let (sum, _) = self.sums(bin, all);
            let bounds = bounds(sum, process.start.abs() * error);
            let entry = Entry { init: 0.0, bounds, fixed: false, written };
            let Some(first) = self.declare(&name, entry, &place) else { return };
            // Templates that are symmetric around the nominal one are interpolated linearly.
            let (mut lo, mut hi) = (base.clone(), base.clone());
            if let (Some(lo), Some(hi)) = (lo.get_mut(bin), hi.get_mut(bin)) {
                *lo -= error;
                *hi += error;
            }
            terms.push(Modifier { name, first, effect: Effect::HistoSys { lo, hi } });
        }
        if apart && !terms.is_empty() {
            let mut modifiers = self.modifiers_of(&process.norm);
            modifiers.append(&mut terms);
            let name = self.sample_name(column.channel, &format!("{SAMPLE}_{}", column.process));
            self.extra.push((column.channel, Sample { name, nominal: base, modifiers }));
        }
        let Some(Some(cell)) = self.cells.get_mut(process.column) else { return };
        cell.modifiers.append(&mut terms);
        if factors.iter().any(|factor| matches!(factor, Value::Parameter(_))) {
            cell.modifiers.push(Modifier {
                name: format!("prop_bin{}_{}", channel.name, column.process),
                first: 0,
                effect: Effect::Function { values: factors },
            });
        }
    }
}
