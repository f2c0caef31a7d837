//! Compares a CUDA device with the CPU on random models: the minimum of a single fit with the standard search, and
//! the test statistics of toys.
//!
//! `cargo test -p ns-inference --features cuda --release --test gpu_random -- --nocapture` runs the test. Without a
//! device it prints the reason and ends. `NEXTSTAT_GPU_RANDOM_MODELS=FIRST,COUNT,TOYS` chooses the models, and the number
//! of toys per hypothesis. Every fourth model has effects far from linear, every fourth has factors that are functions of
//! parameters, and every fourth correlated constraints.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing
)]

mod gpu;
mod property;

use gpu::toys::Agreement;
use gpu::{cpu_session, device, n_devices, on_host, tolerances, toys};
use ns_core::{
    Constraint, Control, Correlations, Data, Device, Execution, FitOutcome, FitRequest, FitTask, Model,
    OutcomeParts, Penalty, PenaltyForm, Search, Session,
};
use ns_inference::open_session;
use property::reference::{SAME, noise};
use property::workspace::{FUNCTIONS, draw};

/// Number of models on a GPU, and if kernels compiled for the CPU replace it.
const MODELS: u64 = 500;
const MODELS_ON_HOST: u64 = 16;

/// Number of toys per hypothesis of each model.
const TOYS: u64 = 20;
const TOYS_ON_HOST: u64 = 2;

/// Models from this index on have effects far from linear.
const STRONG: u64 = 1_000_000;

/// Returns the index of the model with number `k`.
fn index(k: u64) -> u64 {
    match k % 4 {
        3 => STRONG + k,
        1 => FUNCTIONS + k,
        _ => k,
    }
}

/// Correlates up to four Gaussian constraints of a model, two by two.
fn correlate(model: &mut Model) {
    let gaussian = |p: &usize| matches!(model.parameters[*p].constraint, Constraint::Gaussian { .. });
    let all: Vec<usize> = (0..model.parameters.len()).filter(gaussian).take(4).collect();
    for (pair, rho) in all.chunks_exact(2).zip([-0.7, 0.4]) {
        let own = Correlations::new(vec![pair[1], pair[0]], vec![1.0, rho, rho, 1.0]).unwrap();
        model.penalties.push(Penalty { name: "rho".to_owned(), form: PenaltyForm::Correlated(own) });
    }
}

/// Returns the first number of a model, the number of models, and the number of toys.
fn chosen() -> [u64; 3] {
    let default = if on_host() { [0, MODELS_ON_HOST, TOYS_ON_HOST] } else { [0, MODELS, TOYS] };
    let Ok(text) = std::env::var("NEXTSTAT_GPU_RANDOM_MODELS") else { return default };
    let numbers: Vec<u64> = text.split(',').map(|number| number.parse().unwrap()).collect();
    numbers.try_into().expect("NEXTSTAT_GPU_RANDOM_MODELS is FIRST,COUNT,TOYS")
}

/// Makes one fit of the observed data. Returns `None` if it fails or does not converge.
fn fit(session: &dyn Session) -> Option<FitOutcome> {
    let request = FitRequest { search: Search::Standard, ..FitRequest::default() };
    let task = FitTask { data: Data::observed(), fits: vec![request], cancel: None };
    let mut outcomes = Vec::new();
    session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
    outcomes.remove(0).fits.remove(0).ok().filter(FitOutcome::converged)
}

#[test]
fn random_models_have_the_minima_and_toys_of_the_cpu() {
    if n_devices() == 0 {
        return;
    }
    let [first, count, n] = chosen();
    let (mut fits, mut refused, mut apart, mut lost) = (0, 0, Vec::new(), Vec::new());
    let (mut smooth, mut piecewise) = (Agreement::default(), Agreement::default());
    let mut functions = Agreement::default();
    for k in first..first + count {
        let case = draw(index(k));
        let mut model = case.model().unwrap();
        if k % 4 == 2 {
            correlate(&mut model);
        }
        let name = format!("model {}", case.index);
        // A function may make a yield negative at the start values.
        let on_cpu = Execution { device: Device::Cpu, ..Execution::default() };
        if let Err(why) = open_session(&model, &on_cpu) {
            eprintln!("{name}: {why}");
            refused += 1;
            continue;
        }
        let cpu = cpu_session(&model);
        if let Some(why) = cpu.plan().why_not_on_gpus() {
            eprintln!("{name}: {why}");
            refused += 1;
            continue;
        }
        let gpu = device(&model, 0);
        match (fit(&cpu), fit(gpu.as_ref())) {
            (Some(here), Some(there)) => {
                fits += 1;
                if (here.nll - there.nll).abs() > SAME + noise(here.nll) {
                    apart.push(format!("{name}: {} on the CPU, {} on the device", here.nll, there.nll));
                    eprintln!("{}", apart[apart.len() - 1]);
                }
            }
            (Some(_), None) => lost.push(name.clone()),
            (None, _) => {}
        }
        // A test does not exist for all of these models.
        let Some(plan) = toys::try_prepare(&model, &cpu, n) else { continue };
        let kinked = model.interpolation.has_kinks();
        let (all, tolerance) = if cpu.plan().has_function_factors() {
            (&mut functions, tolerances::CUDA_STATISTIC)
        } else if kinked {
            (&mut piecewise, tolerances::CUDA_STATISTIC_PIECEWISE)
        } else {
            (&mut smooth, tolerances::CUDA_STATISTIC)
        };
        let here = toys::run(&plan, &model, &cpu, n, None);
        let there = toys::run(&plan, &model, gpu.as_ref(), n, None);
        toys::compare(&name, &here, &there, tolerance, all);
    }
    eprintln!("{fits} fits of {count} models; {} apart, {} lost, {refused} refused", apart.len(), lost.len());
    eprintln!("toys, smooth: {smooth:?}");
    eprintln!("toys, piecewise: {piecewise:?}");
    eprintln!("toys, functions: {functions:?}");
    assert!(apart.is_empty() && lost.is_empty(), "{apart:#?} {lost:?}");
}
