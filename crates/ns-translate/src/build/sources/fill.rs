//! Fills histograms from columns of events.

use std::collections::HashMap;

use super::ColumnSource;
use super::formula::Formula;
use crate::build::describe::Template;

/// Rows that are evaluated at once.
const BLOCK: usize = 4096;

/// A histogram that is being filled.
#[derive(Debug, Clone)]
pub(super) struct Filling {
    variable: Formula,
    weight: Option<Formula>,
    filter: Option<Formula>,
    edges: Vec<f64>,
    outside: bool,
    values: Vec<f64>,
    variances: Vec<f64>,
}

impl Filling {
    /// An empty histogram. The error names the expression that is wrong, says what is wrong, and has a remedy.
    pub(super) fn new(source: &ColumnSource) -> Result<Self, (String, String)> {
        let parse = |what: &str, text: &str| {
            Formula::parse(text, source.root_division).map_err(|(message, remedy)| {
                (format!("the {what} '{text}' cannot be read: {message}"), remedy)
            })
        };
        let n = source.edges.len().saturating_sub(1);
        Ok(Self {
            variable: parse("variable", &source.variable)?,
            weight: source.weight.as_deref().map(|text| parse("weight", text)).transpose()?,
            filter: source.filter.as_deref().map(|text| parse("filter", text)).transpose()?,
            edges: source.edges.clone(),
            outside: source.outside,
            values: vec![0.0; n],
            variances: vec![0.0; n],
        })
    }

    /// The names of the columns; a name may come more than once.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        let formulas = [Some(&self.variable), self.weight.as_ref(), self.filter.as_ref()];
        formulas.into_iter().flatten().flat_map(Formula::names)
    }

    /// Adds all events of columns, which all have `n` rows. Upper edges belong to the next bin. Returns the number of the
    /// first event within the bins whose weight is not finite, as an error.
    pub(super) fn add(&mut self, columns: &HashMap<&str, &[f64]>, n: usize) -> Result<(), usize> {
        let of = |formula: &Formula| -> Vec<&[f64]> {
            let column = |name: &String| columns.get(name.as_str()).copied().unwrap_or_default();
            formula.names().iter().map(column).collect()
        };
        let (variable, weight) = (of(&self.variable), self.weight.as_ref().map(of));
        let filter = self.filter.as_ref().map(of);
        for first in (0..n).step_by(BLOCK) {
            let rows = first..n.min(first + BLOCK);
            let x = self.variable.evaluate(&variable, &rows);
            let evaluate = |formula: &Option<Formula>, columns: &Option<Vec<&[f64]>>| {
                formula.as_ref().zip(columns.as_ref()).map(|(f, columns)| f.evaluate(columns, &rows))
            };
            let weights = evaluate(&self.weight, &weight);
            let passes = evaluate(&self.filter, &filter);
            for (i, x) in x.iter().enumerate() {
                let passed = passes.as_ref().is_none_or(|p| p.get(i).is_some_and(|p| *p != 0.0));
                let Some(bin) = self.bin(*x).filter(|_| passed) else { continue };
                let w = weights.as_ref().map_or(1.0, |w| w.get(i).copied().unwrap_or(f64::NAN));
                if !w.is_finite() {
                    return Err(first + i + 1);
                }
                self.values[bin] += w;
                self.variances[bin] += w * w;
            }
        }
        Ok(())
    }

    /// The bin of a value; `None` if the event is left out.
    fn bin(&self, x: f64) -> Option<usize> {
        let (above, n) = (self.edges.partition_point(|edge| *edge <= x), self.values.len());
        if self.outside && !x.is_nan() {
            return Some(above.clamp(1, n.max(1)) - 1).filter(|bin| *bin < n);
        }
        above.checked_sub(1).filter(|bin| *bin < n)
    }

    /// The template.
    pub(super) fn finish(self) -> (Template, Vec<f64>) {
        (Template { values: self.values, variances: Some(self.variances) }, self.edges)
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnSource, Filling, HashMap};

    fn filled(outside: bool) -> Vec<f64> {
        let edges = vec![0.0, 1.0, 2.0];
        let source = ColumnSource { variable: "x".to_owned(), edges, outside, ..ColumnSource::default() };
        let mut filling = Filling::new(&source).unwrap_or_else(|(message, _)| unreachable!("{message}"));
        let x = [-1.0, 0.0, 0.5, 1.0, 2.0, 7.0, f64::NAN];
        let columns = HashMap::from([("x", &x[..])]);
        assert_eq!(filling.add(&columns, x.len()), Ok(()));
        filling.finish().0.values
    }

    #[test]
    fn events_outside_are_left_out_or_belong_to_the_outer_bins() {
        assert_eq!(filled(false), [2.0, 1.0]);
        assert_eq!(filled(true), [3.0, 3.0]);
    }
}
