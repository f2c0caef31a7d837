//! The edits `add`, `merge` and `split`, which add effects to a systematic uncertainty.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::datacard::document::{Document, Kind, Size, Systematic};
use crate::datacard::lines::{Line, too_long};
use crate::datacard::systematics::size;
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

use super::{Refused, nothing_found, refused, selected, whole};

/// An effect that was taken from a line: type, column and size.
type Taken = (Kind, usize, Size);

/// What happens to an effect that is there already.
#[derive(Clone, Copy, PartialEq)]
enum Existing {
    Refuse,
    Replace,
    /// The two effects are added in quadrature.
    Quadrature,
}

pub(super) fn add(
    line: &Line<'_>,
    words: &[&str],
    document: &mut Document,
    warnings: &mut Vec<Refused>,
) -> Result<(), Refused> {
    const REMEDY: &str = "Write 'nuisance edit add PROCESS CHANNEL NAME TYPE VALUE', then addq or overwrite.";
    let &[process, channel, name, kind, value, ref options @ ..] = words else {
        return Err(refused("The edit 'add' is not complete.", REMEDY));
    };
    let kind = kind_of(kind)?;
    let size = size(value, kind)
        .map_err(|remedy| refused(format!("The edit 'add' has the value {}.", quoted(value)), remedy))?;
    let existing = if options.contains(&"addq") {
        Existing::Quadrature
    } else if options.contains(&"overwrite") {
        Existing::Replace
    } else {
        Existing::Refuse
    };
    let columns = selected(document, process, channel)?;
    if columns.is_empty() {
        return nothing_found(&words.join(" "), "*", options, warnings);
    }
    let Some(size) = size.filter(|size| *size != Size::One(1.0)) else {
        warnings.push(refused(
            format!(
                "The edit 'add' of {} with the value {} does nothing, as in Combine.",
                quoted(name),
                quoted(value)
            ),
            "Give another value, or write a line of the systematic uncertainty.",
        ));
        return Ok(());
    };
    put(line, document, name, kind, &columns, size, existing)
}

/// Returns the type that an edit names.
fn kind_of(word: &str) -> Result<Kind, Refused> {
    if word == "lnN" || word == "lnU" {
        return Ok(Kind::LogNormal { uniform: word == "lnU" });
    }
    Kind::shape(word).ok_or_else(|| {
        refused(
            format!("The edit 'add' has the type {}.", quoted(word)),
            "Use lnN, lnU, shape, shape?, shapeU or shapeN.",
        )
    })
}

/// Adds an effect to the columns of the line of a systematic uncertainty, which is added if there is none.
fn put(
    line: &Line<'_>,
    document: &mut Document,
    name: &str,
    kind: Kind,
    columns: &BTreeSet<usize>,
    size: Size,
    existing: Existing,
) -> Result<(), Refused> {
    if let Some(other) = document.systematics.iter().find(|s| s.name == name && s.kind != kind) {
        return Err(refused(
            format!(
                "{} cannot be added with the type {}: it has the type {}.",
                quoted(name),
                kind.word(),
                other.kind.word()
            ),
            "Use the same type, or another name.",
        ));
    }
    let at = match document.systematics.iter().position(|s| s.name == name) {
        Some(at) => at,
        None => {
            let mut report = Report::default();
            if too_long(name, "parameter", &line.place, &mut report) {
                return Err(refused("The name of the parameter is too long.", "Shorten it."));
            }
            document.systematics.push(Systematic {
                name: name.to_owned(),
                no_float: false,
                kind,
                sizes: BTreeMap::new(),
                written: HashMap::new(),
                place: line.place.clone(),
            });
            document.systematics.len() - 1
        }
    };
    let Some(systematic) = document.systematics.get_mut(at) else { return Ok(()) };
    for &column in columns {
        let sum = match (systematic.sizes.get(&column), existing) {
            (None, _) | (Some(_), Existing::Replace) => size,
            (Some(&present), Existing::Quadrature) => quadrature(kind, present, size)?,
            (Some(_), Existing::Refuse) => {
                return Err(refused(
                    format!("{} has an effect already.", quoted(name)),
                    "Add the option addq for the quadratic sum, or overwrite.",
                ));
            }
        };
        systematic.sizes.insert(column, sum);
    }
    Ok(())
}

/// Adds two log-normal effects in quadrature.
fn quadrature(kind: Kind, a: Size, b: Size) -> Result<Size, Refused> {
    let Kind::LogNormal { .. } = kind else {
        return Err(refused(
            format!("Effects of type {} cannot be added in quadrature.", kind.word()),
            "Only lnN and lnU can.",
        ));
    };
    let one = |a: f64, b: f64| {
        let (x, y) = (a.ln(), b.ln());
        if x * y < 0.0 {
            return Err(refused(
                format!(
                    "The factors {a} and {b} cannot be added in quadrature: they go in different directions."
                ),
                "Add the option overwrite instead of addq.",
            ));
        }
        let sum = x.hypot(y).exp();
        Ok(if a > 1.0 || (a == 1.0 && b > 1.0) { sum } else { 1.0 / sum })
    };
    let both = |size: Size| match size {
        Size::One(k) => (1.0 / k, k),
        Size::Two(lo, hi) => (lo, hi),
    };
    if let (Size::One(a), Size::One(b)) = (a, b) {
        return one(a, b).map(Size::One);
    }
    let ((a_lo, a_hi), (b_lo, b_hi)) = (both(a), both(b));
    Ok(Size::Two(one(a_lo, b_lo)?, one(a_hi, b_hi)?))
}

/// Moves the effects of one systematic uncertainty to another, where they are added in quadrature.
pub(super) fn merge(
    line: &Line<'_>,
    words: &[&str],
    document: &mut Document,
    warnings: &mut Vec<Refused>,
) -> Result<(), Refused> {
    let &[process, channel, into, from, ref options @ ..] = words else {
        return Err(refused(
            "The edit 'merge' is not complete.",
            "Write 'nuisance edit merge PROCESS CHANNEL NAME1 NAME2', where NAME2 is merged into NAME1.",
        ));
    };
    let moved = take(document, process, channel, from)?;
    let Some(moved) = moved else { return nothing_found(&words.join(" "), channel, options, warnings) };
    for (kind, column, size) in moved {
        put(line, document, into, kind, &BTreeSet::from([column]), size, Existing::Quadrature)?;
    }
    Ok(())
}

/// Replaces the effects of one systematic uncertainty by effects of two others.
pub(super) fn split(
    line: &Line<'_>,
    words: &[&str],
    document: &mut Document,
    warnings: &mut Vec<Refused>,
) -> Result<(), Refused> {
    let &[process, channel, from, first, second, value1, value2, ref options @ ..] = words else {
        return Err(refused(
            "The edit 'split' is not complete.",
            "Write 'nuisance edit split PROCESS CHANNEL OLD NEW1 NEW2 VALUE1 VALUE2'.",
        ));
    };
    let moved = take(document, process, channel, from)?;
    let Some(moved) = moved else { return nothing_found(&words.join(" "), channel, options, warnings) };
    for (kind, column, _) in moved {
        for (name, value) in [(first, value1), (second, value2)] {
            let size = size(value, kind).map_err(|remedy| {
                refused(format!("The edit 'split' has the value {}.", quoted(value)), remedy)
            })?;
            if let Some(size) = size {
                put(line, document, name, kind, &BTreeSet::from([column]), size, Existing::Replace)?;
            }
        }
    }
    Ok(())
}

/// Removes the effects of systematic uncertainties from columns and returns them. `None` if none matches.
fn take(
    document: &mut Document,
    process: &str,
    channel: &str,
    name: &str,
) -> Result<Option<Vec<Taken>>, Refused> {
    let columns = selected(document, process, channel)?;
    let pattern = whole(name)?;
    let (mut found, mut taken) = (false, Vec::new());
    for systematic in document.systematics.iter_mut().filter(|s| pattern.matches(&s.name)) {
        found |= !columns.is_empty();
        let kind = systematic.kind;
        systematic.sizes.retain(|&column, &mut size| {
            let keep = !columns.contains(&column);
            if !keep {
                taken.push((kind, column, size));
            }
            keep
        });
    }
    Ok(found.then_some(taken))
}
