//! Measures the times of hypothesis tests with toys on a device, and prints a table with one row per workspace:
//! `cargo run --release -p ns-inference --features cuda --example time_toys -- DEVICE TOYS REPEAT WORKSPACE...`.
//!
//! DEVICE is `cpu`, `cpu:THREADS`, `cuda`, `cuda:INDEX` or `cuda:all`. With the feature `cuda-on-host` it can also be
//! `host`, which means the CUDA kernels compiled for the CPU. Their speed says nothing about a GPU. TOYS is the
//! number of toys of each hypothesis. The tested value is 1. All times are in ms:
//!
//! * open: the compilation of the model for the device. For the first workspace it includes the start of the device;
//! * prepare: the fits to the observed data, and the fits to the expected data whose covariances the fits of toys
//!   use;
//! * first, best, median: the toys of both hypotheses, in the first run, and in the best and the median of REPEAT
//!   more runs;
//! * whole: `hypotest_toys` on the open session, including the fits to the observed data, in the best of REPEAT runs;
//! * predicted: the prediction of the device choice `auto` for whole;
//! * fits/s: fits per second in the best run. Conditional fits that were skipped are counted;
//! * converged: number of converged toys, and number of all toys;
//! * check: whether the session agrees with the CPU, and how many fits the CPU evaluated again (`DeviceCheck`).
//!
//! If CHECK=1 is set in the environment and there are at most 20 000 toys, the same toys are also run on the CPU. The
//! table then has a last column. It contains the largest difference of the statistic, and the number of rows that
//! differ. A row differs if its statistics differ by more than 1e-8, if its status differs, or if it is missing in
//! one of the runs. The statistics of toys that did not converge in both runs are not compared.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use ns_compute::CpuSession;
use ns_core::{Control, Device, DeviceCheck, Execution, Model, Session};
use ns_inference::device::{Work, explain_device};
use ns_inference::toys::{HypotestToysOptions, RowSink, ToyRow, ToyStatus, ToyTest, hypotest_toys};
use ns_inference::{InferenceError, open_session};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Tested value of the parameter of interest.
const MU: f64 = 1.0;

/// Largest difference up to which two values of the test statistic count as equal.
const DIFFERENT: f64 = 1e-8;

/// Largest number of toys of each hypothesis that are run again on the CPU.
const MOST_CHECKED: u64 = 20_000;

/// Number of toys whose results (rows) were received, and number of these toys that converged.
#[derive(Default)]
struct Counts {
    rows: u64,
    converged: u64,
}

impl RowSink for Counts {
    fn rows(&mut self, rows: &[ToyRow]) -> Result<(), InferenceError> {
        self.rows += rows.len() as u64;
        self.converged += rows.iter().filter(|row| row.status == ToyStatus::Converged).count() as u64;
        Ok(())
    }
}

/// Returns the time since `began`, in milliseconds.
fn ms(began: Instant) -> f64 {
    1e3 * began.elapsed().as_secs_f64()
}

/// Returns the time that `auto` predicts for a hypothesis test with `n` toys per hypothesis on the device of `session`, in
/// milliseconds.
fn predicted(model: &Model, session: &dyn Session, name: &str, n: u64) -> Result<f64, Box<dyn Error>> {
    let threads = name.strip_prefix("cpu:").map_or(Ok(Execution::default().threads), str::parse)?;
    let execution = Execution { threads, ..Execution::default() };
    let cpu = CpuSession::open(model, &execution)?;
    let (_, choices) = explain_device(&cpu, &execution, &[Work::Toys { toys: 2 * n, fits: 2 }]);
    let seconds = choices.first().map(|choice| match session.device() {
        Device::Cpu => choice.cpu_s,
        _ => choice.gpu_s.unwrap_or(f64::NAN),
    });
    Ok(1e3 * seconds.unwrap_or(f64::NAN))
}

/// Opens a session on the device with the name `name`.
fn open(name: &str, model: &Model) -> Result<Box<dyn Session>, Box<dyn Error>> {
    let on = |device, threads| {
        open_session(model, &Execution { device, threads, ..Execution::default() }).map_err(Into::into)
    };
    match name.split_once(':').unwrap_or((name, "")) {
        #[cfg(feature = "cuda-on-host")]
        ("host", "") => Ok(Box::new(ns_compute::device::host::open(model, &Execution::default())?)),
        ("cpu", "") => on(Device::Cpu, Execution::default().threads),
        ("cpu", threads) => on(Device::Cpu, threads.parse()?),
        ("cuda", "") => on(Device::Cuda(0), Execution::default().threads),
        ("cuda", "all") => on(Device::CudaAll, Execution::default().threads),
        ("cuda", index) => on(Device::Cuda(index.parse()?), Execution::default().threads),
        _ => Err(format!("no device {name}: give cpu, cpu:THREADS, cuda, cuda:INDEX or cuda:all").into()),
    }
}

/// Describes in a few words whether a device agrees with the CPU.
fn told(check: Option<DeviceCheck>) -> String {
    match check {
        None => "-".into(),
        Some(check) => {
            let verdict = if check.violation().is_none() { "ok" } else { "DIFFERS" };
            format!("{verdict}, {} of {}", check.n_checked, check.n_fits)
        }
    }
}

/// Compares the results of toys (one row per toy) on the device of `test` with results on the CPU. Prints the rows that
/// differ and returns a summary.
fn compare(model: &Model, test: &ToyTest<'_>) -> Result<String, Box<dyn Error>> {
    let mut here: Vec<ToyRow> = Vec::new();
    let _ended = test.run(&test.ranges(), Control::default(), &mut here)?;
    let cpu = open("cpu", model)?;
    let mut there: Vec<ToyRow> = Vec::new();
    let _ended =
        test.plan().attach(model, cpu.as_ref()).run(&test.ranges(), Control::default(), &mut there)?;
    let (mut largest, mut differ) = (0.0_f64, here.len().abs_diff(there.len()));
    for (a, b) in here.iter().zip(&there) {
        let difference = match (a.statistic, b.statistic) {
            // The end of a descent whose `-ln L` falls without limit depends on rounding errors.
            _ if a.status == b.status && a.status != ToyStatus::Converged => 0.0,
            (Some(a), Some(b)) => (a - b).abs(),
            (None, None) => 0.0,
            _ => f64::INFINITY,
        };
        largest = largest.max(difference);
        if difference > DIFFERENT || a.status != b.status {
            differ += 1;
            println!(
                "  {} toy {}: {:?} {:?} at {:?}, on the CPU {:?} {:?} at {:?}",
                a.hypothesis, a.index, a.statistic, a.status, a.mu_hat, b.statistic, b.status, b.mu_hat
            );
        }
    }
    Ok(format!("{largest:.1e}, {differ} rows"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: time_toys DEVICE TOYS REPEAT WORKSPACE...";
    let device = args.next().ok_or(usage)?;
    let n: u64 = args.next().ok_or(usage)?.parse()?;
    let repeat: usize = args.next().ok_or(usage)?.parse::<usize>()?.max(1);
    let checked = n <= MOST_CHECKED && std::env::var("CHECK").is_ok_and(|check| check == "1");
    let differs = if checked { " differs from cpu |" } else { "" };
    println!(
        "| workspace | device | toys | open | prepare | first | best | median | whole | predicted | fits/s | converged | check |{differs}"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|{}", if checked { "---|" } else { "" });
    for path in args {
        let model = Workspace::from_path(&path)?.model(&ModelOptions::default())?;
        let name =
            Path::new(&path).file_stem().map_or_else(|| path.clone(), |stem| stem.to_string_lossy().into());
        let began = Instant::now();
        let session = open(&device, &model)?;
        let opened = ms(began);
        let options = HypotestToysOptions::default().n_toys(n);
        let began = Instant::now();
        let test = ToyTest::prepare(&model, session.as_ref(), MU, &options, Control::default())?;
        let prepared = ms(began);
        let run = || -> Result<(f64, Counts), Box<dyn Error>> {
            let (began, mut counts) = (Instant::now(), Counts::default());
            let _ended = test.run(&test.ranges(), Control::default(), &mut counts)?;
            Ok((ms(began), counts))
        };
        let (first, counts) = run()?;
        let mut times = (0..repeat).map(|_| Ok(run()?.0)).collect::<Result<Vec<f64>, Box<dyn Error>>>()?;
        times.sort_by(f64::total_cmp);
        let best = times.first().copied().unwrap_or(first);
        let median = times.get(times.len() / 2).copied().unwrap_or(first);
        let mut whole = f64::INFINITY;
        for _ in 0..repeat {
            let began = Instant::now();
            hypotest_toys(&model, session.as_ref(), MU, &options, Control::default())?;
            whole = whole.min(ms(began));
        }
        // Each toy has a free and a conditional fit.
        let fits = 2.0 * counts.rows as f64 / (1e-3 * best);
        let foreseen = predicted(&model, session.as_ref(), &device, n)?;
        let compared = if checked { format!(" {} |", compare(&model, &test)?) } else { String::new() };
        println!(
            "| {name} | {} | {n} + {n} | {opened:.1} | {prepared:.1} | {first:.1} | {best:.2} | {median:.2} | {whole:.2} | {foreseen:.1} | {fits:.0} | {} of {} | {} |{compared}",
            session.device(),
            counts.converged,
            counts.rows,
            told(session.check())
        );
    }
    Ok(())
}
