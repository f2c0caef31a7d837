//! Writes factors that are functions of parameters.

use std::collections::BTreeMap;

use ns_unbinned::expression::Expression;

use super::tags::Xml;
use super::{Role, not_written};
use crate::pyhf::document::{Document, Effect, Formulas, Setting};
use crate::xml_error::HistFactoryError;

/// A function with the names of its parameters.
#[derive(Debug)]
pub(super) struct Function<'a> {
    name: &'a str,
    expression: &'a str,
    dependents: Vec<String>,
}

/// The functions of a document by their names.
///
/// # Errors
/// [`HistFactoryError::NotWritten`] for a function per bin.
pub(super) fn collect(document: &Document) -> Result<Vec<Function<'_>>, HistFactoryError> {
    let mut out: BTreeMap<&str, Function<'_>> = BTreeMap::new();
    let samples = document.channels.iter().flat_map(|channel| &channel.samples);
    for modifier in samples.flat_map(|sample| &sample.modifiers) {
        let Effect::Function(formulas) = &modifier.effect else { continue };
        let part = || format!("The function '{}'", modifier.name);
        let Formulas::Whole(expression) = formulas else {
            let message = "it has an expression for each bin, and XML has functions for all bins.";
            return Err(not_written(part(), message, "Convert to HS3, or prune it."));
        };
        let parsed = Expression::parse(expression).map_err(|error| {
            not_written(part(), &format!("its expression is wrong {error}."), "Correct the expression.")
        })?;
        let dependents = parsed.names().iter().map(|name| (*name).to_owned()).collect();
        out.insert(&modifier.name, Function { name: &modifier.name, expression, dependents });
    }
    Ok(out.into_values().collect())
}

impl<'a> Function<'a> {
    /// Checks that all parameters of the function are factors or its own, and adds the latter to `roles`.
    ///
    /// # Errors
    /// [`HistFactoryError::NotWritten`] for other parameters.
    pub(super) fn settle(
        &self,
        document: &'a Document,
        roles: &mut BTreeMap<&'a str, (Role, usize)>,
    ) -> Result<(), HistFactoryError> {
        for name in &self.dependents {
            let refused = |message: String, remedy: &str| {
                Err(not_written(format!("The function '{}'", self.name), &message, remedy))
            };
            match roles.get(name.as_str()).map(|(role, _)| *role) {
                Some(Role::Norm) => continue,
                Some(Role::Function) => {
                    return refused(
                        format!("it uses the function '{name}'."),
                        "Write the expression in its place.",
                    );
                }
                Some(_) => {
                    return refused(
                        format!(
                            "it uses '{name}', and functions in XML use factors and parameters of functions only."
                        ),
                        "Convert to HS3, or prune it.",
                    );
                }
                None => {}
            }
            match setting(document, name) {
                Some(own) if own.sigmas.is_none() => {
                    roles.insert(&own.name, (Role::Norm, 1));
                }
                _ => {
                    return refused(
                        format!(
                            "its parameter '{name}' has a constraint, which XML gives to systematics only."
                        ),
                        "Convert to HS3, or remove 'sigmas' of its settings.",
                    );
                }
            }
        }
        Ok(())
    }

    /// The element, with start values and bounds of the parameters as the first measurement sets them.
    pub(super) fn write(&self, document: &Document, xml: &mut Xml) -> Result<(), HistFactoryError> {
        let with_range = |name: &String| {
            let own = setting(document, name);
            let value = own.and_then(|s| s.inits.as_ref()?.first().copied()).unwrap_or(1.0);
            let (low, high) = own.and_then(|s| s.bounds.as_ref()?.first().copied()).unwrap_or((0.0, 10.0));
            format!("{name}[{value},{low},{high}]")
        };
        let dependents: Vec<String> = self.dependents.iter().map(with_range).collect();
        xml.empty(
            "Function",
            &[
                ("Name", self.name.to_owned()),
                ("Expression", self.expression.to_owned()),
                ("Dependents", dependents.join(",")),
            ],
        )
    }
}

fn setting<'a>(document: &'a Document, name: &str) -> Option<&'a Setting> {
    document.measurements.first()?.config.parameters.iter().find(|setting| setting.name == name)
}
