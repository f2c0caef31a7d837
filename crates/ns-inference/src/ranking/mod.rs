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
mod kind;
mod options;
mod predict;
mod refit;
mod result;
mod study;

pub use options::{Group, Impact, RankingOptions};
pub use result::{Breakdown, GroupImpact, Impacts, RankedParameter, RankingResult, Shift, Side};

use ns_core::{Control, Model, Session};

use crate::analysis::Analysis;
use crate::lowest::Stop;
use crate::{InferenceError, parameter_index};
use group::Members;
use held::Held;
use study::Study;

/// Ranks the free parameters of `model` by their impact on the target. The target is the parameter of interest or the
/// parameter named in the options.
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
    let mut analysis = Analysis::new(model, session, &options.fit, control)?;
    let target = match &options.parameter {
        Some(name) => parameter_index(model, name)?,
        None => analysis.poi("a ranking")?,
    };
    let free = |i: &usize| {
        !analysis.is_fixed(*i) && model.parameters.get(*i).is_some_and(|p| p.bounds.0 < p.bounds.1)
    };
    if !free(&target) {
        let name = model.parameters.get(target).map_or_else(String::new, |p| p.name.clone());
        return Err(InferenceError::PoiFixed { analysis: "a ranking", name, format: model.format });
    }
    let parameters: Vec<usize> = (0..model.parameters.len()).filter(|i| *i != target && free(i)).collect();
    let groups = group::resolve(model, &options.groups, &parameters)?;
    analysis.expect(1 + count(&parameters, &groups, options));
    let mut study = Study::open(analysis, target)?;
    loop {
        study.analysis.expect(count(&parameters, &groups, options));
        match vary(&mut study, &parameters, &groups, options) {
            Ok(variations) => {
                if study.renew_expected()? {
                    continue;
                }
                return Ok(assemble::assemble(&study, &parameters, &groups, options, variations));
            }
            Err(Stop::Lower(point, depth)) => study.restart(point, depth)?,
            Err(Stop::Error(error)) => return Err(error),
        }
    }
}

/// The results of all variations, i.e. of all fits in which a parameter is fixed or its auxiliary datum is moved.
struct Variations {
    /// Indices of the ranked parameters, the parameter with the largest impact first.
    listed: Vec<usize>,
    /// For each requested definition of impact, the impacts of the parameters in `listed`.
    impacts: Vec<(Impact, Vec<Impacts>)>,
    /// Parameter index and impacts of each member of a group. These are the impacts of moving the auxiliary data.
    members: Vec<(usize, Impacts)>,
    /// Uncertainties of the target with some parameters fixed. For the first uncertainty, all constrained parameters
    /// are fixed. For the second, the parameters that describe the limited size of the simulation are fixed. After
    /// these two, there is one uncertainty per group, with the members of the group fixed.
    held: Vec<Held>,
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
    options.impacts.iter().map(fits).sum::<usize>() + prefit + members + 2 + groups.len()
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
    let expected: Vec<(usize, Impacts)> = parameters.iter().copied().zip(expected).collect();
    let (order, by_covariance): (Vec<usize>, Vec<Impacts>) = sorted(expected).into_iter().unzip();
    let first = options.impacts.first().copied().unwrap_or(Impact::Refit);
    let all_prefit = options.prefit && options.top.is_none();
    let found = one_definition(study, first, &order, by_covariance, options.prefit, all_prefit)?;
    let mut list = sorted(order.into_iter().zip(found).collect());
    list.truncate(options.top.unwrap_or(usize::MAX));
    let (listed, mut found): (Vec<usize>, Vec<Impacts>) = list.into_iter().unzip();
    if first == Impact::Refit && options.prefit && !all_prefit {
        refit::refits(study, &listed, &[&[Side::PrefitUp, Side::PrefitDown]], &mut found)?;
    }
    let mut impacts = vec![(first, found)];
    for definition in options.impacts.iter().skip(1) {
        let by_covariance = covariance::impacts(study, &listed, options.prefit);
        let found =
            one_definition(study, *definition, &listed, by_covariance, options.prefit, options.prefit)?;
        impacts.push((*definition, found));
    }

    let mut members: Vec<(usize, Impacts)> = Vec::new();
    if let Some((_, found)) = impacts.iter().find(|(impact, _)| *impact == Impact::Global) {
        members.extend(listed.iter().copied().zip(found.iter().cloned()));
    }
    let mut missing = distinct(groups);
    missing.retain(|i| !members.iter().any(|(j, _)| i == j));
    let mut further = vec![Impacts::pending(false); missing.len()];
    auxiliary::global(study, &missing, &mut further)?;
    members.extend(missing.into_iter().zip(further));

    let kinds = kind::kinds(study.analysis.model);
    let model = study.analysis.model;
    let terms = model.penalties_of_parameters();
    let constrained = |i: &&usize| {
        let own = model.parameters.get(**i).is_some_and(|p| p.constraint.aux().is_some());
        own || terms.get(**i).is_some_and(|terms| !terms.is_empty())
    };
    let mc = |i: &&usize| constrained(i) && kinds.get(**i).is_some_and(|k| kind::is_mc_statistical(k));
    let mut sets: Vec<Vec<usize>> = vec![
        parameters.iter().filter(constrained).copied().collect(),
        parameters.iter().filter(mc).copied().collect(),
    ];
    sets.extend(groups.iter().map(|group| group.free.clone()));
    let held = held::hold(study, &sets)?;
    Ok(Variations { listed, impacts, members, held })
}

/// Computes the impacts of `parameters` by the definition `impact`. `by_covariance` are the impacts of the parameters
/// from the covariance. `prefit` is true if pre-fit impacts were asked for, and `prefit_now` is true if this call
/// computes them.
fn one_definition(
    study: &mut Study<'_>,
    impact: Impact,
    parameters: &[usize],
    by_covariance: Vec<Impacts>,
    prefit: bool,
    prefit_now: bool,
) -> Result<Vec<Impacts>, Stop> {
    let mut impacts = match impact {
        Impact::Covariance => return Ok(by_covariance),
        Impact::Refit | Impact::Global => vec![Impacts::pending(prefit); parameters.len()],
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

/// Sorts a list of parameter indices and impacts by decreasing post-fit impact. Parameters without an impact come last.
/// Parameters with the same impact keep their order.
fn sorted(mut list: Vec<(usize, Impacts)>) -> Vec<(usize, Impacts)> {
    let size = |impacts: &Impacts| impacts.largest().unwrap_or(-1.0);
    list.sort_by(|a, b| size(&b.1).total_cmp(&size(&a.1)));
    list
}
