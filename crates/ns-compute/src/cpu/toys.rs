//! The distributions from which toys are drawn, computed once per parameter point.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ns_core::random::{Normal, Poisson};
use ns_core::{AuxiliarySource, Data, Observations, SessionError, ToySource};

use super::{CpuSession, put, take};
use crate::events::{auxiliary_widths, event_sources};

impl CpuSession {
    /// Returns the distributions of all main and auxiliary data at the point `parameters`. Toys are drawn from them.
    ///
    /// # Errors
    /// If a length does not fit the model, a number is not finite, a Poisson mean is negative or above
    /// 1e15, or a density of events cannot be sampled.
    pub(super) fn source(
        &self,
        parameters: &[f64],
        of: &Data,
        seed: u64,
        hypothesis: u8,
    ) -> Result<ToySource, SessionError> {
        let plan = &self.plan;
        let Observations { main, aux, .. } = self.expected_counts(parameters, of)?;
        // Equal Poisson means share one table. Equal means are common in symmetric models, and for auxiliary data
        // with equal relative uncertainties.
        let mut known: HashMap<u64, Poisson> = HashMap::new();
        let mut poisson = |what, index, mean: f64| match known.entry(mean.to_bits()) {
            Entry::Occupied(found) => Ok(found.get().clone()),
            Entry::Vacant(place) => Poisson::new(mean)
                .map(|made| place.insert(made).clone())
                .map_err(|_| SessionError::BadMean { what, index, mean }),
        };
        let main = main
            .iter()
            .enumerate()
            .map(|(b, &mean)| poisson("main data", b, mean))
            .collect::<Result<_, _>>()?;
        // Every auxiliary datum has one constraint term. The plan lists the Gaussian terms first, then the Poisson
        // terms.
        let mut auxiliary = Vec::with_capacity(aux.len());
        let mut sigma = vec![None; aux.len()];
        for (_, a, w) in plan.gaussian() {
            sigma[a] = Some(1.0 / w);
        }
        let mut events = Vec::new();
        if !plan.events.is_empty() {
            let own = self.dataset(of)?;
            let tables = &own.as_ref().unwrap_or(&self.observed).events;
            let mut worker = take(&self.workers, plan);
            let scratch = &mut worker.scratch.events;
            for (a, width) in auxiliary_widths(self.level, &plan.events, parameters, scratch) {
                sigma[a] = Some(width);
            }
            let made = event_sources(self.level, &plan.events, parameters, tables, scratch);
            put(&self.workers, worker);
            events = made?;
        }
        for (a, (&mean, sigma)) in aux.iter().zip(sigma).enumerate() {
            auxiliary.push(match sigma {
                Some(sigma) => AuxiliarySource::Gaussian(Normal::new(mean, sigma).map_err(|_| {
                    SessionError::BadNumber {
                        what: "auxiliary data",
                        index: a,
                        value: sigma,
                        remedy: "toys need finite constraint widths",
                    }
                })?),
                None => AuxiliarySource::Poisson(poisson("auxiliary data", a, mean)?),
            });
        }
        let joint = plan.events.joint.clone();
        Ok(ToySource { seed, hypothesis, parameters: parameters.to_vec(), main, auxiliary, joint, events })
    }
}
