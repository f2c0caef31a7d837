//! Pictures of the effects of systematics: templates, and what pruning left of them.

use ns_inference::picture::{Style, StyleError};
use ns_translate::build::{EffectRow, Part, TemplateRow};
use ns_translate::pyhf::KeptEffect;
use ns_viz::{Kept, Pruning, TemplateSet, Templates};

use crate::error::CliError;
use crate::plot::Drawn;
use crate::style::unfit;

/// What is left of an effect. `None` stands for a part that it never had, `Some(false)` for one that was left out.
fn kept(normalisation: Option<bool>, shape: Option<bool>) -> Kept {
    match (normalisation, shape) {
        (None, None) => Kept::Absent,
        (Some(false), Some(true)) => Kept::Shape,
        (Some(true), Some(false)) => Kept::Normalisation,
        (None | Some(false), None | Some(false)) => Kept::Nothing,
        _ => Kept::All,
    }
}

fn part(part: Option<&Part>) -> Option<bool> {
    part.map(Part::is_kept)
}

/// The picture of what a built workspace has of the effects of systematics.
fn pruned(systematics: &[EffectRow]) -> Pruning {
    Pruning::of(systematics.iter().map(|row| {
        let kept = kept(part(row.normalisation.as_ref()), part(row.shape.as_ref()));
        (row.channel.as_str(), row.sample.as_str(), row.systematic.as_str(), kept)
    }))
}

/// The picture of what a pruned workspace has of the effects of systematics.
pub(crate) fn left(effects: &[KeptEffect]) -> Pruning {
    Pruning::of(effects.iter().map(|row| {
        let kept = kept(row.normalisation, row.shape);
        (row.channel.as_str(), row.sample.as_str(), row.systematic.as_str(), kept)
    }))
}

/// The picture of all templates. `systematics` say what was left out of them.
fn templates(systematics: &[EffectRow], rows: &[TemplateRow]) -> Templates {
    let set = |row: &TemplateRow| {
        let effect = systematics.iter().find(|effect| {
            (&effect.channel, &effect.sample, &effect.systematic)
                == (&row.channel, &row.sample, &row.systematic)
        });
        let gone = |one: &Option<Part>| part(one.as_ref()) == Some(false);
        let note = match effect.map(|effect| (gone(&effect.normalisation), gone(&effect.shape))) {
            Some((true, true)) => "left out",
            Some((true, false)) => "normalisation left out",
            Some((false, true)) => "shape left out",
            _ => "",
        };
        let (up_before, down_before) = row.before.clone().unwrap_or_default();
        TemplateSet {
            systematic: row.systematic.clone(),
            subject: format!("{}, {}", row.channel, row.sample),
            note: note.to_owned(),
            x_title: match row.edges {
                None if row.axis_title.is_empty() => "bin".to_owned(),
                _ => row.axis_title.clone(),
            },
            bin_edges: row
                .edges
                .clone()
                .unwrap_or_else(|| (0..=row.nominal.len()).map(|edge| edge as f64).collect()),
            nominal: row.nominal.clone(),
            uncertainty: row.uncertainty.clone().unwrap_or_default(),
            up: row.varied.0.clone(),
            down: row.varied.1.clone(),
            up_before,
            down_before,
        }
    };
    Templates { sets: rows.iter().map(set).collect(), ..Templates::default() }
}

/// Leaves out the rows that a style does not draw.
fn kept_rows<T: Clone>(
    style: &Style,
    rows: &[T],
    names: impl Fn(&T) -> [&str; 3],
) -> Result<Vec<T>, StyleError> {
    let kept: Vec<T> = rows.iter().filter(|row| style.keeps_any(&names(row))).cloned().collect();
    if kept.is_empty() && !rows.is_empty() {
        return Err(StyleError::NothingLeft { n: rows.len() });
    }
    Ok(kept)
}

/// Draws [`pruned`] in a style.
///
/// # Errors
/// If the style leaves nothing.
pub(crate) fn pruning_in(style: &Style, systematics: &[EffectRow]) -> Result<Drawn, CliError> {
    let rows = kept_rows(style, systematics, |row| [&row.systematic, &row.channel, &row.sample])
        .map_err(|error| unfit(&error))?;
    Ok(style.applied(pruned(&rows)).map_err(|error| unfit(&error))?.draw()?.into())
}

/// Draws [`templates`] in a style.
///
/// # Errors
/// If the style leaves nothing.
pub(crate) fn templates_in(
    style: &Style,
    systematics: &[EffectRow],
    rows: &[TemplateRow],
) -> Result<Drawn, CliError> {
    let rows = kept_rows(style, rows, |row| [&row.systematic, &row.channel, &row.sample])
        .map_err(|error| unfit(&error))?;
    Ok(style.applied(templates(systematics, &rows)).map_err(|error| unfit(&error))?.draw()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_kept_in_parts() {
        for (normalisation, shape, wanted) in [
            (Some(true), Some(true), Kept::All),
            (Some(true), None, Kept::All),
            (None, Some(true), Kept::All),
            (Some(false), Some(true), Kept::Shape),
            (Some(true), Some(false), Kept::Normalisation),
            (Some(false), None, Kept::Nothing),
            (Some(false), Some(false), Kept::Nothing),
            (None, None, Kept::Absent),
        ] {
            assert_eq!(kept(normalisation, shape), wanted);
        }
    }
}
