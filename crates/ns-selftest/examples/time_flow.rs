//! Measures how long the CPU, or an execution provider for GPUs (CUDA or TensorRT), takes to evaluate the
//! log-densities of a normalising flow.
//!
//! ```text
//! ORT_DYLIB_PATH=.../libonnxruntime.so cargo run --release -p ns-selftest --features neural-tensorrt --example time_flow -- cuda
//! ```
//!
//! Without an argument, or with `cpu`, only the CPU is measured. Prints the provider, the precision, the largest
//! difference from the CPU, and warnings. For several numbers of events, prints the shortest of 20 times, including
//! copies from and to the host.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use ns_unbinned::flow::{FlowGpuConfig, FlowGpuEpKind, FlowPdf, LogProb, spread};

fn main() -> Result<(), Box<dyn Error>> {
    let target = std::env::args().nth(1).unwrap_or_else(|| "cpu".to_owned());
    if let Some(device) = std::env::args().nth(2) {
        let result = ns_selftest::selftest(device.parse()?);
        println!("{}", serde_json::to_string_pretty(&result)?);
    }
    let models = std::env::var_os("NEXTSTAT_MODELS");
    let models = models.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("models"), Into::into);
    let manifest = models.join("curved.flow.json");
    let sides = [(-12.0, 12.0); 2];
    let first = match target.as_str() {
        "tensorrt" => Some(FlowGpuEpKind::TensorRtEp),
        "cuda" => Some(FlowGpuEpKind::CudaEp),
        _ => None,
    };
    for fp16 in [false, true] {
        let flow = FlowPdf::from_manifest(&manifest, &[])?;
        let config = FlowGpuConfig { fp16, ..FlowGpuConfig::default() };
        let started = Instant::now();
        let flow = match first {
            Some(first) => flow.on_gpu(0, first, &config, (&sides, &[]))?,
            None => flow,
        };
        let provider = flow.gpu_ep_kind().map_or("cpu", FlowGpuEpKind::name);
        let opened = started.elapsed().as_secs_f64();
        let (precision, difference) = (flow.flow_precision(), flow.largest_difference());
        println!(
            "fp16 {fp16}: {provider} in {precision}, difference {difference:?}, placed in {opened:.2} s"
        );
        for warning in flow.warnings() {
            println!("  {warning}. {}", warning.remedy());
        }
        let events = spread(&sides).repeat(64);
        for n in [1, 1024, 65_536] {
            let mut out = vec![0.0; n];
            let rows = events.get(..2 * n).unwrap_or_default();
            let mut best = f64::INFINITY;
            for _ in 0..20 {
                let started = Instant::now();
                flow.log_prob(rows, &[], &mut out)?;
                best = best.min(1e3 * started.elapsed().as_secs_f64());
            }
            println!("  {n} events: {best:.3} ms");
        }
        if first.is_none() {
            break;
        }
    }
    Ok(())
}
