//! Plot of a ranking with impacts, pulls and constraints.

use ns_viz::{GroupRow, Groups, ImpactBars, Impacts, JointRanking, JointRankingRow, Ranking, RankingRow};

use super::{drawn, remarks};
use crate::RankingResult;
use crate::present::{measurement, significant};
use crate::ranking::{RankedParameter, Side, joint_rows};

/// Default number of parameters in the plot of a ranking.
pub const MOST_RANKED: usize = 30;

/// Builds the plot of a ranking. If the result has impacts by several definitions, the plot shows those by the first
/// definition. Parameters without such an impact are left out. For parameters without a constraint, which have no
/// pull, a note gives the best-fit value.
#[must_use]
pub fn ranking(result: &RankingResult) -> Ranking {
    Ranking {
        poi: result.param.clone(),
        rows: result.ranking.iter().filter(|entry| has_impact(entry)).map(row).collect(),
        subtitle: subtitle(result),
        ..Ranking::default()
    }
}

/// Builds the plot of the rankings of several parameters of interest, with a panel for each. The order of the rows is that of
/// [`joint_rows`]. Parameters without any impact by the first definition are left out.
#[must_use]
pub fn joint_ranking(results: &[RankingResult]) -> JointRanking {
    let rows = joint_rows(results);
    let rows = rows.iter().filter(|row| row.entries.iter().flatten().any(|entry| has_impact(entry)));
    let bars = |entry: &Option<&RankedParameter>| {
        let impacts = entry.map(|entry| &entry.impacts);
        let delta = |side| impacts.and_then(|impacts| impacts.delta(side));
        ImpactBars {
            prefit_up: delta(Side::PrefitUp),
            prefit_down: delta(Side::PrefitDown),
            postfit_up: delta(Side::Up),
            postfit_down: delta(Side::Down),
            clipped: impacts.is_some_and(is_clipped),
        }
    };
    let rows = rows.filter_map(|row| {
        let state = row.state()?;
        Some(JointRankingRow {
            parameter: row.name.to_owned(),
            pull: state.pull,
            constraint: state.constraint,
            note: note(state),
            impacts: row.entries.iter().map(bars).collect(),
        })
    });
    JointRanking {
        pois: results.iter().map(|result| result.param.clone()).collect(),
        rows: rows.collect(),
        subtitle: results.first().map(subtitle).unwrap_or_default(),
        ..JointRanking::default()
    }
}

fn has_impact(entry: &RankedParameter) -> bool {
    Side::ALL.into_iter().any(|side| entry.impacts.delta(side).is_some())
}

fn is_clipped(impacts: &crate::ranking::Impacts) -> bool {
    Side::ALL.into_iter().any(|side| impacts.get(side).clipped)
}

/// Returns what a reader should know about a ranking.
fn subtitle(result: &RankingResult) -> String {
    let definition = match result.impacts.first().copied() {
        Some("refit") | None => "",
        Some("covariance") => "impacts from the covariance",
        Some("global") => "impacts of the auxiliary data",
        Some(other) => other,
    };
    let failed = (result.n_failed > 0).then(|| format!("{} variations failed", result.n_failed));
    remarks([
        Some(definition),
        (!result.converged).then_some("the best fit did not converge"),
        failed.as_deref(),
        result.interrupted.then_some("interrupted"),
    ])
}

/// Returns the best-fit value of a parameter without a constraint, which has no pull.
fn note(entry: &RankedParameter) -> String {
    match (entry.prefit_uncertainty, entry.uncertainty) {
        (Some(_), _) => String::new(),
        (None, Some(sigma)) => drawn(&measurement(entry.value, sigma)),
        (None, None) => drawn(&significant(entry.value)),
    }
}

/// Builds the pages of impacts of a ranking: pulls and, beside them, impacts. The pages show the parameters that
/// [`ranking`] shows.
#[must_use]
pub fn impacts(result: &RankingResult) -> Impacts {
    let Ranking { poi, rows, subtitle, .. } = ranking(result);
    let value = result.mu_hat;
    let value = match result.mu_uncertainty {
        Some(sigma) => measurement(value, sigma),
        None => significant(value),
    };
    Impacts { value: format!("{poi} = {}", drawn(&value)), poi, rows, subtitle, ..Impacts::default() }
}

/// Builds the plot of the impacts of groups, with the total uncertainty. Returns `None` without groups.
#[must_use]
pub fn groups(result: &RankingResult) -> Option<Groups> {
    let sequential = |name: &str| {
        let parts = &result.sequential.as_ref()?.groups;
        parts.iter().find(|part| part.name == name)?.delta_mu
    };
    let rows = result.groups.iter().map(|group| GroupRow {
        group: group.name.clone(),
        global: group.delta_mu_global,
        fixed: group.delta_mu_fixed,
        sequential: sequential(&group.name),
    });
    (!result.groups.is_empty()).then(|| Groups {
        poi: result.param.clone(),
        rows: rows.collect(),
        total: result.mu_uncertainty,
        subtitle: remarks([
            (!result.converged).then_some("the best fit did not converge"),
            result.interrupted.then_some("interrupted"),
        ]),
        ..Groups::default()
    })
}

fn row(entry: &RankedParameter) -> RankingRow {
    let delta = |side| entry.impacts.delta(side);
    RankingRow {
        parameter: entry.name.clone(),
        pull: entry.pull,
        constraint: entry.constraint,
        prefit_up: delta(Side::PrefitUp),
        prefit_down: delta(Side::PrefitDown),
        postfit_up: delta(Side::Up),
        postfit_down: delta(Side::Down),
        clipped: is_clipped(&entry.impacts),
        note: note(entry),
    }
}
