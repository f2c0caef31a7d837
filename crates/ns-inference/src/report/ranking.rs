//! Report of a ranking. Its tables have one row per nuisance parameter, the largest impact first, and one row per
//! group.

use super::{Part, Table};
use crate::present::{best_fit, count, sign, signed};
use crate::ranking::{Impacts, NOTHING_TO_RANK, RankedParameter, RankingResult, Sequence, Shift, Side};

impl RankingResult {
    /// Returns the report of a ranking. If there is a single definition of impact and the display is wide enough, the
    /// table of parameters has columns with the impacts. Otherwise each definition has its own table of impacts.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = match self.impacts.len() {
            0 | 1 => vec![Part::Either(self.beside(), self.below())],
            _ => self.below(),
        };
        parts.extend(self.group_tables());
        parts.push(Part::Text(self.summary()));
        parts
    }

    /// Builds the tables of groups; there are none without groups.
    pub(super) fn group_tables(&self) -> Vec<Part> {
        if self.groups.is_empty() {
            return Vec::new();
        }
        let sequence = self.sequential.as_ref().map(|sequence| self.sequence_table(sequence));
        std::iter::once(self.group_table()).chain(sequence).map(Part::Table).collect()
    }

    /// Builds a single table with the name, the pull, the constraint, the impacts and the notes of each parameter.
    fn beside(&self) -> Table {
        let columns = impact_columns(self.impacts.iter().copied(), self.prefit);
        let titles = columns.iter().map(|column| column.title("impact"));
        self.table(&["pull", "constraint"], titles, |entry| {
            let mut cells = state(entry).to_vec();
            cells.extend(columns.iter().map(|column| impact_text(entry, column, self.mu_uncertainty)));
            cells.push([notes_of_state(entry), notes_of_impacts(entry, &self.impacts)].concat().join(", "));
            cells
        })
    }

    /// Builds a table of the parameters without their impacts, followed by one table of impacts for each definition of
    /// impact.
    fn below(&self) -> Vec<Part> {
        let none = std::iter::empty::<String>();
        let parameters = self.table(&["pull", "constraint"], none, |entry| {
            state(entry).into_iter().chain([notes_of_state(entry).join(", ")]).collect()
        });
        let mut parts = vec![Part::Table(parameters)];
        for &definition in &self.impacts {
            let columns = impact_columns(std::iter::once(definition), self.prefit);
            let impacts = self.table(&[], columns.iter().map(|column| column.title("")), |entry| {
                let cells = columns.iter().map(|column| impact_text(entry, column, self.mu_uncertainty));
                cells.chain([notes_of_impacts(entry, &[definition]).join(", ")]).collect()
            });
            parts.push(Part::Text(format!("impact by {definition}")));
            parts.push(Part::Table(impacts));
        }
        parts
    }

    /// Builds a table of all ranked parameters. The first column is the name and the last column has notes. The columns
    /// between the first and the last contain numbers. Their titles are `state`, followed by `impacts`. `cells` returns
    /// all cells of a row after the name.
    fn table(
        &self,
        state: &[&str],
        impacts: impl Iterator<Item = String>,
        cells: impl Fn(&RankedParameter) -> Vec<String>,
    ) -> Table {
        let mut titles = vec!["parameter".to_owned()];
        titles.extend(state.iter().map(|title| (*title).to_owned()));
        titles.extend(impacts);
        let numbers: Vec<usize> = (1..titles.len()).collect();
        titles.push(String::new());
        let mut table = Table::new(&titles, &numbers);
        for entry in &self.ranking {
            table.row(std::iter::once(entry.name.clone()).chain(cells(entry)));
        }
        table
    }

    fn group_table(&self) -> Table {
        let scale = self.mu_uncertainty.map(|sigma| sigma / 10.0);
        let number = |x: Option<f64>| x.map_or_else(|| "none".to_owned(), |x| without_plus(x, scale));
        let mut table = Table::new(&["group", "parameters", "global", "fixed"], &[1, 2, 3]);
        for group in &self.groups {
            let members = group.parameters.len().to_string();
            let impacts = [group.delta_mu_global, group.delta_mu_fixed].map(number);
            table.row([group.name.clone(), members].into_iter().chain(impacts));
        }
        if let Some(sums) = &self.group_sums {
            let sums = [sums.delta_mu_global, sums.delta_mu_fixed].map(number);
            table.row(["quadratic sum".to_owned(), String::new()].into_iter().chain(sums));
        }
        table
    }

    /// Builds the table of the parts of groups that are fixed one after another.
    fn sequence_table(&self, sequence: &Sequence) -> Table {
        let scale = self.mu_uncertainty.map(|sigma| sigma / 10.0);
        let number = |x: Option<f64>| x.map_or_else(|| "none".to_owned(), |x| without_plus(x, scale));
        let mut table = Table::new(&["held in turn", "part", "left"], &[1, 2]);
        table.row(["nothing".to_owned(), String::new(), number(sequence.total)]);
        for part in &sequence.groups {
            table.row([part.name.clone(), number(part.delta_mu), number(part.left)]);
        }
        let other = "other constrained parameters".to_owned();
        table.row([other, number(sequence.other), number(sequence.statistical)]);
        table.row(["statistical".to_owned(), number(sequence.statistical), String::new()]);
        table.row(["quadratic sum".to_owned(), number(sequence.sum), String::new()]);
        table
    }

    /// Returns a text with the best fit of the target, the parts of its uncertainty, and the number of fits.
    pub(super) fn summary(&self) -> String {
        let best = best_fit(&self.param, self.mu_hat, self.mu_uncertainty);
        let shown = match self.ranking.len() {
            0 if self.n_ranked == 0 => NOTHING_TO_RANK.to_owned(),
            n if n == self.n_ranked => format!("all {n} nuisance parameters"),
            n => format!("{n} of {} nuisance parameters", self.n_ranked),
        };
        let b = &self.breakdown;
        let parts: Vec<String> = [
            ("statistical", b.statistical),
            ("systematic", b.systematic),
            ("of it simulation statistics", b.mc_statistical),
        ]
        .into_iter()
        .filter_map(|(what, part)| Some(format!("{} {what}", without_plus(part?, self.mu_uncertainty))))
        .collect();
        let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        format!("impact on {best}{parts}\n{shown}, {}", count(self.n_fits, "fit"))
    }
}

/// A column of impacts: the definition of the impacts, and whether the impacts are pre-fit or post-fit.
pub(super) struct ImpactColumn<'a> {
    pub(super) definition: &'a str,
    prefit: bool,
}

impl ImpactColumn<'_> {
    /// Returns the heading of the column. `what` is the word for impacts in this heading; it may be empty.
    pub(super) fn title(&self, what: &str) -> String {
        let prefit = if self.prefit { "pre-fit " } else { "" };
        format!("{prefit}{what}{}up / down", if what.is_empty() { "" } else { " " })
    }
}

/// Returns the columns for the given definitions of impact. Each definition has a column of post-fit impacts. If pre-fit impacts
/// were asked for (`prefit`), it also has a column of pre-fit impacts.
pub(super) fn impact_columns<'a>(
    definitions: impl Iterator<Item = &'a str>,
    prefit: bool,
) -> Vec<ImpactColumn<'a>> {
    let mut columns = Vec::new();
    for definition in definitions {
        columns.push(ImpactColumn { definition, prefit: false });
        // For `global`, the auxiliary datum is moved by the width of its constraint. Post-fit and pre-fit impacts
        // are therefore the same.
        if prefit && definition != "global" {
            columns.push(ImpactColumn { definition, prefit: true });
        }
    }
    columns
}

/// Formats two impacts of a parameter for one column: the impact of the variation up, then that of the variation down.
/// `uncertainty` is that of the target.
pub(super) fn impact_text(
    entry: &RankedParameter,
    column: &ImpactColumn<'_>,
    uncertainty: Option<f64>,
) -> String {
    // Impacts are rounded to the second significant digit of a tenth of the target's uncertainty.
    let scale = uncertainty.map(|sigma| sigma / 10.0);
    let (up, down) = if column.prefit { (Side::PrefitUp, Side::PrefitDown) } else { (Side::Up, Side::Down) };
    let impacts = by_name(entry, column.definition);
    let delta = |side| impacts.and_then(|impacts| impacts.delta(side));
    match (delta(up), delta(down)) {
        (None, None) => "none".to_owned(),
        (up, down) => {
            let text = |x: Option<f64>| x.map_or_else(|| "none".to_owned(), |x| signed(x, scale));
            format!("{} / {}", text(up), text(down))
        }
    }
}

fn without_plus(x: f64, scale: Option<f64>) -> String {
    signed(x, scale).trim_start_matches('+').to_owned()
}

/// Formats the pull of a parameter, and its constraint (the ratio of its post-fit to its pre-fit uncertainty).
pub(super) fn state(entry: &RankedParameter) -> [String; 2] {
    let pull = entry.pull.map_or_else(String::new, |pull| sign(pull, 2));
    [pull, entry.constraint.map_or_else(String::new, |c| format!("{c:.2}"))]
}

/// Returns the impacts of a parameter by one definition; `None` if they were not computed. `definition` is the name
/// of the definition.
fn by_name<'a>(entry: &'a RankedParameter, definition: &str) -> Option<&'a Impacts> {
    match definition {
        "refit" => entry.refit.as_ref(),
        "covariance" => entry.covariance.as_ref(),
        _ => entry.global.as_ref(),
    }
}

/// Returns notes on the state of a parameter: unconstrained or constrained by terms alone, at a bound, on a kink of an
/// interpolation.
pub(super) fn notes_of_state(entry: &RankedParameter) -> Vec<&'static str> {
    let without = entry.prefit_uncertainty.is_none();
    let notes = [
        (without && entry.constraint_terms.is_empty(), "unconstrained"),
        (without && !entry.constraint_terms.is_empty(), "constrained by a term"),
        (entry.at_bound, "at bound"),
        (entry.at_kink, "at kink"),
    ];
    notes.into_iter().filter_map(|(holds, note)| holds.then_some(note)).collect()
}

/// Returns notes on the impacts of a parameter: limited by a bound, or failed.
pub(super) fn notes_of_impacts(entry: &RankedParameter, definitions: &[&str]) -> Vec<&'static str> {
    let any = |what: fn(&Shift) -> bool| {
        let all = definitions.iter().filter_map(|definition| by_name(entry, definition));
        all.into_iter().any(|impacts| Side::ALL.iter().any(|side| what(impacts.get(*side))))
    };
    let notes =
        [(any(|shift| shift.clipped), "clipped"), (any(|shift| shift.converged == Some(false)), "failed")];
    notes.into_iter().filter_map(|(holds, note)| holds.then_some(note)).collect()
}
