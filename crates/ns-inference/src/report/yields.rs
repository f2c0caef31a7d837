//! Report of expected yields. Each row is a sample of a channel or, on request, a sample of a bin. In documents each row
//! is a sample, and each column a channel or, on request, a bin.

use super::{Part, Table};
use crate::YieldsResult;
use crate::present::{significant, with_error};
use crate::yields::{ChannelYields, Stage};

impl YieldsResult {
    /// Returns the report of expected yields. If `per_bin` is true, the table has one row per sample and bin.
    /// Otherwise it has one row per sample and channel.
    #[must_use]
    pub fn parts(&self, per_bin: bool) -> Vec<Part> {
        let mut table = match per_bin {
            true => Table::new(&["channel", "bin", "sample", "events"], &[1, 3]),
            false => Table::new(&["channel", "sample", "events"], &[2]),
        };
        for channel in &self.channels {
            if per_bin {
                (0..channel.total.len()).for_each(|bin| add(&mut table, channel, Some(bin)));
            } else {
                add(&mut table, channel, None);
            }
        }
        let what = match self.stage {
            Stage::Prefit => "expected events before the fit",
            Stage::Postfit => "expected events after the fit",
            Stage::Given => "expected events at given parameters",
        };
        let document = match per_bin {
            false => {
                let columns: Vec<_> = self.channels.iter().map(|c| (c.name.clone(), c, None)).collect();
                vec![(String::new(), side_by_side(&columns))]
            }
            true => {
                let of = |channel: &ChannelYields| {
                    let bins = 0..channel.total.len();
                    let columns: Vec<_> = bins.map(|b| (format!("bin {b}"), channel, Some(b))).collect();
                    (format!("channel {}", channel.name), side_by_side(&columns))
                };
                self.channels.iter().map(of).collect()
            }
        };
        vec![Part::Text(what.to_owned()), Part::Arranged { screen: table, document }]
    }
}

/// Returns a table with one row per sample, the total and the data. Each column is a channel, or one of its bins.
fn side_by_side(columns: &[(String, &ChannelYields, Option<usize>)]) -> Table {
    let titles: Vec<&str> =
        std::iter::once("sample").chain(columns.iter().map(|(title, ..)| title.as_str())).collect();
    let mut table = Table::new(&titles, &(1..titles.len()).collect::<Vec<_>>());
    let mut names: Vec<&str> = Vec::new();
    for sample in columns.iter().flat_map(|(_, channel, _)| &channel.samples) {
        if !names.contains(&sample.name.as_str()) {
            names.push(&sample.name);
        }
    }
    for name in names {
        let cell = |(_, channel, bin): &(String, &ChannelYields, Option<usize>)| {
            let sample = channel.samples.iter().find(|sample| sample.name == name);
            sample.map_or_else(String::new, |s| {
                events(*bin, (&s.counts, s.sum), (&s.uncertainty, s.sum_uncertainty))
            })
        };
        table.row(std::iter::once(name.to_owned()).chain(columns.iter().map(cell)));
    }
    let total = columns
        .iter()
        .map(|(_, c, bin)| events(*bin, (&c.total, c.sum), (&c.uncertainty, c.sum_uncertainty)));
    table.row(std::iter::once("total".to_owned()).chain(total));
    let data = columns.iter().map(|(_, channel, bin)| observed(channel, *bin));
    table.row(std::iter::once("data".to_owned()).chain(data));
    table
}

/// Returns the number of events in a bin with its uncertainty, or in all bins if `bin` is `None`. The arguments are the
/// numbers of all bins, and the numbers of their sum.
fn events(
    bin: Option<usize>,
    (counts, sum): (&[f64], f64),
    (errors, error): (&[Option<f64>], Option<f64>),
) -> String {
    match bin {
        None => with_error(Some(sum), error),
        Some(bin) => with_error(counts.get(bin).copied(), errors.get(bin).copied().flatten()),
    }
}

/// Returns the observed number of events in a bin, or in all bins if `bin` is `None`; no text without data.
fn observed(channel: &ChannelYields, bin: Option<usize>) -> String {
    let number = bin.map_or(Some(channel.data_sum), |bin| channel.data.get(bin).copied());
    number.filter(|sum| !sum.is_nan()).map_or_else(String::new, significant)
}

/// Adds the rows of one bin of a channel to a table: one row per sample, their sum, and the data. If `bin` is `None`,
/// the rows give the sums over all bins of the channel.
fn add(table: &mut Table, channel: &ChannelYields, bin: Option<usize>) {
    let mut place = vec![channel.name.clone()];
    place.extend(bin.map(|b| b.to_string()));
    let mut add = |name: &str, events: String| {
        table.row(place.iter().cloned().chain([name.to_owned(), events]));
        // Only the first row shows the channel and the bin.
        place.iter_mut().for_each(String::clear);
    };
    for sample in &channel.samples {
        let error = (&sample.uncertainty[..], sample.sum_uncertainty);
        add(&sample.name, events(bin, (&sample.counts, sample.sum), error));
    }
    add("total", events(bin, (&channel.total, channel.sum), (&channel.uncertainty, channel.sum_uncertainty)));
    add(if channel.blinded { "data (blinded)" } else { "data" }, observed(channel, bin));
}
