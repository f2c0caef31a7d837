//! Prepares the distributions from which the events of channels with flows are drawn. The density of such a channel is
//! split into parts: one for each of its terms in each fit range.

use ns_core::Density;

use super::draw::{Group, Part};
use super::formula::Formula;
use super::hat::{Hat, NEGATIVE, VANISHES};
use super::rounds::{Member, Neural};
use super::table::Table;
use super::{observables_of, product};
use crate::events::channel::ChannelPlan;

/// Error text for a product of a flow with another density of the same observable. Such a product cannot be drawn from
/// and cannot be normalised.
const SHARED: &str = "multiplies a neural density with a density of the same observable";

/// Returns the members (distributions of observables that are drawn together) and the parts of the density of a channel
/// with flows. There is one part for each term of the density in each fit range, and a part is a product of members.
pub(super) fn members(
    plan: &ChannelPlan,
    (locals, amplitudes): (&[f64], &[f64]),
) -> Result<(Vec<Member>, Vec<Part>), &'static str> {
    let (mut members, mut parts) = (Vec::new(), Vec::new());
    for (term, &amplitude) in plan.terms.iter().zip(amplitudes) {
        if amplitude < 0.0 {
            return Err(NEGATIVE);
        }
        for region in &plan.boxes {
            let (mut own, mut weight) = (Vec::new(), amplitude);
            for (leaves, observables) in &observables_of(plan, &term.leaves) {
                let is_flow = |leaf: &usize| {
                    matches!(plan.leaves[*leaf].density, Density::Log(_) | Density::Conditional(_))
                };
                let made = match leaves.as_slice() {
                    [leaf] if is_flow(leaf) => flow(plan, *leaf, (locals, region))?,
                    several if several.iter().any(is_flow) => return Err(SHARED),
                    _ => formula(plan, leaves, observables, (locals, region))?,
                };
                match made {
                    Some(member) => {
                        weight *= member.area();
                        members.push(member);
                        own.push(members.len() - 1);
                    }
                    None => weight = 0.0,
                }
            }
            if weight > 0.0 {
                parts.push(Part { groups: own, weight });
            }
        }
    }
    if parts.is_empty() { Err(VANISHES) } else { Ok((members, parts)) }
}

/// Returns the distribution of the observables of one flow within a region. `leaf` is the index of the flow among the
/// basic densities of the channel.
fn flow(
    plan: &ChannelPlan,
    leaf: usize,
    (locals, region): (&[f64], &[(f64, f64)]),
) -> Result<Option<Member>, &'static str> {
    let density = match &plan.leaves[leaf].density {
        Density::Log(own) => {
            Neural { observables: own.observables.clone(), source: own.source.clone(), context: Vec::new() }
        }
        Density::Conditional(own) => {
            let known = plan.conditionals.iter().find(|known| known.density == *own);
            Neural {
                observables: own.observables.clone(),
                source: own.source.clone(),
                context: known.map(|known| known.context(locals)).unwrap_or_default(),
            }
        }
        _ => return Ok(None),
    };
    let sides: Vec<(f64, f64)> = density.observables.iter().map(|&x| region[x]).collect();
    Ok(Some(match density.density().base() {
        Some((base, numbers)) => Member::Sampler { density, sides, base, numbers },
        None => Member::Table { table: Table::new(density.density(), &density.context, &sides)?, density },
    }))
}

/// Returns the distribution of some observables within a region. It is the product of the basic densities (leaves) with
/// the indices `leaves`, which have formulae. Returns `None` if there are no events in this region.
fn formula(
    plan: &ChannelPlan,
    leaves: &[usize],
    observables: &[usize],
    (locals, region): (&[f64], &[(f64, f64)]),
) -> Result<Option<Member>, &'static str> {
    let sides: Vec<(f64, f64)> = observables.iter().map(|&x| region[x]).collect();
    let mut formula = if leaves.is_empty() { Formula::number(1.0) } else { product(plan, leaves, locals) };
    formula.renumber(observables);
    match Hat::new(&formula, std::slice::from_ref(&sides)) {
        Ok(hat) if hat.negative => Err(NEGATIVE),
        Ok(hat) => Ok(Some(Member::Formula(Group { observables: observables.to_vec(), formula, hat }))),
        Err(VANISHES) => Ok(None),
        Err(problem) => Err(problem),
    }
}
