//! Compares the derivatives in the Jacobian with finite differences of expected yields.

use ns_core::{Execution, Interpolation, Model};

use super::*;
use crate::CpuSession;

#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

#[test]
fn rows_are_differences_of_expected_yields() {
    const STEP: f64 = 1e-5;
    let mut compared = 0;
    for seed in 0..60 {
        let model = Model { interpolation: Interpolation::SMOOTH, ..models::random_model(seed) };
        let theta: Vec<f64> = models::random_point(&model, &mut models::Random(seed));
        let session = CpuSession::open(&model, &Execution::default()).unwrap();
        let (plan, level, n_bins) = (session.plan(), session.level(), session.plan().n_bins());
        let mut scratch = Scratch::new(plan);
        let rows = jacobian(level, plan, &theta, &mut scratch);
        for p in 0..theta.len() {
            let mut yields_at = |x: f64| {
                let mut point = theta.clone();
                point[p] = x;
                forward(level, plan, &point, &mut scratch);
                scratch.lambda[..n_bins].to_vec()
            };
            let (up, down) = (yields_at(theta[p] + STEP), yields_at(theta[p] - STEP));
            let mut row = vec![7.0];
            rows.write_row(p, n_bins, &mut row);
            assert_eq!((row.len(), row[0]), (n_bins + 1, 7.0));
            for (b, derivative) in row[1..].iter().enumerate() {
                let difference = (up[b] - down[b]) / (2.0 * STEP);
                let close = 1e-5 * (1.0 + up[b].abs() + derivative.abs());
                assert!((derivative - difference).abs() <= close, "seed {seed}, parameter {p}, bin {b}");
                compared += usize::from(*derivative != 0.0);
            }
            let bins: Vec<usize> = rows.row(p).map(|(b, _)| b).collect();
            assert!(bins.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
    assert!(compared > 1000, "{compared}");
}
