//! Shows the contents of a workspace as tables, for the command `inspect`.

use ns_inference::present::significant;
use ns_inference::report::{Part, Table};
use ns_translate::Contents;

/// Returns the contents as text. There is a line about the measurement, the tables of channels, samples and
/// parameters, and the number of modifiers of each type.
pub(crate) fn parts(contents: &Contents) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut add = |table: Table| parts.extend([Part::Text(String::new()), Part::Table(table)]);
    // A model of event channels has neither binned channels nor samples.
    let binned = contents.event_channels.is_empty();
    if let Some(rows) = contents.channels.as_ref().filter(|rows| binned || !rows.is_empty()) {
        let mut table = Table::new(&["channel", "bins", "observed", "nominal", "samples"], &[1, 2, 3]);
        for row in rows {
            let (observed, nominal) = (significant(row.observed), significant(row.nominal));
            let (bins, samples) = (row.n_bins.to_string(), row.samples.len().to_string());
            table.row([row.name.clone(), bins, observed, nominal, samples]);
        }
        add(table);
    }
    if !contents.event_channels.is_empty() {
        let titles = ["event channel", "observables", "events", "sum of weights", "processes"];
        let mut table = Table::new(&titles, &[2, 3]);
        for row in &contents.event_channels {
            let (n_events, weight) = (row.n_events.to_string(), significant(row.weight));
            table.row([
                row.name.clone(),
                row.observables.join(", "),
                n_events,
                weight,
                row.processes.join(", "),
            ]);
        }
        add(table);
    }
    if let Some(rows) = contents.samples.as_ref().filter(|rows| binned || !rows.is_empty()) {
        let mut table = Table::new(&["sample", "nominal", "channels", "modifiers"], &[1, 2, 3]);
        for row in rows {
            let counts = [row.channels.len(), row.n_modifiers].map(|n| n.to_string());
            table.row([row.name.clone(), significant(row.nominal)].into_iter().chain(counts));
        }
        add(table);
    }
    if let Some(rows) = &contents.parameters {
        let mut table = Table::new(&["parameter", "init", "bounds", "constraint", "modifiers", ""], &[1]);
        for row in rows {
            let width = row.width.map_or_else(String::new, |w| format!(" {}", significant(w)));
            table.row([
                row.name.clone(),
                significant(row.init),
                format!("[{}, {}]", significant(row.bounds.0), significant(row.bounds.1)),
                format!("{}{width}", row.constraint),
                row.modifiers.join(", "),
                if row.fixed { "fixed".to_owned() } else { String::new() },
            ]);
        }
        add(table);
    }
    if !contents.functions.is_empty() {
        let mut table = Table::new(&["function", "formula"], &[]);
        for row in &contents.functions {
            table.row([row.name.clone(), row.formula.clone()]);
        }
        add(table);
    }
    for row in &contents.correlations {
        let titles: Vec<&str> =
            std::iter::once("correlation").chain(row.parameters.iter().map(String::as_str)).collect();
        let mut table = Table::new(&titles, &(1..titles.len()).collect::<Vec<_>>());
        table.splits = true;
        for (name, numbers) in row.parameters.iter().zip(&row.correlations) {
            table.row(std::iter::once(name.clone()).chain(numbers.iter().map(|rho| significant(*rho))));
        }
        add(table);
    }
    if let Some(name) = &contents.measurement {
        let (what, poi) = match contents.pois.as_slice() {
            [] => ("parameter", contents.poi.clone().unwrap_or_else(|| "none".to_owned())),
            names => ("parameters", names.join(", ")),
        };
        let others = contents.measurements.as_ref().map_or(0, Vec::len).saturating_sub(1);
        let others = if others == 0 { String::new() } else { format!(" (and {others} more)") };
        parts.insert(0, Part::Text(format!("measurement {name}{others}, {what} of interest {poi}")));
    }
    if let Some(counts) = &contents.modifier_counts {
        let list: Vec<String> = counts.iter().map(|(name, n)| format!("{n} {name}")).collect();
        parts.push(Part::Text(format!("\nmodifiers: {}", list.join(", "))));
    }
    parts
}
