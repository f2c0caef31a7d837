//! A ranking as rows of text, for tables in the terminal and in notebooks.

use super::result::{Impacts, RankedParameter, RankingResult, Side};
use crate::present::{sign, signed};

/// Header and rows of the list: name, pull, constraint, the impacts of every definition asked for, notes.
#[must_use]
pub fn ranking_rows(result: &RankingResult) -> (Vec<String>, Vec<Vec<String>>) {
    let mut columns: Vec<(&str, bool)> = Vec::new();
    for definition in &result.impacts {
        columns.push((definition, false));
        // The shift of a datum has one size, before and after the fit.
        if result.prefit && *definition != "global" {
            columns.push((definition, true));
        }
    }
    let mut header: Vec<String> = ["parameter", "pull", "constraint"].map(str::to_owned).to_vec();
    header.extend(columns.iter().map(|(definition, prefit)| {
        let what = if result.impacts.len() > 1 { definition } else { "impact" };
        format!("{}{what} up / down", if *prefit { "pre-fit " } else { "" })
    }));
    header.push(String::new());
    // Two digits of a tenth of the target's uncertainty.
    let scale = result.mu_uncertainty.map(|sigma| sigma / 10.0);
    let row = |entry: &RankedParameter| {
        let mut cells = vec![
            entry.name.clone(),
            entry.pull.map_or_else(String::new, |pull| sign(pull, 2)),
            entry.constraint.map_or_else(String::new, |c| format!("{c:.2}")),
        ];
        cells.extend(columns.iter().map(|(definition, prefit)| {
            let impacts = by_name(entry, definition);
            let (up, down) =
                if *prefit { (Side::PrefitUp, Side::PrefitDown) } else { (Side::Up, Side::Down) };
            let delta = |side| impacts.and_then(|impacts| impacts.delta(side));
            match (delta(up), delta(down)) {
                (None, None) => "none".to_owned(),
                (up, down) => {
                    let text = |x: Option<f64>| x.map_or_else(|| "none".to_owned(), |x| signed(x, scale));
                    format!("{} / {}", text(up), text(down))
                }
            }
        }));
        cells.push(notes(entry));
        cells
    };
    (header, result.ranking.iter().map(row).collect())
}

/// The impacts of a definition by its key.
fn by_name<'a>(entry: &'a RankedParameter, definition: &str) -> Option<&'a Impacts> {
    match definition {
        "refit" => entry.refit.as_ref(),
        "covariance" => entry.covariance.as_ref(),
        _ => entry.global.as_ref(),
    }
}

/// Notes on a parameter, such as a bound.
fn notes(entry: &RankedParameter) -> String {
    let all = [&entry.refit, &entry.covariance, &entry.global];
    let any = |what: fn(&super::Shift) -> bool| {
        all.into_iter().flatten().any(|impacts| Side::ALL.iter().any(|side| what(impacts.get(*side))))
    };
    let notes = [
        (entry.prefit_uncertainty.is_none(), "unconstrained"),
        (entry.at_bound, "at bound"),
        (entry.at_kink, "at kink"),
        (any(|shift| shift.clipped), "clipped"),
        (any(|shift| shift.converged == Some(false)), "failed"),
    ];
    notes.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note).collect::<Vec<_>>().join(", ")
}

/// Header and rows of the groups.
#[must_use]
pub fn group_rows(result: &RankingResult) -> (Vec<String>, Vec<Vec<String>>) {
    let scale = result.mu_uncertainty.map(|sigma| sigma / 10.0);
    let number = |x: Option<f64>| {
        x.map_or_else(|| "none".to_owned(), |x| signed(x, scale).trim_start_matches('+').to_owned())
    };
    let header = ["group", "parameters", "global", "fixed"].map(str::to_owned).to_vec();
    let row = |group: &super::GroupImpact| {
        vec![
            group.name.clone(),
            group.parameters.len().to_string(),
            number(group.delta_mu_global),
            number(group.delta_mu_fixed),
        ]
    };
    (header, result.groups.iter().map(row).collect())
}

/// One or two lines below the list: the best fit and the parts of its uncertainty.
#[must_use]
pub fn ranking_summary(result: &RankingResult) -> String {
    let best = match result.mu_uncertainty {
        Some(sigma) => crate::present::measurement(result.mu_hat, sigma),
        None => crate::present::significant(result.mu_hat),
    };
    let shown = match result.ranking.len() {
        n if n == result.n_ranked => format!("all {n} nuisance parameters"),
        n => format!("{n} of {} nuisance parameters", result.n_ranked),
    };
    let b = &result.breakdown;
    let scale = result.mu_uncertainty;
    let parts: Vec<String> = [
        ("statistical", b.statistical),
        ("systematic", b.systematic),
        ("of it simulation statistics", b.mc_statistical),
    ]
    .into_iter()
    .filter_map(|(what, part)| part.map(|x| format!("{} {what}", signed(x, scale).trim_start_matches('+'))))
    .collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    format!("impact on {} = {best}{parts}\n{shown}, {} fits", result.param, result.n_fits)
}
