//! Checks the step of one iteration against what any minimum of a convex function within bounds fulfils.

use ns_core::{Control, Data, Execution, FitRequest};

use super::super::active::classify;
use super::*;
use crate::CpuSession;
use crate::cpu::{put, take};
use crate::curvature::{Factored, Point, assemble, factor};
use crate::task::FitDomain;

#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

/// Numbers that are spread evenly over [0, 1).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The minimum of a convex quadratic model within bounds that contain the point itself is not above that point, so that
/// `-ln L` falls along the step. Steps that ended on a set of bounds which had just been released pointed upwards.
#[test]
fn a_step_within_any_bounds_leads_down() {
    let mut numbers = Numbers(7);
    let mut bounded = 0;
    for seed in 0..40 {
        let model =
            ns_core::Model { interpolation: ns_core::Interpolation::SMOOTH, ..models::random_model(seed) };
        let session = CpuSession::open(&model, &Execution::default()).unwrap();
        let plan = session.plan();
        let theta = plan.structure.table.init.clone();
        let domain = FitDomain::new(&plan.structure.table, &FitRequest::default());
        let data = session.dataset(&Data::observed()).unwrap();
        let data = data.unwrap_or_else(|| session.observed.as_ref().clone());
        let problem = session.problem(domain, &data, false, Control::default());
        let mut worker = take(&session.workers, plan);
        worker.evaluate(&problem, &theta, 0.0);
        worker.gradient(&problem, &theta);
        classify(&mut worker, &problem, &theta);
        let point = Point {
            theta: &theta,
            data: &data,
            active: &worker.active,
            side: &worker.side,
            exactness: 0.0,
            damping: 1e-9,
            tether: &[],
        };
        let layout = &plan.structure.layout;
        assemble(problem.level, plan, layout, point, &mut worker.scratch, &mut worker.curvature);
        let factored = factor(problem.level, layout, &mut worker.curvature);
        if !matches!(factored, Factored::Positive { ref flat, .. } if flat.is_empty()) {
            continue;
        }
        worker.memory.clear();
        for _ in 0..200 {
            for p in 0..theta.len() {
                let scale = worker.curvature.scale[p].sqrt();
                worker.slope[p] = if worker.active[p] { scale * (6.0 * numbers.next() - 3.0) } else { 0.0 };
                worker.box_lower[p] = theta[p] - 3.0 * numbers.next().powi(4) / scale;
                worker.box_upper[p] = theta[p] + 3.0 * numbers.next().powi(4) / scale;
            }
            let edm = step(problem.level, plan, &mut worker, &theta);
            // In a nearly singular matrix, rounding errors can turn the Newton step round.
            if edm.is_nan() || edm <= 0.0 {
                continue;
            }
            let change: f64 = worker.slope.iter().zip(&worker.step).map(|(g, d)| g * d).sum();
            assert!(change < 0.0, "seed {seed}: -ln L changes by {change:e} edm {edm:e}");
            bounded += usize::from(worker.step != worker.newton);
        }
        put(&session.workers, worker);
    }
    assert!(bounded > 1000, "{bounded}");
}
