//! Requests GPU providers of ONNX Runtime that cannot be used. Each provider that is given up must cause a warning,
//! and the results must be those of the CPU.
//!
//! The environment variable `NEXTSTAT_ORT_GPU` gives the path of the library of the package `onnxruntime-gpu`. If it
//! is not set, only the library for CPUs is tested.

use std::path::Path;
use std::process::Command;

use ns_core::Device;
use ns_inference::report::RunInfo;
use ns_translate::ModelSource;
use ns_translate::hs3::EventSources;
use ns_translate::pyhf::{DigestCheck, ModelOptions};
use ns_unbinned::flow::{FlowGpuConfig, FlowGpuEpKind, FlowPrecision, FlowWarning, LogProb, spread};

use crate::{flow, folder};

const SIDES: [(f64, f64); 1] = [(100.0, 160.0)];

/// Returns the provider that ONNX Runtime could not load, and the error message of ONNX Runtime. Both are taken from
/// `warning`.
fn missing(warning: &FlowWarning) -> (FlowGpuEpKind, &str) {
    match warning {
        FlowWarning::NotRegistered { provider, cause } => (*provider, cause),
        other => panic!("{other:?}"),
    }
}

/// Runs a test of this file in a new process with another library of ONNX Runtime. A new process is necessary,
/// because a process loads only one library.
fn with_library(test: &str, library: &Path) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&format!("providers::{test}"), "--exact", "--nocapture"])
        .env("NEXTSTAT_TEST_CHILD", "1")
        .env("ORT_DYLIB_PATH", library)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
    // ONNX Runtime does not write to standard error what the warnings say.
    assert!(!err.contains("onnxruntime"), "{err}");
}

fn is_child() -> bool {
    std::env::var_os("NEXTSTAT_TEST_CHILD").is_some()
}

#[test]
fn a_library_for_cpus_leads_to_the_cpu_with_a_warning_per_step() {
    let config = FlowGpuConfig { engine_cache_path: None, ..FlowGpuConfig::default() };
    let plain = flow("peak");
    let placed = flow("peak").on_gpu(0, FlowGpuEpKind::TensorRtEp, &config, (&SIDES, &[])).unwrap();
    let (first, second) = match placed.warnings() {
        [first, second] => (missing(first), missing(second)),
        other => panic!("{other:?}"),
    };
    assert_eq!((first.0, second.0), (FlowGpuEpKind::TensorRtEp, FlowGpuEpKind::CudaEp));
    assert!(placed.warnings()[0].to_string().ends_with("CUDA is tried next"));
    assert!(placed.warnings()[1].to_string().ends_with("The CPU evaluates the flow"));
    assert!(placed.warnings()[1].remedy().contains("pip install onnxruntime-gpu[cuda,cudnn]"));
    assert_eq!((placed.gpu_ep_kind(), placed.largest_difference()), (None, None));
    assert_eq!(placed.flow_precision(), plain.flow_precision());
    assert_ne!(placed.flow_precision(), FlowPrecision::Fp16);
    let events = spread(&SIDES);
    let (mut there, mut here) = (vec![0.0; events.len()], vec![0.0; events.len()]);
    placed.log_prob(&events, &[], &mut there).unwrap();
    plain.log_prob(&events, &[], &mut here).unwrap();
    assert_eq!(there, here);
    // CUDA alone is one step.
    let placed = flow("peak").on_gpu(0, FlowGpuEpKind::CudaEp, &config, (&SIDES, &[])).unwrap();
    assert_eq!(placed.warnings().iter().map(|w| missing(w).0).collect::<Vec<_>>(), [FlowGpuEpKind::CudaEp]);
}

#[test]
fn wrong_arguments_are_errors() {
    let of = |config: &FlowGpuConfig, sides: &[(f64, f64)]| {
        flow("peak").on_gpu(0, FlowGpuEpKind::CudaEp, config, (sides, &[])).unwrap_err().to_string()
    };
    let config = FlowGpuConfig { profile_min_batch: 9, profile_opt_batch: 5, ..FlowGpuConfig::default() };
    assert!(of(&config, &SIDES).contains("are 9, 5 and 65536"));
    let error = of(&FlowGpuConfig::default(), &[]);
    assert!(error.contains("the sides of 'peak' has 0 numbers where 1 are needed"), "{error}");
}

#[test]
fn a_model_says_what_evaluated_its_flows() {
    let path = folder().join("search.hs3.json");
    let text = std::fs::read(&path).unwrap();
    let source =
        ModelSource::with_events(&text, &[], DigestCheck::Verify, &EventSources::beside(&path)).unwrap();
    let model = |flows| source.model(&ModelOptions { flows, ..ModelOptions::default() }).unwrap();
    let (cpu, cuda) = (model(Device::Auto), model(Device::Cuda(0)));
    assert_eq!((cpu.observed.clone(), cpu.digest()), (cuda.observed.clone(), cuda.digest()));
    assert_eq!(cuda.warnings.len(), cpu.warnings.len() + 2);
    let warned = |warning: &&String| warning.contains("The flow 'peak': ") && warning.contains("manifest");
    assert_eq!(cuda.warnings.iter().filter(warned).count(), 2, "{:?}", cuda.warnings);
    for model in [cpu, cuda] {
        let ran = RunInfo::default().about(&model, String::new());
        let flows = serde_json::to_value(&ran).unwrap()["flows"].clone();
        assert_eq!(flows[0]["name"], "peak");
        assert_eq!((&flows[0]["provider"], &flows[0]["largest_difference"]), (&"cpu".into(), &().into()));
        assert!(["f32", "f64"].contains(&flows[0]["flow_precision"].as_str().unwrap()));
    }
}

#[test]
fn nothing_of_nvidia_is_linked() {
    if !is_child() {
        // A process in which no test has asked for a provider.
        return with_library("nothing_of_nvidia_is_linked", Path::new("/nowhere"));
    }
    if let Ok(maps) = std::fs::read_to_string("/proc/self/maps") {
        for name in ["onnxruntime", "nvinfer", "libcuda", "libcublas", "libcudnn"] {
            assert!(!maps.contains(name), "{name}");
        }
    }
}

#[test]
fn the_library_for_gpus_says_what_is_missing() {
    let Some(library) = std::env::var_os("NEXTSTAT_ORT_GPU") else {
        eprintln!("SKIPPED: NEXTSTAT_ORT_GPU is not set: the providers of onnxruntime-gpu were NOT loaded");
        return;
    };
    if !is_child() {
        return with_library("the_library_for_gpus_says_what_is_missing", Path::new(&library));
    }
    let config = FlowGpuConfig { engine_cache_path: None, ..FlowGpuConfig::default() };
    let placed = flow("peak").on_gpu(0, FlowGpuEpKind::TensorRtEp, &config, (&SIDES, &[])).unwrap();
    let causes: Vec<_> = placed.warnings().iter().map(missing).collect();
    let (first, second) = match causes[..] {
        [first, second] => (first, second),
        _ => panic!("{causes:?}; this test is for a machine without TensorRT and without a GPU"),
    };
    assert_eq!((first.0, second.0), (FlowGpuEpKind::TensorRtEp, FlowGpuEpKind::CudaEp));
    // What the loader looked for first.
    assert!(
        first.1.contains("libonnxruntime_providers_tensorrt.so") && first.1.contains(".so."),
        "{first:?}"
    );
    assert!(second.1.contains("libonnxruntime_providers_cuda.so") && second.1.contains(".so."), "{second:?}");
    assert_eq!(placed.gpu_ep_kind(), None);
}
