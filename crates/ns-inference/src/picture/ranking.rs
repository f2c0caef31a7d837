//! Plot of a ranking with impacts, pulls and constraints.

use ns_viz::{GroupRow, Groups, Impacts, Ranking, RankingRow};

use super::remarks;
use crate::RankingResult;
use crate::present::{measurement, significant};
use crate::ranking::{RankedParameter, Side};

/// Default number of parameters in the plot of a ranking.
pub const MOST_RANKED: usize = 30;

/// Builds the plot of a ranking. If the result has impacts by several definitions, the plot shows those by the first
/// definition. Parameters without such an impact are left out. For parameters without a constraint, which have no
/// pull, a note gives the best-fit value.
#[must_use]
pub fn ranking(result: &RankingResult) -> Ranking {
    let has_impact =
        |entry: &&RankedParameter| Side::ALL.into_iter().any(|side| entry.impacts.delta(side).is_some());
    let definition = match result.impacts.first().copied() {
        Some("refit") | None => "",
        Some("covariance") => "impacts from the covariance",
        Some("global") => "impacts of the auxiliary data",
        Some(other) => other,
    };
    let failed = (result.n_failed > 0).then(|| format!("{} variations failed", result.n_failed));
    Ranking {
        poi: result.param.clone(),
        rows: result.ranking.iter().filter(has_impact).map(row).collect(),
        subtitle: remarks([
            Some(definition),
            (!result.converged).then_some("the best fit did not converge"),
            failed.as_deref(),
            result.interrupted.then_some("interrupted"),
        ]),
        ..Ranking::default()
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
    Impacts { value: format!("{poi} = {value}"), poi, rows, subtitle, ..Impacts::default() }
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
    let note = match (entry.prefit_uncertainty, entry.uncertainty) {
        (Some(_), _) => String::new(),
        (None, Some(sigma)) => measurement(entry.value, sigma),
        (None, None) => significant(entry.value),
    };
    RankingRow {
        parameter: entry.name.clone(),
        pull: entry.pull,
        constraint: entry.constraint,
        prefit_up: delta(Side::PrefitUp),
        prefit_down: delta(Side::PrefitDown),
        postfit_up: delta(Side::Up),
        postfit_down: delta(Side::Down),
        clipped: Side::ALL.into_iter().any(|side| entry.impacts.get(side).clipped),
        note,
    }
}
