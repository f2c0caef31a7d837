//! Draws the events of toys. Their distribution is exactly the density of their channel.
//!
//! Events are drawn by the rejection method below a [`hat`], which is a function above the density. Interval arithmetic
//! proves that the hat is above the density, for every density with a formula. For about 99 of 100 events, the bounds
//! decide on acceptance without an evaluation of the density. Densities are evaluated by operations that give the same
//! bits on every CPU ([`fixed`]).
//!
//! In a channel with one observable, the density of the whole channel has one hat. With several observables, there is
//! one hat for each term of the density, each fit range, and each group of observables that depend on each other. An
//! attempt then also draws the term and the fit range. If a term is negative, all observables together have one hat.

mod bins;
mod breaks;
mod draw;
mod formula;
mod hat;
mod members;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
mod on_device;
mod rounds;
mod scales;
mod table;

use std::sync::Arc;

use ns_core::random::Poisson;
use ns_core::{BinRule, EventSource, EventTable, SessionError};

#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use self::on_device::DeviceHat;

pub(super) use self::breaks::breaks;
pub(super) use self::scales::{Scale, scales};

use self::bins::{BinSampler, parts_at_centres};
use self::draw::{Group, Number, Part, Sampler};
use self::formula::Formula;
use self::hat::{Hat, NEGATIVE, VANISHES};
use self::members::members;
use self::rounds::Rounds;
use super::asimov::{GridOf, weighted_grid};
use super::channel::ChannelPlan;
use super::expand::connected;
use super::grid::Point;
use super::term::{EventPlan, EventScratch, expected_number, prepare_channels};
use crate::simd::Level;

/// Largest expected number of events of a channel.
const MOST_EVENTS: f64 = 1e8;

/// Error text for a channel whose expected number of events is negative, not finite or too large.
const TOO_MANY: &str = "expects a number of events that is negative, not finite or above 1e8";

/// Error text for a channel with a neural density (flow) and binned data.
const FLOW_AND_BINS: &str =
    "compares bins with a neural density, for which toys cannot be drawn; give the data as single events";

/// Returns the distributions from which the events of toys at the point `theta` are drawn, one per channel. In a
/// channel without an extended likelihood, every toy has as many events as the channel's table in `tables`.
///
/// # Errors
/// If a density has no finite upper bound, is negative somewhere or is zero everywhere, or if the expected number of
/// events in a channel is negative, not finite or too large.
pub(crate) fn event_sources(
    level: Level,
    plan: &EventPlan,
    theta: &[f64],
    tables: &[Arc<EventTable>],
    scratch: &mut EventScratch,
) -> Result<Vec<EventSource>, SessionError> {
    prepare_channels(level, plan, theta, scratch);
    let channels = plan.channels.iter().zip(&scratch.channels).zip(tables).enumerate();
    channels
        .map(|(index, ((channel, memory), table))| {
            let total = expected_number(channel, memory, table);
            let values = (memory.locals.as_slice(), memory.amplitude_values.as_slice());
            source(level, channel, values, total)
                .map_err(|problem| SessionError::CannotSample { channel: index, problem })
        })
        .collect()
}

/// Returns the widths of the auxiliary data of Gaussian penalties at the point `theta`. Each element contains the index
/// of the auxiliary datum and its width.
pub(crate) fn auxiliary_widths(
    level: Level,
    plan: &EventPlan,
    theta: &[f64],
    scratch: &mut EventScratch,
) -> Vec<(usize, f64)> {
    plan.functions.evaluate(level, theta, &mut scratch.functions);
    let gaussian = plan.expected.iter().filter_map(|(datum, _, width)| Some((*datum, width.as_ref()?)));
    gaussian
        .map(|(datum, width)| {
            let mut memory = width.memory();
            let functions = &mut scratch.functions;
            let result = plan.functions.penalty(level, width, theta, &[], functions, &mut memory);
            (datum, result[0])
        })
        .collect()
}

/// Returns the distribution from which the events of one channel are drawn. `values` contains the values that the
/// channel uses (parameters or functions of parameters) and the amplitudes of its terms. `total` is the expected number
/// of events.
fn source(
    level: Level,
    plan: &ChannelPlan,
    values: (&[f64], &[f64]),
    total: f64,
) -> Result<EventSource, &'static str> {
    if !(0.0..=MOST_EVENTS).contains(&total) {
        return Err(TOO_MANY);
    }
    let number = match plan.extended {
        true => Number::Poisson(Poisson::new(total).map_err(|_| TOO_MANY)?),
        false => Number::Fixed(total.round() as usize),
    };
    if !plan.logs.is_empty() || !plan.conditionals.is_empty() {
        if plan.binning.is_some() {
            return Err(FLOW_AND_BINS);
        }
        let (members, parts) = if total == 0.0 { Default::default() } else { members(plan, values)? };
        let rounds = Rounds::new(plan.observables, number, plan.logs.clone(), members, parts);
        return Ok(EventSource(Arc::new(rounds)));
    }
    if let Some(binning) = &plan.binning {
        let (centres, parts) = match binning.rule {
            BinRule::Center => {
                let whole = whole_formula(plan, values);
                parts_at_centres(&binning.edges, &plan.boxes, &whole)?
            }
            BinRule::Integral => {
                // The baseline instruction set gives the same bits on every CPU of one architecture.
                let point = Point { locals: values.0.to_vec(), amplitudes: values.1.to_vec() };
                let (grid, _) = weighted_grid(Level::Baseline, plan, (&point, &[]), 1.0, GridOf::Channel)
                    .map_err(|_| NEGATIVE)?;
                let columns = grid.columns.iter().map(|column| column.to_vec()).collect();
                (columns, grid.weights.map(|weights| weights.to_vec()).unwrap_or_default())
            }
        };
        let sampler = BinSampler::new(centres, &parts, total, number)?;
        return Ok(EventSource(Arc::new(sampler)));
    }
    let (groups, parts) = match total {
        0.0 => (Vec::new(), Vec::new()),
        _ => match (plan.observables > 1).then(|| factored(plan, values)).transpose()?.flatten() {
            Some(found) => found,
            None => joint(plan, values)?,
        },
    };
    Ok(EventSource(Arc::new(Sampler::new(level, plan.observables, number, groups, parts))))
}

/// Returns the formula of a product of leaves (basic densities of a channel). `locals` contains the values that the
/// channel uses.
fn product(plan: &ChannelPlan, leaves: &[usize], locals: &[f64]) -> Formula {
    let mut formula = Formula::default();
    let slots = append(&mut formula, plan, leaves, locals);
    formula.add_product(None, 1.0, &slots);
    formula
}

/// Returns the formula of the whole density of a channel. `locals` contains the values that the channel uses, and
/// `amplitudes` the factors of its terms.
fn whole_formula(plan: &ChannelPlan, (locals, amplitudes): (&[f64], &[f64])) -> Formula {
    let mut formula = Formula::default();
    let all: Vec<usize> = (0..plan.leaves.len()).collect();
    let slots = append(&mut formula, plan, &all, locals);
    let mut sum = None;
    for (term, &amplitude) in plan.terms.iter().zip(amplitudes) {
        let own: Vec<usize> = term.leaves.iter().map(|&leaf| slots[leaf]).collect();
        sum = Some(formula.add_product(sum, amplitude, &own));
    }
    formula
}

/// Appends the programs of leaves (basic densities of a channel) to a formula, and returns the slots (indices of steps)
/// that contain their values. `locals` contains the values that the channel uses.
fn append(formula: &mut Formula, plan: &ChannelPlan, leaves: &[usize], locals: &[f64]) -> Vec<usize> {
    let slot = |&leaf: &usize| {
        let leaf = &plan.leaves[leaf];
        let variables: Vec<f64> = leaf.variables.iter().map(|&local| locals[local]).collect();
        formula.append(leaf.program(), &variables)
    };
    leaves.iter().map(slot).collect()
}

/// Key that identifies a group of observables that are drawn together: the indices of its leaves (basic densities), the
/// indices of its observables, and the lower and upper ends of its box.
type Key = (Vec<usize>, Vec<usize>, Vec<(f64, f64)>);

/// Groups of observables with their hats (upper bounds of their densities), and the parts of the density. Each part is
/// a product of some groups.
type Parts = (Vec<Group>, Vec<Part>);

/// Returns one group with one hat (an upper bound of the density) for all observables of a channel together. The whole
/// density is one part.
fn joint(plan: &ChannelPlan, values: (&[f64], &[f64])) -> Result<Parts, &'static str> {
    let formula = whole_formula(plan, values);
    let hat = Hat::new(&formula, &plan.boxes)?;
    if hat.negative {
        return Err(NEGATIVE);
    }
    let group = Group { observables: (0..plan.observables).collect(), formula, hat };
    Ok((vec![group], vec![Part { groups: vec![0], weight: 1.0 }]))
}

/// Splits the density of a channel into parts: one part for each of its terms in each fit range. Each part is a
/// product of groups of observables, and each group has a hat (an upper bound of its density). Returns `None` if a
/// term or one of its factors is negative somewhere.
fn factored(
    plan: &ChannelPlan,
    (locals, amplitudes): (&[f64], &[f64]),
) -> Result<Option<Parts>, &'static str> {
    let (mut groups, mut parts) = (Vec::new(), Vec::new());
    let mut known: Vec<(Key, Option<usize>)> = Vec::new();
    for (term, &amplitude) in plan.terms.iter().zip(amplitudes) {
        if amplitude < 0.0 {
            return Ok(None);
        }
        let sets = observables_of(plan, &term.leaves);
        for region in &plan.boxes {
            let (mut own, mut weight) = (Vec::new(), amplitude);
            for (leaves, observables) in &sets {
                let sides: Vec<(f64, f64)> = observables.iter().map(|&x| region[x]).collect();
                let key = (leaves.clone(), observables.clone(), sides);
                let found = known.iter().find(|(known, _)| *known == key);
                let index = match found {
                    Some((_, index)) => *index,
                    None => {
                        let mut formula = if leaves.is_empty() {
                            Formula::number(1.0)
                        } else {
                            product(plan, leaves, locals)
                        };
                        formula.renumber(observables);
                        let made = match Hat::new(&formula, std::slice::from_ref(&key.2)) {
                            Ok(hat) if hat.negative => return Ok(None),
                            Ok(hat) => {
                                groups.push(Group { observables: observables.clone(), formula, hat });
                                Some(groups.len() - 1)
                            }
                            // This term has no events in this range.
                            Err(VANISHES) => None,
                            Err(problem) => return Err(problem),
                        };
                        known.push((key, made));
                        made
                    }
                };
                match index {
                    Some(index) => {
                        weight *= groups[index].hat.area;
                        own.push(index);
                    }
                    None => weight = 0.0,
                }
            }
            if weight > 0.0 {
                parts.push(Part { groups: own, weight });
            }
        }
    }
    if parts.is_empty() { Err(VANISHES) } else { Ok(Some((groups, parts))) }
}

/// Splits leaves (basic densities) into groups. Leaves that share observables are in the same group. Returns the leaves
/// and the observables of each group. An observable on which no leaf depends is a group of its own.
fn observables_of(plan: &ChannelPlan, leaves: &[usize]) -> Vec<(Vec<usize>, Vec<usize>)> {
    let of = |leaf: usize| plan.leaves[leaf].density.observables();
    let mut sets: Vec<(Vec<usize>, Vec<usize>)> = connected(leaves, &of)
        .into_iter()
        .map(|group| {
            let mut own: Vec<usize> = group.iter().flat_map(|&leaf| of(leaf)).collect();
            own.sort_unstable();
            own.dedup();
            (group, own)
        })
        .collect();
    for x in 0..plan.observables {
        if !sets.iter().any(|(_, own)| own.contains(&x)) {
            sets.push((Vec::new(), vec![x]));
        }
    }
    sets
}
