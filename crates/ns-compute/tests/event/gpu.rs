//! Compares sums over events that are computed by the CUDA kernels, compiled for the CPU, with the sums that the CPU
//! code computes.
#![cfg(feature = "cuda-on-host")]

use crate::event_models::{cases, constrained, gaussian_on_exponential};
use ns_compute::CpuSession;
use ns_compute::device::host::open_events;
use ns_core::{
    Control, Data, EvaluationRequest, Execution, FitRequest, FitTask, LeftToCpu, OutcomeParts, Seen, Session,
    TaskOutcome,
};

/// Names of the densities that the kernels cannot compute, because they contain functions for which the kernels have no
/// code.
const LACKING: [&str; 5] = ["voigt", "decay", "oscillation", "landau", "landau with a resolution"];

fn close(what: &str, got: &[f64], want: &[f64], scale: impl Fn(usize) -> f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let same = g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= 1e-12 * (scale(i) + w.abs());
        assert!(same, "{what}[{i}]: {g} instead of {w}, scale {}", scale(i));
    }
}

#[test]
fn values_and_derivatives_of_every_density_are_those_of_the_cpu() {
    let mut lacking = Vec::new();
    for case in cases() {
        let here = CpuSession::open(&case.model, &Execution::default()).unwrap();
        let there = open_events(&case.model, &Execution::default(), 1).unwrap();
        let truth = case.truth();
        // Weighted events on a fine grid.
        let data = here.asimov(&truth, &Data::observed()).unwrap();
        let moved: Vec<f64> = truth.iter().map(|x| x * 1.01).collect();
        let points = [truth, moved].concat();
        let request =
            EvaluationRequest { nll: true, gradient: true, hessian: true, ..EvaluationRequest::default() };
        let want = here.evaluate(&data, &points, request).unwrap();
        let got = there.evaluate(&data, &points, request).unwrap();
        if there.left_to_cpu() == Some(LeftToCpu::Density) {
            lacking.push(case.name);
        }
        let n = case.model.parameters.len();
        let events: f64 = match &data.seen {
            Seen::Given(given) => given.events.iter().map(|table| table.sum_of_weights()).sum(),
            _ => panic!("{}: no Asimov data", case.name),
        };
        // The sum of the magnitudes of the terms of a gradient is at most the root of the number of events times the
        // curvature; that of the terms of the Hessian is of the order of the roots of two curvatures.
        let curvature = |k: usize, p: usize| want.hessian[k * n * n + p * n + p].abs();
        close(&format!("{}: nll", case.name), &got.nll, &want.nll, |_| 10.0 * events);
        close(&format!("{}: gradient", case.name), &got.gradient, &want.gradient, |i| {
            (events * curvature(i / n, i % n)).sqrt()
        });
        close(&format!("{}: Hessian", case.name), &got.hessian, &want.hessian, |i| {
            let (k, p, q) = (i / (n * n), i / n % n, i % n);
            (curvature(k, p) * curvature(k, q)).sqrt()
        });
    }
    assert_eq!(lacking, LACKING);
}

#[test]
fn fits_end_where_those_of_the_cpu_do() {
    for case in [gaussian_on_exponential(20_000.0), constrained()] {
        let here = CpuSession::open(&case.model, &Execution::default()).unwrap();
        let data = here.asimov(&case.truth(), &Data::observed()).unwrap();
        let task = FitTask { data, fits: vec![FitRequest::default()], cancel: None };
        let wanted = OutcomeParts { uncertainties: true, ..OutcomeParts::default() };
        let fit = |session: &dyn Session| {
            let mut outcomes: Vec<TaskOutcome> = Vec::new();
            session
                .fit_batch(std::slice::from_ref(&task), wanted, Control::default(), &mut outcomes)
                .unwrap();
            outcomes.remove(0).fits.remove(0).unwrap()
        };
        let there = open_events(&case.model, &Execution::default(), 1).unwrap();
        let (want, got) = (fit(&here), fit(&there));
        assert_eq!(there.left_to_cpu(), None);
        assert!((got.nll - want.nll).abs() <= 1e-10 * (1.0 + want.nll.abs()), "{}", case.name);
        let few = open_events(&case.model, &Execution::default(), usize::MAX).unwrap();
        assert_eq!(fit(&few).nll.to_bits(), want.nll.to_bits());
        assert_eq!(few.left_to_cpu(), Some(LeftToCpu::FewEvents));
    }
}

#[test]
fn the_first_event_without_a_density_is_named() {
    let case = gaussian_on_exponential(20_000.0);
    let there = open_events(&case.model, &Execution::default(), 1).unwrap();
    let here = CpuSession::open(&case.model, &Execution::default()).unwrap();
    let data = here.asimov(&case.truth(), &Data::observed()).unwrap();
    // Negative rates of both processes.
    let mut point = case.truth();
    (point[0], point[1]) = (-1.0, -1.0);
    let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
    let want = here.evaluate(&data, &point, request).unwrap().nll;
    assert_eq!(there.evaluate(&data, &point, request).unwrap().nll, want);
    assert_eq!(want, [f64::INFINITY]);
}
