//! Upper limits as data tables: one limit, or those of a grid.

use super::{DataColumn, DataError, DataTable, DataValue};
use crate::LimitResult;
use crate::grid::GridResult;
use crate::present::percent;

/// The limits of one row: the observed one and the five expected ones.
type Limits<'a> = (Option<f64>, &'a [Option<f64>]);

impl LimitResult {
    /// Returns the limits as a data table with one row. The bands are the errors of the median expected limit.
    #[must_use]
    pub fn data_tables(&self) -> Vec<DataTable> {
        let rows = [(self.observed, &self.expected[..])];
        vec![DataTable {
            name: format!("Upper limit on {}", self.param),
            description: format!("Upper limit on {} at {} % confidence.", self.param, percent(self.cl)),
            phrases: vec!["upper limit".to_owned()],
            independent: vec![DataColumn::new("Parameter", vec![DataValue::Text(self.param.clone())])],
            dependent: columns(&self.param, self.cl, self.test_stat, &rows),
        }]
    }
}

impl GridResult {
    /// Returns the limits as a data table with one row per point. A point without a limit has missing values.
    #[must_use]
    pub fn data_tables(&self) -> Vec<DataTable> {
        let param = self.param.as_deref().unwrap_or("the parameter of interest");
        let rows: Vec<Limits<'_>> = self
            .rows
            .iter()
            .map(|row| {
                row.result.as_ref().map_or((None, &[][..]), |limit| (limit.observed, &limit.expected[..]))
            })
            .collect();
        let label = |label: &String| {
            let value = |row: &crate::grid::GridRow| match row.values.number(label) {
                Some(number) => DataValue::Number(Some(number)),
                None => DataValue::Text(row.values.text(label)),
            };
            DataColumn::new(label, self.rows.iter().map(value).collect())
        };
        let mut independent: Vec<DataColumn> = self.labels.iter().map(label).collect();
        if independent.is_empty() {
            let names = self.rows.iter().map(|row| DataValue::Text(row.name.clone())).collect();
            independent.push(DataColumn::new("Signal", names));
        }
        vec![DataTable {
            name: format!("Upper limits on {param}"),
            description: format!("Upper limits on {param} at {} % confidence.", percent(self.cl)),
            phrases: vec!["upper limit".to_owned()],
            independent,
            dependent: columns(param, self.cl, &self.test_stat, &rows),
        }]
    }
}

/// Returns the columns of observed and expected limits. A column without limits is left out.
fn columns(param: &str, cl: f64, statistic: &str, rows: &[Limits<'_>]) -> Vec<DataColumn> {
    let qualifiers = vec![
        ("Confidence level".to_owned(), format!("{} %", percent(cl))),
        ("Method".to_owned(), format!("CLs with {statistic}")),
    ];
    let column = |what: &str, values: Vec<DataValue>| DataColumn {
        qualifiers: qualifiers.clone(),
        ..DataColumn::new(format!("{what} upper limit on {param}"), values)
    };
    let mut columns = Vec::new();
    if rows.iter().any(|(observed, _)| observed.is_some()) {
        columns.push(column(
            "Observed",
            rows.iter().map(|(observed, _)| DataValue::Number(*observed)).collect(),
        ));
    }
    if rows.iter().any(|(_, expected)| expected.iter().any(Option::is_some)) {
        columns.push(column("Expected", rows.iter().map(|(_, expected)| with_bands(expected)).collect()));
    }
    if columns.is_empty() {
        columns.push(column("Observed", vec![DataValue::Number(None); rows.len()]));
    }
    columns
}

/// Returns the median expected limit with its bands as errors. A band without both ends is left out.
fn with_bands(expected: &[Option<f64>]) -> DataValue {
    let at = |i: usize| expected.get(i).copied().flatten();
    let Some(median) = at(2) else { return DataValue::Number(None) };
    let bands = [("1 sigma", at(1), at(3)), ("2 sigma", at(0), at(4))].into_iter().filter_map(
        |(label, low, high)| {
            let (minus, plus) = (low? - median, high? - median);
            Some(DataError { label: label.to_owned(), minus, plus })
        },
    );
    DataValue::Measured(Some(median), bands.collect())
}
