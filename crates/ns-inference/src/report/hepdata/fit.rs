//! Fits as data tables: the parameters, and their correlations.

use super::{DataColumn, DataError, DataTable, DataValue};
use crate::FitResult;

impl FitResult {
    /// Returns two data tables: the best fit of each parameter with its uncertainty, and the correlation of each pair of
    /// parameters that have uncertainties. There is no second table without a covariance.
    #[must_use]
    pub fn data_tables(&self) -> Vec<DataTable> {
        let names = self.parameter_names.iter().map(|name| DataValue::Text(name.clone())).collect();
        let values =
            self.parameter_names.iter().enumerate().map(|(i, name)| self.measured(i, name)).collect();
        let mut tables = vec![DataTable {
            name: "Fitted parameters".to_owned(),
            description: "Best-fit values of all parameters with their uncertainties.".to_owned(),
            phrases: Vec::new(),
            independent: vec![DataColumn::new("Parameter", names)],
            dependent: vec![DataColumn::new("Best fit", values)],
        }];
        tables.extend(self.correlations());
        tables
    }

    /// Returns the best fit of a parameter with its uncertainty, or with its interval if it has one with both ends.
    fn measured(&self, i: usize, name: &str) -> DataValue {
        let best = self.bestfit.get(i).copied();
        let interval = self.minos.iter().chain(&self.crossings).find(|interval| interval.parameter == *name);
        if let Some((minus, plus)) = interval.and_then(|interval| interval.lower.zip(interval.upper)) {
            let error = DataError { label: String::new(), minus: -minus.abs(), plus: plus.abs() };
            return DataValue::Measured(best, vec![error]);
        }
        DataValue::measured(best, self.uncertainties.get(i).copied().flatten())
    }

    fn correlations(&self) -> Option<DataTable> {
        let covariance = self.covariance.as_ref()?;
        let at = |i: usize, j: usize| {
            let place = i.checked_mul(covariance.n)?.checked_add(j)?;
            covariance.values.get(place).copied()
        };
        let sigma = |i: usize| at(i, i).filter(|variance| *variance > 0.0).map(f64::sqrt);
        // More decimals would be those of rounding.
        let correlation = |i: usize, j: usize| {
            Some((1e6 * (at(i, j)? / (sigma(i)? * sigma(j)?)).clamp(-1.0, 1.0)).round() / 1e6)
        };
        let known: Vec<usize> = (0..self.parameter_names.len()).filter(|i| sigma(*i).is_some()).collect();
        let pairs = || known.iter().flat_map(|i| known.iter().map(|j| (*i, *j)));
        let name = |i: usize| DataValue::Text(self.parameter_names.get(i).cloned().unwrap_or_default());
        let values = pairs().map(|(i, j)| DataValue::Number(correlation(i, j))).collect();
        (!known.is_empty()).then(|| DataTable {
            name: "Correlations of parameters".to_owned(),
            description: "Correlation coefficients of the parameters that have an uncertainty.".to_owned(),
            phrases: vec!["correlation matrix".to_owned()],
            independent: vec![
                DataColumn::new("First parameter", pairs().map(|(i, _)| name(i)).collect()),
                DataColumn::new("Second parameter", pairs().map(|(_, j)| name(j)).collect()),
            ],
            dependent: vec![DataColumn::new("Correlation coefficient", values)],
        })
    }
}
