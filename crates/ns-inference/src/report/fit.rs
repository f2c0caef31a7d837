//! Report of a fit: texts, and a table with one row per parameter.

use ns_core::Model;

use super::{Part, RunInfo, Table};
use crate::present::{count, measurement, rounded, sign, signed, significant};
use crate::{FitResult, PoiCorrelation};

impl PoiCorrelation {
    /// Builds the table of the coefficients.
    fn table(&self) -> Table {
        let titles = std::iter::once("correlation").chain(self.parameters.iter().map(String::as_str));
        let titles: Vec<&str> = titles.collect();
        let mut table = Table::new(&titles, &(1..titles.len()).collect::<Vec<_>>());
        for (name, row) in self.parameters.iter().zip(&self.matrix) {
            let cells = row.iter().map(|x| x.map_or_else(|| "none".to_owned(), |x| sign(x, 3)));
            table.row(std::iter::once(name.clone()).chain(cells));
        }
        table
    }
}

impl FitResult {
    /// Returns the report of a fit of `model`: tables and texts.
    #[must_use]
    pub fn parts(&self, model: &Model, ran: &RunInfo) -> Vec<Part> {
        let pois: Vec<&str> = model.poi_names().collect();
        let poi = match pois.as_slice() {
            [] => "no parameter of interest".to_owned(),
            [name] => format!("parameter of interest {name}"),
            names => format!("parameters of interest {}", names.join(", ")),
        };
        let heading = format!(
            "measurement {}, {poi}, {}, {}, {} ({} free)",
            model.measurement,
            count(model.channels.len(), "channel"),
            count(model.n_bins(), "bin"),
            count(self.parameter_names.len(), "parameter"),
            self.parameter_names.len() - self.fixed.len(),
        );
        let closing = format!(
            "twice_nll {}, {}, {}{}, {}\n{}{}interpolation: {}",
            significant(self.twice_nll),
            self.termination_reason,
            count(self.n_iter, "iteration"),
            match self.n_search_iter {
                0 => String::new(),
                more => format!(" and {more} in search of lower minima"),
            },
            ran.time_and_device(),
            self.weighted_uncertainties
                .map_or_else(String::new, |method| format!("uncertainties of weighted events: {method}\n")),
            self.context_gradients.iter().map(|own| format!("{own}\n")).collect::<String>(),
            model.interpolation,
        );
        let blind = ran.blind.as_ref().map_or_else(String::new, |blind| format!("\n{}", blind.note()));
        let closing = closing + &blind;
        let mut parts = vec![Part::Text(heading), Part::Table(self.table(&pois))];
        if let Some(correlation) = &self.poi_correlation {
            parts.push(Part::Table(correlation.table()));
        }
        if !self.derived.is_empty() {
            parts.push(Part::Table(self.derived_table()));
        }
        parts.push(Part::Text(closing));
        parts
    }

    /// Builds the table with the derived quantities.
    fn derived_table(&self) -> Table {
        let mut table = Table::new(&["quantity", "best fit", "interval", "expression"], &[1, 2]);
        for quantity in &self.derived {
            let value = match (quantity.value, quantity.uncertainty) {
                (Some(value), Some(sigma)) => measurement(value, sigma),
                (value, _) => value.map_or_else(|| "none".to_owned(), significant),
            };
            let interval = quantity.interval.as_ref().map_or_else(String::new, |x| {
                let side = |d: Option<f64>| match d {
                    Some(d) => signed(d, quantity.uncertainty),
                    None => "none".to_owned(),
                };
                format!("{} {}", side(x.lower), side(x.upper))
            });
            table.row([quantity.name.clone(), value, interval, quantity.expression.clone()]);
        }
        table
    }

    /// Builds the table with the best fit and the pull of every parameter. If the fit has intervals, the table has a
    /// column with them.
    fn table(&self, pois: &[&str]) -> Table {
        let intervals = !(self.minos.is_empty() && self.crossings.is_empty());
        let mut table = match intervals {
            true => Table::new(&["parameter", "best fit", "interval", "pull", ""], &[1, 2, 3]),
            false => Table::new(&["parameter", "best fit", "pull", ""], &[1, 2]),
        };
        for (i, name) in self.parameter_names.iter().enumerate() {
            let best = self.bestfit.get(i).copied().unwrap_or(f64::NAN);
            let sigma = self.uncertainties.get(i).copied().flatten();
            let interval = self.minos.iter().chain(&self.crossings).find(|x| x.parameter == *name);
            let scale = sigma.or_else(|| {
                interval.and_then(|x| [x.lower, x.upper].into_iter().flatten().map(f64::abs).reduce(f64::min))
            });
            let note = [(&self.fixed, "fixed"), (&self.at_bound, "at bound"), (&self.at_kink, "at kink")]
                .into_iter()
                .find(|(names, _)| names.contains(name))
                .map_or("", |(_, note)| note);
            let mut cells = vec![
                if pois.contains(&name.as_str()) { format!("{name} (POI)") } else { name.clone() },
                match sigma {
                    Some(sigma) => measurement(best, sigma),
                    None => rounded(best, scale),
                },
            ];
            if intervals {
                cells.push(interval.map_or_else(String::new, |x| {
                    let side = |d: Option<f64>| d.map_or_else(|| "none".to_owned(), |d| signed(d, scale));
                    format!("{} {}", side(x.lower), side(x.upper))
                }));
            }
            cells.push(self.pulls.get(i).copied().flatten().map_or_else(String::new, |pull| sign(pull, 2)));
            cells.push(note.to_owned());
            table.row(cells);
        }
        table
    }
}
