//! Chooses the provider for a graph: the first provider whose results agree with those of the CPU.

use crate::flow::runtime::Graph;

use super::compare::Compared;
use super::config::{FlowGpuConfig, FlowGpuEpKind, FlowPrecision};
use super::warning::FlowWarning;

/// A graph that is evaluated on a GPU.
#[derive(Debug)]
pub(in crate::flow) struct Placed {
    pub(in crate::flow) graph: Graph,
    /// The provider that evaluates the graph, as the profile of the first evaluation shows.
    pub(in crate::flow) kind: FlowGpuEpKind,
    pub(in crate::flow) precision: FlowPrecision,
    /// Largest difference between the log-densities of GPU and CPU, defined as for [`super::LARGEST_DIFFERENCE`].
    pub(in crate::flow) difference: f64,
    /// Smallest number of events in one evaluation on the GPU.
    pub(in crate::flow) least: usize,
}

/// Opens a graph on the GPU `device`. The provider `first` is tried first, then CUDA. Returns `None` if the CPU must
/// evaluate the graph. The warnings give the reasons why a provider or a precision is not used.
pub(in crate::flow) fn place(
    cpu: &Graph,
    device: usize,
    first: FlowGpuEpKind,
    config: &FlowGpuConfig,
    check: &Compared<'_>,
) -> (Option<Placed>, Vec<FlowWarning>) {
    let kinds = match first {
        FlowGpuEpKind::TensorRtEp => &[FlowGpuEpKind::TensorRtEp, FlowGpuEpKind::CudaEp][..],
        FlowGpuEpKind::CudaEp => &[FlowGpuEpKind::CudaEp],
    };
    let mut warnings = Vec::new();
    for &kind in kinds {
        let placed = by(cpu, kind, device, config, check, &mut warnings);
        if placed.is_some() {
            return (placed, warnings);
        }
    }
    (None, warnings)
}

#[cfg(not(feature = "neural-cuda"))]
fn by(
    _cpu: &Graph,
    kind: FlowGpuEpKind,
    _device: usize,
    _config: &FlowGpuConfig,
    _check: &Compared<'_>,
    warnings: &mut Vec<FlowWarning>,
) -> Option<Placed> {
    warnings.push(not_built(kind));
    None
}

/// Returns the warning about a provider that this build does not have.
fn not_built(provider: FlowGpuEpKind) -> FlowWarning {
    let feature = match provider {
        FlowGpuEpKind::TensorRtEp => "neural-tensorrt",
        FlowGpuEpKind::CudaEp => "neural-cuda",
    };
    FlowWarning::NotBuilt { provider, feature }
}

/// Opens a graph with one provider. If `config` allows the faster precision, and if the graph has 32-bit numbers,
/// this precision is tried first. Then the precision of the graph is tried.
#[cfg(feature = "neural-cuda")]
fn by(
    cpu: &Graph,
    kind: FlowGpuEpKind,
    device: usize,
    config: &FlowGpuConfig,
    check: &Compared<'_>,
    warnings: &mut Vec<FlowWarning>,
) -> Option<Placed> {
    use super::compare::LARGEST_DIFFERENCE as bound;
    use super::register::{open, runtime_name};

    if kind == FlowGpuEpKind::TensorRtEp && !cfg!(feature = "neural-tensorrt") {
        warnings.push(not_built(kind));
        return None;
    }
    let own = if cpu.is_single() { FlowPrecision::F32 } else { FlowPrecision::F64 };
    let fewer = match kind {
        FlowGpuEpKind::TensorRtEp => FlowPrecision::Fp16,
        FlowGpuEpKind::CudaEp => FlowPrecision::Tf32,
    };
    let reduce = config.fp16 && own == FlowPrecision::F32;
    for precision in [reduce.then_some(fewer), Some(own)].into_iter().flatten() {
        let opened = match open(cpu, kind, (device, precision == fewer), config, check) {
            Ok(opened) => opened,
            Err(warning) => {
                warnings.push(warning);
                return None;
            }
        };
        if !opened.ran.contains_key(runtime_name(kind)) {
            let ran = opened.ran.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            warnings.push(FlowWarning::NotRun { provider: kind, ran });
            return None;
        }
        if let Some(warning) = opened.no_cache.filter(|warning| !warnings.contains(warning)) {
            warnings.push(warning);
        }
        let (graph, difference) = (opened.graph, opened.difference);
        if difference <= bound {
            let least = config.profile_min_batch;
            return Some(Placed { graph, kind, precision, difference, least });
        }
        warnings.push(if precision == own {
            FlowWarning::Different { provider: kind, precision, difference, bound }
        } else {
            FlowWarning::PrecisionOff { provider: kind, precision, difference, bound }
        });
    }
    None
}
