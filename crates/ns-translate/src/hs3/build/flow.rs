//! Builds the densities of normalising flows (`nextstat.flow_dist`).

use std::path::Path;

use ns_core::{ConditionalDensity, Density, Device, EventChannel, EventTable, LogDensity, SharedLogProb};
use ns_unbinned::flow::Loaded;

use crate::hs3::document::Distribution;
use crate::pyhf::names::quoted;

use super::channel::Space;
use super::{Builder, Trouble};

/// A warning is given if the estimated error of the integral of a flow over a fit range is larger than this number.
const NOTABLE: f64 = 1e-6;

impl Builder<'_, '_> {
    /// Returns the density of a normalising flow. The features of the flow are observables of the channel.
    pub(super) fn flow(&mut self, i: usize, space: &Space) -> Result<Density, Trouble> {
        let index = self.index;
        let Some(distribution) = index.document.distributions.get(i) else { return Err(Trouble::Reported) };
        let Distribution::Flow { x, context, .. } = &distribution.content else {
            return Err(Trouble::Reported);
        };
        let mut observables = Vec::with_capacity(x.len());
        for argument in x {
            match self.observable(argument, space) {
                Ok(x) if !observables.contains(&x) => observables.push(x),
                _ => {
                    self.report.error(
                        argument.path.clone(),
                        format!(
                            "A feature of the flow {} is no axis of its data, or is named twice.",
                            quoted(&distribution.name)
                        ),
                        "Name each feature as an axis of the data, in the order of the manifest.",
                    );
                    return Err(Trouble::Reported);
                }
            }
        }
        let axis = |&x: &usize| space.observables.get(x).map(|axis| (axis.min, axis.max));
        let sides: Vec<(f64, f64)> = observables.iter().filter_map(axis).collect();
        let source = self.loaded(i, &sides)?;
        if context.is_empty() {
            return self.column(observables, source, space);
        }
        let mut values = Vec::with_capacity(context.len());
        for argument in context {
            match self.value(argument, space) {
                Ok(value) => values.push(value),
                Err(Trouble::Observables) => {
                    self.report.error(
                        argument.path.clone(),
                        format!(
                            "The context of the flow {} depends on an observable.",
                            quoted(&distribution.name)
                        ),
                        "Make it of numbers, parameters and functions of parameters. Observables are features.",
                    );
                    return Err(Trouble::Reported);
                }
                Err(other) => return Err(other),
            }
        }
        Ok(Density::Conditional(ConditionalDensity { observables, context: values, source }))
    }

    /// Returns the density of a flow without context, i.e. without parameters. The log-densities of such a flow are
    /// computed once, and stored as an additional column of the events.
    fn column(
        &mut self,
        observables: Vec<usize>,
        source: SharedLogProb,
        space: &Space,
    ) -> Result<Density, Trouble> {
        let same = |log: &&LogDensity| log.observables == observables && log.source == source;
        if let Some(known) = self.logs.iter().find(same) {
            return Ok(Density::Log(known.clone()));
        }
        let column = space.observables.len() + self.logs.len();
        self.logs.push(LogDensity { observables, column, source });
        self.logs.last().cloned().map(Density::Log).ok_or(Trouble::Reported)
    }

    /// Reports that a flow cannot be multiplied with a density of the same observable.
    pub(super) fn flow_in_product(&mut self, i: usize) -> Trouble {
        let name = self.index.document.distributions.get(i).map(|d| (d.path.clone(), quoted(&d.name)));
        let (path, name) = name.unwrap_or_default();
        self.report.error(
            path,
            format!("The flow {name} is multiplied with a density or a function of the same observable, which is not supported."),
            "Train the flow with the events after that factor.",
        );
        Trouble::Reported
    }

    /// Returns whether a distribution is a flow or contains a flow.
    pub(super) fn has_flow(&self, i: usize) -> bool {
        let index = self.index;
        let within = |name: &crate::hs3::document::Arg| {
            index.named_distribution(name).is_some_and(|i| self.has_flow(i))
        };
        match index.document.distributions.get(i).map(|d| &d.content) {
            Some(Distribution::Flow { .. }) => true,
            Some(
                Distribution::Mixture { summands: parts, .. } | Distribution::Product { factors: parts },
            ) => parts.iter().any(within),
            Some(
                Distribution::RateExtended { distribution: inner, .. }
                | Distribution::EfficiencyProduct { pdf: inner, .. },
            ) => within(inner),
            _ => false,
        }
    }

    /// Returns the flow of the distribution with the index `i`. Its manifest is read only once per model. `sides`
    /// has the (lower, upper) ends of the axis of each feature.
    fn loaded(&mut self, i: usize, sides: &[(f64, f64)]) -> Result<SharedLogProb, Trouble> {
        let index = self.index;
        let Some(distribution) = index.document.distributions.get(i) else { return Err(Trouble::Reported) };
        let Distribution::Flow { x, context, manifest, sha256, folder } = &distribution.content else {
            return Err(Trouble::Reported);
        };
        Ok(match self.flows.get(&i) {
            Some(known) => known.clone(),
            None => {
                let gpu = match self.device {
                    Device::Cuda(index) => Some(index),
                    Device::CudaAll => Some(0),
                    _ => None,
                };
                let flow = match load(folder.as_deref(), &manifest.value, gpu, sides) {
                    Ok((flow, warnings)) => {
                        for (warning, remedy) in warnings {
                            let message = format!("The flow {}: {warning}.", quoted(flow.name()));
                            self.report.warn(manifest.path.clone(), message, remedy);
                        }
                        flow
                    }
                    Err((message, remedy)) => {
                        self.report.error(manifest.path.clone(), message, remedy);
                        return Err(Trouble::Reported);
                    }
                };
                if let Some(expected) = sha256
                    && !flow.digest().eq_ignore_ascii_case(&expected.value)
                {
                    self.report.error(
                        expected.path.clone(),
                        format!(
                            "The manifest {} is another one: its SHA-256 hash is {}.",
                            quoted(&manifest.value),
                            flow.digest()
                        ),
                        "Restore the file, or correct the hash if the change is meant.",
                    );
                    return Err(Trouble::Reported);
                }
                if flow.dimension() != x.len() {
                    self.report.error(
                        format!("{}/x", distribution.path),
                        format!(
                            "The flow has {} features, and {} observables are given.",
                            flow.dimension(),
                            x.len()
                        ),
                        "Name one observable per feature, in the order of the manifest.",
                    );
                    return Err(Trouble::Reported);
                }
                if flow.context().len() != context.len() {
                    self.report.error(
                        format!("{}/context", distribution.path),
                        format!(
                            "The flow has the context [{}], and {} numbers are given.",
                            flow.context().join(", "),
                            context.len()
                        ),
                        "Give a parameter, a function or a number for each of them, in the order of the manifest.",
                    );
                    return Err(Trouble::Reported);
                }
                let shared = SharedLogProb(flow);
                self.flows.insert(i, shared.clone());
                shared
            }
        })
    }

    /// Evaluates the flows of a channel. Returns the events `table` with the log-densities of the flows as
    /// additional columns. Also computes the integral of each flow over each fit range, and reports inaccurate
    /// integrals.
    pub(super) fn evaluate_flows(
        &mut self,
        channel: &EventChannel,
        table: EventTable,
        path: &str,
    ) -> Option<EventTable> {
        for log in channel.log_densities() {
            for region in channel.boxes() {
                let sides: Vec<(f64, f64)> =
                    log.observables.iter().filter_map(|&x| region.get(x)).copied().collect();
                match log.source.0.integral(&sides, &[]) {
                    Ok(integral) if integral.error > NOTABLE => self.report.warn(
                        path.to_owned(),
                        format!(
                            "The integral of the flow {} over a fit range is {:.6}, with an estimated error of {:.1e}.",
                            quoted(log.source.0.name()),
                            integral.value,
                            integral.error
                        ),
                        "Its yield has the same relative error. A smoother flow has a smaller one.",
                    ),
                    Ok(_) => {}
                    Err(error) => self.report.error(
                        path.to_owned(),
                        format!("In channel {}: {error}.", quoted(&channel.name)),
                        "Correct the fit range, the axis or the flow.",
                    ),
                }
            }
        }
        if self.report.has_errors() {
            return None;
        }
        match channel.complete(table) {
            Ok(table) => Some(table),
            Err(error) => {
                let message = format!("In channel {}: {error}.", quoted(&channel.name));
                self.report.error(path.to_owned(), message, "Correct the events or the flow.");
                None
            }
        }
    }
}

/// Loads a flow. `manifest` is a path relative to the folder of the model. An error is a message and a remedy.
fn load(
    folder: Option<&Path>,
    manifest: &str,
    gpu: Option<usize>,
    sides: &[(f64, f64)],
) -> Result<Loaded, (String, String)> {
    let Some(folder) = folder else {
        return Err((
            format!("The flow {} is not read, because the model was not read from a file.", quoted(manifest)),
            "Write the model to a file in the folder of the manifest, and read that file.".to_owned(),
        ));
    };
    let place = crate::hs3::sources::inside(folder, manifest)?;
    ns_unbinned::flow::load(&place, gpu, sides).map_err(|error| {
        (format!("The flow cannot be loaded: {error}."), "Correct the manifest or its graphs.".to_owned())
    })
}
