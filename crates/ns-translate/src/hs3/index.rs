//! Finds distributions and functions by name, and parses each of their expressions once.

use std::collections::{BTreeSet, HashMap};

use ns_unbinned::expression::Expression;

use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

use super::document::{Argument, Distribution, Document, Function, Named, Placed};
use super::references::{Reference, of_distribution, of_function};

/// The type and the position of the object that a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Object {
    /// A distribution, by its position in the document.
    Distribution(usize),
    /// A function, by its position in the document.
    Function(usize),
}

/// The distributions and functions of a document by name.
pub(super) struct Index<'a> {
    pub(super) document: &'a Document,
    objects: HashMap<&'a str, Object>,
    distribution_expressions: Vec<Option<Expression>>,
    function_expressions: Vec<Option<Expression>>,
}

impl<'a> Index<'a> {
    /// Creates the index. Reports names that are used twice, and mistakes in expressions.
    pub(super) fn new(document: &'a Document, report: &mut Report) -> Self {
        let mut objects = HashMap::new();
        let distributions = document.distributions.iter().enumerate();
        let distributions = distributions.map(|(i, d)| (&d.name, &d.path, Object::Distribution(i)));
        let functions = document.functions.iter().enumerate();
        let functions = functions.map(|(i, f)| (&f.name, &f.path, Object::Function(i)));
        for (name, path, object) in distributions.chain(functions) {
            if objects.insert(name.as_str(), object).is_some() {
                report.error(
                    format!("{path}/name"),
                    format!("The name {} is used twice by distributions and functions.", quoted(name)),
                    "Rename one of the two.",
                );
            }
        }
        let distribution_expressions = document
            .distributions
            .iter()
            .map(|distribution| match &distribution.content {
                Distribution::Generic { expression, variables } => {
                    parsed(distribution, (expression, variables), report)
                }
                _ => None,
            })
            .collect();
        let function_expressions = document
            .functions
            .iter()
            .map(|function| match &function.content {
                Function::Generic { expression, variables } => {
                    parsed(function, (expression, variables), report)
                }
                _ => None,
            })
            .collect();
        Self { document, objects, distribution_expressions, function_expressions }
    }

    /// Returns the object that a name refers to; `None` for parameters and observables.
    pub(super) fn find(&self, name: &str) -> Option<Object> {
        self.objects.get(name).copied()
    }

    /// Returns the position of the distribution of this name.
    pub(super) fn distribution(&self, name: &str) -> Option<usize> {
        match self.find(name) {
            Some(Object::Distribution(i)) => Some(i),
            _ => None,
        }
    }

    /// Returns the position of the distribution that an argument names.
    pub(super) fn named_distribution(&self, argument: &Placed<Argument>) -> Option<usize> {
        match &argument.value {
            Argument::Name(name) => self.distribution(name),
            _ => None,
        }
    }

    /// Returns the expression of a function; `None` if there is no expression or it could not be parsed.
    pub(super) fn function_expression(&self, i: usize) -> Option<&Expression> {
        self.function_expressions.get(i)?.as_ref()
    }

    /// Returns the expression of a distribution.
    pub(super) fn distribution_expression(&self, i: usize) -> Option<&Expression> {
        self.distribution_expressions.get(i)?.as_ref()
    }

    /// Returns the names of all distributions and functions. Messages suggest one of them in place of an unknown
    /// name.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + Clone {
        self.objects.keys().copied()
    }

    /// Returns all references of an object (a distribution or a function) to other objects.
    pub(super) fn references(&self, object: Object) -> Vec<Reference<'_>> {
        match object {
            Object::Distribution(i) => self
                .document
                .distributions
                .get(i)
                .map(|d| of_distribution(&d.content, self.distribution_expression(i)))
                .unwrap_or_default(),
            Object::Function(i) => self
                .document
                .functions
                .get(i)
                .map(|f| of_function(&f.content, self.function_expression(i)))
                .unwrap_or_default(),
        }
    }

    /// Returns the names of observables and parameters that an object depends on, directly or through other objects.
    /// References must have no cycles.
    pub(super) fn leaves(&self, object: Object) -> BTreeSet<String> {
        let mut leaves = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![object];
        while let Some(object) = open.pop() {
            for reference in self.references(object) {
                match self.find(reference.name) {
                    Some(inner) => {
                        if seen.insert(reference.name.to_owned()) {
                            open.push(inner);
                        }
                    }
                    None => {
                        leaves.insert(reference.name.to_owned());
                    }
                }
            }
        }
        leaves
    }
}

/// Parses an expression. Reports an error if it cannot be parsed.
fn parsed<T>(
    part: &Named<T>,
    (expression, variables): (&Placed<String>, &[String]),
    report: &mut Report,
) -> Option<Expression> {
    match Expression::with_variables(&expression.value, variables) {
        Ok(parsed) => Some(parsed),
        Err(error) => {
            report.error(
                expression.path.clone(),
                format!("The expression of {} cannot be read {error}.", quoted(&part.name)),
                error.remedy(),
            );
            None
        }
    }
}
