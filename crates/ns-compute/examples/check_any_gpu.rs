//! Compares toys on a GPU of any maker with toys on the CPU, and measures both:
//! `check_any_gpu DEVICE N_TOYS THREADS WS.json...`, where DEVICE is `vulkan`, `vulkan:I`, `metal` or `metal:I`.
//!
//! Prints what Vulkan and Metal find with limits, and for every workspace the largest difference of `-ln L`, how many
//! descents converged on the GPU, and the times.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Instant;

use ns_compute::CpuSession;
use ns_compute::any_gpu::{AnyGpuSession, find};
use ns_core::{
    Control, Data, Device, Drawn, Execution, FitRequest, FitTask, OutcomeParts, Search, Session, Start,
    TaskOutcome, ToySource,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Largest difference of `-ln L` for two fits to count as equal.
const SAME: f64 = 1e-8;

fn run(session: &dyn Session, task: FitTask) -> (Vec<TaskOutcome>, f64) {
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    let began = Instant::now();
    session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
    (outcomes, began.elapsed().as_secs_f64() * 1e3)
}

fn toys(source: &Arc<ToySource>, poi: Option<usize>, n: u64) -> FitTask {
    let start = Start::At(source.parameters.clone().into());
    let free = FitRequest { start, search: Search::Local, ..FitRequest::default() };
    let fixed =
        poi.map(|poi| FitRequest { fixed: vec![(poi, 1.0)], start: Start::Earlier(0), ..free.clone() });
    let drawn = Drawn { source: Arc::clone(source), toys: 0..n };
    FitTask { data: drawn.into(), fits: std::iter::once(free).chain(fixed).collect(), cancel: None }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [device, n_toys, threads, paths @ ..] = &args[..] else {
        println!("usage: check_any_gpu DEVICE N_TOYS THREADS WS.json...");
        return;
    };
    for kind in [Device::Metal(None), Device::Vulkan(None)] {
        for (i, gpu) in find(kind).iter().enumerate() {
            println!("{kind}:{i} {gpu:?}");
        }
    }
    let (device, n_toys, threads) =
        (device.parse().unwrap(), n_toys.parse().unwrap(), threads.parse().unwrap());
    for path in paths {
        let workspace = Workspace::from_path(path).unwrap();
        let model = workspace.model(&ModelOptions::default()).unwrap();
        let execution = Execution { threads, ..Execution::default() };
        let cpu = CpuSession::open(&model, &execution).unwrap();
        let began = Instant::now();
        let gpu = AnyGpuSession::open(&model, &Execution { device, ..execution }).unwrap();
        let opened = began.elapsed().as_secs_f64() * 1e3;
        let fit = FitTask { data: Data::observed(), fits: vec![FitRequest::default()], cancel: None };
        let best = run(&cpu, fit).0.remove(0).fits.remove(0).unwrap().parameters;
        let source = cpu.toy_source(&best, &Data::observed(), 1, 1).unwrap();
        let poi = model.pois.first().copied();
        // The first batch compiles the kernels.
        let (_, first) = run(&gpu, toys(&source, poi, 64));
        let (got, gpu_ms) = run(&gpu, toys(&source, poi, n_toys));
        let (wanted, cpu_ms) = run(&cpu, toys(&source, poi, n_toys));
        let (mut fits, mut other, mut worst, mut lower, mut higher) = (0, 0, 0.0_f64, 0, 0);
        for (wanted, got) in wanted.iter().zip(&got) {
            for (wanted, got) in wanted.fits.iter().zip(&got.fits) {
                let (Ok(wanted), Ok(got)) = (wanted, got) else { continue };
                fits += 1;
                let difference = got.nll - wanted.nll;
                if difference.abs() <= SAME && wanted.status == got.status {
                    worst = worst.max(difference.abs());
                } else {
                    other += 1;
                    lower += u64::from(difference < -SAME);
                    higher += u64::from(difference > SAME);
                }
            }
        }
        println!(
            "{path}: {n_toys} toys, {fits} fits: {other} differ by more than {SAME:e} ({lower} lower, {higher} higher), \
             the others by {worst:.1e} at most; {:?}, left to the CPU: {:?}; {device} {gpu_ms:.0} ms, cpu {cpu_ms:.0} ms, \
             opened {opened:.0} ms, first 64 toys {first:.0} ms",
            gpu.counts(),
            gpu.left_to_cpu(),
        );
    }
}
