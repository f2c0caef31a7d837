//! Bins with one parameter `nu` for all processes: a sample `nu e`, where `e` follows the norms of the processes.

use std::collections::HashMap;

use ns_core::{Effect, Modifier, Op, Sample, Value};

use super::combine::{Kind, Process, SAMPLE, bounds};
use super::norm::Factor;
use crate::datacard::build::Builder;
use crate::datacard::build::parameters::{Entry, Written};
use crate::datacard::document::{Channel, McStatsLine};
use crate::log_normal::push;

/// Smallest variance, where all norms may be 0: the root has no derivative at 0.
const LEAST_VARIANCE: f64 = 1e-300;

impl Builder<'_> {
    /// Adds the bins with one parameter each, as a sample `nu e`.
    pub(super) fn add_totals(
        &mut self,
        at: usize,
        channel: &Channel,
        line: &McStatsLine,
        processes: &[Process],
        kinds: &[Kind],
    ) {
        let in_total = |process: &&Process| {
            kinds.iter().enumerate().any(|(bin, kind)| *kind == Kind::Total && process.error(bin) > 0.0)
        };
        let users: Vec<&Process> = processes.iter().filter(in_total).collect();
        let Some((head, tail)) = users.split_first() else { return };
        // Factors that all processes share multiply the sample, so that the functions have fewer parameters.
        let shared: Vec<Factor> =
            head.norm.iter().copied().filter(|f| tail.iter().all(|p| p.norm.contains(f))).collect();
        let own: Vec<Vec<Factor>> = users.iter().map(|process| without(&process.norm, &shared)).collect();
        let mut norms: HashMap<(usize, bool), Option<Value>> = HashMap::new();
        let mut values = Vec::with_capacity(kinds.len());
        for (bin, kind) in kinds.iter().enumerate() {
            values.push(match kind {
                Kind::Total => self.uncertainty(channel, bin, &users, &own, &mut norms),
                _ => Value::Number(0.0),
            });
        }
        let entry = |this: &Self, bin: usize, kind: &Kind| {
            let written = Written::Gaussian { datum: 0.0, sigma: 1.0 };
            let (sum, error) = this.sums(bin, processes);
            match kind {
                Kind::Total => Entry { init: 0.0, bounds: bounds(sum, error), fixed: false, written },
                // The parameters of a channel's bins follow each other, those without effect too.
                _ => Entry { init: 0.0, bounds: bounds(1.0, 0.0), fixed: true, written: Written::Free },
            }
        };
        let names: Vec<String> =
            (0..kinds.len()).map(|bin| format!("prop_bin{}_bin{bin}", channel.name)).collect();
        if names.iter().any(|name| self.in_use(name, line)) {
            return;
        }
        let mut first = None;
        for (bin, (name, kind)) in names.iter().zip(kinds).enumerate() {
            let entry = entry(self, bin, kind);
            let index = self.declare(name, entry, &line.place.to_string());
            first = first.or(index);
        }
        let Some(first) = first else { return };
        let mut modifiers = self.modifiers_of(&shared);
        modifiers.push(Modifier {
            name: format!("prop_bin{}", channel.name),
            first,
            effect: Effect::StatError,
        });
        let numbers: Option<Vec<f64>> = values
            .iter()
            .map(|value| match value {
                Value::Number(x) => Some(*x),
                _ => None,
            })
            .collect();
        let nominal = numbers.unwrap_or_else(|| {
            modifiers.push(Modifier {
                name: format!("mcstat_{}", channel.name),
                first: 0,
                effect: Effect::Function { values },
            });
            kinds.iter().map(|kind| f64::from(u8::from(*kind == Kind::Total))).collect()
        });
        let name = self.sample_name(at, SAMPLE);
        self.extra.push((at, Sample { name, nominal, modifiers }));
    }

    /// Returns the uncertainty of the sum in a bin, without the factors that all processes share.
    fn uncertainty(
        &mut self,
        channel: &Channel,
        bin: usize,
        users: &[&Process],
        own: &[Vec<Factor>],
        norms: &mut HashMap<(usize, bool), Option<Value>>,
    ) -> Value {
        let terms: Vec<(usize, f64)> = users
            .iter()
            .enumerate()
            .map(|(i, process)| (i, process.error(bin)))
            .filter(|(_, error)| *error > 0.0)
            .collect();
        let alone = terms.len() == 1;
        let mut ops = Vec::new();
        let (mut constant, mut sum, mut may_vanish) = (0.0, None, true);
        for (i, error) in &terms {
            let Some(factors) = own.get(*i) else { continue };
            may_vanish &= self.may_vanish(factors);
            let known = norms.get(&(*i, alone)).copied();
            let norm = known.unwrap_or_else(|| {
                let column = users.get(*i).and_then(|p| self.document.columns.get(p.column));
                let process = column.map_or("", |column| column.process.as_str());
                let word = if alone { "norm" } else { "squared_norm" };
                self.product_function(factors, !alone, format!("{word}_{process}_{}", channel.name))
            });
            norms.insert((*i, alone), norm);
            let weight = if alone { *error } else { error * error };
            let Some(norm) = norm else {
                constant += weight;
                continue;
            };
            let value = push(&mut ops, Op::Value(norm));
            let weight = push(&mut ops, Op::Number(weight));
            let term = push(&mut ops, Op::Mul(weight, value));
            sum = Some(sum.map_or(term, |sum| push(&mut ops, Op::Add(sum, term))));
        }
        let Some(mut sum) = sum else {
            return Value::Number(if alone { constant } else { constant.sqrt() });
        };
        if !alone {
            let more = if may_vanish { None } else { Some(constant).filter(|c| *c > 0.0) };
            if let Some(constant) = more {
                let constant = push(&mut ops, Op::Number(constant));
                sum = push(&mut ops, Op::Add(sum, constant));
            }
            if may_vanish {
                let least = push(&mut ops, Op::Number(LEAST_VARIANCE));
                sum = push(&mut ops, Op::Max(sum, least));
            }
            push(&mut ops, Op::Sqrt(sum));
        }
        self.add_function(format!("mcstat_{}_bin{bin}", channel.name), ops).unwrap_or(Value::Number(0.0))
    }
}

/// Returns the factors without one of each that is shared.
fn without(factors: &[Factor], shared: &[Factor]) -> Vec<Factor> {
    let mut rest = factors.to_vec();
    for factor in shared {
        if let Some(at) = rest.iter().position(|other| other == factor) {
            rest.remove(at);
        }
    }
    rest
}
