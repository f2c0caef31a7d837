//! Builds the processes of a channel: the summands of its mixture, with their rates or fractions.

use ns_core::{Density, FunctionForm, Op, Process, Value};

use crate::hs3::document::{Arg, Distribution};
use crate::pyhf::names::quoted;

use super::channel::Space;
use super::value::operation;
use super::{Builder, Trouble};

/// The summands of a mixture, with their coefficients (rates or fractions).
struct Parts {
    extended: bool,
    parts: Vec<(String, Value, Density)>,
}

impl Builder<'_, '_> {
    /// Returns the processes of a channel whose density is the product of the distributions `shapes`. The first part
    /// of the result is true if the rates of the processes are expected numbers of events, and false if they are
    /// fractions.
    pub(super) fn processes(
        &mut self,
        shapes: &[usize],
        path: &str,
        space: &Space,
        boxes: &[Vec<(f64, f64)>],
    ) -> Option<(bool, Vec<Process>)> {
        let index = self.index;
        let of = |i: usize| index.document.distributions.get(i).map(|d| &d.content);
        let composed = |i: &usize| {
            matches!(of(*i), Some(Distribution::Mixture { .. } | Distribution::RateExtended { .. }))
        };
        let parts = match (shapes, shapes.iter().position(composed)) {
            ([only], Some(_)) => self.parts(*only, space).ok()?,
            (_, Some(place)) => {
                // The density is a mixture, multiplied by densities of other observables.
                let mixture = shapes.get(place).copied()?;
                let mut parts = self.parts(mixture, space).ok()?;
                let others: Vec<usize> = shapes.iter().copied().filter(|i| *i != mixture).collect();
                let other = self.product(&others, path, space).ok()?;
                if other
                    .own_observables()
                    .iter()
                    .any(|x| parts.parts.iter().any(|p| p.2.own_observables().contains(x)))
                {
                    self.report.error(
                        path.to_owned(),
                        "A product of a mixture with a density of the same observable is not supported.",
                        "Write the mixture of the products.",
                    );
                    return None;
                }
                for (_, _, density) in &mut parts.parts {
                    *density = Density::Product(vec![density.clone(), other.clone()]);
                }
                parts
            }
            (_, None) => {
                let density = self.product(shapes, path, space).ok()?;
                let name = shapes.first().and_then(|i| index.document.distributions.get(*i));
                let name = name.map(|d| d.name.clone()).unwrap_or_default();
                Parts { extended: false, parts: vec![(name, Value::Number(1.0), density)] }
            }
        };
        let n = space.observables.len();
        let mut processes = Vec::with_capacity(parts.parts.len());
        for (name, rate, density) in parts.parts {
            // A density that does not depend on an observable is uniform in it.
            let named = density.observables();
            let missing: Vec<usize> = (0..n).filter(|x| !named.contains(x)).collect();
            let density = if missing.is_empty() {
                density
            } else {
                let flat = missing.into_iter().map(|x| Density::Uniform { x });
                Density::Product(std::iter::once(density).chain(flat).collect())
            };
            // Weights of simulated events change a rate only if it is an expected number of events.
            let rate =
                if parts.extended { self.response((&name, path), rate, &density, boxes).ok()? } else { rate };
            processes.push(Process { name, rate, density });
        }
        Some((parts.extended, processes))
    }

    /// Returns the summands of a mixture or of an extended density. For any other distribution, the only summand is
    /// the distribution itself.
    fn parts(&mut self, i: usize, space: &Space) -> Result<Parts, Trouble> {
        let index = self.index;
        let Some(distribution) = index.document.distributions.get(i) else { return Err(Trouble::Reported) };
        match &distribution.content {
            Distribution::Mixture { summands, coefficients, extended } => {
                let path = &distribution.path;
                let rates = self.coefficients(i, space)?;
                let (n, given) = (summands.len(), coefficients.len());
                if given == n && *extended == Some(false) {
                    self.check_sum(coefficients, &rates, path);
                }
                let extended = given == n && *extended != Some(false);
                let densities = self.summands(summands, space)?;
                let parts =
                    densities.into_iter().zip(rates).map(|((name, density), rate)| (name, rate, density));
                Ok(Parts { extended, parts: parts.collect() })
            }
            Distribution::RateExtended { rate, distribution: inner, .. } => {
                let rate = self.rate(rate, space)?;
                let inner = self.density_of(inner)?;
                let parts = self.parts(inner, space)?;
                if parts.extended {
                    self.report.error(
                        distribution.path.clone(),
                        format!("The distribution in {} has a rate of its own.", quoted(&distribution.name)),
                        "Remove one of the two rates.",
                    );
                    return Err(Trouble::Reported);
                }
                let mut scaled = Vec::new();
                for (name, fraction, density) in parts.parts {
                    let rate = match fraction {
                        Value::Number(1.0) => rate,
                        fraction => self.add_function(
                            format!("{} of {}", name, distribution.name),
                            FunctionForm::Product(vec![rate, fraction]),
                        ),
                    };
                    scaled.push((name, rate, density));
                }
                Ok(Parts { extended: true, parts: scaled })
            }
            _ => {
                let density = self.density(i, space)?;
                let parts = vec![(distribution.name.clone(), Value::Number(1.0), density)];
                Ok(Parts { extended: false, parts })
            }
        }
    }

    /// Returns the value of a rate or a coefficient, which must not depend on observables.
    fn rate(&mut self, argument: &Arg, space: &Space) -> Result<Value, Trouble> {
        self.value(argument, space).map_err(|trouble| {
            if matches!(trouble, Trouble::Observables) {
                self.report.error(
                    argument.path.clone(),
                    "A rate or a coefficient depends on an observable.",
                    "Use parameters and functions of parameters.",
                );
            }
            Trouble::Reported
        })
    }

    /// Returns one coefficient per summand of a mixture. If the file leaves out the last coefficient, the last
    /// coefficient is 1 minus the sum of the others.
    fn coefficients(&mut self, i: usize, space: &Space) -> Result<Vec<Value>, Trouble> {
        let index = self.index;
        let Some(distribution) = index.document.distributions.get(i) else { return Err(Trouble::Reported) };
        let Distribution::Mixture { summands, coefficients, extended } = &distribution.content else {
            return Err(Trouble::Reported);
        };
        let (n, given) = (summands.len(), coefficients.len());
        if n == 0 || (given != n && given + 1 != n) {
            self.report.error(
                format!("{}/coefficients", distribution.path),
                format!(
                    "The mixture {} has {n} summands and {given} coefficients.",
                    quoted(&distribution.name)
                ),
                "Write one coefficient per summand, or one less, if the last is 1 minus the others.",
            );
            return Err(Trouble::Reported);
        }
        if given + 1 == n && *extended == Some(true) {
            self.report.error(
                format!("{}/extended", distribution.path),
                format!(
                    "The mixture {} is extended, but lacks the rate of its last summand.",
                    quoted(&distribution.name)
                ),
                "Write one coefficient per summand, or \"extended\": false.",
            );
            return Err(Trouble::Reported);
        }
        let mut rates = Vec::with_capacity(n);
        for coefficient in coefficients {
            rates.push(self.rate(coefficient, space)?);
        }
        if given + 1 == n {
            rates.push(self.rest(&distribution.name, &distribution.path, &rates)?);
        }
        Ok(rates)
    }

    /// Returns 1 minus the sum of `fractions`.
    fn rest(&mut self, name: &str, path: &str, fractions: &[Value]) -> Result<Value, Trouble> {
        let mut ops = vec![Op::Number(1.0)];
        let mut last = 0;
        for fraction in fractions {
            ops.push(operation(*fraction));
            ops.push(Op::Sub(last, ops.len() - 1));
            last = ops.len() - 1;
        }
        if fractions.is_empty() {
            return Ok(Value::Number(1.0));
        }
        let tape = self.tape(ops, last, path)?;
        Ok(self.add_function(format!("last fraction of {name}"), FunctionForm::Expression(tape)))
    }

    /// Reports an error if a mixture has a coefficient for every summand, and their sum is not 1. The sum of parameters
    /// can be 1 everywhere only if a function is among them.
    fn check_sum(&mut self, coefficients: &[Arg], rates: &[Value], path: &str) {
        let numbers: Option<Vec<f64>> = coefficients.iter().map(|c| self.constant(c)).collect();
        let message = match numbers.map(|numbers| numbers.iter().sum::<f64>()) {
            Some(sum) if (sum - 1.0).abs() > 1e-9 => format!("The coefficients add up to {sum}, not to 1"),
            None if !rates.iter().any(|rate| matches!(rate, Value::Function(_))) => {
                "The coefficients are parameters, which need not add up to 1".to_owned()
            }
            _ => return,
        };
        self.report.error(
            format!("{path}/coefficients"),
            format!("{message}, although the mixture is not extended."),
            "Correct them, or leave the last one out.",
        );
    }

    /// Returns the name and the density of each summand of a mixture.
    fn summands(&mut self, summands: &[Arg], space: &Space) -> Result<Vec<(String, Density)>, Trouble> {
        let index = self.index;
        let mut densities = Vec::with_capacity(summands.len());
        for summand in summands {
            let i = self.density_of(summand)?;
            let name = index.document.distributions.get(i).map(|d| d.name.clone()).unwrap_or_default();
            densities.push((name, self.density(i, space)?));
        }
        Ok(densities)
    }

    /// Returns a mixture as a single density whose coefficients are fractions.
    pub(super) fn mixture(&mut self, i: usize, space: &Space) -> Result<Density, Trouble> {
        let index = self.index;
        let Some(Distribution::Mixture { summands, coefficients, .. }) =
            index.document.distributions.get(i).map(|d| &d.content)
        else {
            return Err(Trouble::Reported);
        };
        let mut values = self.coefficients(i, space)?;
        values.truncate(coefficients.len());
        let densities = self.summands(summands, space)?;
        let summands = densities.into_iter().map(|(_, density)| density).collect();
        Ok(Density::Mixture { summands, coefficients: values })
    }
}
