//! The providers that evaluated the flows (densities given by neural networks) of a model, and their precision. Results
//! contain this information.

use ns_core::Model;
use serde::{Deserialize, Serialize};

/// The provider of ONNX Runtime that evaluated the log-densities of a flow. Data and toys use the same provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FlowRun {
    /// Name of the flow.
    pub name: String,
    /// Provider of ONNX Runtime: `cpu`, `cuda` or `tensorrt`.
    pub provider: String,
    /// Floating-point precision of the evaluation: `f64`, `f32`, `tf32` or `fp16`.
    pub flow_precision: String,
    /// Largest difference between the log-densities that this provider and the CPU compute for 1 024 events. Each
    /// difference is divided by the larger of 1 and the absolute value of the log-density. `None` if the provider is
    /// the CPU.
    pub largest_difference: Option<f64>,
}

impl FlowRun {
    /// Returns the provider of each flow of a model, in the order of the channels. Returns `None` for a model without
    /// flows.
    #[must_use]
    pub fn all(model: &Model) -> Option<Vec<Self>> {
        let mut runs = Vec::new();
        for density in model.event_channels.iter().flat_map(ns_core::EventChannel::log_densities) {
            let Some(by) = density.source.0.evaluation() else { continue };
            let run = Self {
                name: density.source.0.name().to_owned(),
                provider: by.provider.to_owned(),
                flow_precision: by.precision.to_owned(),
                largest_difference: by.largest_difference,
            };
            if !runs.contains(&run) {
                runs.push(run);
            }
        }
        (!runs.is_empty()).then_some(runs)
    }

    /// Returns the line about a flow in a report; `None` for a flow on the CPU.
    pub(super) fn line(&self) -> Option<String> {
        self.largest_difference.map(|difference| {
            format!(
                "flow {}: log-densities by {} in {}, largest difference to the CPU {difference:.1e}",
                ns_core::plain(&self.name),
                self.provider,
                self.flow_precision
            )
        })
    }
}
