//! `rateParam` lines: free factors of processes.

use super::document::{Document, RateParam};
use super::lines::{Line, number, range};
use super::pattern::{has_wildcard, wildcard};
use super::systematics::Reader;
use crate::pyhf::names::{list, nearest, quoted};

const REMEDY: &str = "Write 'NAME rateParam CHANNEL PROCESS VALUE [LOWER,UPPER]'.";

/// Reads a `rateParam` line.
pub(super) fn read(reader: &mut Reader<'_>, line: &Line<'_>, name: String) {
    let &[channel, process, value, ref further @ ..] = line.rest(2) else {
        reader.error(line, format!("The rateParam {} is not complete.", quoted(&name)), REMEDY);
        return;
    };
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
            let message = format!(
                "The rateParam {} is the formula {} of {}: functions of parameters are not supported.",
                quoted(&name),
                quoted(value),
                quoted(word)
            );
            reader.error(line, message, "Give it a value, or write the model as HS3.");
            return;
        }
        _ => {
            reader.error(line, format!("The rateParam {} has too many words.", quoted(&name)), REMEDY);
            return;
        }
    };
    let Some(value) = number(value) else {
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
        && (first.value != value || first.range != bounds)
    {
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
        place: line.place.clone(),
    });
}

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
