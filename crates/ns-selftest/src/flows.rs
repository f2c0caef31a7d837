//! Checks the built-in normalising flow: its integral on the CPU, and the agreement of a GPU with the CPU.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use ns_core::{Device, LogProb};
use ns_unbinned::flow::{
    FlowError, FlowGpuConfig, FlowGpuEpKind, FlowPdf, FlowWarning, LARGEST_DIFFERENCE, spread,
};

use crate::Target;
use crate::check::Checks;

const MANIFEST: &[u8] = include_bytes!("../models/curved.flow.json");
const GRAPH: &[u8] = include_bytes!("../models/curved.onnx");

/// The box in which the flow is integrated and compared, as a (lower, upper) pair for each of the two features.
const SIDES: [(f64, f64); 2] = [(-12.0, 12.0), (-12.0, 12.0)];

const CPU: &str = "flow on the CPU";
const PROVIDER: &str = "flow: provider";
const CACHE: &str = "flow: engine cache";

/// Checks the built-in flow on the CPU and, if `device` is given, on this device.
pub(crate) fn flows(target: Target, device: Option<Device>, checks: &mut Checks) {
    let wanted = target != Target::Cpu && target != Target::Auto;
    let folder = match written() {
        Ok(folder) => folder,
        Err(error) => return checks.failed(CPU, &format!("the flow cannot be written to a file: {error}")),
    };
    let manifest = folder.path().join("curved.flow.json");
    let flow = match FlowPdf::from_manifest(&manifest, &[]) {
        Ok(flow) => flow,
        // Flows need ONNX Runtime. All other functions work without it.
        Err(error @ FlowError::Library { .. }) if wanted && FlowGpuEpKind::best().is_some() => {
            let (why, remedy) = split(&error.to_string());
            return checks.missing(CPU, &why, &remedy);
        }
        Err(error @ FlowError::Library { .. }) => return checks.skipped(CPU, &error.to_string()),
        Err(error) => return checks.failed(CPU, &error.to_string()),
    };
    match flow.integral(&SIDES, &[]) {
        Ok(integral) => checks.compare(CPU, (integral.value - 1.0).abs(), 1e-5, "integral, minus 1"),
        Err(error) => checks.failed(CPU, &error.to_string()),
    }
    let index = match device {
        Some(Device::Cuda(index)) => index,
        Some(Device::CudaAll) => 0,
        _ => return,
    };
    let kind = if target == Target::TensorRt { FlowGpuEpKind::TensorRtEp } else { FlowGpuEpKind::CudaEp };
    let without_cache = FlowGpuConfig { engine_cache_path: None, ..FlowGpuConfig::default() };
    let exact = FlowGpuConfig { fp16: false, ..without_cache.clone() };
    let place = |config: &FlowGpuConfig| {
        let flow = FlowPdf::from_manifest(&manifest, &[])?;
        flow.on_gpu(index, kind, config, (&SIDES, &[]))
    };
    let placed = match place(&exact) {
        Ok(placed) => placed,
        Err(error) => return checks.failed(PROVIDER, &error.to_string()),
    };
    if placed.gpu_ep_kind() != Some(kind) {
        return not_there(&placed, kind, wanted, checks);
    }
    let name = format!("flow by {kind} in {}", placed.flow_precision());
    let what = "log-densities of 1024 events against the CPU, relative";
    checks.compare(&name, placed.largest_difference().unwrap_or(f64::NAN), LARGEST_DIFFERENCE, what);
    match place(&without_cache) {
        Ok(fewer) => fewer_bits(&fewer, kind, checks),
        Err(error) => checks.failed("flow: fewer bits", &error.to_string()),
    }
    times(&flow, &placed, kind, checks);
    if kind == FlowGpuEpKind::TensorRtEp {
        cache(&folder.path().join("cache"), &place, checks);
    }
}

/// Writes the built-in flow to a new temporary folder, and returns this folder.
fn written() -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("curved.flow.json"), MANIFEST)?;
    std::fs::write(folder.path().join("curved.onnx"), GRAPH)?;
    Ok(folder)
}

/// Splits a message into two parts: the reason, and the last sentence, which is the remedy.
fn split(message: &str) -> (String, String) {
    match message.rsplit_once(". ") {
        Some((why, remedy)) => (why.to_owned(), format!("{remedy}.")),
        None => (message.to_owned(), "See docs/flows.md.".to_owned()),
    }
}

/// Adds a check that gives the reason why an execution provider (CUDA or TensorRT) did not evaluate the flow.
fn not_there(placed: &FlowPdf, kind: FlowGpuEpKind, wanted: bool, checks: &mut Checks) {
    // The first warning is about this provider. Later warnings are about other providers.
    let Some(warning) = placed.warnings().first() else {
        return checks.failed(PROVIDER, &format!("{kind} was not used, without a reason"));
    };
    let built = !matches!(warning, FlowWarning::NotBuilt { .. });
    match warning {
        FlowWarning::Different { .. } => checks.failed(PROVIDER, &warning.to_string()),
        // A missing provider is an error only if the user asked for it, and if this build supports it or it
        // is TensorRT.
        _ if wanted && (built || kind == FlowGpuEpKind::TensorRtEp) => {
            checks.missing(PROVIDER, &warning.to_string(), &warning.remedy());
        }
        _ => checks.skipped(PROVIDER, &warning.to_string()),
    }
}

/// Adds a check with the rounding error of the faster precision (FP16 or TF32). The check also says whether the
/// device uses this precision.
fn fewer_bits(placed: &FlowPdf, kind: FlowGpuEpKind, checks: &mut Checks) {
    let name = match kind {
        FlowGpuEpKind::TensorRtEp => "flow: FP16 error",
        FlowGpuEpKind::CudaEp => "flow: TF32 error",
    };
    let off = placed.warnings().iter().find_map(|warning| match warning {
        FlowWarning::PrecisionOff { difference, .. } => Some(*difference),
        _ => None,
    });
    let accepted = format!("{LARGEST_DIFFERENCE:.0e}");
    match (off, placed.largest_difference()) {
        (Some(off), _) => checks.measured(name, off, &format!("more than {accepted}, so it is switched off")),
        (None, Some(used)) => checks.measured(name, used, &format!("at most {accepted}, so it is used")),
        (None, None) => checks.failed(name, "it was not evaluated"),
    }
}

/// Measures how long the CPU and the device take to evaluate the flow for 65 536 events.
fn times(cpu: &FlowPdf, device: &FlowPdf, kind: FlowGpuEpKind, checks: &mut Checks) {
    let events = spread(&SIDES).repeat(64);
    let mut out = vec![0.0; events.len() / SIDES.len()];
    let mut time = |flow: &FlowPdf| {
        let mut best = f64::INFINITY;
        for _ in 0..10 {
            let started = Instant::now();
            flow.log_prob(&events, &[], &mut out)?;
            best = best.min(1e3 * started.elapsed().as_secs_f64());
        }
        Ok::<f64, ns_core::LogProbError>(best)
    };
    let by = kind.to_string();
    for (flow, by) in [(cpu, "the CPU (one thread)"), (device, by.as_str())] {
        let name = format!("flow: time of {by}");
        match time(flow) {
            Ok(ms) => {
                checks.measured(&name, ms, "milliseconds for 65536 events from and to the host, best of 10")
            }
            Err(error) => checks.failed(&name, &error.to_string()),
        }
    }
}

/// Checks that TensorRT writes its engine (the compiled flow) when the flow is opened for the first time, and uses
/// this file the second time.
fn cache(root: &Path, place: &dyn Fn(&FlowGpuConfig) -> Result<FlowPdf, FlowError>, checks: &mut Checks) {
    let config =
        FlowGpuConfig { engine_cache_path: Some(root.to_owned()), fp16: false, ..FlowGpuConfig::default() };
    let mut states = Vec::new();
    let mut seconds = Vec::new();
    for _ in 0..2 {
        let started = Instant::now();
        match place(&config) {
            Ok(placed) => {
                if let Some(warning) = placed.warnings().first() {
                    return checks.failed(CACHE, &warning.to_string());
                }
            }
            Err(error) => return checks.failed(CACHE, &error.to_string()),
        }
        seconds.push(started.elapsed().as_secs_f64());
        states.push(engines(root));
    }
    let [first, second] = states.as_slice() else { return };
    let changed = second.iter().filter(|(path, time)| first.get(*path) != Some(*time)).count();
    if first.is_empty() {
        return checks.failed(CACHE, "no engine was written");
    }
    let of = |i: usize| seconds.get(i).copied().unwrap_or_default();
    let what = format!("engines written again by a second opening; {:.1} s, then {:.1} s", of(0), of(1));
    checks.compare(CACHE, changed as f64, 0.0, &what);
}

/// Returns the paths of the TensorRT engines (compiled flows) in a folder and its subfolders, each with the time at
/// which the file was written.
fn engines(folder: &Path) -> BTreeMap<PathBuf, Option<SystemTime>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(engines(&path));
        } else if path.extension().is_some_and(|extension| extension == "engine") {
            let time = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            found.insert(path, time);
        }
    }
    found
}
