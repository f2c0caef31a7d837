//! Scans as data tables.

use super::{DataColumn, DataTable, DataValue};
use crate::ScanResult;

impl ScanResult {
    /// Returns the scan as a data table with one row per point.
    #[must_use]
    pub fn data_tables(&self) -> Vec<DataTable> {
        let second: &[f64] = self.second.as_ref().map_or(&[f64::NAN], |second| &second.mu_values);
        let column = |name: &str, values: Vec<f64>| {
            DataColumn::new(name, values.into_iter().map(|x| DataValue::Number(Some(x))).collect())
        };
        // The values of a scan in two parameters are ordered by the second one.
        let first = second.iter().flat_map(|_| self.mu_values.iter().copied()).collect();
        let mut independent = vec![column(&self.param, first)];
        let mut name = format!("Profile likelihood of {}", self.param);
        if let Some(axis) = &self.second {
            let row = self.mu_values.len();
            let values = axis.mu_values.iter().flat_map(|y| std::iter::repeat_n(*y, row)).collect();
            independent.push(column(&axis.param, values));
            name += &format!(" and {}", axis.param);
        }
        let heights = self.twice_delta_nll.iter().map(|height| DataValue::Number(*height)).collect();
        vec![DataTable {
            description: format!("{name}: -2 ln L less its minimum, with all other parameters profiled."),
            name,
            phrases: vec!["profile likelihood".to_owned()],
            independent,
            dependent: vec![DataColumn::new("-2 Delta ln L", heights)],
        }]
    }
}
