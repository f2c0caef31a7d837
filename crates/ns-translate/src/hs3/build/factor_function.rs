//! Builds modifiers whose factors are functions of parameters.

use ns_core::Effect;

use crate::hs3::document::{self, HistFactory, WrittenConstraint};
use crate::hs3::index::Object;
use crate::hs3::words::count;
use crate::pyhf::names::quoted;

use super::channel::Space;
use super::{Builder, Trouble};

impl Builder<'_, '_> {
    /// Returns whether a name is that of a function.
    pub(super) fn is_function(&self, name: &str) -> bool {
        matches!(self.index.find(name), Some(Object::Function(_)))
    }

    /// Builds the effect of a normfactor, or of a shapefactor or shapesys without uncertainties, if a factor is a function.
    /// Returns `None` if all factors are parameters, and `Some(None)` after an error, which has been reported.
    pub(super) fn functions_of(
        &mut self,
        channel_name: &str,
        channel: &HistFactory,
        modifier: &document::Modifier,
    ) -> Option<Option<Effect>> {
        let (names, n) = match &modifier.effect {
            document::Effect::NormFactor => {
                let own = if modifier.parameters.is_empty() {
                    vec![modifier.name.clone()]
                } else {
                    modifier.parameters.clone()
                };
                (own, 1)
            }
            document::Effect::ShapeFactor | document::Effect::ShapeSys { .. } => {
                (modifier.bin_parameters(channel_name, channel.bins()), channel.bins())
            }
            _ => return None,
        };
        if !names.iter().any(|name| self.is_function(name)) {
            return None;
        }
        let path = modifier.path.as_str();
        let error = |this: &mut Self, message: String, remedy: &str| {
            this.report.error(path.to_owned(), message, remedy);
            Some(None)
        };
        let quoted_name = quoted(&modifier.name);
        let has_values = matches!(&modifier.effect, document::Effect::ShapeSys { values: Some(values), .. } if values.iter().any(|x| *x != 0.0));
        let is_constrained = match &modifier.constraint {
            WrittenConstraint::None => false,
            WrittenConstraint::Distributions(names) => names.iter().any(Option::is_some),
            WrittenConstraint::Kind(kind) => kind.value != document::Kind::Const,
            WrittenConstraint::Distribution(_) => true,
        };
        if has_values || is_constrained {
            return error(
                self,
                format!("The modifier {quoted_name} has a constraint, but its factors are functions."),
                "Constrain the parameters of the functions.",
            );
        }
        if names.len() != n {
            return error(
                self,
                format!(
                    "The modifier {quoted_name} has {} for {}.",
                    count(names.len(), "factor", "factors"),
                    count(n, "bin", "bins")
                ),
                "Name one factor per bin, or let the modifier be a normfactor.",
            );
        }
        let mut values = Vec::with_capacity(n);
        for name in &names {
            match self.named_value(name, path, &Space::none()) {
                Ok(value) => values.push(value),
                Err(Trouble::Reported) => return Some(None),
                Err(Trouble::Observables) => {
                    return error(
                        self,
                        format!(
                            "The factor {} of the modifier {quoted_name} depends on an observable.",
                            quoted(name)
                        ),
                        "Factors are functions of parameters.",
                    );
                }
            }
        }
        Some(Some(Effect::Function { values }))
    }
}
