//! Compares a CUDA device with the CPU on the published workspaces. The differences must be within the parity
//! contract.
//!
//! `NEXTSTAT_REFERENCE_DIR=... cargo test -p ns-inference --features cuda --release --test gpu_parity` runs
//! the tests. Without a device, or without the workspaces, every test prints the reason and ends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing
)]

mod gpu;

use std::time::Instant;

use gpu::toys::Agreement;
use gpu::{
    CODES, FUNCTIONS, WORKSPACES, all_devices, cpu_session, device, fits, fixture, models, n_devices,
    on_host, points, random_points, same_bits, tolerances, toys,
};
use ns_core::{Control, Data, Device, EvaluationRequest, Interpolation, Search, Session};
use ns_inference::toys::ToyRow;
use ns_inference::{PointOptions, ToyNuisance, hypotest_point};

/// Returns the largest number of toys of a test, from the environment variable `NEXTSTAT_GPU_TEST_TOYS`. The variable
/// is set if the tests run under tools that slow them down. Returns `None` if the variable is not set.
fn most_toys() -> Option<u64> {
    std::env::var("NEXTSTAT_GPU_TEST_TOYS").ok().and_then(|text| text.parse().ok())
}

/// Returns `n`, but at most [`most_toys`], the largest number of toys of a test.
fn at_most(n: u64) -> u64 {
    most_toys().map_or(n, |most| n.min(most.max(1)))
}

/// Published models of the size of a real measurement.
const LARGE: [&str; 2] = ["tHu", "tttt_prod"];

/// Models with hundreds of kinks under piecewise interpolation.
const MANY_KINKS: [&str; 3] = ["1Lbb_C1N2_700_400", "tHu", "tttt_prod"];

/// Number of toys per hypothesis for the large models.
const TOYS: u64 = 5_000;
/// Number of toys per hypothesis for each of the nine models in `WORKSPACES`.
const TOYS_OF_EACH: u64 = 300;
/// Number of toys per hypothesis if kernels compiled for the CPU replace the GPU.
const TOYS_ON_HOST: u64 = 20;
/// Number of toys per hypothesis for piecewise interpolation, if kernels compiled for the CPU replace the GPU.
const TOYS_ON_HOST_BETWEEN_KINKS: u64 = 4;

#[test]
fn values_and_derivatives_at_random_points() {
    if n_devices() == 0 {
        return;
    }
    for codes in CODES {
        for (name, model) in models(&WORKSPACES, codes) {
            let (cpu, gpu) = (cpu_session(&model), device(&model, 0));
            let worst = points::compare(&model, &cpu, gpu.as_ref(), 100);
            eprintln!("{name}, {codes}: {worst:.2?} of what is allowed");
            assert!(
                worst.compared > 0 && worst.value <= 1.0 && worst.gradient <= 1.0 && worst.hessian <= 1.0,
                "{name}, {codes}: {worst:?}"
            );
        }
    }
}

#[test]
fn a_point_has_the_same_bits_alone_and_among_others() {
    if n_devices() == 0 {
        return;
    }
    for (name, model) in models(&["tHu", "1Lbb_C1N2_700_400"], Interpolation::PIECEWISE) {
        let gpu = device(&model, 0);
        let points = random_points(&model, 40);
        let request =
            EvaluationRequest { nll: true, gradient: true, hessian: true, ..EvaluationRequest::default() };
        let together = gpu.evaluate(&Data::observed(), &points, request).unwrap();
        for (k, point) in points.chunks(model.parameters.len()).enumerate().step_by(7) {
            let alone = gpu.evaluate(&Data::observed(), point, request).unwrap();
            let n = point.len();
            let row = &together.gradient[k * n..(k + 1) * n];
            let hessian = &together.hessian[k * n * n..(k + 1) * n * n];
            assert!(
                same_bits(&alone.nll, &together.nll[k..=k])
                    && same_bits(&alone.gradient, row)
                    && same_bits(&alone.hessian, hessian),
                "{name}, {k}"
            );
        }
    }
}

#[test]
fn a_point_is_tested_with_draws_of_a_posterior() {
    if n_devices() == 0 {
        return;
    }
    let model = fixture("simple_workspace");
    let (cpu, gpu) = (cpu_session(&model), device(&model, 0));
    let p_value = |session: &dyn Session| {
        let options = PointOptions::default().n_toys(Some(100)).nuisance(ToyNuisance::Posterior);
        let poi = [("mu".to_owned(), 2.0)];
        hypotest_point(&model, session, &poi, &options, Control::default()).unwrap().p_value_toys
    };
    // The draws and the toys are the same on both, and none of the statistics is near the observed one.
    assert_eq!(p_value(&cpu), p_value(gpu.as_ref()));
}

#[test]
fn minima_and_covariances() {
    if n_devices() == 0 {
        return;
    }
    for codes in CODES {
        for (name, model) in models(&WORKSPACES, codes) {
            let (cpu, gpu) = (cpu_session(&model), device(&model, 0));
            let what = format!("{name}, {codes}");
            fits::compare(&what, &model, &cpu, gpu.as_ref(), Search::Standard);
            // If the likelihood has kinks, a single descent may end in any of many minima.
            if codes == Interpolation::SMOOTH {
                fits::compare(&format!("{what}, one descent"), &model, &cpu, gpu.as_ref(), Search::Local);
            }
        }
    }
}

#[test]
fn impacts_and_the_top_ten() {
    if n_devices() == 0 {
        return;
    }
    for codes in CODES {
        // Hundreds of searches between kinks take minutes on the CPU, or on a GPU under a sanitizer.
        let slow = on_host() || most_toys().is_some();
        let long = |name: &&str| slow && codes == Interpolation::PIECEWISE && MANY_KINKS.contains(name);
        let (left, names): (Vec<_>, Vec<_>) = WORKSPACES.into_iter().partition(long);
        if !left.is_empty() {
            eprintln!("SKIPPED: rankings of {left:?}, {codes}: they need a GPU at its full speed");
        }
        for (name, model) in models(&names, codes) {
            let what = format!("{name}, {codes}");
            fits::compare_rankings(&what, &model, &cpu_session(&model), device(&model, 0).as_ref());
        }
    }
}

/// The only published workspace whose model is strongly nonlinear.
const STRONGLY_NONLINEAR: &str = "1Lbb_C1N2_700_400";

/// Runs toys on the CPU and on a GPU, and counts the toys whose test statistics agree.
fn statistics(names: &[&'static str], codes: Interpolation, n: u64, tolerance: f64) -> Agreement {
    let mut all = Agreement::default();
    for (name, model) in models(names, codes) {
        let (cpu, gpu) = (cpu_session(&model), device(&model, 0));
        let plan = toys::prepare(&model, &cpu, n);
        // The shards of one run may run on both devices. The headers must therefore be equal.
        assert_eq!(cpu.plan().is_strongly_nonlinear(), name == STRONGLY_NONLINEAR, "{name}");
        assert_eq!(plan.header(), toys::prepare(&model, gpu.as_ref(), n).header(), "{name}, {codes}");
        let here = toys::run(&plan, &model, &cpu, n, None);
        let there = toys::run(&plan, &model, gpu.as_ref(), n, None);
        let before = all.compared;
        toys::compare(&format!("{name}, {codes}"), &here, &there, tolerance, &mut all);
        assert!(all.compared > before, "{name}, {codes}: no toy converges on both");
        let check = gpu.check().expect("a device's session has a check");
        assert!(check.violation().is_none(), "{name}, {codes}: {check:?}");
        assert!(check.n_checked <= check.n_fits, "{name}, {codes}: {check:?}");
    }
    eprintln!("{codes}: {all:?}");
    all
}

/// Asserts that the fraction of toys whose test statistics agree on CPU and GPU is at least `fraction`. A single toy
/// may always differ.
fn assert_agreement(all: &Agreement, fraction: f64) {
    let allowed = (1.0 - fraction) * all.compared as f64;
    assert!((all.exceptions + all.lost) as f64 <= allowed.max(1.0), "{all:?}");
}

#[test]
fn statistics_of_toys() {
    if n_devices() > 0 {
        let all = statistics(&LARGE, Interpolation::SMOOTH, at_most(TOYS), tolerances::CUDA_STATISTIC);
        assert_agreement(&all, tolerances::CUDA_STATISTIC_FRACTION);
    }
}

#[test]
fn statistics_of_toys_of_all_workspaces() {
    if n_devices() > 0 {
        let n = at_most(if on_host() { TOYS_ON_HOST } else { TOYS_OF_EACH });
        let (nonlinear, others): (Vec<_>, Vec<_>) =
            WORKSPACES.iter().partition(|name| **name == STRONGLY_NONLINEAR);
        let smooth = statistics(&others, CODES[0], n, tolerances::CUDA_STATISTIC);
        assert_agreement(&smooth, tolerances::CUDA_STATISTIC_FRACTION);
        let smooth = statistics(&nonlinear, CODES[0], n, tolerances::CUDA_STATISTIC);
        assert_agreement(&smooth, tolerances::CUDA_STATISTIC_NONLINEAR_FRACTION);
        let n = at_most(if on_host() { TOYS_ON_HOST_BETWEEN_KINKS } else { n });
        let piecewise = statistics(&WORKSPACES, CODES[1], n, tolerances::CUDA_STATISTIC_PIECEWISE);
        assert_agreement(&piecewise, tolerances::CUDA_STATISTIC_PIECEWISE_FRACTION);
    }
}

#[test]
fn functions_of_parameters() {
    if n_devices() == 0 {
        return;
    }
    let mut all = Agreement::default();
    let n = at_most(if on_host() { TOYS_OF_EACH } else { TOYS });
    for name in FUNCTIONS {
        let model = fixture(name);
        let (cpu, gpu) = (cpu_session(&model), device(&model, 0));
        let worst = points::compare(&model, &cpu, gpu.as_ref(), 100);
        eprintln!("{name}: {worst:.2?} of what is allowed");
        assert!(worst.compared > 0 && worst.value <= 1.0 && worst.gradient <= 1.0 && worst.hessian <= 1.0);
        fits::compare(name, &model, &cpu, gpu.as_ref(), Search::Standard);
        let plan = toys::prepare(&model, &cpu, n);
        let timed = |session: &dyn Session| {
            let started = Instant::now();
            (toys::run(&plan, &model, session, n, None), started.elapsed())
        };
        let ((here, on_cpu), (there, on_gpu)) = (timed(&cpu), timed(gpu.as_ref()));
        toys::compare(name, &here, &there, tolerances::CUDA_STATISTIC, &mut all);
        let fits = gpu.check().unwrap().n_fits;
        eprintln!("{name}: {n} + {n} toys in {on_cpu:.2?} on the CPU, in {on_gpu:.2?} on the device");
        eprintln!("{name}: {fits} fits on the device, {:?}", gpu.left_to_cpu());
    }
    eprintln!("toys: {all:?}");
    assert_agreement(&all, 0.998);
}

#[test]
fn batches_change_no_bit() {
    if n_devices() == 0 {
        return;
    }
    for (name, model) in models(&LARGE, Interpolation::SMOOTH) {
        let (cpu, gpu) = (cpu_session(&model), device(&model, 0));
        let (n, few) = (at_most(2_000), at_most(50));
        let plan = toys::prepare(&model, &cpu, n);
        let all = toys::run(&plan, &model, gpu.as_ref(), n, Some(n));
        // A batch size that does not divide the number of toys: 777 of 2000.
        let part = (777 * n).div_ceil(2_000);
        let cut = toys::run(&plan, &model, gpu.as_ref(), n, Some(part));
        toys::assert_same_bits(&format!("{name}, batches of {part}"), &all, &cut);
        let single = toys::run(&plan, &model, gpu.as_ref(), few, Some(1));
        let first: Vec<ToyRow> = all.iter().filter(|row| row.index < few).cloned().collect();
        toys::assert_same_bits(&format!("{name}, batches of 1"), &first, &single);
    }
}

#[test]
fn a_second_gpu_gives_the_same_bits() {
    if n_devices() < 2 {
        eprintln!("SKIPPED: there are no two CUDA devices");
        return;
    }
    for (name, model) in models(&LARGE, Interpolation::SMOOTH) {
        let n = at_most(1_000);
        let plan = toys::prepare(&model, &cpu_session(&model), n);
        let on = |index: usize| -> Vec<ToyRow> {
            toys::run(&plan, &model, device(&model, index).as_ref(), n, None)
        };
        toys::assert_same_bits(name, &on(0), &on(1));
    }
}

#[test]
fn all_gpus_together_give_the_bits_of_one() {
    if n_devices() < 2 {
        eprintln!("SKIPPED: there are no two CUDA devices");
        return;
    }
    for (name, model) in models(&LARGE, Interpolation::SMOOTH) {
        let n = at_most(2_000);
        let plan = toys::prepare(&model, &cpu_session(&model), n);
        let (one, all) = (device(&model, 0), all_devices(&model));
        let on = |session: &dyn Session, batch| toys::run(&plan, &model, session, n, batch);
        let rows = on(one.as_ref(), None);
        toys::assert_same_bits(name, &rows, &on(all.as_ref(), None));
        toys::assert_same_bits(&format!("{name}, batches of 777"), &rows, &on(all.as_ref(), Some(777)));
        assert_eq!((one.device(), all.device()), (Device::Cuda(0), Device::CudaAll));
        let check = all.check().expect("a device's session has a check");
        assert!(check.n_checked > 0 && check.violation().is_none(), "{name}: {check:?}");

        let points = random_points(&model, 4_500);
        let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
        let here = one.evaluate(&Data::observed(), &points, request).unwrap();
        let there = all.evaluate(&Data::observed(), &points, request).unwrap();
        assert!(same_bits(&here.nll, &there.nll) && same_bits(&here.gradient, &there.gradient), "{name}");
    }
}
