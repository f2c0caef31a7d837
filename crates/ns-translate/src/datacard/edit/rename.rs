//! The edit `rename`.

use std::collections::{BTreeMap, HashMap};

use crate::datacard::document::{Document, Kind, Systematic};
use crate::pyhf::names::{LONGEST, nearest, quoted};

use super::{Refused, refused, selected};

/// Renames a parameter everywhere (`OLD NEW`), or for some processes and channels (`PROCESS CHANNEL OLD NEW`). The
/// histograms keep their names.
///
/// With the option `ifexists`, processes and channels need not exist. As in Combine, the parameter must.
pub(super) fn rename(
    words: &[&str],
    document: &mut Document,
    warnings: &mut Vec<Refused>,
) -> Result<(), Refused> {
    let (process, channel, old, new, everywhere, options) = match *words {
        [old, new] => ("*", "*", old, new, true, &[][..]),
        [process, channel, old, new, ref options @ ..] => (process, channel, old, new, false, options),
        _ => {
            return Err(refused(
                "The edit 'rename' is not complete.",
                "Write 'nuisance edit rename [PROCESS CHANNEL] OLD NEW'.",
            ));
        }
    };
    if new.len() > LONGEST {
        return Err(refused("The new name is too long.", "Shorten it."));
    }
    let lines: Vec<usize> =
        document.systematics.iter().enumerate().filter(|(_, s)| s.name == old).map(|(i, _)| i).collect();
    if lines.is_empty() {
        let near = nearest(old, document.systematics.iter().map(|s| s.name.as_str()));
        let near = near.map_or_else(String::new, |near| format!(" Did you mean {}?", quoted(near)));
        return Err(refused(
            format!("The edit 'rename' finds no systematic uncertainty {}.{near}", quoted(old)),
            "Correct the name; rateParam and flatParam lines cannot be renamed.",
        ));
    }
    let columns = selected(document, process, channel)?;
    if columns.is_empty() {
        let nothing = refused(
            format!("The edit 'rename' of {} finds no column.", quoted(old)),
            "Correct process and channel, which are regular expressions, or add the option ifexists.",
        );
        if options.contains(&"ifexists") {
            warnings.push(nothing);
            return Ok(());
        }
        return Err(nothing);
    }
    for at in lines {
        compatible(document, at, new)?;
        if everywhere {
            let Some(systematic) = document.systematics.get_mut(at) else { continue };
            for column in systematic.sizes.keys() {
                systematic.written.entry(*column).or_insert_with(|| old.to_owned());
            }
            new.clone_into(&mut systematic.name);
            continue;
        }
        let Some(source) = document.systematics.get_mut(at) else { continue };
        if matches!(source.kind, Kind::Param { .. }) {
            continue;
        }
        let mut moved = BTreeMap::new();
        let mut written = HashMap::new();
        for column in &columns {
            if let Some(size) = source.sizes.remove(column) {
                moved.insert(*column, size);
                let name = source.written.remove(column).unwrap_or_else(|| old.to_owned());
                written.insert(*column, name);
            }
        }
        let (kind, no_float, place) = (source.kind, source.no_float, source.place.clone());
        match document.systematics.iter_mut().find(|s| s.name == new && s.kind == kind) {
            Some(known) => {
                known.sizes.extend(moved);
                known.written.extend(written);
            }
            None => document.systematics.push(Systematic {
                name: new.to_owned(),
                no_float,
                kind,
                sizes: moved,
                written,
                place,
            }),
        }
    }
    Ok(())
}

/// Checks that a line can have the new name: its constraint must be that of the lines that have the name already.
fn compatible(document: &Document, at: usize, new: &str) -> Result<(), Refused> {
    let Some(systematic) = document.systematics.get(at) else { return Ok(()) };
    if let Kind::Gamma { .. } = systematic.kind {
        return Err(refused(
            format!("{} is of type gmN and cannot be renamed.", quoted(&systematic.name)),
            "Rename it where it is written.",
        ));
    }
    let constraint = |kind: Kind| match kind {
        Kind::Param { mean, sigma, .. } => (Some((mean, sigma)), false),
        Kind::Gamma { count } => (Some((count, -1.0)), false),
        Kind::LogNormal { uniform } | Kind::Shape { uniform, .. } => {
            (if uniform { None } else { Some((0.0, 1.0)) }, uniform)
        }
    };
    let mine = constraint(systematic.kind);
    for other in document.systematics.iter().filter(|s| s.name == new) {
        if constraint(other.kind) != mine {
            return Err(refused(
                format!(
                    "{} cannot be renamed to {}, which exists with another constraint in line {}.",
                    quoted(&systematic.name),
                    quoted(new),
                    other.place.line
                ),
                "Choose another name.",
            ));
        }
    }
    Ok(())
}
