//! Writes the file of a channel and its histograms.

use std::collections::BTreeSet;

use ns_root::{Histogram, HistogramFile};

use super::tags::Xml;
use super::{Context, HISTOGRAMS, Role, not_written, plain, unique};
use crate::pyhf::document::{Channel, Effect, Modifier, Sample};
use crate::xml_error::HistFactoryError;

/// The XML of a channel. Its histograms go into the folder `stem` of `histograms`.
pub(super) fn write(
    channel: &Channel,
    data: Option<&[f64]>,
    stem: &str,
    context: &Context<'_>,
    histograms: &mut HistogramFile,
) -> Result<String, HistFactoryError> {
    let mut xml = Xml::of("Channel");
    xml.begin("Channel", &[("Name", channel.name.clone()), ("InputFile", HISTOGRAMS.to_owned())])?;
    if let Some(data) = data {
        add(histograms, &format!("{stem}/data"), data, None)?;
        xml.empty("Data", &[("HistoPath", stem.to_owned()), ("HistoName", "data".to_owned())])?;
    }
    // Every bin keeps its uncertainty, and pyhf's constraint is Gaussian.
    xml.empty(
        "StatErrorConfig",
        &[("RelErrorThreshold", "0".to_owned()), ("ConstraintType", "Gaussian".to_owned())],
    )?;
    let mut taken = BTreeSet::from(["data".to_owned()]);
    for sample in &channel.samples {
        let folder = format!("{stem}/{}", unique(&plain(&sample.name), &mut taken));
        self::sample(sample, &folder, context, histograms, &mut xml)?;
    }
    xml.end();
    Ok(xml.text)
}

fn sample(
    sample: &Sample,
    folder: &str,
    context: &Context<'_>,
    histograms: &mut HistogramFile,
    xml: &mut Xml,
) -> Result<(), HistFactoryError> {
    let scales = context.scales(sample.modifiers.iter().map(|modifier| &modifier.effect));
    xml.begin(
        "Sample",
        &[
            ("Name", sample.name.clone()),
            ("HistoPath", folder.to_owned()),
            ("HistoName", "nominal".to_owned()),
            ("NormalizeByTheory", if scales { "True" } else { "False" }.to_owned()),
        ],
    )?;
    // ROOT knows the folder from the sample, and pyhf does not.
    let path = || ("HistoPath", folder.to_owned());
    let mut errors = None;
    let mut taken = BTreeSet::from(["nominal".to_owned()]);
    for modifier in &sample.modifiers {
        let mut histogram = |suffix: &str, values: &[f64]| {
            let name = unique(&format!("{}{suffix}", plain(&modifier.name)), &mut taken);
            add(histograms, &format!("{folder}/{name}"), values, None).map(|()| name)
        };
        let name = ("Name", modifier.name.clone());
        match &modifier.effect {
            Effect::Lumi => {}
            // The function of this name replaces the factor, whose numbers have no effect.
            Effect::Function(_) => xml.empty(
                "NormFactor",
                &[name, ("Val", "1".to_owned()), ("Low", "0".to_owned()), ("High", "10".to_owned())],
            )?,
            Effect::NormFactor => norm(modifier, context, xml)?,
            Effect::NormSys { lo, hi } => {
                xml.empty("OverallSys", &[name, ("High", hi.to_string()), ("Low", lo.to_string())])?;
            }
            Effect::HistoSys { lo, hi } => {
                let (high, low) = (histogram("_high", hi)?, histogram("_low", lo)?);
                let (above, below) =
                    (("HistoPathHigh", folder.to_owned()), ("HistoPathLow", folder.to_owned()));
                xml.empty("HistoSys", &[name, above, ("HistoNameHigh", high), below, ("HistoNameLow", low)])?;
            }
            Effect::ShapeFactor => {
                let start = context.setting(&modifier.name).and_then(|setting| setting.inits.as_ref());
                match start {
                    None => xml.empty("ShapeFactor", &[name])?,
                    Some(start) => {
                        let start = histogram("_start", start)?;
                        xml.empty("ShapeFactor", &[name, path(), ("HistoName", start)])?;
                    }
                }
            }
            Effect::ShapeSys(values) | Effect::StatError(values) => match context.role(&modifier.name) {
                Some((Role::Stat(_), _)) => {
                    errors = Some(values.as_slice());
                    xml.empty("StatError", &[("Activate", "True".to_owned())])?;
                }
                role => {
                    let poisson = matches!(role, Some((Role::Shape(true), _)));
                    let relative: Vec<f64> =
                        values.iter().zip(&sample.data).map(|(u, n)| relative(*u, *n)).collect();
                    let shape = histogram("_relative", &relative)?;
                    let kind = if poisson { "Poisson" } else { "Gaussian" };
                    xml.empty(
                        "ShapeSys",
                        &[name, path(), ("HistoName", shape), ("ConstraintType", kind.to_owned())],
                    )?;
                }
            },
        }
    }
    xml.end();
    add(histograms, &format!("{folder}/nominal"), &sample.data, errors)
}

/// An uncertainty relative to the content. In an empty bin a factor has no effect.
pub(super) fn relative(uncertainty: f64, content: f64) -> f64 {
    let relative = uncertainty / content;
    if relative.is_finite() { relative.abs() } else { 0.0 }
}

fn norm(modifier: &Modifier, context: &Context<'_>, xml: &mut Xml) -> Result<(), HistFactoryError> {
    let setting = context.setting(&modifier.name);
    let value = setting.and_then(|s| s.inits.as_ref()?.first().copied()).unwrap_or(1.0);
    let (low, high) = setting.and_then(|s| s.bounds.as_ref()?.first().copied()).unwrap_or((0.0, 10.0));
    if !(low < high && low <= value && value <= high) {
        return Err(not_written(
            format!("The normfactor '{}'", modifier.name),
            &format!("its start value {value} is not within its bounds {low} and {high}."),
            "Change the settings of the first measurement.",
        ));
    }
    xml.empty(
        "NormFactor",
        &[
            ("Name", modifier.name.clone()),
            ("Val", value.to_string()),
            ("Low", low.to_string()),
            ("High", high.to_string()),
        ],
    )
}

/// Adds a histogram with bins of width 1.
pub(super) fn add(
    histograms: &mut HistogramFile,
    path: &str,
    values: &[f64],
    errors: Option<&[f64]>,
) -> Result<(), HistFactoryError> {
    let padded = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
        std::iter::once(0.0).chain(values).chain(std::iter::once(0.0)).collect()
    };
    let edges = (0..=values.len()).map(|i| i as f64).collect();
    let cells = padded(&mut values.iter().copied());
    let squares = errors.map(|errors| padded(&mut errors.iter().map(|e| e * e)));
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some(histogram) = Histogram::one_dimensional(name, "", edges, cells, squares) else {
        return Err(not_written(
            format!("The histogram '{path}'"),
            "it has another number of bins than its channel.",
            "Correct the workspace; `nextstat validate` says where.",
        ));
    };
    Ok(histograms.add(path, &histogram).map_err(Box::new)?)
}
