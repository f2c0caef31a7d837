//! A simplified likelihood as a workspace in pyhf's JSON.

use ns_core::Parameter;
use serde_json::{Value, json};

use super::moments::Coefficients;
use super::result::SimplifiedBin;

/// Largest distance of the normal parameters from 0.
const REACH: f64 = 5.0;

/// Builds the workspace. `columns` is the factor of the correlation matrix: the parameter of bin `i` is the sum of
/// `columns[k][i]` times the independent normal parameter `k`. Without quadratic coefficients the modifiers are `histosys`,
/// which every program reads; with them they are functions.
pub(super) fn workspace(
    bins: &[SimplifiedBin],
    coefficients: &Coefficients,
    columns: &[Vec<f64>],
    poi: &Parameter,
    measurement: &str,
) -> Value {
    let is_linear = coefficients.c.iter().all(|c| *c == 0.0);
    let names: Vec<String> = (1..=columns.len()).map(|k| format!("background_{k}")).collect();
    let (mut channels, mut observations): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    let mut first = 0;
    for own in bins.chunk_by(|a, b| a.channel == b.channel) {
        let range = first..first + own.len();
        first = range.end;
        let list = |of: &dyn Fn(&SimplifiedBin) -> f64| own.iter().map(of).collect::<Vec<f64>>();
        // A function multiplies the nominal yield, which therefore must not be 0.
        let nominal = list(&|bin| if is_linear || bin.mean > 0.0 { bin.mean } else { 1.0 });
        let modifiers: Vec<Value> = if is_linear {
            let shifted = |column: &[f64], sign: f64| -> Vec<f64> {
                let of = |(bin, i): (&SimplifiedBin, usize)| {
                    bin.mean + sign * bin.b * column.get(i).copied().unwrap_or(0.0)
                };
                own.iter().zip(range.clone()).map(of).collect()
            };
            let modifier = |(name, column): (&String, &Vec<f64>)| {
                let data = json!({"hi_data": shifted(column, 1.0), "lo_data": shifted(column, -1.0)});
                json!({"name": name, "type": "histosys", "data": data})
            };
            names.iter().zip(columns).map(modifier).collect()
        } else {
            let expression = |((bin, nominal), i): ((&SimplifiedBin, &f64), usize)| {
                let terms = names.iter().zip(columns).filter_map(|(name, column)| {
                    let weight = column.get(i).copied().filter(|weight| *weight != 0.0)?;
                    Some(format!("{weight:e}*{name}"))
                });
                let sum = terms.collect::<Vec<_>>().join(" + ");
                let sum = if sum.is_empty() { "0".to_owned() } else { sum };
                let [a, b, c] = [bin.a, bin.b, bin.c].map(|x| x / nominal);
                format!("{a:e} + {b:e}*({sum}) + {c:e}*({sum})^2")
            };
            let all: Vec<String> = own.iter().zip(&nominal).zip(range.clone()).map(expression).collect();
            let name = own.first().map_or(String::new(), |bin| format!("simplified_{}", bin.channel));
            vec![json!({"name": name, "type": "function", "data": {"expressions": all}})]
        };
        let name = own.first().map_or("", |bin| bin.channel.as_str());
        channels.push(json!({"name": name, "samples": [
            {"name": "signal", "data": list(&|bin| bin.signal),
             "modifiers": [{"name": poi.name, "type": "normfactor", "data": null}]},
            {"name": "background", "data": nominal, "modifiers": modifiers}]}));
        observations.push(json!({"name": name, "data": list(&|bin| bin.observed)}));
    }
    let mut parameters =
        vec![json!({"name": poi.name, "inits": [poi.init], "bounds": [[poi.bounds.0, poi.bounds.1]]})];
    if !is_linear {
        let normal = |name: &String| json!({"name": name, "inits": [0.0], "bounds": [[-REACH, REACH]], "sigmas": [1.0], "auxdata": [0.0]});
        parameters.extend(names.iter().map(normal));
    }
    json!({
        "channels": channels,
        "observations": observations,
        "measurements": [{"name": measurement, "config": {"poi": poi.name, "parameters": parameters}}],
        "version": "1.0.0",
    })
}
