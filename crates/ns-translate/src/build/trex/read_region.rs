//! Reads the blocks of regions: their variables, and their bins.

use super::auto_bins::{FINE_BINS, automatic};
use super::config::{Rebin, Region};
use super::settings::Settings;

impl Settings<'_, '_> {
    /// A region of the fit; regions for validation are left out.
    pub(super) fn region(&mut self, ntuples: bool) -> Option<Region> {
        if self.one_of("Type", &["SIGNAL", "CONTROL", "VALIDATION"]).as_deref() == Some("VALIDATION") {
            return None;
        }
        let asimov = self.one_of("DataType", &["DATA", "ASIMOV"]).as_deref() == Some("ASIMOV");
        let (variable, edges) = if ntuples { self.binning() } else { (None, Vec::new()) };
        Some(Region {
            line: self.block.line,
            name: self.name(),
            place: self.place(ntuples, ""),
            title: self.text("VariableTitle").or_else(|| variable.clone()),
            variable,
            edges,
            rebin: self.rebinning(ntuples),
            selection: self.text("Selection"),
            weight: self.text("MCweight"),
            asimov,
        })
    }

    /// Changes of the bins of histograms that have been read or filled.
    fn rebinning(&mut self, ntuples: bool) -> Vec<(usize, Rebin)> {
        let mut found = Vec::new();
        if let Some(setting) = self.get("Rebin") {
            let n = setting.values.join(",").parse::<usize>().ok().filter(|n| *n > 0);
            if n.is_none() {
                let message = "'Rebin' is no positive whole number.".to_owned();
                self.error(setting.line, message, "Write how many bins become one.");
            }
            found.extend(n.map(|n| (setting.line, Rebin::Merge(n))));
        }
        for key in ["Binning", "Rebinning"] {
            let Some(setting) = self.get(key) else { continue };
            if let Some(automatic) = automatic(&setting.values).filter(|_| key == "Binning") {
                found.push((setting.line, Rebin::Automatic(automatic)));
                continue;
            }
            // The edges of columns are those that they are filled with.
            if key == "Binning" && ntuples {
                continue;
            }
            match edges(&setting.values) {
                Some(edges) => found.push((setting.line, Rebin::Edges(edges))),
                None => {
                    let message = format!(
                        "'{key}' is no list of ascending edges, and no 'AutoBin' with TransfoD or TransfoF."
                    );
                    self.error(setting.line, message, "Write the edges that TRExFitter has found.");
                }
            }
        }
        found
    }

    /// The variable with the edges of its bins.
    fn binning(&mut self) -> (Option<String>, Vec<f64>) {
        let Some(variable) = self.get("Variable") else {
            self.error(
                self.block.line,
                "It has no 'Variable'.".to_owned(),
                "Add 'Variable: \"x\",10,0,100': expression, number of bins, lowest and highest value.",
            );
            return (None, Vec::new());
        };
        let numbers =
            |values: &[String]| values.iter().map(|v| v.parse::<f64>().ok()).collect::<Option<Vec<_>>>();
        let expression = variable.values.first().cloned();
        let is_automatic = self.get("Binning").is_some_and(|setting| automatic(&setting.values).is_some());
        let edges = match self.get("Binning").filter(|_| !is_automatic) {
            Some(setting) => {
                let edges = numbers(&setting.values);
                if edges.is_none() {
                    self.error(
                        setting.line,
                        "'Binning' is no list of edges, and no 'AutoBin' with TransfoD or TransfoF."
                            .to_owned(),
                        "Write the edges that TRExFitter has found.",
                    );
                }
                edges.unwrap_or_default()
            }
            None => match numbers(variable.values.get(1..).unwrap_or_default()).as_deref() {
                Some([n, low, high]) if *n >= 1.0 && *n <= 1e6 && low < high => {
                    let n = if is_automatic { FINE_BINS } else { *n as usize };
                    (0..=n).map(|i| low + (high - low) * i as f64 / n as f64).collect()
                }
                _ => {
                    self.error(
                        variable.line,
                        "'Variable' has no bins.".to_owned(),
                        "Write 'Variable: \"x\",10,0,100': expression, number of bins, lowest and highest value.",
                    );
                    Vec::new()
                }
            },
        };
        (expression, edges)
    }
}

/// Ascending, finite edges of bins; `None` if the values are something else.
fn edges(values: &[String]) -> Option<Vec<f64>> {
    let edges: Vec<f64> = values.iter().map(|value| value.parse().ok()).collect::<Option<_>>()?;
    let ascending = edges.windows(2).all(|pair| matches!(pair, [low, high] if low < high));
    (edges.len() > 1 && ascending && edges.iter().all(|edge| edge.is_finite())).then_some(edges)
}
