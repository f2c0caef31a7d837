//! Yields as data tables: samples as rows and channels as columns, or bins as rows and samples as columns.

use super::{DataColumn, DataTable, DataValue};
use crate::YieldsResult;
use crate::yields::{ChannelYields, Stage};

impl YieldsResult {
    /// Returns the yields as data tables. If `per_bin` is true, there is one table per channel with one row per bin.
    /// Otherwise there is one table with one row per sample. The last rows (columns) are the total and the data.
    #[must_use]
    pub fn data_tables(&self, per_bin: bool) -> Vec<DataTable> {
        let when = match self.stage {
            Stage::Prefit => "before the fit",
            Stage::Postfit => "after the fit",
            Stage::Given => "at given parameters",
        };
        if per_bin {
            self.channels.iter().map(|channel| bins(channel, when)).collect()
        } else {
            vec![self.sums(when)]
        }
    }

    fn sums(&self, when: &str) -> DataTable {
        let mut names: Vec<&str> = Vec::new();
        for sample in self.channels.iter().flat_map(|channel| &channel.samples) {
            if !names.contains(&sample.name.as_str()) {
                names.push(&sample.name);
            }
        }
        let column = |channel: &ChannelYields| {
            let sample = |name: &&str| {
                let sample = channel.samples.iter().find(|sample| sample.name == **name);
                DataValue::measured(sample.map(|s| s.sum), sample.and_then(|s| s.sum_uncertainty))
            };
            let mut values: Vec<DataValue> = names.iter().map(sample).collect();
            values.push(DataValue::measured(Some(channel.sum), channel.sum_uncertainty));
            values.push(DataValue::measured(Some(channel.data_sum), None));
            DataColumn::new(format!("Events in {}", channel.name), values)
        };
        let rows =
            names.iter().copied().chain(["Total", "Data"]).map(|name| DataValue::Text(name.to_owned()));
        DataTable {
            name: format!("Yields {when}"),
            description: format!(
                "Expected events of each sample {when}, their sum, and the data, by channel."
            ),
            phrases: vec!["event yields".to_owned()],
            independent: vec![DataColumn::new("Sample", rows.collect())],
            dependent: self.channels.iter().map(column).collect(),
        }
    }
}

fn bins(channel: &ChannelYields, when: &str) -> DataTable {
    let n = channel.total.len();
    let edge = |bin: usize| channel.bin_edges.get(bin).copied();
    let place = |bin: usize| match (edge(bin), edge(bin + 1)) {
        (Some(low), Some(high)) if channel.bin_edges.len() == n + 1 => DataValue::Range(low, high),
        _ => DataValue::Text(format!("bin {bin}")),
    };
    let at = |values: &[f64], errors: &[Option<f64>]| -> Vec<DataValue> {
        (0..n)
            .map(|bin| DataValue::measured(values.get(bin).copied(), errors.get(bin).copied().flatten()))
            .collect()
    };
    let mut dependent: Vec<DataColumn> = channel
        .samples
        .iter()
        .map(|sample| DataColumn::new(&sample.name, at(&sample.counts, &sample.uncertainty)))
        .collect();
    dependent.push(DataColumn::new("Total", at(&channel.total, &channel.uncertainty)));
    dependent.push(DataColumn::new("Data", at(&channel.data, &[])));
    DataTable {
        name: format!("Yields {when} in {}", channel.name),
        description: format!(
            "Expected events of each sample {when}, their sum, and the data, by bin of channel {}.",
            channel.name
        ),
        phrases: vec!["event yields".to_owned()],
        independent: vec![DataColumn::new(
            match &channel.observable {
                Some(observable) => observable.as_str(),
                None if channel.axis_title.is_empty() => "Bin",
                None => &channel.axis_title,
            },
            (0..n).map(place).collect(),
        )],
        dependent,
    }
}
