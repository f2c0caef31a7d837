//! Groups of parameters. Finds the members of a group from names and patterns, and computes the combined impact of
//! the group.

use ns_core::Model;
use wildmatch::WildMatch;

use super::held::Held;
use super::options::Group;
use super::result::{GroupImpact, GroupSums, Impacts, Side};
use super::study::Study;
use crate::{InferenceError, diagnosis, parameter_index};

/// A group of parameters: the indices of its members, and the names of members that are left out.
pub(super) struct Members {
    pub(super) name: String,
    /// Indices of the members that are free nuisance parameters, in the model's order.
    pub(super) free: Vec<usize>,
    /// Names of the members that are left out because they are fixed or are the target itself. Parameters that match
    /// only a pattern are not listed here.
    pub(super) left_out: Vec<String>,
}

/// Finds the members of every group. `free` are the indices of the free nuisance parameters. Only these parameters
/// can be members.
///
/// # Errors
/// [`InferenceError::Group`] if a name does not exist in the model, if a pattern matches no parameter, or if a list
/// of members is empty.
pub(super) fn resolve(
    model: &Model,
    groups: &[Group],
    free: &[usize],
) -> Result<Vec<Members>, InferenceError> {
    groups.iter().map(|group| members(model, group, free)).collect()
}

fn members(model: &Model, group: &Group, free: &[usize]) -> Result<Members, InferenceError> {
    let failed = |reason: String, unknown_name: bool| {
        let group = group.name.clone();
        InferenceError::Group { group, reason, unknown_name }
    };
    if group.members.is_empty() {
        return Err(failed("it has no members; list names or patterns of parameters".to_owned(), false));
    }
    let mut named = vec![false; model.parameters.len()];
    let mut matched = vec![false; model.parameters.len()];
    for member in &group.members {
        let set = model.parameter_sets.iter().find(|set| set.name == *member);
        if let Some(place) = model.parameter_index(member).and_then(|i| named.get_mut(i)) {
            *place = true;
        } else if let Some(set) = set {
            named.iter_mut().take(set.range.end).skip(set.range.start).for_each(|place| *place = true);
        } else if member.contains(['*', '?']) {
            let pattern = WildMatch::new(member);
            let mut any = false;
            for (place, p) in matched.iter_mut().zip(&model.parameters) {
                if pattern.matches(&p.name) {
                    (*place, any) = (true, true);
                }
            }
            if !any {
                return Err(failed(format!("no parameter matches '{member}'"), true));
            }
        } else {
            parameter_index(model, member).map_err(|error| failed(error.to_string(), true))?;
        }
    }
    let chosen = |list: &[bool], i: usize| list.get(i).copied().unwrap_or(false);
    let name = |i: usize| model.parameters.get(i).map_or_else(String::new, |p| p.name.clone());
    Ok(Members {
        name: group.name.clone(),
        free: free.iter().copied().filter(|i| chosen(&named, *i) || chosen(&matched, *i)).collect(),
        left_out: (0..named.len()).filter(|i| chosen(&named, *i) && !free.contains(i)).map(name).collect(),
    })
}

/// Computes the impact of a group on a target in two ways. `target` is the target's position among the targets. The first
/// impact is the quadratic sum of `global`, the impacts of the auxiliary data of the members; correlated data are summed
/// with their correlations. The second impact is computed from `held`, the uncertainty of the target with the members
/// fixed.
pub(super) fn impact(
    study: &Study<'_>,
    group: &Members,
    global: &[(usize, Vec<Impacts>)],
    held: &Held,
    target: usize,
) -> GroupImpact {
    let name =
        |i: &usize| study.analysis.model.parameters.get(*i).map_or_else(String::new, |p| p.name.clone());
    let constrained =
        |i: &&usize| study.analysis.model.parameters.get(**i).is_some_and(|p| p.constraint.aux().is_some());
    let shifts: Option<Vec<(usize, f64)>> = group
        .free
        .iter()
        .filter(constrained)
        .map(|i| {
            let found = global.iter().find(|(j, _)| j == i);
            found.and_then(|(_, impacts)| impacts.get(target)?.symmetric()).map(|shift| (*i, shift))
        })
        .collect();
    let empty = || "the group has no free member".to_owned();
    let by_data = match shifts {
        _ if group.free.is_empty() => Err(empty()),
        None => Err("a member has no global impact".to_owned()),
        Some(list) if list.is_empty() => Err("no member has an auxiliary datum".to_owned()),
        Some(list) => Ok(variance(study.analysis.model, &list).sqrt()),
    };
    let by_holding = if group.free.is_empty() {
        Err(empty())
    } else {
        held.part(study.targets.get(target).and_then(|i| study.sigma(*i)))
    };
    let mut reasons = Vec::new();
    let one_way: Vec<&str> = group
        .free
        .iter()
        .filter(|i| global.iter().any(|(j, impacts)| j == *i && impacts.get(target).is_some_and(is_one_way)))
        .filter_map(|i| study.analysis.model.parameters.get(*i).map(|p| p.name.as_str()))
        .collect();
    if !one_way.is_empty() {
        reasons.push(format!(
            "in delta_mu_global the shifts of {} cancel, because both sides have the same sign",
            diagnosis::list(one_way.into_iter())
        ));
    }
    let mut number = |key: &str, part: Result<f64, String>| {
        part.map_err(|reason| reasons.push(format!("{key} is null: {reason}"))).ok()
    };
    let delta_mu_global = number("delta_mu_global", by_data);
    let delta_mu_fixed = number("delta_mu_fixed", by_holding);
    GroupImpact {
        name: group.name.clone(),
        parameters: group.free.iter().map(name).collect(),
        delta_mu_global,
        delta_mu_fixed,
        reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
    }
}

/// Returns the variance of the target that is due to auxiliary data. `shifts` has the parameters of the data, and the shift
/// of the target by each.
fn variance(model: &Model, shifts: &[(usize, f64)]) -> f64 {
    let alone = |i: &usize| model.correlations().all(|own| !own.parameters().contains(i));
    let independent: f64 = shifts.iter().filter(|(i, _)| alone(i)).map(|(_, shift)| shift * shift).sum();
    independent + model.correlations().map(|own| own.explained(shifts)).sum::<f64>()
}

/// Returns the quadratic sums of the impacts of groups.
pub(super) fn sums(groups: &[GroupImpact]) -> GroupSums {
    let sum = |of: fn(&GroupImpact) -> Option<f64>| {
        groups.iter().map(|group| of(group).map(|x| x * x)).sum::<Option<f64>>().map(f64::sqrt)
    };
    GroupSums {
        delta_mu_global: sum(|group| group.delta_mu_global),
        delta_mu_fixed: sum(|group| group.delta_mu_fixed),
    }
}

/// Returns whether both shifts have the same sign, so that they cancel in half their difference.
fn is_one_way(impacts: &Impacts) -> bool {
    match (impacts.get(Side::Up).delta, impacts.get(Side::Down).delta) {
        (Some(up), Some(down)) => up * down > 0.0,
        _ => false,
    }
}
