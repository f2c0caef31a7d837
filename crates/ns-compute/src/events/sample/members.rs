//! What the events of channels with flows are drawn from: a part per term of the density and fit range.

use ns_core::Density;

use super::draw::{Group, Part};
use super::formula::Formula;
use super::hat::{Hat, NEGATIVE, VANISHES};
use super::rounds::Member;
use super::table::Table;
use super::{observables_of, product};
use crate::events::channel::ChannelPlan;

/// Problem of a product of a flow with a density of the same observable. Such a product cannot be normalised either.
const SHARED: &str = "multiplies a neural density with a density of the same observable";

/// Returns a part per term and fit range for a channel with flows.
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
                let is_flow = |leaf: &usize| matches!(plan.leaves[*leaf].density, Density::Log(_));
                let made = match leaves.as_slice() {
                    [leaf] if is_flow(leaf) => flow(&plan.leaves[*leaf].density, region)?,
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

/// Returns how the observables of a flow are drawn.
fn flow(density: &Density, region: &[(f64, f64)]) -> Result<Option<Member>, &'static str> {
    let Density::Log(density) = density else { return Ok(None) };
    let sides: Vec<(f64, f64)> = density.observables.iter().map(|&x| region[x]).collect();
    let density = density.clone();
    Ok(Some(match density.source.0.base() {
        Some((base, numbers)) => Member::Sampler { density, sides, base, numbers },
        None => Member::Table { table: Table::new(&*density.source.0, &sides)?, density },
    }))
}

/// Returns how the observables of leaves with formulae are drawn; `None` if there are no events in this region.
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
