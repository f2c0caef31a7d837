//! Decays, and densities of one observable at given values of others.

use ns_core::{Decay, Density, Given, Oscillation, Smearing, Tape, Value};

use crate::hs3::document::{Arg, Distribution, Named, Placed};
use crate::pyhf::names::quoted;

use super::channel::Space;
use super::{Builder, Trouble};

impl Builder<'_, '_> {
    /// Returns the density that `make` builds. Parameters of the density may depend on observables; the density is then
    /// normalised at given values of these observables.
    pub(super) fn given(
        &mut self,
        distribution: &Named<Distribution>,
        make: impl FnOnce(&mut Self) -> Result<Density, Trouble>,
    ) -> Result<Density, Trouble> {
        let before = self.captured.replace(Vec::new());
        let made = make(self);
        let arguments = std::mem::replace(&mut self.captured, before).unwrap_or_default();
        let density = made?;
        if arguments.iter().all(Option::is_none) {
            return Ok(density);
        }
        let own = density.observables();
        if arguments.iter().flatten().flat_map(Tape::observables).any(|x| own.contains(&x)) {
            self.report.error(
                distribution.path.clone(),
                format!(
                    "A parameter of {} depends on the observable of the density itself.",
                    quoted(&distribution.name)
                ),
                "Let it depend on parameters and other observables, or write a generic_dist.",
            );
            return Err(Trouble::Reported);
        }
        Ok(Density::Given(Box::new(Given { density, arguments })))
    }

    /// Returns the value of a parameter of a density, or its expression and a placeholder if it depends on observables.
    pub(super) fn captured_value(
        &mut self,
        found: Result<Value, Trouble>,
        argument: &Arg,
        space: &Space,
    ) -> Result<(Value, Option<Tape>), Trouble> {
        match found {
            Err(Trouble::Observables) => Ok((Value::Number(0.0), Some(self.tape_of(argument, space)?))),
            found => Ok((found?, None)),
        }
    }

    /// Returns the density of a distribution at given values of the observables `names`.
    pub(super) fn conditional(
        &mut self,
        (distribution, inner): (&Named<Distribution>, &Distribution),
        names: &[Placed<String>],
        space: &Space,
    ) -> Result<Density, Trouble> {
        if let Some(unknown) = names.iter().find(|name| space.observable(&name.value).is_none()) {
            self.report.error(
                unknown.path.clone(),
                format!(
                    "{} is no observable of the channel of {}.",
                    quoted(&unknown.value),
                    quoted(&distribution.name)
                ),
                "Name observables: axes of the data.",
            );
            return Err(Trouble::Reported);
        }
        let inner = Named {
            name: distribution.name.clone(),
            path: distribution.path.clone(),
            content: inner.clone(),
        };
        let made = self.given(distribution, |builder| builder.direct(&inner, space));
        let density = match made {
            Err(Trouble::Observables) => None,
            other => Some(other?),
        };
        let given = |x: &usize| names.iter().any(|name| space.observable(&name.value) == Some(*x));
        match density {
            Some(Density::Given(own)) if own.density.has_closed_integral() => {
                let own_observable = own.own();
                let observables = Density::Given(own.clone()).observables();
                if observables.iter().all(|x| Some(*x) == own_observable || given(x)) {
                    return Ok(Density::Given(own));
                }
                self.report.error(
                    format!("{}/nextstat.given", distribution.path),
                    format!(
                        "A parameter of {} depends on an observable that is not given.",
                        quoted(&distribution.name)
                    ),
                    "Name all observables on which parameters depend.",
                );
                Err(Trouble::Reported)
            }
            // Nothing depends on the observables that are given.
            Some(density) if density.has_closed_integral() => Ok(density),
            _ => {
                self.report.error(
                    distribution.path.clone(),
                    format!("{} cannot be normalised at given observables, because its integral has no formula.", quoted(&distribution.name)),
                    "Use a Gaussian, bifurcated Gaussian, exponential, Crystal Ball, Breit-Wigner, log-normal, polynomial or decay.",
                );
                Err(Trouble::Reported)
            }
        }
    }

    /// Returns a decay. If a parameter depends on an observable, such as the error of each event, the decay is normalised
    /// at given values of this observable.
    pub(super) fn decay(
        &mut self,
        distribution: &Named<Distribution>,
        space: &Space,
    ) -> Result<Density, Trouble> {
        if self.captured.is_some() {
            return self.decay_itself(distribution, space);
        }
        self.given(distribution, |builder| builder.decay_itself(distribution, space))
    }

    fn decay_itself(
        &mut self,
        distribution: &Named<Distribution>,
        space: &Space,
    ) -> Result<Density, Trouble> {
        let Distribution::Decay { t, tau, sides, oscillation, resolution } = &distribution.content else {
            return Err(Trouble::Reported);
        };
        let Ok(time) = self.observable(t, space) else {
            self.report.error(
                t.path.clone(),
                format!("The time of {} is no observable of its channel.", quoted(&distribution.name)),
                "Name an axis of the data.",
            );
            return Err(Trouble::Reported);
        };
        let tau = self.value(tau, space)?;
        let oscillation = match oscillation {
            None => None,
            Some(w) => Some(Oscillation {
                delta_gamma: self.value(&w.delta_gamma, space)?,
                delta_m: self.value(&w.delta_m, space)?,
                cosh: self.value(&w.cosh, space)?,
                sinh: self.value(&w.sinh, space)?,
                cos: self.value(&w.cos, space)?,
                sin: self.value(&w.sin, space)?,
            }),
        };
        let mut found = (Vec::new(), Vec::new());
        self.resolution(resolution, (time, space), &mut found, 0)?;
        let (fractions, gaussians) = found;
        let fractions = self.values(&fractions, space)?;
        let mut smearings = Vec::with_capacity(gaussians.len());
        for (mean, sigma) in &gaussians {
            smearings.push(Smearing { mean: self.value(mean, space)?, sigma: self.value(sigma, space)? });
        }
        Ok(Density::Decay(Box::new(Decay {
            t: time,
            tau,
            sides: *sides,
            oscillation,
            resolution: smearings,
            fractions,
        })))
    }

    /// Finds the Gaussians of a resolution, as pairs of mean and width, and their fractions.
    fn resolution(
        &mut self,
        name: &Arg,
        (time, space): (usize, &Space),
        found: &mut (Vec<Arg>, Vec<(Arg, Arg)>),
        depth: usize,
    ) -> Result<(), Trouble> {
        let index = self.index;
        let Some(model) = index.named_distribution(name).and_then(|i| index.document.distributions.get(i))
        else {
            return Err(Trouble::Reported);
        };
        match &model.content {
            Distribution::Truth { x } | Distribution::GaussModel { x, .. }
                if self.observable(x, space) != Ok(time) =>
            {
                self.report.error(
                    x.path.clone(),
                    format!(
                        "The resolution {} is of another observable than the decay.",
                        quoted(&model.name)
                    ),
                    "Name the time of the decay.",
                );
                Err(Trouble::Reported)
            }
            Distribution::Truth { .. } if depth == 0 => Ok(()),
            Distribution::GaussModel { mean, sigma, .. } => {
                found.1.push((mean.clone(), sigma.clone()));
                Ok(())
            }
            Distribution::MixtureModel { summands, coefficients } => {
                let (n, given) = (summands.len(), coefficients.len());
                if depth > 0 || n == 0 || (given != n && given + 1 != n) {
                    self.report.error(
                        model.path.clone(),
                        format!("The resolution {} has {n} summands and {given} coefficients, or is part of another sum.", quoted(&model.name)),
                        "Write one sum of Gaussian resolutions, with a coefficient each, or for all but the last.",
                    );
                    return Err(Trouble::Reported);
                }
                found.0.extend(coefficients.iter().cloned());
                for summand in summands {
                    self.resolution(summand, (time, space), found, depth + 1)?;
                }
                Ok(())
            }
            _ => {
                self.report.error(
                    name.path.clone(),
                    format!("{} is no resolution that is supported here.", quoted(&model.name)),
                    "Use a gauss_model_function, a mixture_model of these, or a truth_model_function alone.",
                );
                Err(Trouble::Reported)
            }
        }
    }
}

/// The expressions of the parameters of a density that is being built, each `None` if it does not depend on an
/// observable. `None` as a whole if no parameter may depend on one.
pub(super) type Captured = Option<Vec<Option<Tape>>>;
