//! Data of channels that have none: the expected counts at the start values.

use super::describe::{Channel, Combination, Effect};
use super::settle::{Groups, Kind};
use super::view::View;
use crate::pyhf::{Problem, Severity};
use crate::xml_error::HistFactoryError;

/// The data of all channels. Where there are none, the expected counts of the first measurement.
///
/// # Errors
/// [`HistFactoryError::Element`] if a channel has no data, and measurements have other expected counts, or systematics that
/// do not start at 0.
pub(super) fn data(
    combination: &Combination,
    lumi: bool,
    groups: &Groups,
    views: &[View<'_>],
    notes: &mut Vec<Problem>,
) -> Result<Vec<Vec<f64>>, HistFactoryError> {
    let mut out = Vec::new();
    for channel in &combination.channels {
        if let Some(data) = &channel.data {
            out.push(data.clone());
            continue;
        }
        let refused = |message: &str| HistFactoryError::Element {
            place: channel.place.clone(),
            element: format!("<Channel Name=\"{}\">", channel.name),
            message: format!("It has no <Data>, and {message}"),
            remedy: "Add <Data HistoName=\"...\"/>.".to_owned(),
        };
        let mut expected: Option<Vec<f64>> = None;
        for view in views {
            let own = counts(channel, lumi, groups, view).ok_or_else(|| {
                refused("a systematic of it does not start at 0, or a factor is a function, so its expected counts are not computed.")
            })?;
            match &expected {
                Some(known) if *known != own => {
                    return Err(refused("measurements expect different counts of it."));
                }
                _ => expected = Some(own),
            }
        }
        notes.push(Problem {
            severity: Severity::Warning,
            path: channel.place.to_string(),
            message: format!(
                "The channel '{}' has no <Data>: its counts are those that are expected at the start values, as in HistFactory.",
                channel.name
            ),
            remedy: "Add <Data HistoName=\"...\"/> for observed counts.".to_owned(),
        });
        out.push(expected.unwrap_or_default());
    }
    Ok(out)
}

/// The expected counts of a channel; nothing if a systematic does not start at 0, or a factor is a function.
fn counts(channel: &Channel, lumi: bool, groups: &Groups, view: &View<'_>) -> Option<Vec<f64>> {
    let mut total = vec![0.0; channel.bins];
    let start = |kind: Kind, name: &str| groups.find(kind, name).and_then(|i| view.start.get(i));
    for sample in &channel.samples {
        let mut factor = 1.0;
        let mut shape = vec![1.0; channel.bins];
        let mut times = |values: Option<&Vec<f64>>| {
            for (own, value) in shape.iter_mut().zip(values.into_iter().flatten()) {
                *own *= value;
            }
        };
        if sample.lumi.unwrap_or(lumi) {
            factor *= start(Kind::Lumi, "Lumi").and_then(|s| s.first()).copied().unwrap_or(1.0);
        }
        for modifier in &sample.modifiers {
            let name = &modifier.name;
            match &modifier.effect {
                Effect::NormFactor { .. } => {
                    factor *= start(Kind::Norm, name).and_then(|s| s.first()).copied().unwrap_or(1.0);
                }
                // Its value at the start values is not computed here.
                Effect::Function { .. } => return None,
                Effect::OverallSys { .. } | Effect::HistoSys { .. } => {
                    let value = start(Kind::Alpha, name).and_then(|s| s.first()).copied();
                    if value.is_some_and(|value| value != 0.0) {
                        return None;
                    }
                }
                Effect::ShapeSys { .. } => times(start(Kind::Shape, name)),
                Effect::ShapeFactor { .. } => times(start(Kind::Free, name)),
            }
        }
        if sample.errors.is_some() {
            times(start(Kind::Stat, &channel.name));
        }
        for ((sum, content), shape) in total.iter_mut().zip(&sample.contents).zip(&shape) {
            *sum += content * factor * shape;
        }
    }
    Some(total)
}
