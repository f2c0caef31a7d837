//! Modifiers of type `function`, whose factors are expressions of parameters. The type is an extension of pyhf's format.
//!
//! An expression may contain the names of parameters that other modifiers declare, the names of other modifiers of this
//! type, and the names of further parameters. The measurement must give the start values and bounds of the latter.

use std::collections::{BTreeMap, HashMap, HashSet};

use ns_core::{Effect, Function, FunctionForm, Op, Tape, Value};
use ns_unbinned::expression::Expression;

use super::declare::{Declared, SetKind};
use super::document::{self, Document, Formulas, Measurement};
use super::names::{quoted, show};
use super::problem::Report;
use super::settings::Resolution;

/// Largest length of a chain of functions in which each uses the next.
const DEEPEST: usize = 200;

/// A function of a workspace: all modifiers of type `function` with one name.
#[derive(Debug)]
pub(crate) struct Formula<'a> {
    pub(crate) name: &'a str,
    /// JSON pointer of the first modifier with this name.
    pub(crate) path: String,
    formulas: &'a Formulas,
    /// The parsed expressions, with the keys under which they are written (`/data/expression`).
    pub(crate) parsed: Vec<(String, Expression)>,
}

/// Returns the functions of a document, in the order of their first use, with channels, samples and modifiers sorted by
/// name, as pyhf orders parameters. Reports expressions with mistakes, and modifiers
/// of one name whose expressions differ.
pub(crate) fn collect<'a>(document: &'a Document, report: &mut Report) -> Vec<Formula<'a>> {
    let mut all: Vec<Formula<'a>> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for channel in by_name_of(&document.channels, |channel| &channel.name) {
        for sample in by_name_of(&channel.samples, |sample| &sample.name) {
            for modifier in by_name_of(&sample.modifiers, |modifier| &modifier.name) {
                let document::Effect::Function(formulas) = &modifier.effect else { continue };
                let path = modifier.path(channel, sample);
                if let Some(known) = by_name.get(modifier.name.as_str()).and_then(|&i| all.get(i)) {
                    if known.formulas != formulas {
                        report.error(
                            path,
                            format!(
                                "The function {} has another expression at {}. One name is one function.",
                                quoted(&modifier.name),
                                known.path
                            ),
                            "Write the same expression, or rename one of the two.",
                        );
                    }
                    continue;
                }
                let mut parsed = Vec::new();
                for (key, text) in formulas.texts() {
                    match Expression::parse(text) {
                        Ok(expression) => parsed.push((key, expression)),
                        Err(error) => report.error(
                            format!("{path}{key}"),
                            format!(
                                "The expression of the function {} is wrong {error}.",
                                quoted(&modifier.name)
                            ),
                            error.remedy(),
                        ),
                    }
                }
                if !parsed.is_empty() && parsed.iter().all(|(_, expression)| expression.names().is_empty()) {
                    report.error(
                        path.clone(),
                        format!("The function {} depends on no parameter.", quoted(&modifier.name)),
                        "Use a parameter in its expression, or scale the yields of the sample and leave it out.",
                    );
                }
                by_name.insert(&modifier.name, all.len());
                all.push(Formula { name: &modifier.name, path, formulas, parsed });
            }
        }
    }
    all
}

/// Returns references to items in the order of their names.
fn by_name_of<T>(items: &[T], name: impl Fn(&T) -> &String) -> Vec<&T> {
    let mut sorted: Vec<&T> = items.iter().collect();
    sorted.sort_by(|a, b| name(a).cmp(name(b)));
    sorted
}

/// Returns the parameters that only functions use, in the order of their first use. `sets` contains the parameters that
/// other modifiers declare. Reports names that cannot be used in expressions, and functions that use themselves.
pub(crate) fn declare(functions: &[Formula<'_>], sets: &[Declared], report: &mut Report) -> Vec<Declared> {
    let known: HashMap<&str, &Declared> = sets.iter().map(|set| (set.name.as_str(), set)).collect();
    let by_name: HashMap<&str, &Formula<'_>> = functions.iter().map(|f| (f.name, f)).collect();
    let mut own: Vec<Declared> = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    for function in functions {
        if let Some(set) = known.get(function.name) {
            report.error(
                function.path.clone(),
                format!(
                    "The name {} belongs to a function here and to a parameter at {}.",
                    quoted(function.name),
                    set.path
                ),
                "Rename one of the two.",
            );
        }
        for (key, expression) in &function.parsed {
            for name in expression.names() {
                let path = || format!("{}{key}", function.path);
                let per_bin = match (by_name.get(name.as_str()), known.get(name.as_str())) {
                    (Some(other), _) => matches!(other.formulas, Formulas::Bins(_)),
                    (None, Some(set)) => !set.kind.scalar(),
                    (None, None) => {
                        if seen.insert(name.as_str()) {
                            own.push(Declared {
                                name: name.clone(),
                                kind: SetKind::OfFunctions,
                                path: path(),
                            });
                        }
                        false
                    }
                };
                if per_bin {
                    report.error(
                        path(),
                        format!(
                            "The function {} uses {}, which has one value per bin.",
                            quoted(function.name),
                            quoted(name)
                        ),
                        "Use a parameter or a function with a single value.",
                    );
                }
            }
        }
    }
    order(functions, report);
    own
}

/// Returns the indices of the functions so that each comes after those that it uses. Reports functions that use
/// themselves, which are left out.
fn order(functions: &[Formula<'_>], report: &mut Report) -> Vec<usize> {
    let by_name: HashMap<&str, usize> = functions.iter().enumerate().map(|(i, f)| (f.name, i)).collect();
    let inner = |i: usize| -> Vec<usize> {
        let names = functions.get(i).into_iter().flat_map(|f| &f.parsed).flat_map(|(_, e)| e.names());
        names.filter_map(|name| by_name.get(name.as_str()).copied()).collect()
    };
    // The number of levels of functions below each function.
    let mut levels = vec![0usize; functions.len()];
    // 0: not visited, 1: being visited, 2: in the list.
    let mut states = vec![0u8; functions.len()];
    let mut found = Vec::new();
    for start in 0..functions.len() {
        let mut way: Vec<(usize, Vec<usize>)> = Vec::new();
        if states.get(start) == Some(&0) {
            way.push((start, inner(start)));
        }
        while let Some((at, open)) = way.last_mut() {
            let at = *at;
            if let Some(state) = states.get_mut(at) {
                *state = 1;
            }
            match open.pop() {
                Some(next) if states.get(next) == Some(&0) => way.push((next, inner(next))),
                Some(next) if states.get(next) == Some(&1) => {
                    let from = way.iter().position(|(visited, _)| *visited == next).unwrap_or(0);
                    let names =
                        way.iter().skip(from).filter_map(|(i, _)| functions.get(*i)).map(|f| quoted(f.name));
                    let circle: Vec<String> = names.collect();
                    if let (Some(first), Some(name)) = (functions.get(next), circle.first()) {
                        report.error(
                            first.path.clone(),
                            format!("The function {name} uses itself: {} -> {name}.", circle.join(" -> ")),
                            "Remove one of these names from an expression.",
                        );
                    }
                }
                Some(_) => {}
                None => {
                    way.pop();
                    let below =
                        inner(at).into_iter().filter_map(|i| levels.get(i)).max().copied().unwrap_or(0);
                    if let (Some(level), Some(function)) = (levels.get_mut(at), functions.get(at)) {
                        *level = below + 1;
                        if below == DEEPEST {
                            report.error(
                                function.path.clone(),
                                format!(
                                    "The function {} uses others over more than {DEEPEST} levels.",
                                    quoted(function.name)
                                ),
                                "Write some of them out, so that there are fewer levels.",
                            );
                        }
                    }
                    if let Some(state) = states.get_mut(at) {
                        *state = 2;
                    }
                    found.push(at);
                }
            }
        }
    }
    found
}

/// Reports functions that are infinite or not a number at the start values of a measurement. The document must have no
/// errors.
pub(crate) fn check_start(
    document: &Document,
    measurement: &Measurement,
    declared: &[Declared],
    resolution: &Resolution,
    report: &mut Report,
) {
    let functions = collect(document, &mut Report::default());
    let mut values: HashMap<&str, f64> = HashMap::new();
    for (set, resolved) in declared.iter().zip(&resolution.sets) {
        if let (true, Some(init)) = (set.kind.scalar(), resolved.inits.first()) {
            values.insert(&set.name, *init);
        }
    }
    for formula in order(&functions, &mut Report::default()).into_iter().filter_map(|i| functions.get(i)) {
        for (key, expression) in &formula.parsed {
            let of = |name: &String| values.get(name.as_str()).copied().unwrap_or(f64::NAN);
            let names = expression.names();
            let value = expression.value(|i| names.get(i).map_or(f64::NAN, of));
            if !value.is_finite() {
                let at: Vec<String> =
                    names.iter().map(|name| format!("{name} = {}", show(of(name)))).collect();
                report.error(
                    format!("{}{key}", formula.path),
                    format!(
                        "The function {} is {value} at the start values of measurement {}: {}.",
                        quoted(formula.name),
                        quoted(&measurement.name),
                        at.join(", ")
                    ),
                    "Change the start values, or the expression (division by zero, the logarithm of zero).",
                );
                return;
            }
            if matches!(formula.formulas, Formulas::Whole(_)) {
                values.insert(formula.name, value);
            }
        }
    }
}

/// The functions of a model, and the effect of each modifier of type `function`, by its name.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) functions: Vec<Function>,
    pub(crate) effects: BTreeMap<String, Effect>,
}

/// Builds the functions of a document that has no errors. `parameter` returns the index of a parameter by its name.
pub(crate) fn build(document: &Document, parameter: impl Fn(&str) -> Option<usize>) -> Built {
    let mut report = Report::default();
    let functions = collect(document, &mut report);
    let mut built = Built::default();
    let mut values: HashMap<&str, Value> = HashMap::new();
    for formula in order(&functions, &mut report).into_iter().filter_map(|i| functions.get(i)) {
        let mut own: Vec<Value> = Vec::with_capacity(formula.parsed.len());
        // Bins with the same expression share a function.
        let mut same: Vec<(&Expression, Value)> = Vec::new();
        for (bin, (_, expression)) in formula.parsed.iter().enumerate() {
            if let Some((_, value)) = same.iter().find(|(known, _)| *known == expression) {
                own.push(*value);
                continue;
            }
            let name = match formula.formulas {
                Formulas::Whole(_) => formula.name.to_owned(),
                Formulas::Bins(_) => format!("{}[{bin}]", formula.name),
            };
            let of = |name: &String| {
                values.get(name.as_str()).copied().or_else(|| parameter(name).map(Value::Parameter))
            };
            let value = function(expression, of, name, &mut built.functions);
            same.push((expression, value));
            own.push(value);
        }
        if let (Formulas::Whole(_), [value]) = (formula.formulas, own.as_slice()) {
            values.insert(formula.name, *value);
        }
        built.effects.insert(formula.name.to_owned(), Effect::Function { values: own });
    }
    built
}

/// Adds the function of an expression to `functions`, and returns its value. A name without a value is not a number, which
/// does not occur in documents without errors.
fn function(
    expression: &Expression,
    value: impl Fn(&String) -> Option<Value>,
    name: String,
    functions: &mut Vec<Function>,
) -> Value {
    if let Some(number) = expression.constant() {
        return Value::Number(number);
    }
    let named = expression.names().iter().map(|name| value(name).unwrap_or(Value::Number(f64::NAN)));
    let mut ops: Vec<Op> = named
        .map(|value| match value {
            Value::Number(number) => Op::Number(number),
            other => Op::Value(other),
        })
        .collect();
    let operands: Vec<usize> = (0..ops.len()).collect();
    let last = expression.append_to(&mut ops, &operands);
    if let Some(op) = ops.get(last).copied().filter(|_| last + 1 != ops.len()) {
        ops.push(op);
    }
    match Tape::new(ops) {
        Ok(tape) => {
            functions.push(Function { name, form: FunctionForm::Expression(tape) });
            Value::Function(functions.len() - 1)
        }
        Err(_) => Value::Number(f64::NAN),
    }
}
