//! Densities that are integrals of others over some observables.

use ns_core::{Density, Observable, Projection};

use crate::hs3::document::{Arg, Distribution, Named, Placed};
use crate::pyhf::names::quoted;

use super::channel::Space;
use super::{Builder, Trouble};

impl Builder<'_, '_> {
    /// Returns the integral of a density over the observables `hidden`, whose ranges are those of a domain.
    pub(super) fn projected(
        &mut self,
        distribution: &Named<Distribution>,
        (density, hidden): (&Arg, &[Placed<String>]),
        space: &Space,
    ) -> Result<Density, Trouble> {
        let name = quoted(&distribution.name);
        let inner = self.density_of(density)?;
        let mut wider = space.clone();
        let mut ranges = Vec::with_capacity(hidden.len());
        for variable in hidden {
            if space.observable(&variable.value).is_some() {
                let message =
                    format!("{name} is integrated over {}, an axis of the data.", quoted(&variable.value));
                let remedy = "Remove it from the data, or from 'observables'.";
                self.report.error(variable.path.clone(), message, remedy);
                return Err(Trouble::Reported);
            }
            let Some((min, max)) = self.range_of(&variable.value) else {
                let message = format!("{} has no range to integrate over.", quoted(&variable.value));
                let remedy = "Give it a finite range in the default_domain.";
                self.report.error(variable.path.clone(), message, remedy);
                return Err(Trouble::Reported);
            };
            ranges.push((min, max));
            wider.observables.push(Observable { name: variable.value.clone(), min, max, blind: Vec::new() });
        }
        let density = self.density(inner, &wider)?;
        let own = density.observables();
        let (count, first) = (hidden.len(), space.observables.len());
        let problem = match own.split_first() {
            Some((&x, others)) if x < first && others.iter().copied().eq(first..first + count) => {
                if density.has_formula() {
                    return Ok(Density::Projection(Box::new(Projection { x, density, hidden: ranges })));
                }
                "it contains a flow, a convolution or another projection"
            }
            _ => "it has to depend on one axis of the data and on all observables that are integrated over",
        };
        let message = format!("The density that {name} integrates cannot be projected: {problem}.");
        let remedy = "Write the integral as a density with a formula.";
        self.report.error(distribution.path.clone(), message, remedy);
        Err(Trouble::Reported)
    }

    /// Returns the finite range of a variable in the first domain that has one.
    fn range_of(&self, name: &str) -> Option<(f64, f64)> {
        let axes = self.index.document.domains.iter().flat_map(|domain| &domain.content);
        let range = axes.filter(|axis| axis.name == name).find_map(|axis| axis.min.zip(axis.max))?;
        (range.0 < range.1 && range.0.is_finite() && range.1.is_finite()).then_some(range)
    }
}
