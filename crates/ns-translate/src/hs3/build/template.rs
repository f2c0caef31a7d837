//! Builds templates of simulated events: their histograms, and the effect of their weights on rates.

use ns_core::{Density, FunctionForm, HistosysCode, InterpolationForm, Value, WeightSys};
use ns_unbinned::kernels::{KernelDensity, KernelOptions, kernel_density};

use crate::hs3::document::{Estimator, Template};
use crate::pyhf::names::{quoted, show};

use super::channel::Space;
use super::density::heights;
use super::interpolation;
use super::{Builder, Trouble};

impl Builder<'_, '_> {
    /// Returns the density of a template. `what` describes the template in messages, and `path` is the JSON pointer
    /// to it.
    pub(super) fn template(
        &mut self,
        template: &Template,
        (what, path): (&str, &str),
        space: &Space,
    ) -> Result<Density, Trouble> {
        let observables =
            template.x.iter().map(|x| self.observable(x, space)).collect::<Result<Vec<_>, _>>()?;
        let edges = match &template.estimator {
            Estimator::Histogram(edges) => edges,
            Estimator::Kernels { bandwidth, reflect } => {
                let x = observables.first().copied().unwrap_or_default();
                return self.kernels(template, (what, path), (x, space), (*bandwidth, *reflect));
            }
        };
        let n = template.columns.first().map_or(0, |column| column.len());
        let bins: Vec<usize> = (0..n).map(|event| bin(template, event)).collect();
        let filled = |weight: &dyn Fn(usize) -> f64| {
            let mut contents = vec![0.0; edges.iter().map(|axis| axis.len().saturating_sub(1)).product()];
            for (event, bin) in bins.iter().enumerate() {
                if let Some(content) = contents.get_mut(*bin) {
                    *content += weight(event);
                }
            }
            heights(edges, &contents)
        };
        let column = |column: &[f64], event: usize| column.get(event).copied().unwrap_or_default();
        let nominal = filled(&|event| template.weights.as_ref().map_or(1.0, |w| column(w, event)));
        let n_negative = nominal.iter().filter(|height| **height < 0.0).count();
        if n_negative > 0 {
            self.report.warn(
                path.to_owned(),
                format!(
                    "{} of {} bins of the template {} are negative.",
                    n_negative,
                    nominal.len(),
                    quoted(what)
                ),
                "The density of the whole channel has to be positive at every event; use wider bins if it is not.",
            );
        }
        let mut variations = Vec::with_capacity(template.responses.len());
        for response in &template.responses {
            let alpha = self.value(&response.parameter, space)?;
            if let Value::Parameter(p) = alpha {
                self.weighted.push((p, response.parameter.path.clone()));
            }
            let Some(code) = interpolation::additive(response.interpolation.as_ref(), "weights", self.report)
            else {
                return Err(Trouble::Reported);
            };
            let hi = filled(&|event| column(&response.up, event));
            let lo = filled(&|event| column(&response.down, event));
            variations.push(WeightSys { alpha, lo, hi, code, shape: response.shape, rate: response.rate });
        }
        Ok(Density::Template { observables, edges: edges.clone(), heights: nominal, variations })
    }

    /// Returns the sum of kernels around the simulated events as a density over the axis of the observable
    /// `x`.
    fn kernels(
        &mut self,
        template: &Template,
        (what, path): (&str, &str),
        (x, space): (usize, &Space),
        (bandwidth, reflect): (f64, bool),
    ) -> Result<Density, Trouble> {
        let (Some(axis), Some(sample)) = (space.observables.get(x), template.columns.first()) else {
            return Err(Trouble::Reported);
        };
        let outside = |value: &&f64| **value < axis.min || **value > axis.max;
        if let Some(value) = sample.iter().find(outside) {
            self.report.error(
                path.to_owned(),
                format!(
                    "{} of {} events of the template {} are outside of the axis from {} to {}, the first at {}.",
                    sample.iter().filter(outside).count(),
                    sample.len(),
                    quoted(what),
                    show(axis.min),
                    show(axis.max),
                    show(*value)
                ),
                "Drop these events (conditions under 'where' for a file).",
            );
            return Err(Trouble::Reported);
        }
        let options = KernelOptions { bandwidth, reflect, ..KernelOptions::new(axis.min, axis.max) };
        match kernel_density(sample, template.weights.as_deref(), &options) {
            Ok(KernelDensity { knots, values, .. }) => {
                Ok(Density::Spline { x, knots, values: values.into_iter().map(Value::Number).collect() })
            }
            Err(error) => {
                self.report.error(
                    path.to_owned(),
                    format!("The template {} is no density: {error}.", quoted(what)),
                    "Correct the events, the weights or the bandwidth.",
                );
                Err(Trouble::Reported)
            }
        }
    }

    /// Multiplies the rate of a process by the effects of its templates, and returns the product. The effect of a
    /// template is a function of nuisance parameters: the sum of the weights of its simulated events within the fit
    /// ranges, divided by the nominal value of this sum.
    pub(super) fn response(
        &mut self,
        (name, path): (&str, &str),
        rate: Value,
        density: &Density,
        boxes: &[Vec<(f64, f64)>],
    ) -> Result<Value, Trouble> {
        let mut factors = vec![rate];
        let mut open = vec![density];
        while let Some(density) = open.pop() {
            match density {
                Density::Product(parts) => open.extend(parts),
                Density::Mixture { .. } if acts_on_rate(density) => {
                    self.report.error(
                        path.to_owned(),
                        format!(
                            "The process {} is a mixture with fractions of a template whose weights act on the yield.",
                            quoted(name)
                        ),
                        "Write \"acts_on\": [\"shape\"] in its responses, or make the template a process with a rate of its own.",
                    );
                    return Err(Trouble::Reported);
                }
                Density::Template { observables, edges, heights, variations } => {
                    let sides = |region: &Vec<(f64, f64)>| -> Vec<(f64, f64)> {
                        observables.iter().filter_map(|x| region.get(*x).copied()).collect()
                    };
                    let mut regions: Vec<Vec<(f64, f64)>> = Vec::new();
                    for region in boxes.iter().map(sides) {
                        if !regions.contains(&region) {
                            regions.push(region);
                        }
                    }
                    let within = |heights: &[f64]| -> f64 {
                        regions.iter().map(|region| content(edges, heights, region)).sum()
                    };
                    let nominal = within(heights);
                    if !(nominal > 0.0) {
                        self.report.error(
                            path.to_owned(),
                            format!(
                                "The process {} has no simulated event within the fit ranges.",
                                quoted(name)
                            ),
                            "Check the events of its template and the ranges.",
                        );
                        return Err(Trouble::Reported);
                    }
                    let variation = |v: &WeightSys| InterpolationForm {
                        alpha: v.alpha,
                        lo: within(&v.lo) / nominal,
                        hi: within(&v.hi) / nominal,
                        code: match v.code {
                            HistosysCode::Code0 => 0,
                            HistosysCode::Code2 => 2,
                            HistosysCode::Code4p => 4,
                        },
                    };
                    let variations: Vec<InterpolationForm> =
                        variations.iter().filter(|v| v.rate).map(variation).collect();
                    if !variations.is_empty() {
                        let form = FunctionForm::Interpolation { nominal: 1.0, variations, positive: false };
                        factors.push(self.add_function(format!("response of {name}"), form));
                    }
                }
                _ => {}
            }
        }
        if factors.len() == 1 {
            return Ok(rate);
        }
        Ok(self.add_function(format!("rate of {name}"), FunctionForm::Product(factors)))
    }

    /// Reports a warning for each unconstrained parameter on which the weights of simulated events depend.
    pub(super) fn check_weighted(&mut self) {
        let weighted = std::mem::take(&mut self.weighted);
        let mut seen = Vec::new();
        for (p, path) in weighted {
            if seen.contains(&p) || !self.is_unconstrained(p) {
                continue;
            }
            seen.push(p);
            let name = self.parameters.entries.get(p).map_or("", |entry| entry.name.as_str());
            self.report.warn(
                path,
                format!("The weights follow the parameter {}, which has no constraint.", quoted(name)),
                "Add a gaussian_dist of it with mean 0 and sigma 1 to 'aux_distributions'.",
            );
        }
    }
}

/// Returns whether the density contains a template whose weights change the rate.
fn acts_on_rate(density: &Density) -> bool {
    match density {
        Density::Template { variations, .. } => variations.iter().any(|v| v.rate),
        other => other.parts().iter().any(acts_on_rate),
    }
}

/// Returns the index of the bin that contains an event; `usize::MAX` if the event is outside of all bins.
fn bin(template: &Template, event: usize) -> usize {
    let mut index = 0;
    for (edges, column) in template.edges().iter().zip(&template.columns) {
        let (Some(x), Some(last)) = (column.get(event), edges.last()) else { return usize::MAX };
        let above = edges.partition_point(|edge| edge <= x);
        if above == 0 || x > last {
            return usize::MAX;
        }
        // The last bin includes its upper edge.
        index = index * (edges.len() - 1) + (above - 1).min(edges.len() - 2);
    }
    index
}

/// Returns the content of a histogram within a box.
fn content(edges: &[Vec<f64>], heights: &[f64], region: &[(f64, f64)]) -> f64 {
    let overlaps: Vec<Vec<f64>> = edges
        .iter()
        .zip(region)
        .map(|(edges, (lo, hi))| {
            let length = |pair: &[f64]| match pair {
                [from, to] => (hi.min(*to) - lo.max(*from)).max(0.0),
                _ => 0.0,
            };
            edges.windows(2).map(length).collect()
        })
        .collect();
    let volume = |mut bin: usize| {
        let mut volume = 1.0;
        for lengths in overlaps.iter().rev() {
            volume *= lengths.get(bin % lengths.len()).copied().unwrap_or_default();
            bin /= lengths.len();
        }
        volume
    };
    heights.iter().enumerate().map(|(bin, height)| height * volume(bin)).sum()
}
