//! Reports of unfolded data.

use super::toys::rate;
use super::{Part, Table};
use crate::UnfoldResult;
use crate::present::{count, freedom, measurement, or_none, significant, with_error};
use crate::unfold::{PredictionTest, Regularisation, UnfoldedBin};

impl UnfoldResult {
    /// Returns the report: the truth bins, the scanned strengths, the toys and the bottom-line test.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let strength = match self.regularisation {
            Regularisation::None => "without regularisation".to_owned(),
            other => {
                let from = match self.tau_from.as_ref() {
                    "given" => "given",
                    "l-curve" => "at the largest curvature of the L-curve",
                    _ => "at the smallest mean global correlation",
                };
                format!("regularisation {other}, tau {} {from}", significant(self.tau))
            }
        };
        let heading = format!("{} unfolded, {strength}", count(self.truth.len(), "truth bin"));
        let mut parts = vec![Part::Text(heading), Part::Table(self.bins())];
        if !self.scan.is_empty() {
            parts.push(Part::Text("scanned strengths".to_owned()));
            parts.push(Part::Table(self.strengths()));
        }
        if let Some(toys) = &self.toys {
            let at = match toys.at {
                crate::unfold::ToysAt::BestFit => "the unfolded factors",
                crate::unfold::ToysAt::Prediction => "the prediction",
            };
            parts.push(Part::Text(format!(
                "{} toys drawn at {at}, seed {}{}",
                toys.n_toys,
                toys.seed,
                rate(toys.toys_per_s)
            )));
            parts.push(Part::Table(self.toy_table()));
        }
        parts.push(Part::Text(self.verdict()));
        parts
    }

    /// Returns the table of the truth bins.
    fn bins(&self) -> Table {
        let is_penalised = self.regularisation != Regularisation::None;
        let has_yields = self.truth.iter().any(|bin| bin.unfolded.is_some());
        let has_edges = self.edges.len() == self.truth.len() + 1;
        let mut titles = vec!["factor"];
        titles.extend(has_edges.then_some("bin"));
        titles.extend(["unfolded", "global corr.", "bias"]);
        titles.extend(is_penalised.then_some("penalised uncertainty"));
        if has_yields {
            titles.extend(["prediction", "yield"]);
        }
        let first = if has_edges { 2 } else { 1 };
        let mut table = Table::new(&titles, &(first..titles.len()).collect::<Vec<_>>());
        for (k, bin) in self.truth.iter().enumerate() {
            let mut cells = vec![bin.name.clone()];
            if let (true, Some([low, high])) = (has_edges, self.edges.get(k..k + 2)) {
                cells.push(format!("{} to {}", significant(*low), significant(*high)));
            }
            cells.push(value(bin));
            cells.push(bin.global_correlation.map_or_else(|| "none".to_owned(), |rho| format!("{rho:.3}")));
            cells.push(bin.bias.map_or_else(|| "none".to_owned(), |bias| shift(bias, bin.uncertainty)));
            cells.extend(is_penalised.then(|| rounded(bin.uncertainty_penalised)));
            if has_yields {
                cells.push(or_none(bin.prediction));
                cells.push(with_error(bin.unfolded, bin.unfolded_uncertainty));
            }
            table.row(cells);
        }
        table
    }

    /// Returns the table of the scanned strengths.
    fn strengths(&self) -> Table {
        let titles = ["tau", "chi2", "roughness", "curvature", "mean global corr."];
        let mut table = Table::new(&titles, &[0, 1, 2, 3, 4]);
        for point in &self.scan {
            table.row([
                significant(point.tau),
                or_none(point.chi2),
                significant(point.roughness),
                or_none(point.curvature),
                or_none(point.mean_correlation),
            ]);
        }
        table
    }

    /// Returns the table of the toys.
    fn toy_table(&self) -> Table {
        let is_penalised = self.regularisation != Regularisation::None;
        let mut titles = vec!["factor", "bias", "spread", "mean uncertainty", "coverage"];
        titles.extend(is_penalised.then_some("coverage, penalised"));
        let mut table = Table::new(&titles, &(1..titles.len()).collect::<Vec<_>>());
        for bin in &self.truth {
            let Some(toys) = &bin.toys else { continue };
            let mut cells = vec![
                bin.name.clone(),
                with_error(toys.bias, toys.bias_error),
                rounded(toys.spread),
                rounded(toys.mean_uncertainty),
                with_error(toys.coverage, toys.coverage_error),
            ];
            cells.extend(is_penalised.then(|| with_error(toys.coverage_penalised, toys.coverage_error)));
            table.row(cells);
        }
        table
    }

    /// Returns lines about the quality of the result.
    fn verdict(&self) -> String {
        let test = |test: &Option<PredictionTest>| match test {
            Some(PredictionTest { chi2, n_dof, p_value }) => {
                format!("chi2 {}, {}, p-value {}", significant(*chi2), freedom(*n_dof), or_none(*p_value))
            }
            None => "none".to_owned(),
        };
        let verdict = match self.bottom_line.passed {
            Some(true) => "passed",
            Some(false) => "failed",
            None => "not possible",
        };
        [
            format!(
                "chi2 of the data at the unfolded factors {}, mean global correlation {}",
                or_none(self.chi2),
                or_none(self.mean_global_correlation)
            ),
            format!("prediction and data: {}", test(&self.bottom_line.folded)),
            format!("prediction and unfolded factors: {}", test(&self.bottom_line.unfolded)),
            format!("bottom-line test: {verdict}"),
        ]
        .join("\n")
    }
}

/// Formats an unfolded factor with its uncertainty.
fn value(bin: &UnfoldedBin) -> String {
    match bin.uncertainty {
        Some(sigma) => measurement(bin.value, sigma),
        None => significant(bin.value),
    }
}

/// Formats an uncertainty with two significant digits.
fn rounded(sigma: Option<f64>) -> String {
    sigma.map_or_else(|| "none".to_owned(), |sigma| crate::present::rounded(sigma, Some(sigma)))
}

/// Formats a difference to a tenth of the last shown digit of the uncertainty.
fn shift(difference: f64, sigma: Option<f64>) -> String {
    crate::present::signed(difference, sigma.map(|sigma| 0.1 * sigma))
}
