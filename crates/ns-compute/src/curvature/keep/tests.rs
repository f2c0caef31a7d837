//! Compares results of a stored factorisation of the Hessian with results of the dense inverse.

use ns_core::{Execution, FactoredHessian};

use super::*;
use crate::CpuSession;
use crate::curvature::{Factored, Point, assemble, covariance, factor};
use crate::eval::{forward, likelihood};
use crate::optimise::Worker;
use crate::stop::Stop;

#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

use models::{Random, random_model, random_point};

/// Returns the factored Gauss-Newton matrix at `theta` in the given layout, or `None` if the matrix is indefinite or
/// has parameters without curvature.
fn factored(
    session: &CpuSession,
    worker: &mut Worker,
    layout: &Layout,
    theta: &[f64],
    active: &[bool],
) -> Option<Curvature> {
    let (level, plan, side) = (session.level(), session.plan(), vec![0.0; theta.len()]);
    let data = &session.observed;
    forward(level, plan, theta, &mut worker.scratch);
    likelihood(level, plan, theta, data, 0.0, &mut worker.scratch);
    let mut curvature = Curvature::new(layout);
    let point = Point { theta, data, active, side: &side, exactness: 0.0, damping: 0.0, tether: &[] };
    assemble(level, plan, layout, point, &mut worker.scratch, &mut curvature);
    match factor(level, layout, &mut curvature) {
        Factored::Positive { flat, .. } if flat.is_empty() => Some(curvature),
        _ => None,
    }
}

#[test]
fn products_with_kept_factors_are_those_with_the_dense_inverse() {
    let (mut compared, mut with_border) = (0, 0);
    for seed in 0..150 {
        let model = random_model(seed);
        let mut r = Random(seed + 1000);
        let theta: Vec<f64> = random_point(&model, &mut r).iter().map(|x| x + 1e-3).collect();
        let n = theta.len();
        let active: Vec<bool> = (0..n).map(|_| !r.chance(0.15)).collect();
        let x: Vec<f64> = (0..n).map(|_| r.between(-1.0, 1.0)).collect();
        for level in Level::available() {
            let session = CpuSession::open_at(&model, &Execution::default(), level).unwrap();
            let structure = &session.plan().structure;
            let mut worker = Worker::new(session.plan());
            let Some(wide) = factored(&session, &mut worker, &structure.wide, &theta, &active) else {
                continue;
            };
            let mut dense = Vec::new();
            covariance(level, &structure.wide, &wide, &mut dense, Stop::default());
            for limit in 1..=4 {
                let layout = Layout::with_border(structure, limit);
                let Some(curvature) = factored(&session, &mut worker, &layout, &theta, &active) else {
                    continue;
                };
                let kept = FactoredInverse::new(level, structure, &layout, &curvature, active.clone());
                let (mut to, mut memory) = (vec![f64::NAN; n], vec![7.0; 3]);
                kept.apply(&x, &mut to, &mut memory);
                for p in 0..n {
                    let terms = (0..n).map(|q| dense[p * n + q] * if active[q] { x[q] } else { 0.0 });
                    let sum: f64 = if active[p] { terms.clone().sum() } else { 0.0 };
                    let scale: f64 = terms.map(f64::abs).sum::<f64>().max(dense[p * n + p].abs());
                    assert!(
                        (to[p] - sum).abs() <= 1e-7 * scale,
                        "seed {seed}, {limit}, {p}: {} {sum}",
                        to[p]
                    );
                    assert_eq!(kept.has(p), active[p]);
                }
                compared += 1;
                with_border += usize::from(!layout.border.is_empty() && layout.components.len() > 1);
            }
        }
    }
    // Machines support different numbers of instruction sets.
    let levels = Level::available().len();
    assert!(
        compared > 75 * levels && with_border > 25 * levels,
        "{compared}, {with_border} with several components, {levels} instruction sets"
    );
}
