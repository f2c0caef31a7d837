//! Ranks nuisance parameters by their impact on a target, usually the parameter of interest. Impacts by up to three
//! definitions are computed. The result also has pulls, constraints, impacts of groups, and the statistical and
//! systematic parts of the target's uncertainty.
//!
//! A ranking begins with the parent fit, which is the free fit with its covariance. A variation is a fit in which one
//! parameter is fixed at another value, or in which its auxiliary datum is moved. The variation starts at the minimum
//! that the covariance predicts. Variations of different parameters are independent of each other. The later refits
//! of a parameter start at points that also depend on its earlier refits.

mod assemble;
mod auxiliary;
mod covariance;
mod group;
mod held;
mod joint;
mod kind;
mod options;
mod predict;
mod refit;
mod result;
#[cfg(feature = "schema")]
mod schema;
mod study;

pub use joint::{JointRow, joint_rows};
pub use options::{Group, Impact, RankingOptions};
pub use result::{
    Breakdown, GroupImpact, GroupSums, Impacts, RankedParameter, RankingResult, Sequence, SequencePart,
    Shift, Side,
};

use ns_core::{Control, Model, Session};

use crate::analysis::Analysis;
use crate::lowest::Stop;
use crate::{InferenceError, parameter_index};
use group::Members;
use held::Held;
use study::Study;

/// Why the ranking of a model has no rows.
pub const NOTHING_TO_RANK: &str = "the model has no other free parameter, so there is nothing to rank";

/// Ranks the nuisance parameters of `model` by their impact on the target. The target is the first parameter of interest or
/// the parameter named in the options. Every free parameter is a nuisance parameter unless it is a parameter of interest.
///
/// A variation is a fit in which one parameter or its auxiliary datum is moved. If a variation ends below the best fit,
/// the ranking is restarted from this lower minimum. If a variation fails, or is skipped because of an interruption,
/// its impact is missing, and the result gives the reason.
///
/// # Errors
/// For options that do not match the model (unknown names, invalid groups, a fixed target, no parameter of interest),
/// a likelihood that is not finite at any starting point, a device failure, or an interruption before the best fit
/// was found.
pub fn ranking(
    model: &Model,
    session: &dyn Session,
    options: &RankingOptions,
    control: Control<'_>,
) -> Result<RankingResult, InferenceError> {
    let analysis = Analysis::new(model, session, &options.fit, control)?;
    let target = match &options.parameter {
        Some(name) => parameter_index(model, name)?,
        None => analysis.poi("a ranking")?,
    };
    let results = of_targets(analysis, vec![target], options)?;
    results.into_iter().next().ok_or_else(|| no_poi(model))
}

/// Ranks the nuisance parameters of `model` by their impact on each parameter of interest. All rankings share their fits:
/// the fits of a ranking move a nuisance parameter and minimise over all others, also the parameters of interest.
///
/// Returns one result per parameter of interest, in the order of the model. If the options name a parameter, there is one
/// result, for this parameter.
///
/// # Errors
/// The errors of [`ranking`].
pub fn rankings(
    model: &Model,
    session: &dyn Session,
    options: &RankingOptions,
    control: Control<'_>,
) -> Result<Vec<RankingResult>, InferenceError> {
    if options.parameter.is_some() || model.pois.len() < 2 {
        return ranking(model, session, options, control).map(|result| vec![result]);
    }
    let analysis = Analysis::new(model, session, &options.fit, control)?;
    of_targets(analysis, model.pois.clone(), options)
}

fn no_poi(model: &Model) -> InferenceError {
    let (measurement, format) = (model.measurement.clone(), model.format);
    InferenceError::NoPoi { analysis: "a ranking", measurement, format }
}

/// Ranks the nuisance parameters by their impact on each of `targets`.
fn of_targets(
    mut analysis: Analysis<'_>,
    targets: Vec<usize>,
    options: &RankingOptions,
) -> Result<Vec<RankingResult>, InferenceError> {
    let model = analysis.model;
    let free = |i: &usize| {
        !analysis.is_fixed(*i) && model.parameters.get(*i).is_some_and(|p| p.bounds.0 < p.bounds.1)
    };
    if let Some(held) = targets.iter().find(|target| !free(target)) {
        let name = model.parameters.get(*held).map_or_else(String::new, |p| p.name.clone());
        return Err(InferenceError::PoiFixed { analysis: "a ranking", name, format: model.format });
    }
    // A ranking by the impact on a nuisance parameter ranks the parameters of interest, too.
    let of_interest = targets.iter().all(|target| model.pois.contains(target));
    let is_left_out = |i: &usize| targets.contains(i) || (of_interest && model.pois.contains(i));
    let parameters: Vec<usize> = (0..model.parameters.len()).filter(|i| !is_left_out(i) && free(i)).collect();
    let groups = group::resolve(model, &options.groups, &parameters)?;
    analysis.expect(1 + count(&parameters, &groups, options));
    let mut study = Study::open(analysis, targets)?;
    loop {
        study.analysis.expect(count(&parameters, &groups, options));
        match vary(&mut study, &parameters, &groups, options) {
            Ok(variations) => {
                if study.renew_expected()? {
                    continue;
                }
                return Ok(assemble::assemble(&study, &parameters, &groups, options, &variations));
            }
            Err(Stop::Lower(point, depth)) => study.restart(point, depth)?,
            Err(Stop::Error(error)) => return Err(error),
        }
    }
}

/// The results of all variations, i.e. of all fits in which a parameter is fixed or its auxiliary datum is moved.
struct Variations {
    /// For each target, the indices of its ranked parameters, the parameter with the largest impact first.
    listed: Vec<Vec<usize>>,
    /// Indices of the parameters that a target lists.
    varied: Vec<usize>,
    /// For each requested definition of impact, the impacts of the parameters in `varied`, one per target.
    impacts: Vec<(Impact, Vec<Vec<Impacts>>)>,
    /// Parameter index of each member of a group, and its impacts, one per target. These are the impacts of moving the
    /// auxiliary data.
    members: Vec<(usize, Vec<Impacts>)>,
    /// Uncertainties of the targets with some parameters fixed.
    held: HeldSets,
}

/// Uncertainties with some parameters fixed. Each entry has one uncertainty per target.
struct HeldSets {
    /// All constrained parameters are fixed.
    constrained: Vec<Held>,
    /// The parameters that describe the limited size of the simulation are fixed.
    mc: Vec<Held>,
    /// One entry per group: its members are fixed.
    groups: Vec<Vec<Held>>,
    /// One entry per group: its members and those of the groups before it are fixed. Then an entry with all constrained
    /// parameters fixed, too. Empty without groups.
    in_turn: Vec<Vec<Held>>,
}

/// Returns an upper bound on the number of fits that the variations (fits with a moved parameter or auxiliary datum)
/// need.
fn count(parameters: &[usize], groups: &[Members], options: &RankingOptions) -> usize {
    let listed = options.top.map_or(parameters.len(), |n| n.min(parameters.len()));
    let fits = |impact: &Impact| match (impact, options.impacts.first() == Some(impact)) {
        (Impact::Covariance, _) => 0,
        (_, true) => 2 * parameters.len(),
        (_, false) => 2 * listed,
    };
    let prefit = if options.prefit && options.impacts.contains(&Impact::Refit) { 2 * listed } else { 0 };
    let global = options.impacts.contains(&Impact::Global);
    let members = if groups.is_empty() || global { 0 } else { 2 * distinct(groups).len() };
    options.impacts.iter().map(fits).sum::<usize>() + prefit + members + 2 + 2 * groups.len()
}

/// Returns the indices of all members of groups, in ascending order and without repetition.
fn distinct(groups: &[Members]) -> Vec<usize> {
    let mut members: Vec<usize> = groups.iter().flat_map(|group| group.free.iter().copied()).collect();
    members.sort_unstable();
    members.dedup();
    members
}

/// Makes all variations of the best fit, i.e. all fits in which a parameter is fixed or its auxiliary datum is moved.
fn vary(
    study: &mut Study<'_>,
    parameters: &[usize],
    groups: &[Members],
    options: &RankingOptions,
) -> Result<Variations, Stop> {
    if options.impacts.contains(&Impact::Refit) {
        study.find_crossings()?;
    }
    // Parameters whose covariance predicts a large impact come first, so that an interrupted ranking contains them.
    let expected = covariance::impacts(study, parameters, options.prefit);
    let expected: Vec<(usize, Vec<Impacts>)> = parameters.iter().copied().zip(expected).collect();
    let scales = scales(study);
    let largest = |impacts: &[Impacts]| {
        let sizes = impacts.iter().zip(&scales).filter_map(|(i, scale)| Some(i.largest()? / scale));
        sizes.reduce(f64::max)
    };
    let (order, by_covariance): (Vec<usize>, Vec<Vec<Impacts>>) =
        sorted(expected, |impacts| largest(impacts)).into_iter().unzip();
    let first = options.impacts.first().copied().unwrap_or(Impact::Refit);
    let all_prefit = options.prefit && options.top.is_none();
    let found = one_definition(study, first, &order, by_covariance, options.prefit, all_prefit)?;
    let found: Vec<(usize, Vec<Impacts>)> = order.into_iter().zip(found).collect();
    let list = |target: usize| {
        let impacts = found.iter().map(|(i, impacts)| (*i, impacts.get(target).and_then(Impacts::largest)));
        let listed = sorted(impacts.collect(), |size| *size).into_iter().map(|(i, _)| i);
        listed.take(options.top.unwrap_or(usize::MAX)).collect()
    };
    let listed: Vec<Vec<usize>> = (0..study.targets.len()).map(list).collect();
    let (varied, mut found) = varied(&listed, found);
    if first == Impact::Refit && options.prefit && !all_prefit {
        refit::refits(study, &varied, &[&[Side::PrefitUp, Side::PrefitDown]], &mut found)?;
    }
    let mut impacts = vec![(first, found)];
    for definition in options.impacts.iter().skip(1) {
        let by_covariance = covariance::impacts(study, &varied, options.prefit);
        let found =
            one_definition(study, *definition, &varied, by_covariance, options.prefit, options.prefit)?;
        impacts.push((*definition, found));
    }

    let mut members: Vec<(usize, Vec<Impacts>)> = Vec::new();
    if let Some((_, found)) = impacts.iter().find(|(impact, _)| *impact == Impact::Global) {
        members.extend(varied.iter().copied().zip(found.iter().cloned()));
    }
    let mut missing = distinct(groups);
    missing.retain(|i| !members.iter().any(|(j, _)| i == j));
    let mut further = vec![pending(study, false); missing.len()];
    auxiliary::global(study, &missing, &mut further)?;
    members.extend(missing.into_iter().zip(further));
    let held = held_sets(study, parameters, groups)?;
    Ok(Variations { listed, varied, impacts, members, held })
}

/// Makes the fits with sets of parameters fixed.
fn held_sets(study: &mut Study<'_>, parameters: &[usize], groups: &[Members]) -> Result<HeldSets, Stop> {
    let kinds = kind::kinds(study.analysis.model);
    let model = study.analysis.model;
    let terms = model.penalties_of_parameters();
    let constrained = |i: &&usize| {
        let own = model.parameters.get(**i).is_some_and(|p| p.constraint.aux().is_some());
        own || terms.get(**i).is_some_and(|terms| !terms.is_empty())
    };
    let mc = |i: &&usize| constrained(i) && kinds.get(**i).is_some_and(|k| kind::is_mc_statistical(k));
    let constrained: Vec<usize> = parameters.iter().filter(constrained).copied().collect();
    let mut sets: Vec<Vec<usize>> =
        vec![constrained.clone(), parameters.iter().filter(mc).copied().collect()];
    sets.extend(groups.iter().map(|group| group.free.clone()));
    let mut in_turn: Vec<usize> = Vec::new();
    for further in groups.iter().map(|group| &group.free).chain((!groups.is_empty()).then_some(&constrained))
    {
        in_turn.extend(further);
        in_turn.sort_unstable();
        in_turn.dedup();
        sets.push(in_turn.clone());
    }
    let mut held = held::hold(study, &sets)?.into_iter();
    Ok(HeldSets {
        constrained: held.next().unwrap_or_default(),
        mc: held.next().unwrap_or_default(),
        groups: held.by_ref().take(groups.len()).collect(),
        in_turn: held.collect(),
    })
}

/// Returns the sizes by which impacts on different targets are compared: their uncertainties. A single target needs none.
fn scales(study: &Study<'_>) -> Vec<f64> {
    let scale =
        |target: &usize| if study.targets.len() > 1 { study.sigma(*target).unwrap_or(1.0) } else { 1.0 };
    study.targets.iter().map(scale).collect()
}

/// Returns the parameters that any target lists, in the order of the lists, with their impacts.
fn varied(listed: &[Vec<usize>], mut found: Vec<(usize, Vec<Impacts>)>) -> (Vec<usize>, Vec<Vec<Impacts>>) {
    let mut varied = Vec::new();
    for i in listed.iter().flatten() {
        if let Some(k) = found.iter().position(|(j, _)| i == j) {
            varied.push(found.swap_remove(k));
        }
    }
    varied.into_iter().unzip()
}

/// Returns the impacts of a parameter before any is computed, one per target.
fn pending(study: &Study<'_>, prefit: bool) -> Vec<Impacts> {
    vec![Impacts::pending(prefit); study.targets.len()]
}

/// Computes the impacts of `parameters` by the definition `impact`. `by_covariance` are the impacts of the parameters
/// from the covariance. `prefit` is true if pre-fit impacts were asked for, and `prefit_now` is true if this call
/// computes them.
fn one_definition(
    study: &mut Study<'_>,
    impact: Impact,
    parameters: &[usize],
    by_covariance: Vec<Vec<Impacts>>,
    prefit: bool,
    prefit_now: bool,
) -> Result<Vec<Vec<Impacts>>, Stop> {
    let mut impacts = match impact {
        Impact::Covariance => return Ok(by_covariance),
        Impact::Refit | Impact::Global => vec![pending(study, prefit); parameters.len()],
    };
    match impact {
        Impact::Global => auxiliary::global(study, parameters, &mut impacts)?,
        _ => {
            let rounds: [&[Side]; 3] = [&[Side::Up], &[Side::Down], &[Side::PrefitUp, Side::PrefitDown]];
            let n = if prefit_now { 3 } else { 2 };
            refit::refits(study, parameters, rounds.get(..n).unwrap_or(&rounds), &mut impacts)?;
        }
    }
    Ok(impacts)
}

/// Sorts a list of parameters by decreasing post-fit impact, whose size `size` returns. Parameters without an impact come
/// last. Parameters with the same impact keep their order.
fn sorted<T>(mut list: Vec<(usize, T)>, size: impl Fn(&T) -> Option<f64>) -> Vec<(usize, T)> {
    let size = |impact: &T| size(impact).unwrap_or(-1.0);
    list.sort_by(|a, b| size(&b.1).total_cmp(&size(&a.1)));
    list
}
