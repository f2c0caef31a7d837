//! Report of expected yields. Each row is a sample of a channel or, on request, a sample of a bin.

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
        vec![Part::Text(what.to_owned()), Part::Table(table)]
    }
}

/// Adds the rows of one bin of a channel to a table: one row per sample, their sum, and the data. If `bin` is `None`,
/// the rows give the sums over all bins of the channel.
fn add(table: &mut Table, channel: &ChannelYields, bin: Option<usize>) {
    let of = |values: &[f64], sum: f64| bin.map_or(Some(sum), |b| values.get(b).copied());
    let error =
        |values: &[Option<f64>], sum: Option<f64>| bin.map_or(sum, |b| values.get(b).copied().flatten());
    let mut place = vec![channel.name.clone()];
    place.extend(bin.map(|b| b.to_string()));
    let mut add = |name: &str, events: String| {
        table.row(place.iter().cloned().chain([name.to_owned(), events]));
        // Only the first row shows the channel and the bin.
        place.iter_mut().for_each(String::clear);
    };
    for sample in &channel.samples {
        let sigma = error(&sample.uncertainty, sample.sum_uncertainty);
        add(&sample.name, with_error(of(&sample.counts, sample.sum), sigma));
    }
    let sigma = error(&channel.uncertainty, channel.sum_uncertainty);
    add("total", with_error(of(&channel.total, channel.sum), sigma));
    add(
        "data",
        of(&channel.data, channel.data_sum).filter(|sum| !sum.is_nan()).map_or_else(String::new, significant),
    );
}
