//! `rateParam` lines: factors of processes that are free, or functions of parameters.

use ns_unbinned::expression::Expression;

use super::document::{Document, RateFormula, RateParam};
use super::lines::{Line, number, range};
use super::pattern::{has_wildcard, wildcard};
use super::systematics::Reader;
use crate::pyhf::names::{list, nearest, quoted};

const REMEDY: &str = "Write 'NAME rateParam CHANNEL PROCESS VALUE [LOWER,UPPER]', or 'NAME rateParam CHANNEL PROCESS FORMULA NAME,...'.";

/// Reads a `rateParam` line.
pub(super) fn read(reader: &mut Reader<'_>, line: &Line<'_>, name: String) {
    let &[channel, process, value, ref further @ ..] = line.rest(2) else {
        reader.error(line, format!("The rateParam {} is not complete.", quoted(&name)), REMEDY);
        return;
    };
    let mut formula = None;
    let bounds = match further {
        [] => None,
        [word] if word.starts_with('[') => match range(word) {
            Some(bounds) => Some(bounds),
            None => {
                let message =
                    format!("The range {} of the rateParam {} cannot be read.", quoted(word), quoted(&name));
                reader.error(line, message, REMEDY);
                return;
            }
        },
        [word] if number(value).is_none() => {
            match self::formula(value, word) {
                Ok(found) => formula = Some(found),
                Err((problem, remedy)) => {
                    let message = format!(
                        "The formula {} of the rateParam {} {problem}.",
                        quoted(value),
                        quoted(&name)
                    );
                    reader.error(line, message, &remedy);
                    return;
                }
            }
            None
        }
        _ => {
            reader.error(line, format!("The rateParam {} has too many words.", quoted(&name)), REMEDY);
            return;
        }
    };
    let Some(value) = number(value).or_else(|| formula.as_ref().map(|_| 1.0)) else {
        if value.contains(".root:") {
            let message = format!(
                "The rateParam {} is the object {} of a RooWorkspace, which is not supported.",
                quoted(&name),
                quoted(value)
            );
            reader.error(line, message, "Write its value.");
        } else {
            reader.error(
                line,
                format!("The rateParam {} has the value {}.", quoted(&name), quoted(value)),
                REMEDY,
            );
        }
        return;
    };
    if !reader.spend(line, reader.document.columns.len()) {
        return;
    }
    let columns = columns(reader.document, channel, process);
    if columns.is_empty() {
        let message = unmatched(reader.document, &name, channel, process);
        reader.error(line, message, "Correct the names; the wildcards are *, ? and [abc].");
        return;
    }
    let at = *reader.rates.entry(name.clone()).or_insert(reader.document.rate_params.len());
    if let Some(first) = reader.document.rate_params.get(at)
        && (first.value != value || first.range != bounds || first.formula != formula)
    {
        if first.formula.is_some() || formula.is_some() {
            let message = format!(
                "The rateParam {} has another formula here than in line {}.",
                quoted(&name),
                first.place.line
            );
            reader.error(line, message, "Choose another name, or write the same formula.");
            return;
        }
        let message = format!(
            "The rateParam {} has another value or range here than in line {}, which is used.",
            quoted(&name),
            first.place.line
        );
        reader.report.warn(line.place.to_string(), message, "Write the same in both lines.");
    }
    reader.document.rate_params.push(RateParam {
        name,
        columns,
        value,
        range: bounds,
        formula,
        place: line.place.clone(),
    });
}

/// Reads a formula and its arguments, which it calls `@0`, `@1` and so on, or by their names. The error is what is wrong,
/// after the words "The formula", and what to do.
fn formula(text: &str, arguments: &str) -> Result<RateFormula, (String, String)> {
    let names: Vec<&str> = arguments.split(',').map(str::trim).collect();
    // Expressions have no name that begins with `@`.
    let expression = Expression::parse(&text.replace('@', PLACEHOLDER))
        .map_err(|error| (format!("is wrong {error}"), error.remedy()))?;
    let mut own = Vec::with_capacity(expression.names().len());
    for name in expression.names() {
        let by_number = name.strip_prefix(PLACEHOLDER).and_then(|number| number.parse::<usize>().ok());
        let found = match by_number {
            Some(number) => names.get(number),
            None => names.iter().find(|known| *known == name),
        };
        let Some(found) = found else {
            let shown = name.replacen(PLACEHOLDER, "@", 1);
            let remedy = format!("Add it to the list {} after the formula.", quoted(arguments));
            return Err((format!("uses {}, which is none of its arguments", quoted(&shown)), remedy));
        };
        own.push((*found).to_owned());
    }
    Ok(RateFormula { expression, arguments: own, text: format!("{text} {arguments}") })
}

/// Stands for the sign `@` of arguments while a formula is parsed.
const PLACEHOLDER: &str = "argument_of_formula_";

/// Returns the columns of the channels and processes that match.
fn columns(document: &Document, channel: &str, process: &str) -> Vec<usize> {
    let matches =
        |pattern: &str, name: &str| pattern == name || (has_wildcard(pattern) && wildcard(pattern, name));
    let channels: Vec<bool> = document.channels.iter().map(|c| matches(channel, &c.name)).collect();
    let wanted = |column: &super::document::Column| {
        channels.get(column.channel).copied().unwrap_or(false) && matches(process, &column.process)
    };
    document.columns.iter().enumerate().filter(|(_, column)| wanted(column)).map(|(i, _)| i).collect()
}

/// Says that no column matches, with the nearest names.
fn unmatched(document: &Document, name: &str, channel: &str, process: &str) -> String {
    let channels: Vec<&str> = document.channels.iter().map(|c| c.name.as_str()).collect();
    let processes: Vec<&str> = document.columns.iter().map(|c| c.process.as_str()).collect();
    let mut message = format!(
        "The rateParam {} is for process {} of channel {}, and the card has no such column.",
        quoted(name),
        quoted(process),
        quoted(channel)
    );
    if !has_wildcard(channel) && !channels.contains(&channel) {
        match nearest(channel, channels.iter().copied()) {
            Some(near) => message.push_str(&format!(" Did you mean channel {}?", quoted(near))),
            None => message.push_str(&format!(" {}", list("The channels are", &channels))),
        }
    }
    if !has_wildcard(process)
        && !processes.contains(&process)
        && let Some(near) = nearest(process, processes.iter().copied())
    {
        message.push_str(&format!(" Did you mean process {}?", quoted(near)));
    }
    message
}
