//! How often intervals contain the true value: those of Feldman and Cousins with toys, and those of the chi2 law.
//!
//! `coverage WS.json MU,MU,... [DATA_SETS [TOYS [SEED [CL]]]]` draws data sets at each true value of the parameter of interest, with
//! the other parameters at their initial values, and tests the true value with each. It is inside the interval of
//! `nextstat interval` if its p-value is above `1 - CL`. Defaults: 2000 data sets, 500 toys each, seed 1, 0.9.

#![allow(clippy::print_stdout, clippy::indexing_slicing)]

use std::error::Error;

use ns_core::{Control, Data, Execution, Observations};
use ns_inference::{FitData, FitOptions, PointOptions, hypotest_point, open_session};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;

/// Series of the data sets in the key of the random numbers, which no analysis uses.
const SERIES: u8 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |i: usize| arguments.get(i).map(String::as_str);
    let (Some(path), Some(values)) = (text(0), text(1)) else {
        return Err("usage: coverage WS.json MU,MU,... [DATA_SETS [TOYS [SEED [CL]]]]".into());
    };
    let whole = |i: usize, usual: u64| text(i).map_or(Ok(usual), str::parse);
    let (n, toys, seed) = (whole(2, 2000)?, whole(3, 500)?, whole(4, 1)?);
    let alpha = 1.0 - text(5).map_or(Ok(0.9), str::parse::<f64>)?;
    let model = ModelSource::from_slice(&std::fs::read(path)?)?.model(&ModelOptions::default())?;
    let session = open_session(&model, &Execution::default())?;
    let poi = model.poi().ok_or("the model has no parameter of interest")?;
    let name = model.parameters[poi].name.clone();
    println!("| true {name} | Feldman-Cousins | chi2 law |\n|--:|--:|--:|");
    for value in values.split(',') {
        let value: f64 = value.parse()?;
        let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        point[poi] = value;
        let source = session.toy_source(&point, &Data::observed(), seed, SERIES)?;
        let (mut by_toys, mut by_law, mut left_out) = (0_u64, 0_u64, 0_u64);
        for i in 0..n {
            let drawn: Observations = source.draw(i);
            let fit = FitOptions::default().data(FitData::Given(drawn.into()));
            let options = PointOptions::default().fit(fit).n_toys(Some(toys)).seed(seed.wrapping_add(i));
            let test = hypotest_point(
                &model,
                session.as_ref(),
                &[(name.clone(), value)],
                &options,
                Control::default(),
            )?;
            let (Some(p), Some(law)) = (test.p_value_toys, test.p_value) else {
                left_out += 1;
                continue;
            };
            by_toys += u64::from(p > alpha);
            by_law += u64::from(law > alpha);
        }
        let good = (n - left_out) as f64;
        let shown = |inside: u64| {
            let p = inside as f64 / good;
            format!("{:.1} ± {:.1} %", 100.0 * p, 100.0 * (p * (1.0 - p) / good).sqrt())
        };
        println!("| {value} | {} | {} |", shown(by_toys), shown(by_law));
        if left_out > 0 {
            println!("{left_out} data sets without a p-value");
        }
    }
    Ok(())
}
