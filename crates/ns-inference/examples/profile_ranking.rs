//! Measures the time of rankings of a workspace: `profile_ranking WORKSPACE [REPETITIONS] [THREADS] [DEVICE]`. DEVICE is
//! `cpu` (the default) or, with the feature `cuda`, `cuda`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use ns_compute::CpuSession;
use ns_core::{Control, Device, Execution};
use ns_inference::device::{Work, explain_device};
use ns_inference::{Impact, RankingOptions, open_session, ranking};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Returns the CPU time of this process in seconds; `None` if the system does not provide it.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: profile_ranking WORKSPACE [REPETITIONS] [THREADS] [DEVICE]")?;
    let repetitions: usize = args.next().map_or(Ok(10), |n| n.parse())?;
    let threads: usize = args.next().map_or(Ok(1), |n| n.parse())?;
    let device = args.next().map_or(Ok(Device::Cpu), |name| name.parse())?;
    let model = Workspace::from_path(path)?.model(&ModelOptions::default())?;
    let session = open_session(&model, &Execution { device, threads, ..Execution::default() })?;
    let cpu = CpuSession::open(&model, &Execution { threads, ..Execution::default() })?;
    let execution = Execution { threads, ..Execution::default() };
    for (what, per_parameter) in [("refit", 2), ("refit with pre-fit", 4)] {
        for choice in explain_device(&cpu, &execution, &[Work::Ranking { per_parameter }]).1 {
            let gpu = choice.gpu_s.map_or_else(|| "?".to_owned(), |s| format!("{:.1}", 1e3 * s));
            println!("predicted, {what}: {:.1} ms on the CPU, {gpu} ms on a GPU", 1e3 * choice.cpu_s);
        }
    }
    let post = RankingOptions::default();
    for (what, options) in [
        ("covariance", post.clone().impacts([Impact::Covariance])),
        ("refit", post.clone()),
        ("refit with pre-fit", post.clone().prefit(true)),
        ("global", post.clone().impacts([Impact::Global])),
    ] {
        let (started, before) = (Instant::now(), cpu_seconds());
        let mut n_fits = 0;
        for _ in 0..repetitions {
            n_fits = ranking(&model, session.as_ref(), &options, Control::default())?.n_fits;
        }
        let per_call = |seconds: f64| 1e3 * seconds / repetitions as f64;
        let wall = per_call(started.elapsed().as_secs_f64());
        let cpu = cpu_seconds().zip(before).map(|(after, before)| per_call(after - before));
        println!(
            "{what}: {n_fits} fits, {wall:.1} ms ({} ms of CPU), {:.3} ms per fit",
            cpu.map_or_else(|| "?".to_owned(), |ms| format!("{ms:.1}")),
            wall / n_fits as f64
        );
    }
    Ok(())
}
