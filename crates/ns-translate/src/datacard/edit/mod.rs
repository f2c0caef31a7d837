//! `nuisance edit` lines: changes of the lines above them.

mod add;
mod rename;

use std::collections::BTreeSet;

use super::document::{Document, Kind, Size};
use super::lines::Line;
use super::pattern::Whole;
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

/// Why an edit cannot be made: what is wrong, and a remedy.
struct Refused {
    message: String,
    remedy: &'static str,
}

fn refused(message: impl Into<String>, remedy: &'static str) -> Refused {
    Refused { message: message.into(), remedy }
}

/// Carries out a line `nuisance edit COMMAND ...`.
pub(super) fn apply(line: &Line<'_>, document: &mut Document, report: &mut Report) {
    let command = line.words.get(2).copied().unwrap_or_default();
    let words = line.rest(3);
    let mut warnings = Vec::new();
    let result = match command {
        "add" => add::add(line, words, document, &mut warnings),
        "drop" => drop(words, document, &mut warnings),
        "rename" => rename::rename(words, document, &mut warnings),
        "changepdf" => change_kind(words, document, &mut warnings),
        "freeze" => freeze(words, document, &mut warnings),
        "flip" => flip(words, document, &mut warnings),
        "merge" => add::merge(line, words, document, &mut warnings),
        "split" => add::split(line, words, document, &mut warnings),
        _ => Err(refused(
            format!("The edit {} is not known.", quoted(command)),
            "The edits are add, drop, rename, changepdf, freeze, flip, merge and split.",
        )),
    };
    for Refused { message, remedy } in warnings {
        report.warn(line.place.to_string(), message, remedy);
    }
    if let Err(Refused { message, remedy }) = result {
        report.error(line.place.to_string(), message, remedy);
    }
}

/// Compiles a pattern.
fn whole(pattern: &str) -> Result<Whole, Refused> {
    Whole::new(pattern).map_err(|error| {
        refused(
            format!("The pattern {} is no regular expression: {error}.", quoted(pattern)),
            "Correct it, or write * for all.",
        )
    })
}

/// Returns the columns of the processes and channels that match.
fn selected(document: &Document, process: &str, channel: &str) -> Result<BTreeSet<usize>, Refused> {
    let process = whole(process)?;
    // In Combine, a plus sign in the name of a channel stands for itself.
    let channel = whole(&channel.replace('+', "\\+"))?;
    let channels: Vec<bool> = document.channels.iter().map(|c| channel.matches(&c.name)).collect();
    let wanted = |column: &super::document::Column| {
        channels.get(column.channel).copied().unwrap_or(false) && process.matches(&column.process)
    };
    Ok(document.columns.iter().enumerate().filter(|(_, c)| wanted(c)).map(|(i, _)| i).collect())
}

/// Reports an edit that changed nothing: an error, or a warning with the option `ifexists` or for all channels.
fn nothing_found(
    edit: &str,
    channel: &str,
    options: &[&str],
    warnings: &mut Vec<Refused>,
) -> Result<(), Refused> {
    let nothing = refused(
        format!("The edit of {} finds nothing to change.", quoted(edit)),
        "Correct the names, which are regular expressions, or add the option ifexists.",
    );
    if channel == "*" || options.contains(&"ifexists") {
        warnings.push(nothing);
        return Ok(());
    }
    Err(nothing)
}

fn drop(words: &[&str], document: &mut Document, warnings: &mut Vec<Refused>) -> Result<(), Refused> {
    let &[process, channel, name, ref options @ ..] = words else {
        return Err(refused(
            "The edit 'drop' is not complete.",
            "Write 'nuisance edit drop PROCESS CHANNEL NAME'.",
        ));
    };
    let columns = selected(document, process, channel)?;
    let pattern = whole(name)?;
    let mut found = false;
    for systematic in document.systematics.iter_mut().filter(|s| pattern.matches(&s.name)) {
        found |= !columns.is_empty();
        systematic.sizes.retain(|column, _| !columns.contains(column));
    }
    if found { Ok(()) } else { nothing_found(&words.join(" "), channel, options, warnings) }
}

fn change_kind(words: &[&str], document: &mut Document, warnings: &mut Vec<Refused>) -> Result<(), Refused> {
    let &[name, new, ..] = words else {
        return Err(refused(
            "The edit 'changepdf' is not complete.",
            "Write 'nuisance edit changepdf NAME TYPE'.",
        ));
    };
    let pattern = whole(name)?;
    let mut found = false;
    for systematic in document.systematics.iter_mut().filter(|s| pattern.matches(&s.name)) {
        found = true;
        let kind = match (systematic.kind, new) {
            (Kind::LogNormal { .. }, "lnN" | "lnU") => Kind::LogNormal { uniform: new == "lnU" },
            (old, _) if old.word() == new => old,
            (old, _) => {
                if let (Kind::Shape { .. }, Some(new)) = (old, Kind::shape(new)) {
                    systematic.kind = new;
                    continue;
                }
                return Err(refused(
                    format!(
                        "{} cannot be changed from {} to {}.",
                        quoted(&systematic.name),
                        old.word(),
                        quoted(new)
                    ),
                    "Possible are lnN and lnU, and shape, shape?, shapeU and shapeN, each into the other.",
                ));
            }
        };
        systematic.kind = kind;
    }
    if !found {
        warnings.push(refused(
            format!("No systematic uncertainty matches {}.", quoted(name)),
            "Correct the name, which is a regular expression.",
        ));
    }
    Ok(())
}

fn freeze(words: &[&str], document: &mut Document, warnings: &mut Vec<Refused>) -> Result<(), Refused> {
    let &[name, ref options @ ..] = words else {
        return Err(refused("The edit 'freeze' names no parameter.", "Write 'nuisance edit freeze NAME'."));
    };
    let pattern = whole(name)?;
    let free = document.flat.iter().map(|(name, _)| name).chain(document.rate_params.iter().map(|p| &p.name));
    let mut found: Vec<String> = free.filter(|name| pattern.matches(name)).cloned().collect();
    if found.is_empty() {
        let names = document.systematics.iter().map(|s| &s.name);
        found = names.filter(|name| pattern.matches(name)).cloned().collect();
    }
    if found.is_empty() {
        return nothing_found(&words.join(" "), "", options, warnings);
    }
    document.frozen.extend(found);
    document.frozen.sort();
    document.frozen.dedup();
    Ok(())
}

/// Inverts the factors of log-normal uncertainties that go up (option `p2n`) or down (`n2p`).
fn flip(words: &[&str], document: &mut Document, warnings: &mut Vec<Refused>) -> Result<(), Refused> {
    const REMEDY: &str = "Write 'nuisance edit flip PROCESS CHANNEL NAME', then p2n, n2p or both.";
    let &[process, channel, name, ref options @ ..] = words else {
        return Err(refused("The edit 'flip' is not complete.", REMEDY));
    };
    let (down, up) = (options.contains(&"n2p"), options.contains(&"p2n"));
    if !down && !up {
        return Err(refused("The edit 'flip' has neither the option p2n nor n2p.", REMEDY));
    }
    let columns = selected(document, process, channel)?;
    let pattern = whole(name)?;
    let mut found = false;
    for systematic in document.systematics.iter_mut().filter(|s| pattern.matches(&s.name)) {
        if systematic.kind != (Kind::LogNormal { uniform: false }) {
            return Err(refused(
                format!(
                    "{} is of type {}, and only lnN can be flipped.",
                    quoted(&systematic.name),
                    systematic.kind.word()
                ),
                "Correct the name, which is a regular expression.",
            ));
        }
        found |= !columns.is_empty();
        for (_, size) in systematic.sizes.iter_mut().filter(|(column, _)| columns.contains(column)) {
            *size = match *size {
                Size::One(k) if (k > 1.0 && up) || (k < 1.0 && down) => Size::One(1.0 / k),
                Size::Two(lo, hi) if (lo < 1.0 && up) || (lo > 1.0 && down) => Size::Two(1.0 / lo, 1.0 / hi),
                same => same,
            };
        }
    }
    if found { Ok(()) } else { nothing_found(&words.join(" "), channel, options, warnings) }
}
