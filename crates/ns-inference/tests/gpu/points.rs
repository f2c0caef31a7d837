//! Compares values, gradients and Hessians of CPU and GPU at random points.

use ns_core::{Constraint, Data, Evaluation, EvaluationRequest, Model, Session};

use super::tolerances::{CUDA_GRADIENT, CUDA_HESSIAN, CUDA_NLL_FLOOR, CUDA_NLL_ROUNDINGS};
use super::{absolute_terms, random_points};

/// The largest differences between a device and the CPU, each divided by its tolerance.
#[derive(Debug, Default)]
pub struct Worst {
    pub value: f64,
    pub gradient: f64,
    pub hessian: f64,
    /// Number of compared points, which are those with a finite likelihood.
    pub compared: usize,
}

/// Compares a device with the CPU at `n` random points.
pub fn compare(model: &Model, cpu: &dyn Session, gpu: &dyn Session, n: u64) -> Worst {
    let width = model.parameters.len();
    let points = random_points(model, n);
    let request = EvaluationRequest {
        nll: true,
        gradient: true,
        hessian: true,
        expected: true,
        ..EvaluationRequest::default()
    };
    let here = cpu.evaluate(&Data::observed(), &points, request).unwrap();
    let only = EvaluationRequest { expected: false, ..request };
    let there = gpu.evaluate(&Data::observed(), &points, only).unwrap();
    let saturated = cpu.saturated_nll(&Data::observed()).unwrap().unwrap();
    let mut worst = Worst::default();
    let row = model.n_bins() + model.observed.aux.len();
    for (k, point) in points.chunks(width).enumerate() {
        let (value, other) = (here.nll[k], there.nll[k]);
        assert_eq!(value.is_finite(), other.is_finite(), "point {k}: {value} here, {other} there");
        if !value.is_finite() {
            continue;
        }
        worst.compared += 1;
        let allowed = CUDA_NLL_ROUNDINGS * f64::EPSILON * absolute_terms(value, saturated) + CUDA_NLL_FLOOR;
        worst.value = worst.value.max((value - other).abs() / allowed);
        let slopes = slopes(model, cpu, point);
        let lambda = &here.expected[k * row..(k + 1) * row];
        let square = width * width;
        let elements = |all: &Evaluation| all.hessian[k * square..(k + 1) * square].to_vec();
        let sizes = curvature_scales(model, &slopes, lambda, point);
        worst.hessian = worst.hessian.max(compare_hessians(&elements(&here), &elements(&there), &sizes));
        for (p, scale) in gradient_scales(model, &slopes, lambda, point).iter().enumerate() {
            let difference = (here.gradient[k * width + p] - there.gradient[k * width + p]).abs();
            // The test fails if a difference is not finite.
            assert!(difference.is_finite(), "point {k}, {}", model.parameters[p].name);
            assert!(scale.is_finite(), "point {k}, {}", model.parameters[p].name);
            worst.gradient = worst.gradient.max(difference / (CUDA_GRADIENT * scale).max(f64::MIN_POSITIVE));
        }
    }
    worst
}

/// Returns the largest difference between two Hessians. The difference of each element is divided by its tolerance.
/// The tolerance is proportional to the geometric mean of `scales[row]` and `scales[column]`.
fn compare_hessians(here: &[f64], there: &[f64], scales: &[f64]) -> f64 {
    let n = scales.len();
    assert!(scales.iter().all(|scale| scale.is_finite()), "{scales:?}");
    let of = |(at, (a, b)): (usize, (&f64, &f64))| {
        let difference = (a - b).abs();
        assert!(difference.is_finite(), "element ({}, {}): {a} and {b}", at / n, at % n);
        difference / (CUDA_HESSIAN * (scales[at / n] * scales[at % n]).sqrt()).max(f64::MIN_POSITIVE)
    };
    here.iter().zip(there).enumerate().map(of).fold(0.0, f64::max)
}

/// Computes `|d lambda_b / d theta_i|`, the derivatives of the expected yields `lambda_b` with respect to the
/// parameters, by central differences. The result has one list per parameter, with one number per bin. A few digits
/// are accurate enough, because the numbers are only used as scales.
fn slopes(model: &Model, cpu: &dyn Session, point: &[f64]) -> Vec<Vec<f64>> {
    let mut points = point.to_vec();
    let mut steps = Vec::new();
    for (i, value) in point.iter().enumerate() {
        let step = 1e-6 * value.abs().max(1e-2);
        for side in [-step, step] {
            let mut moved = point.to_vec();
            moved[i] += side;
            points.extend(moved);
        }
        steps.push(step);
    }
    let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
    let expected = cpu.evaluate(&Data::observed(), &points, request).unwrap().expected;
    let rows: Vec<&[f64]> = expected.chunks(model.n_bins() + model.observed.aux.len()).collect();
    let centre = rows[0];
    let of = |i: usize| {
        let (low, high) = (rows[1 + 2 * i], rows[2 + 2 * i]);
        let slope = |b: usize| ((high[b] - centre[b]).abs() + (centre[b] - low[b]).abs()) / (2.0 * steps[i]);
        (0..model.n_bins()).map(slope).collect()
    };
    (0..point.len()).map(of).collect()
}

/// Computes a scale for each gradient element `i`: the sum over the bins `b` of `|J_bi| (1 + n_b / lambda_b)`, plus
/// the terms of the constraint. `n_b` and `lambda_b` are the observed and expected yields, and `J_bi` is the
/// derivative of `lambda_b` with respect to parameter `i`.
fn gradient_scales(model: &Model, slopes: &[Vec<f64>], lambda: &[f64], point: &[f64]) -> Vec<f64> {
    let datum = |aux: usize| model.observed.aux[aux];
    let of = |(i, slopes): (usize, &Vec<f64>)| {
        let bins = slopes.iter().zip(&model.observed.main).zip(lambda);
        let terms = bins.map(|((slope, n), lambda)| slope * (1.0 + if *n > 0.0 { n / lambda } else { 0.0 }));
        terms.sum::<f64>()
            + match model.parameters[i].constraint {
                Constraint::None => 0.0,
                Constraint::Gaussian { sigma, aux } => (point[i].abs() + datum(aux).abs()) / (sigma * sigma),
                Constraint::Poisson { tau, aux } => tau + datum(aux) / point[i],
            }
    };
    slopes.iter().enumerate().map(of).collect()
}

/// Computes a scale for each diagonal element `i` of the Hessian: the sum over the bins `b` of
/// `J_bi^2 (1 + n_b / lambda_b) / lambda_b`, plus the curvature of the constraint. `n_b` and `lambda_b` are the
/// observed and expected yields, and `J_bi` is the derivative of `lambda_b` with respect to parameter `i`.
fn curvature_scales(model: &Model, slopes: &[Vec<f64>], lambda: &[f64], point: &[f64]) -> Vec<f64> {
    let of = |(i, slopes): (usize, &Vec<f64>)| {
        let bins = slopes.iter().zip(&model.observed.main).zip(lambda);
        let terms = bins.map(|((slope, n), lambda)| slope * slope * (1.0 + n / lambda.abs()) / lambda.abs());
        terms.filter(|term| term.is_finite()).sum::<f64>()
            + match model.parameters[i].constraint {
                Constraint::None => 0.0,
                Constraint::Gaussian { sigma, .. } => 1.0 / (sigma * sigma),
                Constraint::Poisson { aux, .. } => model.observed.aux[aux] / (point[i] * point[i]),
            }
    };
    slopes.iter().enumerate().map(of).collect()
}
