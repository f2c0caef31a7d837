//! Draws of a posterior in a Parquet file, one row per draw.

use std::io::Write;

use parquet::errors::Result;

use super::PosteriorResult;
use crate::toys::store::{Content, Spec, Table, Value};

/// Writes the draws to `to` as Parquet: the columns `chain` and `draw`, which count from 0, `ln_likelihood`, and one column
/// per free parameter with its full name. The key `nextstat.header` of the file has the summary as JSON.
///
/// # Errors
/// If `to` cannot be written.
pub fn write_draws<W: Write + Send>(result: &PosteriorResult, to: W) -> Result<W> {
    let mut specs = vec![
        Spec::new("chain", Content::Count),
        Spec::new("draw", Content::Count),
        Spec::new("ln_likelihood", Content::Number),
    ];
    specs.extend(result.draws.names.iter().map(|name| Spec::new(name.as_str(), Content::Number)));
    let header = serde_json::to_string(result).unwrap_or_default();
    let mut table = Table::begin(to, &specs, "posterior", header)?;
    let n = result.draws.names.len().max(1);
    for (c, (values, ln)) in result.draws.values.iter().zip(&result.draws.ln_likelihood).enumerate() {
        for (d, (row, ln)) in values.chunks(n).zip(ln).enumerate() {
            let first = [Value::Count(c as u64), Value::Count(d as u64), Value::Number(Some(*ln))];
            let rest = row.iter().map(|x| Value::Number(Some(*x)));
            table.push(first.into_iter().chain(rest))?;
        }
    }
    table.finish()
}
