//! Compares Hessians of the kernels, which are compiled for the CPU, with Hessians of a CPU session.

use ns_core::{Data, EvaluationRequest, HistosysCode, Interpolation, Model, NormsysCode, Session};

use super::super::host;
use super::super::test_support::{both, execution};
use super::*;

// The module `models` is private to the file that includes it. Therefore each test module includes it again.
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

const HESSIAN: EvaluationRequest =
    EvaluationRequest { nll: false, gradient: false, hessian: true, expected: false, samples: false };

const WHOLE: EvaluationRequest = EvaluationRequest { nll: true, gradient: true, ..HESSIAN };

/// Returns the scale of each element of a Hessian. It is 1 plus the geometric mean of the diagonal elements of the
/// element's row and column.
fn scales(hessian: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|at| 1.0 + (hessian[at / n * (n + 1)] * hessian[at % n * (n + 1)]).abs().sqrt()).collect()
}

/// Returns whether the device leaves the Hessian at a point to the CPU.
fn is_left(gpu: &GpuSession, point: &[f64]) -> bool {
    let observed = &gpu.cpu.observed;
    let data = Buffer::holding(&gpu.backend, &[observed.main.as_slice(), &observed.aux].concat()).unwrap();
    let sets = Sets { data: data.at(), of: &[] };
    let made = gpu.start_hessians(gpu.hessians.as_ref().unwrap(), sets, point).unwrap();
    made.usable.read::<i32>(1).unwrap() == [0]
}

#[test]
fn hessians_at_random_points_are_the_cpu_s() {
    let compared: usize = (0..240).map(|seed| compare(seed, &models::random_model(seed))).sum();
    assert!(compared > 400, "{compared} points");
}

#[test]
fn every_pair_of_codes_is_the_cpu_s() {
    for &normsys in NormsysCode::ALL {
        for &histosys in HistosysCode::ALL {
            let codes = Interpolation { normsys, histosys };
            let model = |seed| Model { interpolation: codes, ..models::random_model(seed) };
            let compared: usize = (0..30).map(|seed| compare(seed, &model(seed))).sum();
            assert!(compared > 30, "{codes}: {compared} points");
        }
    }
}

/// Compares Hessians, values and gradients of the kernels with those of the CPU at four points. At one of these
/// points, the parameters are where two pieces of an interpolation function meet. Points at which an expected yield is
/// close to 0 are skipped. Returns the number of points that were compared.
fn compare(seed: u64, model: &Model) -> usize {
    let mut compared = 0;
    let (cpu, gpu) = both(model);
    assert!(gpu.hessians.is_some(), "seed {seed}");
    let mut random = models::Random(seed ^ 0x77);
    let n = model.parameters.len();
    for k in 0..4 {
        let mut point = models::random_point(model, &mut random);
        if k == 3 {
            // The parameters of this point are at kinks and at the ends of polynomials.
            for (p, x) in point.iter_mut().enumerate() {
                if model.parameters[p].bounds.0 == -5.0 {
                    *x = [0.0, 1.0, -1.0][p % 3];
                }
            }
        }
        let (here, there) = (
            cpu.evaluate(&Data::observed(), &point, WHOLE).unwrap(),
            gpu.evaluate(&Data::observed(), &point, WHOLE).unwrap(),
        );
        let steepest = here.gradient.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
        let numbers = here.nll.iter().zip(&there.nll).chain(here.gradient.iter().zip(&there.gradient));
        let (here, there) = (&here.hessian, &there.hessian);
        let expected = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
        let lambda = cpu.evaluate(&Data::observed(), &point, expected).unwrap().expected;
        // An expected yield near 0 may be a difference of large numbers. Its relative error may then be large.
        if lambda[..model.n_bins()].iter().any(|x| *x < 0.1) {
            assert!(here.iter().zip(there).all(|(a, b)| a.is_finite() == b.is_finite()), "seed {seed}");
            continue;
        }
        compared += 1;
        for (a, b) in numbers {
            let scale = steepest + a.abs();
            assert!(
                (a - b).abs() <= 1e-11 * scale,
                "seed {seed}, {}, point {k}: {a} and {b}",
                model.interpolation
            );
        }
        assert!(!is_left(&gpu, &point), "seed {seed}, point {k}");
        for (at, scale) in scales(here, n).iter().enumerate() {
            let difference = (here[at] - there[at]).abs() / scale;
            assert!(
                difference <= 1e-12,
                "seed {seed}, {:?}, point {k}, ({}, {}): {} and {}",
                model.interpolation,
                model.parameters[at / n].name,
                model.parameters[at % n].name,
                here[at],
                there[at]
            );
            assert_eq!(there[at].to_bits(), there[at % n * n + at / n].to_bits());
        }
    }
    compared
}

#[test]
fn a_hessian_has_the_same_bits_alone_and_among_others() {
    for seed in [3, 8, 13, 21] {
        let model = models::random_model(seed);
        let (_, gpu) = both(&model);
        let multi_gpu = host::open_several(&model, &execution(), 2).unwrap();
        let n = model.parameters.len();
        let mut random = models::Random(seed);
        let points: Vec<f64> = (0..9).flat_map(|_| models::random_point(&model, &mut random)).collect();
        let together = gpu.evaluate(&Data::observed(), &points, HESSIAN).unwrap().hessian;
        let shared_out = multi_gpu.evaluate(&Data::observed(), &points, HESSIAN).unwrap().hessian;
        assert!(same_bits(&together, &shared_out), "seed {seed}");
        for (point, row) in points.chunks(n).zip(together.chunks(n * n)) {
            let alone = gpu.evaluate(&Data::observed(), point, HESSIAN).unwrap().hessian;
            assert!(same_bits(&alone, row), "seed {seed}");
        }
    }
}

/// On the CPU, a kernel that finds an unknown interpolation code ends the process. Therefore the test runs the kernel
/// in another process.
#[test]
fn a_kernel_that_meets_an_unknown_code_ends() {
    const CODE: &str = "NEXTSTAT_UNKNOWN_CODE";
    if let Some(kind) = std::env::var_os(CODE) {
        let model = models::random_model(13);
        let (_, mut gpu) = both(&model);
        let code = if kind == "normsys" { &mut gpu.plan.normsys } else { &mut gpu.plan.histosys };
        *code = 99;
        let start: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        drop(gpu.evaluate(&Data::observed(), &start, WHOLE));
        return;
    }
    for kind in ["normsys", "histosys"] {
        let name = "device::hessian::tests::a_kernel_that_meets_an_unknown_code_ends";
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let ended = again.args(["--exact", name]).env(CODE, kind).output().unwrap().status;
        // A process without an exit code was ended by a signal.
        assert_eq!(ended.code(), None, "{kind}");
    }
}

fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
