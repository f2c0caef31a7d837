//! The methods that compute the derivatives of normalising flows with respect to their contexts. The context is the
//! list of numbers on which the density of a flow is conditioned.

use std::fmt;

use ns_core::{GradientMethod, Model};
use serde::{Deserialize, Serialize};

/// The method that computed the derivatives of a normalising flow with respect to its context. The context is the list
/// of numbers on which the flow's density is conditioned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ContextGradient {
    /// Name of the event channel.
    pub channel: String,
    /// Name of the flow in its manifest.
    pub flow: String,
    /// Names of the context variables, i.e. of the numbers on which the flow's density is conditioned.
    pub context: Vec<String>,
    /// Name of the method: `graph` if the flow has a computation graph for the derivatives, and `differences` if the
    /// derivatives are finite differences of log-densities.
    pub method: String,
    /// Step of the finite differences for each context variable; empty if `method` is `graph`.
    pub steps: Vec<f64>,
}

impl fmt::Display for ContextGradient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flow = ns_core::plain(&self.flow);
        write!(f, "derivatives by the context of flow {flow}: {}", self.method)?;
        for (name, step) in self.context.iter().zip(&self.steps) {
            write!(f, ", {} by {step}", ns_core::plain(name))?;
        }
        Ok(())
    }
}

/// Returns the method that computes the derivatives of each flow with a context, in the order of the event channels.
pub(crate) fn of_model(model: &Model) -> Vec<ContextGradient> {
    let mut found = Vec::new();
    for channel in &model.event_channels {
        for density in channel.conditional_densities() {
            let source = &density.source.0;
            let Some(method) = source.gradient_method() else { continue };
            let (method, steps) = match method {
                GradientMethod::Graph => ("graph", Vec::new()),
                GradientMethod::Differences(steps) => ("differences", steps),
            };
            let own = ContextGradient {
                channel: channel.name.clone(),
                flow: source.name().to_owned(),
                context: source.context().to_vec(),
                method: method.to_owned(),
                steps,
            };
            if !found.contains(&own) {
                found.push(own);
            }
        }
    }
    found
}
