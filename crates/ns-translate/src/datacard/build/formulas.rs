//! Factors that are functions of parameters: `rateParam` lines with a formula.

use std::collections::HashMap;

use ns_core::{Effect, Function, FunctionForm, Modifier, Op, Tape, Value};

use super::Builder;
use crate::datacard::document::RateParam;
use crate::pyhf::names::quoted;

/// Largest number of formulas that use each other in a chain.
const DEEPEST: usize = 100;

impl<'c> Builder<'c> {
    /// Adds the factors that are functions of parameters.
    pub(super) fn add_rate_formulas(&mut self) {
        let document = self.document;
        let mut known: HashMap<&str, Option<Value>> = HashMap::new();
        for param in document.rate_params.iter().filter(|param| param.formula.is_some()) {
            let is_used = |at: &usize| self.cells.get(*at).is_some_and(Option::is_some);
            let users: Vec<usize> = param.columns.iter().copied().filter(is_used).collect();
            if users.is_empty() {
                continue;
            }
            let Some(value) = self.rate_function(param, &mut known, 0) else { continue };
            for at in users {
                if let Some(Some(cell)) = self.cells.get_mut(at) {
                    let effect = Effect::Function { values: vec![value] };
                    cell.modifiers.push(Modifier { name: param.name.clone(), first: 0, effect });
                }
            }
        }
    }

    /// Returns the function of a formula. `depth` is the number of formulas that use it. Reports mistakes once, and then
    /// returns `None`.
    fn rate_function(
        &mut self,
        param: &'c RateParam,
        known: &mut HashMap<&'c str, Option<Value>>,
        depth: usize,
    ) -> Option<Value> {
        if let Some(value) = known.get(param.name.as_str()) {
            return *value;
        }
        let formula = param.formula.as_ref()?;
        if depth > DEEPEST || formula.arguments.contains(&param.name) {
            self.report.error(
                param.place.to_string(),
                format!(
                    "The rateParam {} uses itself, or a chain of more than {DEEPEST} others.",
                    quoted(&param.name)
                ),
                "Remove one of the names from a formula.",
            );
            known.insert(&param.name, None);
            return None;
        }
        let mut ops = Vec::with_capacity(formula.arguments.len());
        for name in &formula.arguments {
            match self.argument(name, param, known, depth) {
                Some(value) => ops.push(Op::Value(value)),
                None => {
                    known.insert(&param.name, None);
                    return None;
                }
            }
        }
        let operands: Vec<usize> = (0..ops.len()).collect();
        let last = formula.expression.append_to(&mut ops, &operands);
        if let Some(op) = ops.get(last).copied().filter(|_| last + 1 != ops.len()) {
            ops.push(op);
        }
        let form = FunctionForm::Expression(Tape::new(ops).ok()?);
        self.functions.push(Function { name: param.name.clone(), form });
        let value = Value::Function(self.functions.len() - 1);
        known.insert(&param.name, Some(value));
        Some(value)
    }

    /// Returns the value of an argument of a formula: another formula, or a parameter that any line declares.
    fn argument(
        &mut self,
        name: &str,
        user: &RateParam,
        known: &mut HashMap<&'c str, Option<Value>>,
        depth: usize,
    ) -> Option<Value> {
        let line = self.document.rate_params.iter().find(|param| param.name == name);
        match line {
            Some(param) if param.formula.is_some() => return self.rate_function(param, known, depth + 1),
            Some(param) => return self.rate_parameter(param).map(Value::Parameter),
            None => {}
        }
        if let Some(parameter) = self.parameters.find(name) {
            return Some(Value::Parameter(parameter));
        }
        if let Some(entry) = self.constrained(name) {
            return self.declare(name, entry, &user.place.to_string()).map(Value::Parameter);
        }
        self.report.error(
            user.place.to_string(),
            format!("The rateParam {} uses {}, which no line declares.", quoted(&user.name), quoted(name)),
            "Correct the name, or declare it as a rateParam with a value, or as a param.",
        );
        None
    }
}
