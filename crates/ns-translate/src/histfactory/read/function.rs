//! Reads `<Function>`: factors that are functions of parameters, as `expr` of RooFit's factory.

use std::collections::{BTreeMap, BTreeSet};

use ns_unbinned::expression::Expression;

use super::super::describe::{Channel, Dependent, Effect, Function};
use super::super::xml::Element;
use crate::pyhf::names::quoted;
use crate::pyhf::{Problem, Severity};
use crate::xml_error::HistFactoryError;

/// Starts of names that RooFit gives to parameters of systematics and of bins.
const OWNED: [&str; 2] = ["alpha_", "gamma_"];

/// Reads an element: its expression, in which `@0` becomes the name of the first dependent, and its dependents.
pub(super) fn read(element: Element<'_>) -> Result<Function, HistFactoryError> {
    element.only(&["Name", "Expression", "Dependents"])?;
    let name = element.text_of("Name")?.to_owned();
    let list = element.text_of("Dependents")?;
    let dependents = split(list).map(|text| dependent(element, text)).collect::<Result<Vec<_>, _>>()?;
    let text = element.text_of("Expression")?;
    let expression = with_names(text, &dependents).ok_or_else(|| {
        element.error(
            format!("The expression {} has a number after '@' that no dependent has.", quoted(text)),
            "Count the dependents from @0, or write their names.",
        )
    })?;
    let parsed = Expression::parse(&expression)
        .map_err(|error| element.error(format!("The expression is wrong {error}."), error.remedy()))?;
    for used in parsed.names() {
        if !dependents.iter().any(|known| known.name == *used) {
            return Err(element.error(
                format!("The expression uses {}, which is no dependent.", quoted(used)),
                format!("Add it: Dependents=\"{list},{used}[1,0,10]\"."),
            ));
        }
    }
    Ok(Function { place: element.place(), name, expression, dependents })
}

/// The dependents: commas within brackets separate numbers.
fn split(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    list.split(move |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
}

/// `x`, `x[value]` for a constant, `x[low,high]` with the start value in the middle, or `x[value,low,high]`.
fn dependent(element: Element<'_>, text: &str) -> Result<Dependent, HistFactoryError> {
    let wrong = |message: String| {
        element.error(message, "Write names with start value and bounds: Dependents=\"x[1,0,10],y[0,5]\".")
    };
    let (name, rest) = text.split_once('[').map_or((text, None), |(name, rest)| (name.trim(), Some(rest)));
    if name.is_empty() || name.chars().any(|c| !(c.is_alphanumeric() || c == '_')) {
        return Err(wrong(format!("The dependent {} has no name of letters, digits and '_'.", quoted(text))));
    }
    if let Some(start) =
        OWNED.iter().find(|start| name.starts_with(**start)).copied().or((name == "Lumi").then_some("Lumi"))
    {
        return Err(element.error(
            format!("The dependent {} is a parameter that HistFactory makes ({start}...). Functions of these are not supported.", quoted(name)),
            "Use factors (NormFactor) and parameters of functions only.",
        ));
    }
    let numbers: Option<Vec<f64>> = match rest {
        None => Some(Vec::new()),
        Some(rest) => rest.strip_suffix(']').and_then(|inner| {
            inner.split(',').map(|n| n.trim().parse().ok().filter(|n: &f64| n.is_finite())).collect()
        }),
    };
    let range = match numbers.as_deref() {
        Some([]) if rest.is_none() => None,
        Some(&[value]) => Some((value, value, value)),
        Some(&[low, high]) if low < high => Some((0.5 * (low + high), low, high)),
        Some(&[value, low, high]) if low < high && low <= value && value <= high => Some((value, low, high)),
        _ => return Err(wrong(format!("The range of the dependent {} cannot be read.", quoted(text)))),
    };
    Ok(Dependent { name: name.to_owned(), range })
}

/// Replaces `@0`, `@1`, ... by names. Nothing if a number is too large or missing.
fn with_names(text: &str, dependents: &[Dependent]) -> Option<String> {
    let mut pieces = text.split('@');
    let mut out = pieces.next()?.to_owned();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = piece.split_at_checked(digits)?;
        out.push_str(&dependents.get(number.parse::<usize>().ok()?)?.name);
        out.push_str(rest);
    }
    Some(out)
}

/// Makes the factors that have the name of a function to functions, and keeps the functions that act on something. `elements` are
/// those of the functions.
///
/// # Errors
/// [`HistFactoryError::Element`] if two functions have one name, or a dependent is not defined.
pub(super) fn settle(
    read: Vec<(Element<'_>, Function)>,
    channels: &mut [Channel],
    notes: &mut Vec<Problem>,
) -> Result<Vec<Function>, HistFactoryError> {
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    let mut ranges: BTreeMap<&str, (f64, f64, f64)> = BTreeMap::new();
    for (i, (element, function)) in read.iter().enumerate() {
        if by_name.insert(function.name.clone(), i).is_some() {
            return Err(element.error("Another function has this name.", "Rename one of the two."));
        }
        for dependent in &function.dependents {
            if let Some(range) = dependent.range
                && *ranges.entry(&dependent.name).or_insert(range) != range
            {
                return Err(element.error(
                    format!(
                        "The dependent {} has another range in a function before.",
                        quoted(&dependent.name)
                    ),
                    "Write the same range, or the name alone.",
                ));
            }
        }
    }
    let mut used: Vec<usize> = Vec::new();
    let mut factors: BTreeSet<String> = BTreeSet::new();
    for modifier in channels.iter_mut().flat_map(|c| &mut c.samples).flat_map(|s| &mut s.modifiers) {
        if !matches!(modifier.effect, Effect::NormFactor { .. }) {
            continue;
        }
        let function = by_name.get(&modifier.name).and_then(|&i| Some((i, &read.get(i)?.1)));
        let Some((i, function)) = function else {
            factors.insert(modifier.name.clone());
            continue;
        };
        modifier.effect = Effect::Function { expression: function.expression.clone() };
        used.push(i);
    }
    // Functions of functions are factors of their own only where a sample has them.
    let acting: BTreeSet<usize> = used.into_iter().collect();
    let mut out = Vec::new();
    for (i, (element, function)) in read.iter().enumerate() {
        if !acting.contains(&i) {
            notes.push(Problem {
                severity: Severity::Warning,
                path: function.place.to_string(),
                message: format!(
                    "{}: no NormFactor has this name, so that it has no effect.",
                    element.shown()
                ),
                remedy: "Remove it, or add a <NormFactor> of its name to a sample.".to_owned(),
            });
            continue;
        }
        let mut own = function.clone();
        for dependent in &mut own.dependents {
            let name = &dependent.name;
            if let Some(&other) = by_name.get(name) {
                if !acting.contains(&other) {
                    return Err(element.error(
                        format!(
                            "It depends on the function {}, which is the factor of no sample.",
                            quoted(name)
                        ),
                        format!("Write the expression of {} in its place.", quoted(name)),
                    ));
                }
                continue;
            }
            dependent.range = dependent.range.or_else(|| ranges.get(name.as_str()).copied());
            if dependent.range.is_none() && !factors.contains(name) {
                return Err(element.error(
                    format!("The dependent {} has no range, and no NormFactor has its name.", quoted(name)),
                    format!("Write {name}[1,0,10], with start value and bounds."),
                ));
            }
        }
        own.dependents.retain(|dependent| !by_name.contains_key(&dependent.name));
        out.push(own);
    }
    Ok(out)
}
