//! Registers a provider of ONNX Runtime for a session, and checks that the provider evaluates the graph.

use std::collections::BTreeMap;
use std::path::Path;

use ort::ep::{self, ArbitrarilyConfigurableExecutionProvider, ExecutionProvider};
use ort::session::builder::SessionBuilder;

use crate::flow::manifest::hash;
use crate::flow::runtime::{self, Graph};

use super::cache::{EngineKey, folder};
use super::compare::{Compared, difference};
use super::config::{FlowGpuConfig, FlowGpuEpKind};
use super::warning::FlowWarning;
use super::{hardware, profile};

/// Options of a provider, as pairs of a name and a value.
pub(super) type Options = Vec<(&'static str, String)>;

/// A graph that was opened with a provider and evaluated once.
pub(super) struct Opened {
    pub(super) graph: Graph,
    /// Largest difference between the log-densities of GPU and CPU, defined as for [`super::LARGEST_DIFFERENCE`].
    pub(super) difference: f64,
    /// Number of nodes that each provider evaluated.
    pub(super) ran: BTreeMap<String, usize>,
    /// Warning that engines (compiled graphs) cannot be cached; `None` if they can be cached, or if no cache was
    /// asked for.
    pub(super) no_cache: Option<FlowWarning>,
}

/// Returns the name of a provider in the profiles of ONNX Runtime.
pub(super) fn runtime_name(kind: FlowGpuEpKind) -> &'static str {
    match kind {
        FlowGpuEpKind::TensorRtEp => ep::TensorRT::NAME,
        FlowGpuEpKind::CudaEp => ep::CUDA::NAME,
    }
}

/// Returns the options of the CUDA provider for the GPU `device`. `tf32` tells whether TF32 is allowed.
pub(super) fn cuda_options(device: usize, tf32: bool) -> Options {
    vec![("device_id", device.to_string()), ("use_tf32", u8::from(tf32).to_string())]
}

/// Returns the options of the TensorRT provider. `inputs` has the name and the number of columns of each input of the
/// graph.
pub(super) fn tensorrt_options(
    device: usize,
    fp16: bool,
    config: &FlowGpuConfig,
    cache: Option<&Path>,
    inputs: &[(&str, usize)],
) -> Options {
    let shapes = |n: usize| {
        let one = |(name, width): &(&str, usize)| format!("{name}:{n}x{width}");
        inputs.iter().map(one).collect::<Vec<_>>().join(",")
    };
    let mut options = vec![
        ("device_id", device.to_string()),
        ("trt_fp16_enable", u8::from(fp16).to_string()),
        ("trt_profile_min_shapes", shapes(config.profile_min_batch)),
        ("trt_profile_opt_shapes", shapes(config.profile_opt_batch)),
        ("trt_profile_max_shapes", shapes(config.profile_max_batch)),
    ];
    if let Some(path) = cache.and_then(Path::to_str) {
        options.push(("trt_engine_cache_enable", "1".to_owned()));
        options.push(("trt_engine_cache_path", path.to_owned()));
        options.push(("trt_timing_cache_enable", "1".to_owned()));
        options.push(("trt_timing_cache_path", path.to_owned()));
    }
    options
}

/// Registers a provider with the given options.
///
/// # Errors
/// The message of ONNX Runtime, as one line.
pub(super) fn register(
    builder: &mut SessionBuilder,
    kind: FlowGpuEpKind,
    options: &Options,
) -> Result<(), String> {
    fn with<P: ArbitrarilyConfigurableExecutionProvider>(provider: P, options: &Options) -> P {
        options.iter().fold(provider, |provider, (key, value)| provider.with_arbitrary_config(key, value))
    }
    let registered = match kind {
        FlowGpuEpKind::TensorRtEp => with(ep::TensorRT::default(), options).register(builder),
        FlowGpuEpKind::CudaEp => with(ep::CUDA::default(), options).register(builder),
    };
    registered.map_err(|error| shortened(error.message()))
}

/// Opens the graph with a provider, evaluates it once for the events of `check`, and compares the results with those
/// of the CPU. `reduced` tells whether the faster precision is used.
///
/// # Errors
/// The reason why the provider cannot be used.
pub(super) fn open(
    cpu: &Graph,
    kind: FlowGpuEpKind,
    (device, reduced): (usize, bool),
    config: &FlowGpuConfig,
    check: &Compared<'_>,
) -> Result<Opened, FlowWarning> {
    let environment = runtime::environment();
    let registered = |cause: String| FlowWarning::NotRegistered { provider: kind, cause };
    let environment = environment.map_err(|error| registered(error.to_string()))?;
    hardware::preload(&runtime::library());
    let quiet = Quiet::new(environment);
    let failed = |cause: String| FlowWarning::Failed { provider: kind, cause };
    let builder = runtime::builder(environment);
    let mut builder = builder.map_err(|error| registered(shortened(error.message())))?;
    let mut no_cache = None;
    let rows = check.rows();
    let inputs: Vec<(&str, usize)> = cpu.inputs().zip(&rows).map(|(name, rows)| (name, rows.width)).collect();
    if kind == FlowGpuEpKind::TensorRtEp {
        // If TensorRT cannot be registered, its version is not needed. The registration is therefore tried first.
        let plain = tensorrt_options(device, reduced, config, None, &inputs);
        register(&mut builder.clone(), kind, &plain).map_err(registered)?;
        let cache = cache(cpu, device, config).unwrap_or_else(|warning| {
            no_cache = Some(warning);
            None
        });
        let options = tensorrt_options(device, reduced, config, cache.as_deref(), &inputs);
        register(&mut builder, kind, &options).map_err(registered)?;
        // CUDA evaluates the nodes that TensorRT does not support. Without CUDA, the CPU evaluates them.
        let _ = register(&mut builder, FlowGpuEpKind::CudaEp, &cuda_options(device, false));
    } else {
        register(&mut builder, kind, &cuda_options(device, reduced)).map_err(registered)?;
    }
    let place = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let builder = builder.with_profiling(place.path().join("first"));
    let mut builder = builder.map_err(|error| failed(shortened(error.message())))?;
    let session = builder.commit_from_memory(cpu.bytes());
    let session = session
        .map_err(|error| FlowWarning::NotOpened { provider: kind, cause: shortened(error.message()) })?;
    let graph = cpu.with_session(session, config.profile_max_batch);
    let mut actual = vec![0.0; check.expected.len()];
    graph
        .run(check.expected.len(), &rows, &mut actual)
        .map_err(|error| failed(shortened(&error.to_string())))?;
    let text = graph.end_profiling().map_err(|error| failed(shortened(&error)))?;
    let ran = profile::providers(&text).map_err(|error| failed(format!("its profile: {error}")))?;
    drop(quiet);
    Ok(Opened { graph, difference: difference(check.expected, &actual), ran, no_cache })
}

/// Returns the folder for TensorRT's engine (the compiled form) of a graph; `None` if there is no cache.
fn cache(
    graph: &Graph,
    device: usize,
    config: &FlowGpuConfig,
) -> Result<Option<std::path::PathBuf>, FlowWarning> {
    let Some(root) = config.engine_cache_path.as_deref() else { return Ok(None) };
    let unknown = |cause: String| FlowWarning::NoCache { path: root.to_owned(), cause };
    let tensorrt = hardware::tensorrt_version().map_err(unknown)?;
    let architecture = hardware::architecture(device).map_err(unknown)?;
    let key = EngineKey { graph: &hash(graph.bytes()), tensorrt: &tensorrt, architecture };
    folder(Some(root), &key)
}

/// While a value of this type exists, ONNX Runtime does not write its log to standard error, because failures are
/// returned as errors. If `ORT_LOG` is set, the log is not suppressed.
struct Quiet<'a>(Option<&'a ort::environment::Environment>);

impl<'a> Quiet<'a> {
    fn new(environment: &'a ort::environment::Environment) -> Self {
        if std::env::var_os("ORT_LOG").is_some() {
            return Self(None);
        }
        environment.set_log_level(ort::logging::LogLevel::Fatal);
        Self(Some(environment))
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        if let Some(environment) = self.0 {
            // An environment has this level if `ORT_LOG` is not set.
            environment.set_log_level(ort::logging::LogLevel::Error);
        }
    }
}

/// Returns a message of ONNX Runtime as one line. The location in the source code of ONNX Runtime is removed.
pub(super) fn shortened(message: &str) -> String {
    let mut text = message.split_whitespace().collect::<Vec<_>>().join(" ");
    // The message of an exception begins with the file, the line and the signature of a C++ function.
    if text.starts_with('/')
        && let Some((place, rest)) = text.split_once(") ")
        && place.contains(".cc:")
        && !rest.is_empty()
    {
        text = rest.to_owned();
    }
    // The message of a provider begins with a code: `[ONNXRuntimeError] : 1 : FAIL : `.
    if let Some(coded) = text.strip_prefix("[ONNXRuntimeError] : ")
        && let Some(cause) = coded.splitn(3, " : ").nth(2)
    {
        text = cause.to_owned();
    }
    text.trim_end_matches(['.', ' ']).to_owned()
}
