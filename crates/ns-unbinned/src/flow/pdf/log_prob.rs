//! Implements `LogProb`, the interface through which models evaluate densities, for flows.

use std::sync::atomic::Ordering;

use ns_core::{Base, BoxIntegral, GradientMethod, LogProb, LogProbError, NetworkEvaluation};

use super::super::gpu::FlowGpuEpKind;
use super::super::{quadrature, support};
use super::{FlowPdf, KNOWN};

impl LogProb for FlowPdf {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimension(&self) -> usize {
        self.features.len()
    }

    #[expect(clippy::misnamed_getters, reason = "the field `context` has the order of the manifest")]
    fn context(&self) -> &[String] {
        &self.given
    }

    fn gradient_method(&self) -> Option<GradientMethod> {
        match (self.context.is_empty(), self.has_gradient()) {
            (true, _) => None,
            (false, true) => Some(GradientMethod::Graph),
            (false, false) => {
                let mut steps = self.steps.clone();
                for (step, &place) in self.steps.iter().zip(&self.order) {
                    steps.iter_mut().skip(place).take(1).for_each(|to| *to = *step);
                }
                Some(GradientMethod::Differences(steps))
            }
        }
    }

    fn rounding(&self) -> f64 {
        if self.is_single() { f64::from(f32::EPSILON) / f64::EPSILON } else { 1.0 }
    }

    fn context_derivatives(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<(), LogProbError> {
        self.derivatives(events, &self.ordered(context)?, out)
    }

    fn support(&self) -> &[(f64, f64)] {
        &self.support
    }

    fn digest(&self) -> &str {
        &self.digest
    }

    fn log_prob(&self, events: &[f64], context: &[f64], out: &mut [f64]) -> Result<(), LogProbError> {
        self.evaluate(events, &self.ordered(context)?, out, true)
    }

    fn evaluation(&self) -> Option<NetworkEvaluation> {
        Some(NetworkEvaluation {
            provider: self.gpu_ep_kind().map_or("cpu", FlowGpuEpKind::name),
            precision: self.flow_precision().name(),
            largest_difference: self.largest_difference(),
        })
    }

    fn context_gradient(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<GradientMethod, LogProbError> {
        let (d, c) = (self.features.len(), self.context.len());
        let ordered = self.ordered(context)?;
        let n = events.len() / d;
        self.length("the events", events.len(), n * d)?;
        self.length("the gradient", out.len(), n * c)?;
        let method = self.gradient_method().unwrap_or(GradientMethod::Graph);
        // The derivatives are computed in the order of the manifest, then written in the order of the caller.
        let mut own = vec![0.0; n * c];
        if self.has_gradient() {
            self.gradients(events, &ordered, &mut own)?;
        } else {
            let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
            for (k, step) in self.steps.iter().enumerate() {
                let moved = |by: f64| {
                    let mut moved = ordered.clone();
                    moved.iter_mut().skip(k).take(1).for_each(|x| *x += by);
                    moved
                };
                self.evaluate(events, &moved(*step), &mut up, false)?;
                self.evaluate(events, &moved(-step), &mut down, false)?;
                for (row, (up, down)) in own.chunks_exact_mut(c).zip(up.iter().zip(&down)) {
                    if let Some(to) = row.get_mut(k) {
                        // Outside the support both log-densities are minus infinity.
                        *to = if up == down { 0.0 } else { (up - down) / (2.0 * step) };
                    }
                }
            }
        }
        for (to, from) in out.chunks_exact_mut(c.max(1)).zip(own.chunks_exact(c.max(1))) {
            for (value, &place) in from.iter().zip(&self.order) {
                to.iter_mut().skip(place).take(1).for_each(|to| *to = *value);
            }
        }
        Ok(method)
    }

    fn integral(&self, sides: &[(f64, f64)], context: &[f64]) -> Result<BoxIntegral, LogProbError> {
        let mut known = self.integrals.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((.., integral)) = known.iter().find(|(of, at, _)| of == sides && at == context) {
            return Ok(*integral);
        }
        let on_cpu = |events: &[f64], context: &[f64], out: &mut [f64]| {
            self.evaluate(events, &self.ordered(context)?, out, false)
        };
        let integral = quadrature::integrate(self, &on_cpu, sides, context)?;
        // One check says whether the support is right. A context shifts and stretches what is within.
        if !self.is_checked.load(Ordering::Relaxed) {
            support::check(self, &on_cpu, sides, context)?;
            self.is_checked.store(true, Ordering::Relaxed);
        }
        known.push((sides.to_vec(), context.to_vec(), integral));
        if known.len() > KNOWN {
            known.remove(0);
        }
        Ok(integral)
    }

    fn integral_derivatives(
        &self,
        sides: &[(f64, f64)],
        panels: usize,
        context: &[f64],
        out: &mut [f64],
    ) -> Result<f64, LogProbError> {
        quadrature::differentiate(self, (sides, panels), context, out)
    }

    fn base(&self) -> Option<(Base, usize)> {
        self.sampler.as_ref().map(|(_, base, numbers)| (*base, *numbers))
    }

    fn sample(&self, base: &[f64], context: &[f64], out: &mut [f64]) -> Result<(), LogProbError> {
        let Some((graph, _, numbers)) = &self.sampler else {
            let cause = "its manifest has no sampler".to_owned();
            return Err(LogProbError::Failed { density: self.name.clone(), cause });
        };
        let n = base.len() / numbers;
        self.length("the random numbers", base.len(), n * numbers)?;
        self.length("the events", out.len(), n * self.features.len())?;
        let repeated = self.ordered(context)?.repeat(n);
        self.run(graph, (base, *numbers), &repeated, out).map_err(|error| self.failed(error))?;
        if let Some(event) = out.iter().position(|x| !x.is_finite()) {
            let cause = format!("its sampler gives {} for event {}", out[event], event / self.features.len());
            return Err(LogProbError::Failed { density: self.name.clone(), cause });
        }
        Ok(())
    }
}
