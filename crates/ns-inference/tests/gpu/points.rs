//! Values and gradients at random points.

use ns_core::{Constraint, Data, EvaluationRequest, Model, Session};

use super::tolerances::{CUDA_GRADIENT, CUDA_NLL_FLOOR, CUDA_NLL_ROUNDINGS};
use super::{absolute_terms, random_points};

/// The largest differences, each over what is allowed there.
#[derive(Debug, Default)]
pub struct Worst {
    pub value: f64,
    pub gradient: f64,
    /// Points with a finite likelihood.
    pub compared: usize,
}

/// Compares a device with the processor at `n` points.
pub fn compare(model: &Model, cpu: &dyn Session, gpu: &dyn Session, n: u64) -> Worst {
    let width = model.parameters.len();
    let points = random_points(model, n);
    let request =
        EvaluationRequest { nll: true, gradient: true, expected: true, ..EvaluationRequest::default() };
    let here = cpu.evaluate(&Data::Observed, &points, request).unwrap();
    let only = EvaluationRequest { expected: false, ..request };
    let there = gpu.evaluate(&Data::Observed, &points, only).unwrap();
    let saturated = cpu.saturated_nll(&Data::Observed).unwrap();
    let mut worst = Worst::default();
    for (k, point) in points.chunks(width).enumerate() {
        let (value, other) = (here.nll[k], there.nll[k]);
        assert_eq!(value.is_finite(), other.is_finite(), "point {k}: {value} here, {other} there");
        if !value.is_finite() {
            continue;
        }
        worst.compared += 1;
        let allowed = CUDA_NLL_ROUNDINGS * f64::EPSILON * absolute_terms(value, saturated) + CUDA_NLL_FLOOR;
        worst.value = worst.value.max((value - other).abs() / allowed);
        let scales = gradient_scales(model, cpu, point);
        for (p, scale) in scales.iter().enumerate() {
            let difference = (here.gradient[k * width + p] - there.gradient[k * width + p]).abs();
            // A number that is not one fails.
            assert!(difference.is_finite(), "point {k}, {}", model.parameters[p].name);
            assert!(scale.is_finite(), "point {k}, {}", model.parameters[p].name);
            worst.gradient = worst.gradient.max(difference / (CUDA_GRADIENT * scale).max(f64::MIN_POSITIVE));
        }
    }
    worst
}

/// `sum_b |J_bi| (1 + n_b / lambda_b)` and the terms of the constraint, for every parameter. Derivatives of the
/// expectation are differences, one on each side: of a scale a few digits are enough.
fn gradient_scales(model: &Model, cpu: &dyn Session, point: &[f64]) -> Vec<f64> {
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
    let expected = cpu.evaluate(&Data::Observed, &points, request).unwrap().expected;
    let rows: Vec<&[f64]> = expected.chunks(model.n_bins() + model.observed.aux.len()).collect();
    let centre = rows[0];
    (0..point.len())
        .map(|i| {
            let (low, high) = (rows[1 + 2 * i], rows[2 + 2 * i]);
            let mut scale = 0.0;
            for (b, n) in model.observed.main.iter().enumerate() {
                let slope = ((high[b] - centre[b]).abs() + (centre[b] - low[b]).abs()) / (2.0 * steps[i]);
                scale += slope * (1.0 + if *n > 0.0 { n / centre[b] } else { 0.0 });
            }
            let datum = |aux: usize| model.observed.aux[aux];
            scale
                + match model.parameters[i].constraint {
                    Constraint::None => 0.0,
                    Constraint::Gaussian { sigma, aux } => {
                        (point[i].abs() + datum(aux).abs()) / (sigma * sigma)
                    }
                    Constraint::Poisson { tau, aux } => tau + datum(aux) / point[i],
                }
        })
        .collect()
}
