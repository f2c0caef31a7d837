//! Compares `-ln L`, its gradient and its Hessian with the textbook formulae, which are evaluated with hyper-dual
//! numbers (numbers that carry first and second derivatives). The comparison uses random models and points, and every
//! instruction set of this machine.

use crate::functions::with_functions;
use crate::likelihood::{expected, nll};
use crate::models::{Random, random_model, random_point};
use crate::number::Hyper;
use ns_compute::{CpuSession, Level};
use ns_core::{Data, EvaluationRequest, Execution, HistosysCode, Interpolation, Model, NormsysCode, Session};
use proptest::prelude::*;

const ALL: EvaluationRequest =
    EvaluationRequest { nll: true, gradient: true, hessian: true, expected: true, samples: true };

/// Largest allowed difference of a derivative, as a fraction of the sum of the absolute values of its terms.
const RELATIVE: f64 = 1e-9;

fn seeded(theta: &[f64], i: usize, j: usize) -> Vec<Hyper> {
    let mut numbers: Vec<Hyper> = theta.iter().map(|&x| Hyper::constant(x)).collect();
    numbers[i].a = 1.0;
    numbers[j].b = 1.0;
    numbers
}

/// Returns the scales of the rounding errors of Hessian element (`i`, `j`) and, if `i = j`, of gradient element `i`.
/// A scale is at least 1 plus the sum of the absolute values of the element's terms.
fn absolute_terms(model: &Model, theta: &[f64], i: usize, j: usize) -> (f64, f64) {
    let lambda = expected(model, &seeded(theta, i, j));
    let (mut second, mut first) = (1.0, 1.0);
    for (l, &n) in lambda.iter().zip(&model.observed.main) {
        let ratio = if n > 0.0 { n / l.value } else { 0.0 };
        second += (1.0 + ratio) * l.ab.abs() + ratio / l.value.abs().max(1e-300) * (l.a * l.b).abs();
        first += (1.0 + ratio) * l.a.abs();
    }
    for p in [i, j] {
        let (w, g) = match model.parameters[p].constraint {
            ns_core::Constraint::Gaussian { sigma, aux } => {
                let d = (theta[p] - model.observed.aux[aux]).abs();
                (1.0 / (sigma * sigma), d / (sigma * sigma))
            }
            ns_core::Constraint::Poisson { tau, aux } => {
                let a = model.observed.aux[aux];
                (a / (theta[p] * theta[p]), tau + a / theta[p])
            }
            ns_core::Constraint::None => (0.0, 0.0),
        };
        second += w;
        first += g;
    }
    (second, first)
}

fn check(seed: u64, model: &Model) -> Result<(), TestCaseError> {
    let mut r = Random(seed ^ 0x5555);
    let theta = random_point(model, &mut r);
    let n = theta.len();
    let (want, scale) = nll(model, &model.observed, &seeded(&theta, 0, 0));
    if !want.value.is_finite() || expected(model, &seeded(&theta, 0, 0)).iter().any(|l| l.value < 1e-6) {
        // The likelihood is zero, or an expected yield is so small that derivatives cannot be compared.
        return Err(TestCaseError::reject("a bin has no expectation"));
    }
    for level in Level::available() {
        let session = CpuSession::open_at(model, &Execution::default(), level).unwrap();
        let got = session.evaluate(&Data::observed(), &theta, ALL).unwrap();
        prop_assert!(
            (got.nll[0] - want.value).abs() <= 8.0 * f64::EPSILON * scale + 1e-12,
            "seed {seed} {}: value {} instead of {}",
            level.name(),
            got.nll[0],
            want.value
        );
        for (b, l) in expected(model, &seeded(&theta, 0, 0)).iter().enumerate() {
            prop_assert!((got.expected[b] - l.value).abs() <= 1e-12 * (1.0 + l.value.abs()) * 8.0);
        }
        let mut sums = vec![0.0; model.n_bins()];
        let mut samples = got.samples.iter();
        for channel in &model.channels {
            for bin in (0..channel.samples.len()).flat_map(|_| 0..channel.n_bins) {
                sums[channel.first_bin + bin] += samples.next().unwrap();
            }
        }
        prop_assert!(samples.next().is_none());
        for (b, sum) in sums.iter().enumerate() {
            prop_assert!((got.expected[b] - sum).abs() <= 1e-12 * (1.0 + sum.abs()) * 8.0);
        }
        for i in 0..n {
            for j in i..n {
                let (number, _) = nll(model, &model.observed, &seeded(&theta, i, j));
                let (second, first) = absolute_terms(model, &theta, i, j);
                let h = got.hessian[i * n + j];
                prop_assert!(
                    (h - number.ab).abs() <= RELATIVE * second,
                    "seed {seed} {}: Hessian ({i}, {j}) = {h} instead of {}",
                    level.name(),
                    number.ab
                );
                prop_assert_eq!(h, got.hessian[j * n + i]);
                if i == j {
                    prop_assert!(
                        (got.gradient[i] - number.a).abs() <= RELATIVE * first,
                        "seed {seed} {}: gradient {i} = {} instead of {}",
                        level.name(),
                        got.gradient[i],
                        number.a
                    );
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_global_rejects: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Compares derivatives at 400 random points. proptest fails if too many of the points are rejected because they
    /// cannot be compared.
    #[test]
    fn derivatives_agree_with_hyper_dual_numbers(seed in any::<u64>()) {
        check(seed, &random_model(seed))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, max_global_rejects: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Compares derivatives at 80 random points of models in which functions of parameters are factors.
    #[test]
    fn derivatives_of_functions_agree_with_hyper_dual_numbers(seed in any::<u64>()) {
        let model = with_functions(random_model(seed), &mut Random(seed ^ 0x77));
        check(seed, &model)?;
    }
}

/// Compares derivatives at 11 points or more for every pair of a histosys and a normsys interpolation code.
#[test]
fn every_pair_of_codes_has_its_derivatives() {
    for &normsys in NormsysCode::ALL {
        for &histosys in HistosysCode::ALL {
            let compared = (0..40).filter(|&seed| {
                let model =
                    Model { interpolation: Interpolation { normsys, histosys }, ..random_model(seed) };
                match check(seed, &model) {
                    Ok(()) => true,
                    Err(TestCaseError::Reject(_)) => false,
                    Err(TestCaseError::Fail(why)) => panic!("normsys {normsys}, histosys {histosys}: {why}"),
                }
            });
            assert!(compared.count() > 10, "normsys {normsys}, histosys {histosys}");
        }
    }
}
